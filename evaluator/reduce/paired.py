"""A block's accuracies with their paired resamples: computed once, shared by cells and comparisons."""

import math
from dataclasses import dataclass

import numpy as np

from evaluator.reduce.block import ORIG, ORIG_L, Block, run_starts, sums_by_run
from evaluator.reduce.grid import Cell
from evaluator.reduce.intervals import ROLES, Resamples, percentile_interval, resample, stream
from evaluator.reduce.metrics import interaction
from evaluator.types import Float64s, Int64s

LOGP_STEPS = 1 << 20
"""Resampled log-probabilities count in steps of 2⁻²⁰ nats, finer than the fp32 they come from, so sums are exact."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Hits per sentence, accuracies and resamples of one block."""

    block: Block
    starts: Int64s  # (sentences,) first base item of each
    sizes: Int64s  # (sentences,) base items of each
    hits1: Int64s  # (models, cells, sentences) over draws
    hits5: Int64s  # (models, cells, sentences)
    accuracy1: Float64s  # (models, cells)
    interacting: list[Cell]  # conditions that have all four cells of I
    logp_contrast: Float64s  # (models, interacting, base items) NaN where a gold of the four is not expressible
    drawn: Resamples  # columns: sizes, hits1, then steps and counts of logp_contrast

    def resampled_accuracy(self, model: str, cell: Cell, role: int) -> Float64s:
        """A@1 in each resample, (resamples,): (hits per draw + s·g) / (base items + s), g ~ Gamma(½, 1).

        s is the mean number of base items of a sentence; `role` picks the stream of g, one per cell compared. Roles
        past the streams drawn take one of them moved on by a resample, which is as independent.
        """
        m, c = self.block.models.index(model), self.block.cells.index(cell)
        column = 1 + m * len(self.block.cells) + c
        s = self.block.n_base / self.block.n_sentences
        hits = self.drawn.totals[:, column] / len(self.block.draws[c])
        pseudo = np.roll(self.drawn.pseudo[:, role % ROLES], role // ROLES)
        return np.asarray((hits + s * pseudo) / (self.drawn.totals[:, 0] + s))

    def interaction_logp(
        self, model: str, condition: Cell, confidence: float
    ) -> tuple[float, list[float] | None] | None:
        """I in log-probability and its percentile interval: mean of lp(orig) − lp(c) − lp(orig+L) + lp(c+L), nats.

        Over base items whose gold is expressible in all four; None without any. lp is the mean over draws. It has no
        floor: what accuracy can no longer lose, the gold's log-probability can.
        """
        m, x = self.block.models.index(model), self.interacting.index(condition)
        contrast = self.logp_contrast[m, x]
        kept = contrast[~np.isnan(contrast)]
        if not len(kept):
            return None
        point = math.fsum(kept) / len(kept)
        values = self.resampled_interaction_logp(model, condition)
        interval = percentile_interval(values, point, confidence) if self.block.n_sentences > 1 else None
        return point, list(interval) if interval else None

    def resampled_interaction_logp(self, model: str, condition: Cell) -> Float64s:
        """I in log-probability in each resample, (resamples,): NaN where no gold drawn is expressible in all four."""
        m, x = self.block.models.index(model), self.interacting.index(condition)
        width = len(self.block.models) * len(self.interacting)
        column = 1 + len(self.block.models) * len(self.block.cells) + m * len(self.interacting) + x
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.drawn.totals[:, column] / LOGP_STEPS / self.drawn.totals[:, column + width])


def paired(block: Block, *, resamples: int, seed: int) -> Paired:
    """The block's sums, accuracies and resamples; deterministic in (block, resamples, seed)."""
    starts = run_starts(block.sentence)
    sizes = np.diff(np.append(starts, block.n_base))
    hits1 = sums_by_run(block.per_cell(block.hit1), starts)
    hits5 = sums_by_run(block.per_cell(block.hit5), starts)
    interacting = _interacting(block)
    contrast = _logp_contrast(block, interacting)
    known = ~np.isnan(contrast)
    steps = np.where(known, np.rint(contrast * LOGP_STEPS), 0).astype(np.int64)
    parts = (sizes[None, None], hits1, sums_by_run(steps, starts), sums_by_run(known.astype(np.int64), starts))
    columns = np.concatenate([part.reshape(part.shape[0] * part.shape[1], len(starts)) for part in parts]).T
    with np.errstate(invalid="ignore"):
        accuracy1 = hits1.sum(axis=-1) / (np.float64(block.n_base) * block.draws_per_cell)
    rng = stream(seed, block.treebank)
    drawn = resample(columns, rng, resamples if block.n_base else 0)
    return Paired(block, starts, sizes, hits1, hits5, accuracy1, interacting, contrast, drawn)


def _interacting(block: Block) -> list[Cell]:
    """The form cells of conditions for which c, c+L, orig and orig+L all take part."""
    if ORIG not in block.cells or ORIG_L not in block.cells:
        return []
    return [
        cell for cell in block.cells if not cell.lemma and cell != ORIG and Cell(cell.condition, True) in block.cells
    ]


def _logp_contrast(block: Block, interacting: list[Cell]) -> Float64s:
    def mean_over_draws(cell: Cell) -> Float64s:
        return np.asarray(block.gold_logp[:, block.slots(cell)].mean(axis=1))  # (models, base items)

    out = np.empty((len(block.models), len(interacting), block.n_base))
    if not interacting:
        return out
    orig, orig_l = mean_over_draws(ORIG), mean_over_draws(ORIG_L)
    for x, cell in enumerate(interacting):
        out[:, x] = interaction(orig, mean_over_draws(cell), orig_l, mean_over_draws(Cell(cell.condition, True)))
    return out
