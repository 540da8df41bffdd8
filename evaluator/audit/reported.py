"""What must hold of report.json: its counts and cells are those of the tables."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.audit.finding import NotChecked, Outcome, tally, tally_each
from evaluator.audit.joined import NO_OUTCOMES, describe_outcome, expected_of
from evaluator.audit.recount import CellKey, cells_of, columns_of, complete_cases, taus_of
from evaluator.audit.spans import numbers
from evaluator.audit.tables import RunTables
from evaluator.encode.rows import NOT_EXPRESSIBLE, REASONS

NO_REPORT = NotChecked("there is no report.json")
TOLERANCE = 1e-9
ROUNDING = 1e-6
"""Of a correlation in single precision."""
INTERVALS = (("top1", "top1_ci"), ("top5", "top5_ci"), ("D", "D_ci"), ("S", "S_ci"), ("I", "I_ci"),
             ("I_logp", "I_logp_ci"), ("I", "I_range"))  # fmt: skip


def _key(cell: dict[str, Any]) -> CellKey:
    return str(cell["model"]), str(cell["treebank"]), str(cell["condition"]), bool(cell["lemma"])


def _named(key: CellKey) -> str:
    model, treebank, condition, lemma = key
    return f"{condition}{'+L' if lemma else ''} of {model} on {treebank}"


def complete_recomputed(run: RunTables) -> Outcome:
    """An outcome is marked complete iff every model scored its base item in every cell."""
    if run.outcomes is None:
        return NO_OUTCOMES
    outcomes = run.outcomes
    columns = columns_of(outcomes)
    return tally(complete_cases(columns) != columns.complete, lambda i: describe_outcome(outcomes, i))


def items_accounted(run: RunTables) -> Outcome:
    """In every treebank, items = scored + skipped and failed by reason; the report's counts are those of the tables."""
    if run.document is None or run.items is None or run.sentences is None:
        return NO_REPORT
    if len(run.answered) != len(run.document["manifest"]["models"]):
        return NotChecked("not every model has whole answers")
    sentence = numbers(run.items["sentence"]).astype(np.int64)
    if sentence.max(initial=-1) >= run.sentences.num_rows:
        return NotChecked("items of sentences that are not there")
    treebank = run.sentences["treebank"].take(pa.array(sentence)).to_pylist()
    found: dict[str, Counter[str]] = {}
    lost: dict[str, Counter[str]] = {}
    for answered in run.answered:
        expected = expected_of(answered)
        if expected is None or len(expected.reason) != len(treebank):
            return NotChecked("links lead nowhere")
        for name, status, reason in zip(treebank, expected.status.tolist(), expected.reason, strict=True):
            counts = found.setdefault(name, Counter())
            counts["items"] += 1
            counts["scored"] += status == "scored"
            counts["failed"] += status == "failed"
            counts["not_expressible"] += reason == REASONS[NOT_EXPRESSIBLE]
            if status != "scored":
                lost.setdefault(name, Counter())[reason or "unstated"] += 1
    return tally_each(_count_lines(run.document["counts"], found, lost, run))


def _count_lines(
    counts: dict[str, Any], found: dict[str, Counter[str]], lost: dict[str, Counter[str]], run: RunTables
) -> Iterator[tuple[bool, str]]:
    def line(where: str, name: str, said: Any, counted: Any) -> tuple[bool, str]:
        return said != counted, f"{name} of {where}: the report says {said}, the tables {counted}"

    for where, said in [("the run", counts), *counts["treebanks"].items()]:
        mine = found if where == "the run" else {where: found.get(where, Counter())}
        sums = sum(mine.values(), Counter())
        for name in ("items", "scored", "failed", "not_expressible"):
            yield line(where, name, said[name], sums[name])
        reasons = sum((lost.get(name, Counter()) for name in mine), Counter())
        yield line(where, "skipped", said["skipped"], dict(sorted(reasons.items())))
        whole = said["scored"] + sum(said["skipped"].values())
        yield whole != said["items"], f"items of {where}: {said['items']} are not {whole} = scored + skipped"
    for name in found.keys() - counts["treebanks"].keys():
        yield True, f"{name} is not in the report"
    assert run.items is not None
    base_items = len(np.unique(numbers(run.items["base_id"])))
    yield line("the run", "base_items", counts["base_items"], base_items)
    yield line("the run", "distinct_items", counts["distinct_items"], run.items.num_rows)
    yield line("the run", "unique_rows", counts["unique_rows"], sum(a.scored.num_rows for a in run.answered))


def counts_are_base_items(run: RunTables) -> Outcome:
    """n of a cell is the number of distinct complete base items of its treebank, and equal in all its cells."""
    if run.document is None or run.outcomes is None:
        return NO_REPORT
    complete = run.outcomes.filter(run.outcomes["complete"])
    distinct: dict[str, set[int]] = {}
    models: dict[str, set[str]] = {}
    names = (complete[name].to_pylist() for name in ("treebank", "base_id", "model"))
    for treebank, base, model in zip(*names, strict=True):
        distinct.setdefault(treebank, set()).add(base)
        models.setdefault(treebank, set()).add(model)

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        for cell in run.document["cells"]:
            counted = len(distinct.get(cell["treebank"], ()))
            takes = cell["n"] > 0 or cell["reason"] not in ("model_not_scored", "cell_not_scored")
            takes |= cell["reason"] == "model_not_scored" and cell["model"] in models.get(cell["treebank"], ())
            is_bad = cell["n"] != (counted if takes else 0)
            yield is_bad, f"{_named(_key(cell))}: n = {cell['n']}, distinct base items {counted}"
        for name, said in run.document["counts"]["treebanks"].items():
            counted = len(distinct.get(name, ()))
            yield said["complete_base_items"] != counted, f"{name}: {said['complete_base_items']} and not {counted}"

    return tally_each(lines())


def top5_covers_top1(run: RunTables) -> Outcome:
    """A@5 ≥ A@1 in every cell and breakdown; both are shares."""
    if run.document is None:
        return NO_REPORT
    breakdowns = [row for rows in run.document.get("breakdowns", {}).values() for row in rows]

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        for row in [*run.document["cells"], *breakdowns]:
            top1, top5 = row.get("top1"), row.get("top5")
            is_bad = (top1 is None) != (top5 is None) or (top1 is not None and not 0 <= top1 <= top5 <= 1)
            yield is_bad, f"{_named(_key(row))}: A@1 {top1}, A@5 {top5}"

    return tally_each(lines())


def cells_recomputed(run: RunTables) -> Outcome:
    """Every value of every cell, S and I among them, computed again from the outcomes by a second way."""
    if run.document is None or run.outcomes is None:
        return NO_REPORT
    expected = dict(cells_of(columns_of(run.outcomes)))
    said = {_key(cell): cell for cell in run.document["cells"]}

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        yield len(said) != len(run.document["cells"]), "a cell stands twice in the report"
        for key in sorted(expected.keys() ^ said.keys()):
            yield True, f"{_named(key)}: {'only in the report' if key in said else 'not in the report'}"
        for key in sorted(expected.keys() & said.keys()):
            for name, value in expected[key].items():
                there = said[key].get(name)
                yield not _same(there, value), f"{name} of {_named(key)}: the report says {there}, the outcomes {value}"

    return tally_each(lines())


def doses_recomputed(run: RunTables) -> Outcome:
    """Every order's rank correlation is that of its inversions; the report's bins hold what lies between their ends."""
    if run.document is None or run.outcomes is None:
        return NO_REPORT
    outcomes = run.outcomes
    said = numbers(outcomes["kendall_tau"]).astype(np.float64)
    off = np.abs(said - taus_of(outcomes["order"].to_pylist())) > ROUNDING
    if off.any():
        return tally(off, lambda i: describe_outcome(outcomes, i))
    columns = columns_of(outcomes)
    perturbed = columns.complete & ~columns.lemma & (columns.condition != "orig")

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in run.document.get("doses", []):
            found.setdefault((row["model"], row["treebank"]), []).append(row)
        there = zip(columns.model[perturbed].tolist(), columns.treebank[perturbed].tolist(), strict=True)
        for model, treebank in sorted({*there, *found}):
            mine = perturbed & (columns.model == model) & (columns.treebank == treebank)
            bins = found.get((model, treebank), [])
            binned, counted_n = sum(row["n"] for row in bins), int(mine.sum())
            yield binned != counted_n, f"bins of {model} on {treebank}: {binned} and not {counted_n} items"
            for row in bins:
                inside = mine & (said >= row["tau_min"]) & (said <= row["tau_max"])
                counted = {
                    "n": int(inside.sum()),
                    "n_sentences": len(set(columns.sent_id[inside].tolist())),
                    "top1": float(columns.top1[inside].mean()) if inside.any() else None,
                    "tau": float(said[inside].mean()) if inside.any() else None,
                }
                is_bad = not all(_same(row[name], value) for name, value in counted.items())
                yield is_bad, f"bin at {row['tau']} of {model} on {treebank}: the outcomes say {counted}"

    return tally_each(lines())


def _same(said: Any, counted: Any) -> bool:
    if isinstance(counted, list):
        return isinstance(said, list) and len(said) == len(counted) and all(map(_same, said, counted))
    if said is None or counted is None or isinstance(counted, bool):
        return said is counted
    return isinstance(said, int | float) and abs(said - counted) <= TOLERANCE * max(1.0, abs(counted))


def intervals_hold(run: RunTables) -> Outcome:
    """Every interval holds its own estimate."""
    if run.document is None:
        return NO_REPORT

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        for cell in run.document["cells"]:
            for name, interval in INTERVALS:
                value, limits = cell.get(name), cell.get(interval)
                if limits is not None:
                    is_bad = value is None or not limits[0] - TOLERANCE <= value <= limits[1] + TOLERANCE
                    yield is_bad, f"{interval} of {_named(_key(cell))}: {limits} does not hold {value}"

    return tally_each(lines())


def nulls_explained(run: RunTables) -> Outcome:
    """A cell without data, S or I is null and says why; it is never 0."""
    if run.document is None:
        return NO_REPORT

    def lines() -> Iterator[tuple[bool, str]]:
        assert run.document is not None
        for cell in run.document["cells"]:
            is_orig = cell["condition"] == "orig" and not cell["lemma"]
            missing = cell["top1"] is None
            missing |= not is_orig and cell["S"] is None
            missing |= cell["condition"] != "orig" and not cell["lemma"] and cell["I"] is None
            is_bad = (missing and not cell["reason"]) or (cell["n"] == 0) != (cell["top1"] is None)
            yield is_bad, f"{_named(_key(cell))}: n = {cell['n']}, reason {cell['reason']}"

    return tally_each(lines())
