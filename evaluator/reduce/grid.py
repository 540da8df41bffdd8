"""A treebank's outcomes as a dense grid: model × slot × base item. First step of every reduction.

A *slot* is one (condition, lemma, draw); a *cell* is all draws of one (condition, lemma). Names are sorted and values
scattered to fixed places, so nothing downstream depends on the order of rows, on shards or on other treebanks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.errors import StoreError
from evaluator.types import Bools, Condition, Float64s, Int32s, Int64s, UInt64s

DRAW_BITS = 15
"""Draws are int16 and not negative."""
KNOWN_CONDITIONS: tuple[str, ...] = get_args(Condition)


@dataclass(frozen=True, slots=True)
class Cell:
    """One condition with forms or with lemmas (+L)."""

    condition: str
    lemma: bool

    @property
    def place(self) -> tuple[int, str, bool]:
        """The sorting key: conditions in their declared order, others after them by name; form before +L."""
        known = self.condition in KNOWN_CONDITIONS
        rank = KNOWN_CONDITIONS.index(self.condition) if known else len(KNOWN_CONDITIONS)
        return rank, self.condition, self.lemma


@dataclass(frozen=True, slots=True)
class Coded:
    """A string column as codes into its sorted distinct values; null is −1."""

    codes: Int32s  # (rows,)
    names: list[str]


@dataclass(frozen=True, slots=True)
class Grid:
    """Where each row of one treebank lies in the dense array [models, slots, base items]."""

    treebank: str
    language: str
    rows: Int64s  # (rows,) positions in the outcomes table
    flat: Int64s  # (rows,) place of each row in the raveled dense array
    models: list[str]
    cells: list[Cell]
    draws: list[list[int]]  # per cell
    cell_of_slot: Int64s  # (slots,)
    base_ids: UInt64s  # (base items,) ordered by sentence, then id
    base_rows: Int64s  # (base items,) one table row that shows each
    sentence: Int64s  # (base items,) 0…sentences−1, non-decreasing

    @property
    def shape(self) -> tuple[int, int, int]:
        """(models, slots, base items)"""
        return len(self.models), len(self.cell_of_slot), len(self.base_ids)

    def scatter(self, values: npt.NDArray[Any], fill: float) -> npt.NDArray[Any]:
        """The rows' values as a dense array [models, slots, base items]; `fill` where there is no row."""
        dense = np.full(int(np.prod(self.shape)), fill, dtype=values.dtype)
        dense[self.flat] = values[self.rows]
        return dense.reshape(self.shape)


def coded(outcomes: pa.Table, name: str) -> Coded:
    """A string column (plain or dictionary-encoded) as codes into its sorted distinct values."""
    column = outcomes.column(name)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    array: Any = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # an empty table has no chunk
        array = array.chunk(0) if array.num_chunks else pa.array([], pa.string()).dictionary_encode()
    values = [str(value) for value in array.dictionary.to_pylist()]
    names = sorted(set(values))
    rank = {value: code for code, value in enumerate(names)}
    renumber = np.array([*(rank[value] for value in values), -1], dtype=np.int32)
    indices = array.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return Coded(renumber[indices], names)


def numbers(outcomes: pa.Table, name: str) -> npt.NDArray[Any]:
    """A numeric or boolean column; null is NaN, −1 or False."""
    column: Any = outcomes.column(name)
    if column.null_count and not pa.types.is_floating(column.type):
        column = column.fill_null(False if pa.types.is_boolean(column.type) else -1)
    return np.asarray(column.to_numpy())


def flags(outcomes: pa.Table, status: str) -> Bools:
    """Which rows have this status."""
    coded_status = coded(outcomes, "status")
    if status not in coded_status.names:
        return np.zeros(outcomes.num_rows, dtype=np.bool_)
    return np.asarray(coded_status.codes == coded_status.names.index(status), dtype=np.bool_)


def grids(outcomes: pa.Table) -> Iterator[Grid]:
    """One grid per treebank, by name.

    Raises `StoreError` when a cell of a base item occurs twice under one model.
    """
    treebank, language = coded(outcomes, "treebank"), coded(outcomes, "language")
    model, condition, sent_id = (coded(outcomes, name) for name in ("model", "condition", "sent_id"))
    lemma, draw, base_id = (numbers(outcomes, name) for name in ("lemma", "draw", "base_id"))
    for code, name in enumerate(treebank.names):
        rows = np.flatnonzero(treebank.codes == code)
        model_codes, of_model = _distinct(model.codes[rows].astype(np.int64))
        slot_key = (condition.codes[rows].astype(np.int64) * 2 + lemma[rows]) << DRAW_BITS
        slot_keys, of_key = _distinct(slot_key + draw[rows])
        cells, draws, cell_of_slot, slot_of_key = _slots(slot_keys, condition.names)
        base_ids, first, of_base = np.unique(base_id[rows], return_index=True, return_inverse=True)
        order = np.lexsort((base_ids, sent_id.codes[rows[first]]))
        base_of = np.empty_like(order)
        base_of[order] = np.arange(len(order))
        shape = (len(model_codes), len(slot_keys), len(order))
        flat = np.ravel_multi_index((of_model, slot_of_key[of_key], base_of[of_base]), shape)
        _refuse_repeats(flat, shape, name)
        base_rows = rows[first[order]]
        yield Grid(
            treebank=name,
            language=language.names[int(language.codes[rows].min())],
            rows=rows,
            flat=flat,
            models=[model.names[code] for code in model_codes],
            cells=cells,
            draws=draws,
            cell_of_slot=cell_of_slot,
            base_ids=base_ids[order],
            base_rows=base_rows,
            sentence=np.unique(sent_id.codes[base_rows], return_inverse=True)[1].astype(np.int64),
        )


def _distinct(codes: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct codes in order and the place of each row's among them, by counting: codes are small."""
    present = np.bincount(codes) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]


def _slots(keys: Int64s, conditions: list[str]) -> tuple[list[Cell], list[list[int]], Int64s, Int64s]:
    """Cells in order, the draws of each, the cell of each slot, and the slot of each key."""
    spelled = [(key >> DRAW_BITS, key & ((1 << DRAW_BITS) - 1)) for key in keys.tolist()]
    parts = [(Cell(conditions[key >> 1], bool(key & 1)), draw) for key, draw in spelled]
    order = sorted(range(len(parts)), key=lambda i: (parts[i][0].place, parts[i][1]))
    cells = sorted({cell for cell, _ in parts}, key=lambda cell: cell.place)
    draws = [sorted(draw for other, draw in parts if other == cell) for cell in cells]
    slot_of_key = np.empty(len(parts), dtype=np.int64)
    slot_of_key[order] = np.arange(len(parts))
    return cells, draws, np.array([cells.index(parts[i][0]) for i in order], dtype=np.int64), slot_of_key


def _refuse_repeats(flat: Int64s, shape: tuple[int, int, int], treebank: str) -> None:
    seen = np.zeros(int(np.prod(shape)), dtype=np.bool_)
    seen[flat] = True
    repeats = len(flat) - int(seen.sum())
    if repeats:
        raise StoreError(
            f"{repeats} outcomes repeat a cell of a base item under the same model",
            where=f"treebank {treebank}",
            hint="join each shard once, and give runs of one model at two precisions two names",
        )


def finite_or_nan(values: Float64s) -> Float64s:
    """The values with infinities as NaN: a log-probability of −∞ has no mean."""
    return np.where(np.isfinite(values), values, np.nan)
