"""A share of outcomes that come in clusters (items of a sentence, draws of an example), with its interval."""

from typing import Any

import numpy as np

from evaluator.reduce.intervals import effective_size, wilson
from evaluator.types import Bools, Int64s


def share(hits: Bools, known: Bools, cluster: Int64s, confidence: float) -> dict[str, Any]:
    """`n`, `value` and `ci` of the share hits / n over the known outcomes; null without any.

    Wilson interval with Kish's effective sample size over clusters (`evaluator.reduce.intervals`).
    """
    n = int(known.sum())
    if not n:
        return {"n": 0, "value": None, "ci": None}
    total, effective = _counted(hits[known], cluster[known])
    return _figures(total, n, effective, confidence)


def balanced_share(hits: Bools, cluster: Int64s, stratum: Int64s, confidence: float) -> dict[str, Any]:
    """`share` of outcomes of which every stratum has as many by design, which makes the interval narrower.

    The variance of the mean is Σ_c p̃_c (1 − p̃_c) / m_c / k² for k strata of effective size m_c, p̃_c = (p_c m_c + ½) /
    (m_c + 1) so that a stratum without a miss has some; Wilson's effective size is p̃ (1 − p̃) over it, p̃ the mean of
    the p̃_c. With one stratum it is `share`. Source: stratified mean, Cochran 1977 §5; ½: Jeffreys.
    """
    if not len(hits):
        return {"n": 0, "value": None, "ci": None}
    strata = np.unique(stratum)
    middles, variance = [], 0.0
    for own in (stratum == s for s in strata):
        total, effective = _counted(hits[own], cluster[own])
        middle = (total / int(own.sum()) * effective + 0.5) / (effective + 1)
        middles.append(middle)
        variance += middle * (1 - middle) / effective / len(strata) ** 2
    mean = float(np.mean(middles))
    return _figures(int(hits.sum()), len(hits), mean * (1 - mean) / variance, confidence)


def _counted(hits: Bools, cluster: Int64s) -> tuple[int, float]:
    """The hits, and how many independent outcomes the clustered ones are worth."""
    _, index = np.unique(cluster, return_inverse=True)
    of_cluster = np.bincount(index).astype(np.int64)
    cluster_hits = np.bincount(index, weights=hits).astype(np.int64)
    return int(cluster_hits.sum()), float(effective_size(cluster_hits, of_cluster))


def _figures(total: int, n: int, effective: float, confidence: float) -> dict[str, Any]:
    low, high = wilson(np.array([total]), np.array([n]), np.array([effective], dtype=np.float64), confidence)
    return {"n": n, "value": total / n, "ci": [float(low[0]), float(high[0])]}
