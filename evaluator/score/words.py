"""The k best words under independent masks, exactly.

With l_i(v) = log p(v at mask i), the score of a word (a tuple of pieces) is the sum over its masks; the k best words
are the k tuples of largest score, ties by ids. Two facts make this a small exact dynamic programme: a tuple that uses
a piece outside its mask's k best has k better tuples, so each mask's top k lose nothing; and every prefix of one of
the k best tuples is one of the k best prefixes, so k prefixes are enough. O(masks · k²) per word, over a whole batch.
"""

import numpy as np
import numpy.typing as npt

from evaluator.types import Bools, Float64s, Int64s

NEAR_TIE_NATS = 1e-4
"""Two words whose scores are closer than this may change places with the arithmetic of another machine or batch: word
scores of one row were seen to differ by 2.5e-5 nats with the rows beside it, on either side of a tie."""


def k_best(ids: Int64s, logp: npt.NDArray[np.floating], k: int) -> tuple[Int64s, Float64s]:
    """The k best words and their scores, best first; ties by smaller ids, compared from the first mask on.

    `ids`, `logp`: (words, masks, candidates), each mask's candidates best first. Returns (words, k', masks) int64 and
    (words, k') float64 in nats, k' = min(k, candidates ** masks). Scores are summed in float64.
    """
    words, masks, candidates = ids.shape
    scores = logp.astype(np.float64)
    best = np.zeros((words, 1, 0), dtype=np.int64)
    total = np.zeros((words, 1))
    for mask in range(masks):
        width = best.shape[1]
        sums = (total[:, :, None] + scores[:, None, mask, :]).reshape(words, width * candidates)
        tuples = np.concatenate(
            [np.repeat(best, candidates, axis=1), np.tile(ids[:, mask, :], (1, width))[:, :, None]], axis=2
        )
        keys = [tuples[:, :, m] for m in reversed(range(mask + 1))]
        order = np.lexsort((*keys, -sums), axis=1)[:, :k]
        best = np.take_along_axis(tuples, order[:, :, None], axis=1)
        total = np.take_along_axis(sums, order, axis=1)
    return best, total


def near_ties(scores: Float64s) -> Bools:
    """(words) whether any two neighbours among the best are closer than `NEAR_TIE_NATS`."""
    close: Bools = -np.diff(scores, axis=1) < NEAR_TIE_NATS
    any_close: Bools = np.any(close, axis=1)
    return any_close


def places(best: Int64s, golds: Int64s) -> Int64s:
    """(words) 1-based place of each gold among its k best; 0 when it is not there. golds: (words, masks)."""
    same = np.all(best == golds[:, None, :], axis=2)
    return np.where(same.any(axis=1), same.argmax(axis=1) + 1, 0)
