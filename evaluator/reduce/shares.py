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
    _, index = np.unique(cluster[known], return_inverse=True)
    of_cluster = np.bincount(index).astype(np.int64)
    cluster_hits = np.bincount(index, weights=hits[known]).astype(np.int64)
    total = int(cluster_hits.sum())
    low, high = wilson(
        np.array([total]),
        np.array([n]),
        np.array([effective_size(cluster_hits, of_cluster)], dtype=np.float64),
        confidence,
    )
    return {"n": n, "value": total / n, "ci": [float(low[0]), float(high[0])]}
