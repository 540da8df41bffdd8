"""The items that two runs asked alike, as one outcomes table, and how many were lost and why.

Items meet by `item_id`, which is stable across runs: it addresses sentence, seed, condition, draw and ±L. An item both
runs hold still counts only if both masked the same unit, in the same order, in the same text, with the same gold word.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.reduce.complete import mark_complete
from evaluator.types import Bools, Int64s

A, B = "A", "B"
"""The models of a matched table: the baseline's side and the other's."""
LOST_IN_WORDS = {
    "only_a": "only in A",
    "only_b": "only in B",
    "other_target": "another word masked",
    "other_order": "another order of the words",
    "other_text": "written otherwise (spacing or treebank version)",
    "other_gold": "another gold word",
    "incomplete": "alike, but not every cell of the base item was scored on both sides",
}


@dataclass(frozen=True, slots=True)
class Matched:
    """The shared items under model `A` and under model `B`, `complete` marked, both halves in the same order."""

    outcomes: pa.Table
    items: tuple[int, int]
    """Items of either side."""
    shared: int
    """Items asked alike; the halves have as many rows each."""
    lost: dict[str, int]
    """Items that are not compared, by reason (`LOST_IN_WORDS`); `only_…` and `other_…` are not in `outcomes`."""
    only: dict[str, dict[str, list[str]]]
    """Per side the treebanks, conditions and seeds that the other side lacks."""

    @property
    def share(self) -> float:
        """Shared items over all items of either side; 0 where there are none."""
        union = sum(self.items) - self.shared - sum(n for why, n in self.lost.items() if why.startswith("other_"))
        return self.shared / union if union else 0.0

    def half(self, side: str) -> pa.Table:
        """The rows of one side, by item."""
        return self.outcomes.slice(0 if side == A else self.shared, self.shared)


def match(a: pa.Table, b: pa.Table) -> Matched:
    """The items asked alike of one model in run A and one in run B; in any order of rows.

    Columns that only one run kept (texts, under `--no-text`) are left out.
    """
    common = [name for name in a.column_names if name in b.column_names]
    sides = [_by_item(table.select(common)) for table in (a, b)]
    ids = [table["item_id"].to_numpy() for table in sides]
    _, at_a, at_b = np.intersect1d(ids[0], ids[1], assume_unique=True, return_indices=True)
    left, right = (table.take(pa.array(at)) for table, at in zip(sides, (at_a, at_b), strict=True))
    lost = {"only_a": len(ids[0]) - len(at_a), "only_b": len(ids[1]) - len(at_b)}
    alike = np.ones(len(at_a), dtype=np.bool_)
    for reason, differs in _differences(left, right).items():
        lost[reason] = int((alike & differs).sum())
        alike &= ~differs
    kept = pa.array(alike)
    halves = [_named(left.filter(kept), A), _named(right.filter(kept), B)]
    outcomes = mark_complete(pa.concat_tables(halves))
    shared = int(alike.sum())
    lost["incomplete"] = shared - int(pc.sum(outcomes["complete"].slice(0, shared)).as_py() or 0)
    only = {A: _lacking(a, b), B: _lacking(b, a)}
    return Matched(outcomes, (len(ids[0]), len(ids[1])), shared, lost, only)


def _by_item(table: pa.Table) -> pa.Table:
    return table.sort_by([("item_id", "ascending")])


def _named(table: pa.Table, side: str) -> pa.Table:
    at = table.column_names.index("model")
    return table.set_column(at, "model", pa.array([side] * table.num_rows, pa.string()))


def _differences(left: pa.Table, right: pa.Table) -> dict[str, Bools]:
    """Per reason, which rows differ; texts and gold words only where both runs kept them."""
    found = {"other_target": _unequal(left["target"], right["target"]), "other_order": _other_order(left, right)}
    for reason, name in (("other_text", "text"), ("other_gold", "gold")):
        if name in left.column_names and name in right.column_names:
            found[reason] = _unequal(left[name], right[name])
    return found


def _unequal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Bools:
    return np.asarray(pc.not_equal(left, right.cast(left.type)).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _other_order(left: pa.Table, right: pa.Table) -> Bools:
    lengths = [pc.list_value_length(side["order"]).to_numpy().astype(np.int64) for side in (left, right)]
    differs: Bools = lengths[0] != lengths[1]
    same = np.flatnonzero(~differs)
    if not len(same):
        return differs
    units: list[Int64s] = [
        pc.list_flatten(side["order"].take(pa.array(same))).to_numpy().astype(np.int64) for side in (left, right)
    ]
    wrong = np.repeat(same, lengths[0][same])[units[0] != units[1]]
    differs[wrong] = True
    return differs


def _lacking(table: pa.Table, other: pa.Table) -> dict[str, list[str]]:
    found = {}
    for name in ("treebank", "condition", "seed"):
        mine, theirs = (set(side[name].unique().to_pylist()) for side in (table, other))
        found[name] = [str(value) for value in sorted(mine - theirs)]
    return found
