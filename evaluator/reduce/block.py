"""A treebank's complete cases with their per-cell and per-sentence sums: what all statistics are computed from.

Hits are summed over draws as integers; a base item's accuracy in a cell is the mean over its draws, so conditions with
many draws and with one weigh alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.errors import StoreError
from evaluator.reduce.complete import filled_base_items, taking_part
from evaluator.reduce.grid import Cell, Coded, Grid, coded, finite_or_nan, flags, grids, numbers
from evaluator.types import Bools, Float64s, Int16s, Int64s

Int8s = npt.NDArray[np.int8]
Reason = Literal["model_not_scored", "cell_not_scored", "no_complete_items", "no_orig", "orig_zero", "no_lemma"]
REASONS: dict[Reason, str] = {
    "model_not_scored": "no item of this treebank was scored by this model",
    "cell_not_scored": "no item of this treebank was scored in this cell",
    "no_complete_items": "no base item was scored in every cell by every model",
    "no_orig": "orig is not among the conditions, so there is nothing to compare with",
    "orig_zero": "A(orig) = 0, so a share of it is undefined",
    "no_lemma": "I needs this condition and orig with +L, which are not there",
}
ORIG, ORIG_L = Cell("orig", lemma=False), Cell("orig", lemma=True)


@dataclass(frozen=True, slots=True)
class Block:
    """Complete cases of one treebank. `models` and `cells` take part; `all_*` are before leaving out."""

    treebank: str
    language: str
    all_base_items: int
    all_items: int
    all_models: list[str]
    all_cells: list[Cell]
    models: list[str]
    cells: list[Cell]
    draws: list[list[int]]  # per cell
    cell_of_slot: Int64s  # (slots,)
    sentence: Int64s  # (base items,) 0…sentences−1, non-decreasing
    seed: Int64s  # (base items,)
    upos: list[str]  # per base item
    deprel: list[str]  # per base item
    feats: Coded  # per base item; the names are those of all treebanks
    n_units: Int64s  # (base items,)
    hit1: Int8s  # (models, slots, base items)
    hit5: Int8s  # (models, slots, base items)
    gold_logp: Float64s  # (models, slots, base items) NaN where the gold is not expressible
    masks: Int16s  # (models, slots, base items) −1 where unknown
    tau: Float64s  # (slots, base items) rank correlation of each order with the one as written

    @property
    def n_base(self) -> int:
        """Complete base items."""
        return len(self.sentence)

    @property
    def n_sentences(self) -> int:
        """Sentences with a complete base item: the clusters."""
        return int(self.sentence[-1]) + 1 if len(self.sentence) else 0

    @property
    def draws_per_cell(self) -> Int64s:
        """(cells,)"""
        return np.array([len(draws) for draws in self.draws], dtype=np.int64)

    def slots(self, cell: Cell) -> slice:
        """The cell's slots."""
        index = self.cells.index(cell)
        start, stop = np.searchsorted(self.cell_of_slot, [index, index + 1])
        return slice(int(start), int(stop))

    def per_cell(self, hits: Int8s) -> Int64s:
        """Hits summed over draws: (models, cells, base items)."""
        parts = [hits[:, self.slots(cell)].sum(axis=1, dtype=np.int64) for cell in self.cells]
        empty = np.zeros((len(self.models), 0, self.n_base), dtype=np.int64)
        return np.stack(parts, axis=1) if parts else empty

    def missing(self, model: str, cell: Cell) -> Reason | None:
        """Why this model has no items in this cell; None when it has."""
        if model not in self.models:
            return "model_not_scored"
        if cell not in self.cells:
            return "cell_not_scored"
        return None if self.n_base else "no_complete_items"


def blocks(outcomes: pa.Table) -> Iterator[Block]:
    """The complete cases of each treebank, by name; the outcomes need `complete` (see `mark_complete`).

    Raises `StoreError` when the rows marked complete do not fill a grid.
    """
    scored = flags(outcomes, "scored")
    complete = numbers(outcomes, "complete") & scored
    upos, deprel, feats = (coded(outcomes, name) for name in ("upos", "deprel", "feats"))
    values = {name: numbers(outcomes, name) for name in ("correct1", "correct5", "gold_logp", "n_masks", "kendall_tau")}
    base = {name: numbers(outcomes, name) for name in ("seed", "n_units")}
    for grid in grids(outcomes):
        part = taking_part(grid, grid.scatter(scored, fill=False))
        keep = _complete_base_items(grid, grid.scatter(complete, fill=False), part.models, part.slots)
        at = np.ix_(part.models, part.slots, keep)
        rows = grid.base_rows[keep]
        cells = [cell for cell, takes in zip(grid.cells, part.cells, strict=True) if takes]
        renumber = np.cumsum(part.cells) - 1
        yield Block(
            treebank=grid.treebank,
            language=grid.language,
            all_base_items=grid.shape[2],
            all_items=int(grid.scatter(np.ones_like(scored), fill=False).any(axis=0).sum()),
            all_models=grid.models,
            all_cells=grid.cells,
            models=[model for model, takes in zip(grid.models, part.models, strict=True) if takes],
            cells=cells,
            draws=[draws for draws, takes in zip(grid.draws, part.cells, strict=True) if takes],
            cell_of_slot=renumber[grid.cell_of_slot[part.slots]],
            sentence=np.unique(grid.sentence[keep], return_inverse=True)[1].astype(np.int64),
            seed=base["seed"][rows].astype(np.int64),
            upos=[upos.names[code] for code in upos.codes[rows]],
            deprel=[deprel.names[code] for code in deprel.codes[rows]],
            feats=Coded(feats.codes[rows], feats.names),
            n_units=base["n_units"][rows].astype(np.int64),
            hit1=grid.scatter(values["correct1"].view(np.int8), fill=0)[at],
            hit5=grid.scatter(values["correct5"].view(np.int8), fill=0)[at],
            gold_logp=finite_or_nan(grid.scatter(values["gold_logp"], fill=np.nan)[at]),
            masks=grid.scatter(values["n_masks"].astype(np.int16), fill=-1)[at],
            tau=_of_any_model(grid.scatter(values["kendall_tau"], fill=np.nan)[at]),
        )


def _of_any_model(values: npt.NDArray[Any]) -> Float64s:
    """What is the same for all models, (slots, base items), of (models, slots, base items) complete cases."""
    return values[0].astype(np.float64) if len(values) else np.zeros(values.shape[1:])


def _complete_base_items(grid: Grid, complete: Bools, models: Bools, slots: Bools) -> Bools:
    """Which base items are complete, (base items,); checks that they fill [models, slots]."""
    whole = complete[np.ix_(models, slots)]
    counted = filled_base_items(whole)
    if int(complete.sum()) != int(counted.sum()) * whole.shape[0] * whole.shape[1]:
        raise StoreError(
            "rows marked complete do not fill every cell of their base items",
            where=f"treebank {grid.treebank}",
            hint="pass the outcomes through mark_complete, all models of the run together",
        )
    return counted


def sums_by_run(values: Int64s, starts: Int64s) -> Int64s:
    """Sums over runs of the last axis that begin at `starts`: (…, runs)."""
    if not len(starts):
        return np.zeros((*values.shape[:-1], 0), dtype=np.int64)
    return np.asarray(np.add.reduceat(values, starts, axis=-1), dtype=np.int64)


def run_starts(*keys: npt.NDArray[np.int64]) -> Int64s:
    """Where runs of equal keys begin; the keys are sorted together."""
    if not len(keys[0]):
        return np.zeros(0, dtype=np.int64)
    change = np.zeros(len(keys[0]), dtype=np.bool_)
    change[0] = True
    for key in keys:
        change[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(change)
