"""Paired comparisons of top-1 accuracy on the same base items: Δ with its interval, discordant pairs, p, Holm.

Three families, each adjusted by itself: `conditions` (every condition against `orig` in the same spelling; one family
per model and treebank), `inflection` (+L against forms, per condition; one per model and treebank) and `models` (every
two models in every cell; one per treebank). Nothing is adjusted across treebanks: each is its own replication.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from evaluator.reduce.block import Block, Reason
from evaluator.reduce.cells import Row
from evaluator.reduce.grid import Cell
from evaluator.reduce.intervals import percentile_interval
from evaluator.reduce.paired import Paired
from evaluator.reduce.permutation import holm, sign_flip_p
from evaluator.types import Int64s

Family = Literal["conditions", "inflection", "models"]
Decision = Literal["higher", "lower", "undetected", "not comparable"]
ALPHA = 0.05
"""Chance of any false finding in a family that a verdict accepts."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison."""

    model: str
    cell: Cell

    def row(self) -> Row:
        """As in report.json."""
        return {"model": self.model, "condition": self.cell.condition, "lemma": self.cell.lemma}


def block_comparisons(stats: Paired, confidence: float) -> list[Row]:
    """The comparisons of one treebank, family by family.

    `delta` = A@1(a) − A@1(b) with the paired bootstrap over sentences (see `intervals`); `n` pairs of items, of which
    `only_a` are hits for a alone; `p` the exact sign-flip test over sentences (McNemar's where a sentence has one pair)
    and `p_mid` its mid-p, which is uniform under the null where p is conservative; `p_holm` adjusts `p` within
    the family. Without data all of these are null and `reason` says why.
    """
    block = stats.block
    rows = []
    for model in block.all_models:
        rows += _family(stats, "conditions", _against_orig(block, model), confidence)
        rows += _family(stats, "inflection", _against_form(block, model), confidence)
    return rows + _family(stats, "models", _between_models(block), confidence)


def _against_orig(block: Block, model: str) -> list[tuple[Side, Side]]:
    pairs = [(cell, Cell("orig", cell.lemma)) for cell in block.all_cells if cell.condition != "orig"]
    return [(Side(model, cell), Side(model, orig)) for cell, orig in pairs if orig in block.all_cells]


def _against_form(block: Block, model: str) -> list[tuple[Side, Side]]:
    pairs = [(cell, Cell(cell.condition, lemma=False)) for cell in block.all_cells if cell.lemma]
    return [(Side(model, cell), Side(model, form)) for cell, form in pairs if form in block.all_cells]


def _between_models(block: Block) -> list[tuple[Side, Side]]:
    return [(Side(a, cell), Side(b, cell)) for a, b in combinations(block.all_models, 2) for cell in block.all_cells]


def _family(stats: Paired, family: Family, pairs: list[tuple[Side, Side]], confidence: float) -> list[Row]:
    rows: list[Row] = []
    for a, b in pairs:
        row: Row = {"family": family, "treebank": stats.block.treebank, "language": stats.block.language}
        rows.append(row | {"a": a.row(), "b": b.row()} | compare_sides(stats, a, b, confidence))
    adjust(rows)
    return rows


def adjust(family: list[Row]) -> None:
    """Sets `p_holm` of the rows that were tested, all of them one family."""
    tested = [row for row in family if row["p"] is not None]
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = adjusted


def decided(delta: float | None, adjusted: float | None) -> Decision:
    """What may be said of a difference whose Holm-adjusted p is `adjusted`: a direction only below `ALPHA`."""
    if delta is None or adjusted is None:
        return "not comparable"
    if adjusted >= ALPHA or delta == 0:
        return "undetected"
    return "higher" if delta > 0 else "lower"


def compare_sides(stats: Paired, a: Side, b: Side, confidence: float) -> Row:
    """A row of `block_comparisons` from `n` to `reason`, `p_holm` still null."""
    row: Row = {"n": 0} | dict.fromkeys(("delta", "delta_ci", "only_a", "only_b", "p", "p_mid", "p_holm"))
    row["reason"] = _missing(stats.block, a) or _missing(stats.block, b)
    return row | _compare(stats, a, b, confidence) if row["reason"] is None else row


def _missing(block: Block, side: Side) -> Reason | None:
    return block.missing(side.model, side.cell)


def _compare(stats: Paired, a: Side, b: Side, confidence: float) -> Row:
    block = stats.block
    m, c = (block.models.index(side.model) for side in (a, b)), (block.cells.index(side.cell) for side in (a, b))
    (m_a, m_b), (c_a, c_b) = m, c
    delta = float(stats.accuracy1[m_a, c_a] - stats.accuracy1[m_b, c_b])
    drawn = stats.resampled_accuracy(a.model, a.cell, 0) - stats.resampled_accuracy(b.model, b.cell, 1)
    interval = percentile_interval(drawn, delta, confidence) if block.n_sentences > 1 else None
    # Hits per draw as integers over a common denominator, so that the test is exact with any numbers of draws.
    draws_a, draws_b = len(block.draws[c_a]), len(block.draws[c_b])
    common = int(np.lcm(draws_a, draws_b))
    differences = stats.hits1[m_a, c_a] * (common // draws_a) - stats.hits1[m_b, c_b] * (common // draws_b)
    p, p_mid = sign_flip_p(differences)
    only_a, only_b, n = _discordant(block, a, b)
    return {
        "n": n, "delta": delta, "delta_ci": list(interval) if interval else None, "only_a": only_a, "only_b": only_b,
        "p": p, "p_mid": p_mid,
    }  # fmt: skip


def _discordant(block: Block, a: Side, b: Side) -> tuple[int, int, int]:
    """Pairs of items hit by a alone, by b alone, and all pairs: same draw, or each draw with the other's single one."""
    hits: list[Int64s] = []
    draws: list[list[int]] = []
    for side in (a, b):
        hits.append(block.hit1[block.models.index(side.model), block.slots(side.cell)].astype(np.int64))
        draws.append(block.draws[block.cells.index(side.cell)])
    if len(draws[0]) > 1 and len(draws[1]) > 1:
        shared = sorted(set(draws[0]) & set(draws[1]))
        hits = [h[[own.index(draw) for draw in shared]] for h, own in zip(hits, draws, strict=True)]
    only_a, only_b = hits[0] > hits[1], hits[0] < hits[1]
    return int(only_a.sum()), int(only_b.sum()), int(only_a.size)
