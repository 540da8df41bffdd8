"""The cells of the report: one row per (model, treebank, condition, ±L) with its metrics and intervals."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.reduce.block import ORIG, ORIG_L, Block, blocks
from evaluator.reduce.grid import Cell
from evaluator.reduce.intervals import effective_size, percentile_interval, wilson
from evaluator.reduce.metrics import (
    at_floor,
    drop,
    interaction,
    interaction_range,
    interaction_range_no_gain,
    sensitivity,
)
from evaluator.reduce.paired import Paired, paired
from evaluator.types import Float64s, Int64s

Row = dict[str, Any]
EMPTY: Row = dict.fromkeys(
    (
        "top1", "top1_ci", "top5", "top5_ci", "mean_gold_logp", "n_logp", "D", "D_ci", "S", "S_ci", "I", "I_ci",
        "I_range", "I_range_no_gain", "I_logp", "I_logp_ci", "floor", "S_floor", "reason", "masks", "masks_changed",
    )
)  # fmt: skip


def reduce_cells(outcomes: pa.Table, *, resamples: int = 2000, confidence: float = 0.95, seed: int = 0) -> list[Row]:
    """The `cells` of report.json, over rows marked complete; sorted by treebank, model, condition, ±L.

    `n` counts base items and is the same in all cells of a treebank, `n_items` those times the cell's draws,
    `n_sentences` the clusters. D, S, I compare top-1; D and S are null on `orig` with forms, where they are 0 by
    definition. I, its ranges and I_logp stand on the row without +L and are null on the other. `floor` says of c and
    c+L together, on both rows, that I speaks of the floor; `S_floor` that `orig` has too few hits for S (see
    `metrics.at_floor`). A null that the data caused has a `reason` (`block.REASONS`). `n_logp` counts items with a
    log-probability; `masks` is the mean number of masks and `masks_changed`, on +L rows, the share of base items with
    another number of masks than with forms.
    """
    return [
        row
        for block in blocks(outcomes)
        for row in block_cells(paired(block, resamples=resamples, seed=seed), confidence)
    ]


def block_cells(stats: Paired, confidence: float) -> list[Row]:
    """The cells of one treebank."""
    block = stats.block
    tops = {"top1": _proportions(stats, stats.hits1, confidence), "top5": _proportions(stats, stats.hits5, confidence)}
    rows = []
    for model in block.all_models:
        for cell in block.all_cells:
            row: Row = {"model": model, "treebank": block.treebank, "language": block.language}
            row |= {"condition": cell.condition, "lemma": cell.lemma, "n": 0, "n_items": 0, "n_sentences": 0} | EMPTY
            row["reason"] = block.missing(model, cell)
            if row["reason"] is None:
                m, c = block.models.index(model), block.cells.index(cell)
                n_items = block.n_base * len(block.draws[c])
                row |= {"n": block.n_base, "n_items": n_items, "n_sentences": block.n_sentences}
                for name, (share, low, high) in tops.items():
                    row |= {name: float(share[m, c]), f"{name}_ci": [float(low[m, c]), float(high[m, c])]}
                row |= _logp(block, m, cell) | _masks(block, m, cell)
                row |= _contrasts(stats, model, cell, confidence)
            rows.append(row)
    return rows


def _proportions(stats: Paired, hits: Int64s, confidence: float) -> tuple[Float64s, Float64s, Float64s]:
    """A@k and its Wilson limits, each (models, cells)."""
    draws = stats.block.draws_per_cell
    total = hits.sum(axis=-1)
    n = np.broadcast_to(stats.block.n_base * draws, total.shape)
    effective = effective_size(hits, stats.sizes[None, None, :] * draws[None, :, None])
    low, high = wilson(total, n, effective, confidence)
    with np.errstate(invalid="ignore"):
        return total / n, low, high


def _logp(block: Block, m: int, cell: Cell) -> Row:
    """Mean gold log-probability (nats) over items that have one; golds that are not expressible have none."""
    values = block.gold_logp[m, block.slots(cell)].ravel()
    values = values[~np.isnan(values)]
    # fsum rounds once, so the mean does not depend on the order of summation.
    return {"mean_gold_logp": math.fsum(values) / len(values) if len(values) else None, "n_logp": len(values)}


def _masks(block: Block, m: int, cell: Cell) -> Row:
    masks = block.masks[m, block.slots(cell)]
    known = masks >= 0
    mean = int(masks[known].sum(dtype=np.int64)) / int(known.sum()) if known.any() else None
    form = Cell(cell.condition, lemma=False)
    if not cell.lemma or form not in block.cells:
        return {"masks": mean}
    changed = masks[0] != block.masks[m, block.slots(form)][0]
    return {"masks": mean, "masks_changed": int(changed.sum()) / block.n_base}


def _contrasts(stats: Paired, model: str, cell: Cell, confidence: float) -> Row:
    """D, S, I and what goes with them."""
    block = stats.block
    if ORIG not in block.cells:
        return {"reason": "no_orig"}
    point = dict(zip(block.cells, stats.accuracy1[block.models.index(model)], strict=True))
    few = bool(at_floor(point[ORIG], point[ORIG], block.n_base))
    row: Row = {"floor": few or _floor(block, point, cell.condition), "S_floor": few}
    if cell == ORIG:
        return row

    def interval(values: Float64s, estimate: float) -> list[float] | None:
        found = percentile_interval(values, estimate, confidence) if block.n_sentences > 1 else None
        return list(found) if found else None

    orig, here = (stats.resampled_accuracy(model, x, role) for role, x in enumerate((ORIG, cell)))
    row["D"] = float(drop(point[ORIG], point[cell]))
    row["D_ci"] = interval(drop(orig, here), row["D"])
    if point[ORIG] > 0:
        row["S"] = float(sensitivity(point[ORIG], point[cell]))
        row["S_ci"] = interval(sensitivity(orig, here), row["S"])
    else:
        row["reason"] = "orig_zero"
    if cell in stats.interacting:
        four = (ORIG, cell, ORIG_L, Cell(cell.condition, lemma=True))
        row["I"] = float(interaction(*(point[x] for x in four)))
        drawn = (stats.resampled_accuracy(model, x, role) for role, x in enumerate(four))
        row["I_ci"] = interval(interaction(*drawn), row["I"])
        row["I_range"] = [float(x) for x in interaction_range(*(point[x] for x in four[:3]))]
        row["I_range_no_gain"] = [float(x) for x in interaction_range_no_gain(*(point[x] for x in four[:3]))]
        logp = stats.interaction_logp(model, cell, confidence)
        row |= {"I_logp": logp[0], "I_logp_ci": logp[1]} if logp else {}
    elif not cell.lemma and row.get("reason") is None:
        row["reason"] = "no_lemma"
    return row


def _floor(block: Block, point: dict[Cell, Float64s], condition: str) -> bool:
    """`at_floor` in c or c+L, each against `orig` in the same spelling."""
    cells = [cell for cell in point if cell.condition == condition]
    low = [at_floor(point[cell], point.get(Cell("orig", cell.lemma), point[cell]), block.n_base) for cell in cells]
    return bool(any(low))
