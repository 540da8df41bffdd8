"""The report's generated sentences and definitions: what is said in words, the same in every output."""

import re
from collections.abc import Iterator
from typing import Any, cast

from evaluator.reduce.block import REASONS, Reason
from evaluator.report.document import Document, at_floor, condition_label
from evaluator.report.formats import count, interval, number

DEFINITIONS: tuple[tuple[str, str, str], ...] = (
    (
        "n",
        "n",
        "Base items counted in a cell. Only complete cases count: those whose every cell was scored by every model.",
    ),
    (
        "A",
        "A@k",
        "Share of items whose masked word is exactly among the k best words. The model is told its number of pieces.",
    ),
    (
        "delta",
        "Δ",
        "Difference of A@1 over the same items: A(c) − A(orig) between orders, A − B between two sides.",
    ),
    (
        "S",
        "S(c)",
        "(A(orig) − A(c)) / A(orig): the share of the original accuracy that c takes away. No value when A(orig) = 0.",
    ),
    (
        "I",
        "I(c)",
        "D(c) + D(orig+L) − D(c+L) with D(x) = A(orig) − A(x). I > 0: the cues overlap (together they harm less than "
        "their sum). I < 0: they complement each other.",
    ),
    (
        "Irange",
        "range of I",
        "The values I could take given its margins. Where the range is narrow or lies on one side of 0, the sign of I "
        "says little.",
    ),
    (
        "Ilog",
        "I in log p",
        "The same contrast of mean log p(gold), in nats. It has no floor, so it still speaks where accuracy cannot.",
    ),
    (
        "lemma",
        "+L",
        "Every unit is replaced by its lemma, the masked word included: inflectional form is taken away.",
    ),
    (
        "ci",
        "intervals",
        "{level}, in brackets. Shares: Wilson with the effective number of items (clusters: sentences; where no "
        "or every item is right, each sentence counts once). D, S, I, Δ: paired bootstrap over sentences.",
    ),
    (
        "p",
        "p",
        "Exact sign-flip test over sentences on the items only one side gets right (A ✓ B ✗ against A ✗ B ✓); "
        "McNemar's test where every sentence has one pair.",
    ),
    (
        "holm",
        "Holm",
        "p adjusted within its family: orders and +L per model and language, models per language. Verdicts: below .05.",
    ),
    (
        "floor",
        "floor",
        "Under 5 hits, or under a tenth of the original's: too little is left to lose. S and I are then hatched, not "
        "shaded, and prove nothing: read the log-probabilities.",
    ),
)
"""(anchor, term, definition), printed in the page and linked from table headers."""


MOST_NAMED = 3
"""Models a title names; more are counted."""


def title(document: Document) -> str:
    """What was asked, as a reader would call it: `mBERT, XLM-R · 7 languages`; the run's id where nothing was."""
    models, treebanks = document.models, document.treebanks
    languages = list(dict.fromkeys(document.languages[treebank] for treebank in treebanks))
    if not models:
        return f"run {document.report.get('run_id') or ''}".strip()
    named = ", ".join(models) if len(models) <= MOST_NAMED else f"{len(models)} models"
    where = languages[0] if len(languages) == 1 else f"{len(languages)} languages"
    several = f" in {len(treebanks)} treebanks" if len(treebanks) > len(languages) else ""
    return f"{named} · {where}{several}"


def reason(code: str | None, otherwise: str) -> str:
    """Why a value is missing, in words; a code this version does not know is shown as it is."""
    return REASONS.get(cast(Reason, code), code.replace("_", " ")) if code else otherwise


def definitions(document: Document) -> Iterator[tuple[str, str, str]]:
    """(anchor, term, definition) of everything the report measures, with this run's interval level."""
    for anchor, term, said in DEFINITIONS:
        yield anchor, term, said.replace("{level}", document.level())


_SCRAMBLING = {"full": "full scrambling", "partial": "scrambling the content words", "reverse": "reversing the order"}


def findings(document: Document) -> Iterator[str]:
    """One sentence per model: what the strongest perturbation did to A@1 and S, by language, never pooled."""
    strongest = document.strongest()
    if strongest is None:
        return
    for model in document.models:
        found = []
        for treebank in document.treebanks:
            before, after = (
                document.cell(model, treebank, "orig", False),
                document.cell(model, treebank, strongest, False),
            )
            if before.get("top1") is not None and after.get("top1") is not None:
                found.append((document.place(treebank), before, after))
        if found:
            yield f"{model}: {_finding(_SCRAMBLING.get(strongest, condition_label(strongest)), found)}"
        else:
            yield f"{model}: no cell with both the original order and {condition_label(strongest)}."


def _finding(label: str, found: list[tuple[str, Any, Any]]) -> str:
    if len(found) == 1:
        _, before, after = found[0]
        s = f"S = {number(after.get('S'))} {interval(after.get('S_ci'))}".strip()
        return (
            f"{label} took A@1 from {number(before['top1'])} to {number(after['top1'])}; {s}, n = {count(after['n'])}."
        )
    starts, ends = (
        [(place, before["top1"]) for place, before, _ in found],
        [(p, after["top1"]) for p, _, after in found],
    )
    span = f"{_span(starts)} to {_span(ends)}"
    sensitive = [
        (place, after["S"]) for place, _, after in found if after.get("S") is not None and not at_floor(after, "S")
    ]
    s = f"; S {_span(sensitive)}" if sensitive else "; S not interpretable (floor)"
    return f"{label} took A@1 from {span}{s}, over {len(found)} languages."


def _span(values: list[tuple[str, float]]) -> str:
    low, high = min(values, key=lambda pair: pair[1]), max(values, key=lambda pair: pair[1])
    if low[0] == high[0]:
        return f"{number(low[1])} ({low[0]})"
    return f"{number(low[1])} ({low[0]}) – {number(high[1])} ({high[0]})"


def badge(document: Document) -> tuple[bool, str]:
    """(complete?, words): `complete: 4,790 of 4,800 items scored, 10 skipped by rule` or `partial: 3,120 of …`."""
    counts = document.report.get("counts") or {}
    items, scored, failed = counts.get("items"), counts.get("scored"), counts.get("failed") or 0
    skipped = sum((counts.get("skipped") or {}).values()) - failed
    unscored = [
        m for m in (document.report.get("manifest") or {}).get("models") or [] if m.get("unique_rows", 0) is None
    ]
    if items is not None and not failed and not unscored and items == scored + skipped:
        rest = ", the rest skipped by rule" if skipped else ""
        return True, f"complete: {count(scored)} of {count(items)} items scored{rest}"
    return False, f"partial: {count(scored)} of {count(items)} items scored"


def missing(document: Document) -> str:
    """What was not scored, by reason, largest first; empty when nothing is missing."""
    skipped = (document.report.get("counts") or {}).get("skipped") or {}
    ranked = sorted(skipped.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{reason.replace('_', ' ')} {count(n)}" for reason, n in ranked if n)


def redacted(value: Any) -> Any:
    """`value` with the folders of absolute local paths cut off, since reports are mailed."""
    if isinstance(value, str):
        return re.sub(r"(?<![\w:/.])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\"]+[/\\])+([^\s/\\'\"]*)", r"…/\1", value)
    if isinstance(value, dict):
        return {str(key): redacted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(inner) for inner in value]
    return value
