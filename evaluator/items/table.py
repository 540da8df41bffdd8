"""The items table: the kept candidates' orders, ids and doses as Arrow columns, with no Python object per item."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.items.candidates import Candidates, Evaluation
from evaluator.items.conditions import order_keys
from evaluator.items.dose import dose
from evaluator.items.randomness import address, mix
from evaluator.items.settings import ItemSettings
from evaluator.store.schemas import ITEMS
from evaluator.types import Condition, Int16s, Int64s, UInt64s

_ITEM = address("item")
_CHUNK_UNITS = 2**26  # length of all orders in one chunk of the table: bounds temporaries, keeps list offsets in int32


def item_ids(base_keys: UInt64s, condition: Condition, draw: int, *, lemma: bool) -> UInt64s:
    """The id of each base item's item: a hash of (base item, condition, draw, lemma)."""
    return mix(mix(order_keys(base_keys, condition, draw), _ITEM), int(lemma))


def items_table(candidates: Candidates, evaluation: Evaluation, settings: ItemSettings, kept: Int64s) -> pa.Table:
    """The items of the kept candidates in that order, schema `ITEMS`; within one by condition, draw, lemma."""
    part_of = np.zeros(len(candidates.sentences), np.int64)
    row_of = np.zeros(len(candidates.sentences), np.int64)
    lengths = np.zeros(len(candidates.sentences), np.int64)
    for number, (members, orders) in enumerate(evaluation.parts):
        part_of[members] = number
        row_of[members] = np.arange(len(members))
        lengths[members] = orders.shape[2]
    chunks = [ITEMS.empty_table()]
    ends = np.cumsum(lengths[kept] * len(settings.plan()) * 2)
    for batch in np.split(kept, np.flatnonzero(np.diff(ends // _CHUNK_UNITS)) + 1):
        if not len(batch):
            continue
        per_base = lengths[batch] * len(settings.plan())
        starts = np.cumsum(per_base) - per_base
        flat = np.zeros(int(per_base.sum()), np.int16)
        for number in np.unique(part_of[batch]):
            orders = evaluation.parts[number][1]
            mine = np.flatnonzero(part_of[batch] == number)
            at = starts[mine][:, None] + np.arange(orders.shape[1] * orders.shape[2])
            flat[at] = orders[row_of[batch[mine]]].reshape(len(mine), -1)
        chunks.append(_chunk(candidates, settings, batch, lengths[batch], flat))
    return pa.concat_tables(chunks)


def _chunk(candidates: Candidates, settings: ItemSettings, batch: Int64s, lengths: Int64s, flat: Int16s) -> pa.Table:
    """The items of these base items; `flat` holds each one's orders end to end, without their +L twins."""
    plan = settings.plan()
    keys, targets = candidates.keys[batch], candidates.targets[batch]
    lemmas = (False, True) if settings.lemma else (False,)
    twins, per_base = len(lemmas), len(plan) * len(lemmas)

    def each(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A base item's value for each of its items."""
        return np.repeat(values, per_base)

    offsets = np.concatenate([[0], np.cumsum(np.repeat(lengths, len(plan)))])
    doses = dose(flat, offsets, np.repeat(targets, len(plan)))
    names = list(settings.conditions)
    codes = np.array([names.index(c) for c, _ in plan for _ in lemmas], np.int32)
    columns: dict[str, Any] = {
        "item_id": np.stack([item_ids(keys, c, draw, lemma=twin) for c, draw in plan for twin in lemmas], 1).ravel(),
        "base_id": each(keys),
        "sentence": each(candidates.sentences[batch].astype(np.int32)),
        "seed": each(candidates.seeds[batch].astype(np.int32)),
        "condition": pa.DictionaryArray.from_arrays(np.tile(codes, len(batch)), pa.array(names)).cast(pa.string()),
        "draw": np.tile(np.array([draw for _, draw in plan for _ in lemmas], np.int16), len(batch)),
        "lemma": np.tile(np.array(lemmas), len(plan) * len(batch)),
        "target": each(targets.astype(np.int16)),
        "order": _doubled(flat, offsets, twins),
        "moved": np.repeat(doses.moved, twins),
        "displacement": np.repeat(doses.displacement, twins),
        "neighbours_kept": np.repeat(doses.neighbours_kept, twins),
        "target_moved": np.repeat(doses.target_moved, twins),
    }
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, ITEMS.field(n).type) for n, c in columns.items()]
    return pa.Table.from_arrays(arrays, schema=ITEMS)


def _doubled(flat: Int16s, offsets: Int64s, twins: int) -> "pa.Array[Any]":
    """The orders as a list array, each repeated `twins` times."""
    values = pa.array(flat, pa.int16())
    orders: pa.Array[Any] = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32), pa.int32()), values)
    return orders if twins == 1 else orders.take(pa.array(np.repeat(np.arange(len(offsets) - 1), twins), pa.int64()))
