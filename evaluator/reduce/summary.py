"""The statistics of report.json in one pass over the outcomes: cells, breakdowns, draws, comparisons, counts."""

from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.reduce.block import Block, blocks
from evaluator.reduce.breakdowns import DIMENSIONS, block_breakdowns
from evaluator.reduce.cells import Row, block_cells
from evaluator.reduce.comparisons import block_comparisons
from evaluator.reduce.doses import block_doses
from evaluator.reduce.draws import block_draws
from evaluator.reduce.grid import coded
from evaluator.reduce.paired import paired

COLUMNS = (
    "model", "treebank", "language", "sent_id", "base_id", "condition", "lemma", "seed", "draw", "upos", "deprel",
    "feats", "n_units", "n_masks", "kendall_tau", "gold_logp", "correct1", "correct5", "status", "reason", "complete",
)  # fmt: skip
"""The columns of the outcomes that statistics read: enough to load for a new table from a finished run."""


def report_data(
    outcomes: pa.Table, *, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> dict[str, Any]:
    """`cells`, `breakdowns`, `draws`, `doses`, `comparisons`, `counts`, `intervals` of report.json; needs `complete`.

    A treebank's part depends on its own rows and on (resamples, confidence, seed) alone, in any order of rows. Nothing
    is rounded. See `reduce_cells`, `block_breakdowns`, `block_draws`, `block_doses`, `block_comparisons` for the rows.
    """
    cells: list[Row] = []
    draws: list[Row] = []
    doses: list[Row] = []
    comparisons: list[Row] = []
    breakdowns: dict[str, list[Row]] = {name: [] for name in DIMENSIONS}
    treebanks = _status_counts(outcomes)
    for block in blocks(outcomes):
        stats = paired(block, resamples=resamples, seed=seed)
        cells += block_cells(stats, confidence)
        comparisons += block_comparisons(stats, confidence)
        draws += block_draws(block)
        doses += block_doses(block, confidence)
        for name, rows in block_breakdowns(block, confidence).items():
            breakdowns[name] += rows
        treebanks[block.treebank] |= _block_counts(block)
    return {
        "cells": cells,
        "breakdowns": breakdowns,
        "draws": draws,
        "doses": doses,
        "comparisons": comparisons,
        "counts": _totals(treebanks),
        "intervals": {"resamples": resamples, "confidence": confidence, "seed": seed},
    }


def _status_counts(outcomes: pa.Table) -> dict[str, Row]:
    """Per treebank: items = scored + skipped by reason, items being rows (one item under one model)."""
    treebank, status, reason = (coded(outcomes, name) for name in ("treebank", "status", "reason"))
    shape = (len(treebank.names), len(status.names), len(reason.names) + 1)
    at = np.ravel_multi_index((treebank.codes, status.codes, reason.codes + 1), shape)
    table = np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)
    why = ["unstated", *reason.names]
    counts: dict[str, Row] = {}
    for name, by_status in zip(treebank.names, table, strict=True):
        n = dict(zip(status.names, by_status.tolist(), strict=True))
        lost = [sum(row[r] for s, row in n.items() if s != "scored") for r in range(shape[2])]
        counts[name] = {
            "items": int(by_status.sum()),
            "scored": sum(n.get("scored", [])),
            "skipped": dict(sorted((why[r], count) for r, count in enumerate(lost) if count)),
            "failed": sum(n.get("failed", [])),
            "not_expressible": dict(zip(why, n.get("scored", []), strict=False)).get("not_expressible", 0),
        }
    return counts


def _block_counts(block: Block) -> Row:
    """A treebank's items, its complete cases, and the models and cells that do not take part in them."""
    return {
        "language": block.language,
        "base_items": block.all_base_items,
        "distinct_items": block.all_items,
        "complete_base_items": block.n_base,
        "sentences": block.n_sentences,
        "models_left_out": [model for model in block.all_models if model not in block.models],
        "cells_left_out": [
            {"condition": cell.condition, "lemma": cell.lemma} for cell in block.all_cells if cell not in block.cells
        ],
    }


def _totals(treebanks: dict[str, Row]) -> Row:
    """`counts` of report.json; `unique_rows` is null here, for encoding knows it.

    `skipped` holds every row that is not scored, `failed` how many of them failed; `not_expressible` rows are scored.
    """
    names = ("base_items", "items", "distinct_items", "scored", "not_expressible", "failed", "complete_base_items")
    totals: Row = {name: sum(row[name] for row in treebanks.values()) for name in names}
    skipped: dict[str, int] = {}
    for row in treebanks.values():
        for why, n in row["skipped"].items():
            skipped[why] = skipped.get(why, 0) + n
    return totals | {"unique_rows": None, "skipped": dict(sorted(skipped.items())), "treebanks": treebanks}
