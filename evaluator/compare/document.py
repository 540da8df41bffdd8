"""The comparison as one JSON-able document: what every output is written from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.compare.cells import judge, matched_cells
from evaluator.compare.flips import flip_counts, flip_examples
from evaluator.compare.gate import Rule
from evaluator.compare.match import LOST_IN_WORDS, Matched, match
from evaluator.compare.settings import changed
from evaluator.errors import ComparisonError, ConfigError
from evaluator.reduce.cells import Row
from evaluator.report.formats import count

SCHEMA_VERSION = 1
MIN_SHARED = 0.5
"""Share of all items that two runs must have asked alike, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run to compare: its name for readers, its report document and its outcomes."""

    name: str
    report: Mapping[str, Any]
    outcomes: pa.Table

    @property
    def models(self) -> list[str]:
        """The models with outcomes, by name."""
        return sorted(map(str, self.outcomes["model"].unique().to_pylist()))

    def rows_of(self, model: str) -> pa.Table:
        """The outcomes of one model."""
        return self.outcomes.filter(pc.equal(self.outcomes["model"], model))


def compare_runs(
    runs: Sequence[Compared],
    *,
    models: Sequence[str] = (),
    min_shared: float = MIN_SHARED,
    rules: Sequence[Rule] = (),
) -> dict[str, Any]:
    """The comparison of every later run with the first, the baseline; Holm over all cells compared.

    `models` holds names, or `NAME:NAME` for two models to be set against each other; without it, models of the same
    name are, or the only ones of both runs. Resamples, confidence and seed are the baseline's. Errors: ComparisonError
    when two runs share under `min_shared` of their items, ConfigError when there is no such model.
    """
    intervals = {"resamples": 2000, "confidence": 0.95, "seed": 0} | dict(runs[0].report.get("intervals") or {})
    letters = [chr(ord("A") + i) for i in range(len(runs))]
    pairs = []
    for letter, run in zip(letters[1:], runs[1:], strict=True):
        for model_a, model_b in paired_models(runs[0], run, models):
            matched = match(runs[0].rows_of(model_a), run.rows_of(model_b))
            _refuse(matched, letter, (model_a, model_b), min_shared)
            pairs.append(_pair(letter, (model_a, model_b), (runs[0], run), matched, intervals))
    rows = [row for pair in pairs for row in pair["cells"]]
    judge(rows, intervals["confidence"])
    return {
        "schema": SCHEMA_VERSION,
        "runs": [_described(letter, run) for letter, run in zip(letters, runs, strict=True)],
        "settings": changed([run.report.get("manifest") or {} for run in runs]),
        "pairs": pairs,
        "gates": [rule.decide(rows) for rule in rules],
        "min_shared": min_shared,
        "intervals": intervals,
    }


def paired_models(a: Compared, b: Compared, wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Which model of A stands against which of B."""
    if wanted:
        named = [(name.partition(":")[0], name.partition(":")[2] or name) for name in wanted]
        for run, names in ((a, [pair[0] for pair in named]), (b, [pair[1] for pair in named])):
            if absent := [name for name in names if name not in run.models]:
                hint = f"models there: {', '.join(run.models)}"
                raise ConfigError(f"no model {absent[0]!r} in {run.name}", where="--model", hint=hint)
        return named
    shared = [name for name in a.models if name in b.models]
    if shared:
        return [(name, name) for name in shared]
    if len(a.models) == len(b.models) == 1:
        return [(a.models[0], b.models[0])]
    raise ConfigError(
        f"no model is in both {a.name} ({', '.join(a.models)}) and {b.name} ({', '.join(b.models)})",
        where="compare",
        hint=f"say which: --model {(a.models or ['A'])[0]}:{(b.models or ['B'])[0]}",
    )


def _refuse(matched: Matched, letter: str, models: tuple[str, str], min_shared: float) -> None:
    if matched.shared and matched.share >= min_shared:
        return
    union = sum(matched.items) - matched.shared
    lost = "; ".join(f"{LOST_IN_WORDS[why]}: {count(n)}" for why, n in matched.lost.items() if n)
    raise ComparisonError(
        f"A and {letter} asked {count(matched.shared)} items alike, {100 * matched.share:.3g} % of all, "
        f"under {100 * min_shared:.3g} % ({lost})",
        where=" against ".join(models),
        hint=f"compare runs of the same items, or pass --min-shared {max(0.0, matched.share - 0.005):.2f}"
        if matched.shared and union
        else "compare runs of the same treebanks, seeds and conditions",
    )


def _pair(
    letter: str,
    models: tuple[str, str],
    runs: tuple[Compared, Compared],
    matched: Matched,
    intervals: Mapping[str, Any],
) -> Row:
    cells = matched_cells(
        matched, resamples=intervals["resamples"], confidence=intervals["confidence"], seed=intervals["seed"]
    )
    for row in cells:
        row |= {"run": letter, "a": models[0], "b": models[1]}
    return {
        "run": letter,
        "a": models[0],
        "b": models[1],
        "items": {"a": matched.items[0], "b": matched.items[1], "shared": matched.shared, "share": matched.share},
        "lost": {why: n for why, n in matched.lost.items() if n},
        "only": matched.only,
        "notes": _notes(runs, models),
        "cells": cells,
        "flips": flip_counts(matched),
        "examples": flip_examples(matched),
    }


def _notes(runs: tuple[Compared, Compared], models: tuple[str, str]) -> list[str]:
    """What does not keep items from being compared, yet belongs beside every difference."""
    notes = []
    told = [_told(run, model) for run, model in zip(runs, models, strict=True)]
    for key, said in (("precision", "precision"), ("provider", "provider"), ("k", "k best words kept")):
        a, b = (one.get(key) for one in told)
        if a != b:
            notes.append(f"{said}: {a} against {b}")
    return notes


def _told(run: Compared, model: str) -> dict[str, Any]:
    manifest = run.report.get("manifest") or {}
    described: dict[str, Any] = next((m for m in manifest.get("models") or [] if m.get("name") == model), {})
    return {**described, "k": (manifest.get("config") or {}).get("k")}


def _described(letter: str, run: Compared) -> Row:
    manifest = run.report.get("manifest") or {}
    return {
        "letter": letter,
        "name": run.name,
        "run_id": run.report.get("run_id"),
        "configuration": manifest.get("config_fingerprint"),
        "models": run.models,
        "items": run.outcomes.num_rows,
    }


def headline(document: Mapping[str, Any]) -> list[str]:
    """One sentence per pair of models: in how many cells B is higher, lower, no difference detected."""
    said = []
    for pair in document["pairs"]:
        decisions = [row["decision"] for row in pair["cells"]]
        found = {name: decisions.count(name) for name in ("higher", "lower", "undetected", "not comparable")}
        rest = f", {found['not comparable']} not comparable" if found["not comparable"] else ""
        names = pair["a"] if pair["a"] == pair["b"] else f"{pair['b']} against {pair['a']}"
        said.append(
            f"{pair['run']} against A, {names}: of {len(decisions)} cells higher in {found['higher']}, lower in "
            f"{found['lower']}, no difference detected in {found['undetected']}{rest}."
        )
    return said


def refused(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rules that failed."""
    return [gate for gate in document["gates"] if gate["failed"]]
