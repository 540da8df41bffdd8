"""The matched items cell by cell: both accuracies, paired Δ = B − A, the exact test, ΔS and ΔI, the verdict."""

import math

import numpy as np
from scipy.special import ndtri

from evaluator.compare.match import A, B, Matched
from evaluator.reduce.block import ORIG, ORIG_L, Block, blocks
from evaluator.reduce.cells import Row, block_cells
from evaluator.reduce.comparisons import ALPHA, Side, adjust, compare_sides, decided
from evaluator.reduce.grid import Cell
from evaluator.reduce.intervals import percentile_interval
from evaluator.reduce.metrics import interaction, sensitivity
from evaluator.reduce.paired import Paired, paired
from evaluator.report.formats import number
from evaluator.types import Float64s

POWER = 0.8
"""Chance with which a difference of the size stated as visible would have been found."""


def matched_cells(matched: Matched, *, resamples: int, confidence: float, seed: int) -> list[Row]:
    """One row per treebank and cell: `top1_a`, `top1_b` (each with `_ci`), Δ and its test, ΔS, ΔI; not adjusted yet.

    `delta` = A@1(B) − A@1(A) over the same base items, interval and `p` as in `block_comparisons`; of the pairs of
    items `only_a` are hits for A alone, `only_b` for B alone. `delta_S`, `delta_I` with paired intervals are there only
    where neither side is at the floor; `delta_I_logp` has no floor: I in log-probability, each side over its own
    expressible golds.
    """
    rows = []
    for block in blocks(matched.outcomes):
        stats = paired(block, resamples=resamples, seed=seed)
        cells = {(r["model"], Cell(r["condition"], r["lemma"])): r for r in block_cells(stats, confidence)}
        for cell in block.all_cells:
            sides = {"a": cells.get((A, cell)), "b": cells.get((B, cell))}
            row: Row = {"treebank": block.treebank, "language": block.language}
            row |= {"condition": cell.condition, "lemma": cell.lemma, "n_sentences": block.n_sentences}
            for name, found in sides.items():
                values = {key: (found or {}).get(key) for key in ("top1", "top1_ci", "S", "I", "I_logp")}
                row |= {f"top1_{name}": values["top1"], f"top1_{name}_ci": values["top1_ci"]}
                row |= {f"S_{name}": values["S"], f"I_{name}": values["I"], f"I_logp_{name}": values["I_logp"]}
            compared = compare_sides(stats, Side(B, cell), Side(A, cell), confidence)
            compared["only_a"], compared["only_b"] = compared["only_b"], compared["only_a"]
            floors = {key: any(bool((found or {}).get(key, True)) for found in sides.values()) for key in _FLOORS}
            rows.append(row | compared | _contrasts(stats, cell, floors, confidence))
    return rows


_FLOORS = ("S_floor", "floor")


def _contrasts(stats: Paired, cell: Cell, floors: dict[str, bool], confidence: float) -> Row:
    """ΔS = S(B) − S(A) and ΔI with paired percentile intervals; null at the floor of either side, or undefined."""
    row: Row = dict.fromkeys(("delta_S", "delta_S_ci", "delta_I", "delta_I_ci", "delta_I_logp", "delta_I_logp_ci"))
    block = stats.block
    if cell == ORIG or not block.n_base or not {A, B} <= set(block.models) or not {ORIG, cell} <= set(block.cells):
        return row
    if not floors["S_floor"]:
        drawn = [
            sensitivity(*(stats.resampled_accuracy(side, x, 2 * i + j) for j, x in enumerate((ORIG, cell))))
            for i, side in enumerate((A, B))
        ]
        points = [float(sensitivity(*(_accuracy(stats, side, x) for x in (ORIG, cell)))) for side in (A, B)]
        row |= _difference("delta_S", points, drawn, block, confidence)
    if not floors["floor"] and cell in stats.interacting:
        four = (ORIG, cell, ORIG_L, Cell(cell.condition, lemma=True))
        drawn = [
            interaction(*(stats.resampled_accuracy(side, x, 4 * i + j) for j, x in enumerate(four)))
            for i, side in enumerate((A, B))
        ]
        points = [float(interaction(*(_accuracy(stats, side, x) for x in four))) for side in (A, B)]
        row |= _difference("delta_I", points, drawn, block, confidence)
    if cell in stats.interacting:
        known = [found for side in (A, B) if (found := stats.interaction_logp(side, cell, confidence))]
        if len(known) == 2:
            drawn = [stats.resampled_interaction_logp(side, cell) for side in (A, B)]
            row |= _difference("delta_I_logp", [point for point, _ in known], drawn, block, confidence)
    return row


def _accuracy(stats: Paired, side: str, cell: Cell) -> Float64s:
    return np.asarray(stats.accuracy1[stats.block.models.index(side), stats.block.cells.index(cell)])


def _difference(name: str, points: list[float], drawn: list[Float64s], block: Block, confidence: float) -> Row:
    point = points[1] - points[0]
    ends = percentile_interval(drawn[1] - drawn[0], point, confidence) if block.n_sentences > 1 else None
    return {name: point, f"{name}_ci": list(ends) if ends else None}


def judge(rows: list[Row], confidence: float) -> None:
    """Sets `p_holm`, `could_see`, `decision` and `verdict` of the rows, all of them one family.

    `could_see`, where no difference was detected: the smallest |Δ| that the test would have found with a chance of
    80 %, (z₁₋α' ⁄ ₂ + z.₈) · SE, at the level α' = .05 / (rows not rejected) that Holm's procedure had reached; SE from
    the paired interval. Never under the fewest one-sided flips that can reach that level.
    """
    adjust(rows)
    for row in rows:
        row["decision"] = decided(row["delta"], row["p_holm"])
    left = sum(row["decision"] == "undetected" for row in rows)
    for row in rows:
        row["could_see"] = _could_see(row, ALPHA / left, confidence) if row["decision"] == "undetected" else None
        seen = f" (could have seen ≥ {number(row['could_see'])})" if row["could_see"] is not None else ""
        row["verdict"] = f"no difference detected{seen}" if row["decision"] == "undetected" else row["decision"]


def _could_see(row: Row, level: float, confidence: float) -> float | None:
    fewest = math.ceil(1 - math.log2(level)) / row["n"]
    if row["delta_ci"] is None:
        return None
    low, high = row["delta_ci"]
    error = (high - low) / (2 * float(ndtri(0.5 + confidence / 2)))
    smallest = (float(ndtri(1 - level / 2)) + float(ndtri(POWER))) * error
    return float(min(1.0, max(smallest, fewest)))
