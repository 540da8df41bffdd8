"""Outcomes to figures: one row per model and group of items, every share with its interval and the floors beside it."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.cloze.dataset import CELLS
from evaluator.cloze.inputs import STYLES, Style
from evaluator.cloze.outcomes import MEASURES, sentence_ids
from evaluator.cloze.tables import LanguageTable
from evaluator.reduce.shares import share
from evaluator.types import Bools, Int64s

FEW = 30
"""A group of fewer items is shown in grey."""
FLOORS = ("copy_lemma", "copy_lemma_exact", "frequent_form")
Columns: TypeAlias = "Mapping[Style, Mapping[str, tuple[Bools, Bools]]]"
GROUPS = ("all", "cell", "phenomenon", "person_number", "verbclass", "cell_phenomenon")


def result_rows(outcomes: pa.Table, table: LanguageTable | None, confidence: float = 0.95) -> list[dict[str, Any]]:
    """One row per model, grouping and group, in a fixed order; a group not to be reported has null figures and a note.

    Only items that are scored in both styles count, so that the styles are compared on the same items.
    """
    rows = []
    for model in sorted(set(outcomes["model"].to_pylist())):
        own = outcomes.filter(pc.equal(outcomes["model"], model))
        styles = {s: own.filter(pc.equal(own["style"], s)).sort_by("item") for s in STYLES}
        status = [pc.equal(t["status"], "scored").to_numpy() for t in styles.values()]
        scored: Bools = np.logical_and.reduce(status)
        columns: Columns = {s: _columns(t) for s, t in styles.items()}
        base = styles[STYLES[0]]
        sentence = sentence_ids(base)
        cells = np.array(base["cell"].to_pylist(), dtype=object)
        for grouping in GROUPS:
            for value, members in _groups(base, grouping, table):
                row: dict[str, Any] = {"model": model, "by": grouping, "group": value, "n_items": int(members.sum())}
                row |= {"n": int((members & scored).sum()), "note": _note(set(cells[members]), table)}
                row["few"] = row["n"] < FEW
                hidden = bool(row["note"])
                row["measures"] = _measures(columns, members & scored & (not hidden), sentence, confidence)
                rows.append(row)
    return rows


def _columns(table: pa.Table) -> dict[str, tuple[Bools, Bools]]:
    """(value, known) of every measure and floor of one style."""
    found = {}
    for name in (*MEASURES, *FLOORS):
        column = table[name].combine_chunks()
        known = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        found[name] = np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False)), known
    chance = table["chance"].to_numpy()
    found["chance"] = chance, ~np.isnan(chance)
    return found


def _measures(columns: Columns, members: Bools, sentence: Int64s, confidence: float) -> dict[str, Any]:
    measures: dict[str, Any] = {}
    for style, of_style in columns.items():
        for name in MEASURES:
            hits, known = of_style[name]
            measures[f"{style}.{name}"] = share(hits, known & members, sentence, confidence)
    first = columns[STYLES[0]]
    for name in FLOORS:
        hits, known = first[name]
        measures[name] = share(hits, known & members, sentence, confidence)
    chance, known = first["chance"]
    used = chance[known & members]
    measures["chance"] = {"n": len(used), "value": float(used.mean()) if len(used) else None, "ci": None}
    return measures


def _groups(base: pa.Table, grouping: str, table: LanguageTable | None) -> Iterator[tuple[str, Bools]]:
    """Name and members of every group of a grouping, those of closed sets in the card's order."""
    if grouping == "all":
        yield "all", np.ones(base.num_rows, dtype=np.bool_)
        return
    if grouping == "cell_phenomenon":
        values = [f"{c} · {p}" for c, p in zip(base["cell"].to_pylist(), base["phenomenon"].to_pylist(), strict=True)]
    else:
        values = base[grouping].to_pylist()
    known = [p.name for p in table.phenomena] if table else []
    order = {name: i for i, name in enumerate([*CELLS, *known])}
    names = {*values, *CELLS} if grouping == "cell" else set(values)
    for name in sorted(names, key=lambda v: ([order.get(part, 99) for part in v.split(" · ")], v)):
        yield name, np.array([v == name for v in values])


def _note(cells: set[str], table: LanguageTable | None) -> str:
    """Why a group whose items all lie in `cells` is not reported; empty when it is."""
    if table and cells and cells <= set(table.not_reported):
        return f"not reported for {table.name}: such forms belong to frequent paradigms, almost no items remain"
    return ""
