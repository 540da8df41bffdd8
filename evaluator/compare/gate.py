"""`--fail-if "top1[de,orig] < -0.01"`: a rule over the differences, decided by the interval's end."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.errors import ConfigError
from evaluator.report.document import CONDITION_LABELS
from evaluator.report.formats import interval, number

METRICS = {"top1": "delta", "S": "delta_S", "I": "delta_I", "I_logp": "delta_I_logp"}
RULE = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*([<>])\s*([-+−]?(?:\d+\.?\d*|\.\d+))\s*")
EXPECTED = (
    'for instance "top1[de,orig] < -0.01"; metrics top1, S, I, I_logp; * for any language or condition; +L as full+L'
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Fails when Δ of `metric` is surely beyond `bound` in any cell that is meant, or cannot be told in one."""

    said: str
    metric: str
    place: str
    """A language or treebank; `*` for all."""
    condition: str
    """With `+L` at its end for lemmas; `*` for all of both spellings."""
    below: bool
    bound: float

    def means(self, row: Mapping[str, Any]) -> bool:
        """Whether the row's cell is meant."""
        spelt = row["condition"] + ("+L" if row["lemma"] else "")
        return self.place in ("*", row["language"], row["treebank"]) and self.condition in ("*", spelt)

    def decide(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """`{"rule", "failed", "why"}`. With `<` the interval's upper end decides, with `>` its lower end: chance alone
        does not fail a rule. What is not there (no such cell, no interval) fails it. Under `*`, cells where the metric
        is not defined on purpose (S of the original order, I with +L or at the floor) are passed over.
        """
        meant = [row for row in rows if self.means(row)]
        key = METRICS[self.metric]
        if "*" in (self.place, self.condition) and self.metric != "top1":
            meant = [row for row in meant if row[key] is not None]
        if not meant:
            return self._answer(True, "no such cell was compared")
        for row in meant:
            cell = f"{row['language']} {row['condition']}{'+L' if row['lemma'] else ''}"
            ends = row[f"{key}_ci"]
            if ends is None:
                return self._answer(
                    True, f"{cell}: no interval ({row['reason'] or 'too few sentences or at the floor'})"
                )
            if (ends[1] < self.bound) if self.below else (ends[0] > self.bound):
                return self._answer(True, f"{cell}: Δ {number(row[key])} {interval(ends)}")
        return self._answer(False, f"{len(meant)} cell{'s' if len(meant) > 1 else ''} looked at")

    def _answer(self, failed: bool, why: str) -> dict[str, Any]:
        return {"rule": self.said, "failed": failed, "why": why}


def parse_rule(text: str) -> Rule:
    """The rule. Errors: ConfigError that says what was expected."""
    found = RULE.fullmatch(text)
    if found is None:
        raise ConfigError(f"not a rule: {text!r}", where="--fail-if", hint=EXPECTED)
    metric, selector, sign, bound = found.groups()
    parts = [part.strip() for part in selector.split(",")]
    if metric not in METRICS or len(parts) != 2 or not all(parts):
        raise ConfigError(f"not a rule: {text!r}", where="--fail-if", hint=EXPECTED)
    condition = parts[1].removesuffix("+L").strip()
    if condition != "*" and condition not in CONDITION_LABELS:
        known = ", ".join(CONDITION_LABELS)
        raise ConfigError(f"no condition {condition!r}", where="--fail-if", hint=f"conditions: {known}")
    spelt = condition + ("+L" if parts[1].endswith("+L") else "")
    return Rule(text.strip(), metric, parts[0], spelt, sign == "<", float(bound.replace("−", "-")))
