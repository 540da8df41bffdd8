"""Accuracy by how much of the order is left: the items of all perturbations of order, in bins of Kendall's tau."""

import numpy as np

from evaluator.reduce.block import Block, Int8s
from evaluator.reduce.cells import Row
from evaluator.reduce.intervals import effective_size, wilson
from evaluator.types import Float64s, Int64s

BINS = 6
"""Bins that hold about as many items each; fewer where many items have the same tau."""


def block_doses(block: Block, confidence: float) -> list[Row]:
    """One row per (model, bin), the least order first: forms only, all conditions but `orig`, every draw.

    `n` counts items, and `n_sentences` the clusters of the interval. The bins are the same for all models; they differ
    in which conditions they hold, so they show an association and no effect of the dose alone.
    """
    slots = [
        s for s, c in enumerate(block.cell_of_slot) if block.cells[c].condition != "orig" and not block.cells[c].lemma
    ]
    tau = block.tau[slots].ravel()
    if not len(tau):
        return []
    bins = _bins(tau)
    sentence = np.tile(block.sentence, len(slots))
    items_of = [np.flatnonzero(bins == b) for b in range(int(bins.max()) + 1)]
    rows: list[Row] = []
    for m, model in enumerate(block.models):
        found = block.hit1[m][slots].ravel()
        per_sentence = [_by_sentence(found[items], sentence[items]) for items in items_of]
        hits, n = (np.array([by[i].sum() for by in per_sentence], dtype=np.int64) for i in (0, 1))
        effective = np.array([effective_size(*by) for by in per_sentence], dtype=np.float64)
        low, high = wilson(hits, n, effective, confidence)
        for b, items in enumerate(items_of):
            inside = tau[items]
            row: Row = {"model": model, "treebank": block.treebank, "language": block.language}
            row |= {"tau": float(inside.mean()), "tau_min": float(inside.min()), "tau_max": float(inside.max())}
            row |= {"n": int(n[b]), "n_sentences": len(per_sentence[b][0])}
            rows.append(row | {"top1": int(hits[b]) / int(n[b]), "top1_ci": [float(low[b]), float(high[b])]})
    return rows


def _by_sentence(hits: Int8s, sentence: Int64s) -> tuple[Int64s, Int64s]:
    """Hits and items of each sentence that has an item here."""
    _, cluster, sizes = np.unique(sentence, return_inverse=True, return_counts=True)
    return np.bincount(cluster, weights=hits).astype(np.int64), sizes


def _bins(tau: Float64s) -> Int64s:
    """The bin of each value, from 0, by quantiles; equal values share a bin, and no bin is empty."""
    edges = np.unique(np.quantile(tau, np.arange(1, BINS) / BINS, method="lower"))
    codes = np.searchsorted(edges, tau, side="left")
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
