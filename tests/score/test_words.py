"""The k best words are exact."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.score.words import k_best, near_ties, places


def brute_force(ids: np.ndarray, logp: np.ndarray, k: int) -> list[tuple[float, tuple[int, ...]]]:
    """All tuples of one word, best first, ties by ids. Sums run from the first mask on, as in `k_best`."""
    masks, candidates = ids.shape
    scored = []
    for choice in itertools.product(range(candidates), repeat=masks):
        total = 0.0
        for mask, c in enumerate(choice):
            total += float(logp[mask, c])
        scored.append((-total, tuple(int(ids[mask, c]) for mask, c in enumerate(choice))))
    return [(-s, t) for s, t in sorted(scored)[:k]]


def test_equals_brute_force_on_ten_thousand_random_words() -> None:
    rng = np.random.default_rng(7)
    checked = 0
    for _ in range(400):
        masks, vocabulary, k = int(rng.integers(1, 5)), int(rng.integers(2, 7)), int(rng.integers(1, 7))
        words = 25
        ids = np.stack([[rng.permutation(vocabulary) for _ in range(masks)] for _ in range(words)])
        # Few distinct values, so that ties are common.
        logp = -rng.integers(1, 5, (words, masks, vocabulary)).astype(np.float32) / 4
        order = np.lexsort((ids, -logp), axis=2)
        ids, logp = np.take_along_axis(ids, order, 2), np.take_along_axis(logp, order, 2)
        best, total = k_best(ids[:, :, : max(k, 1)], logp[:, :, : max(k, 1)], k)
        for w in range(words):
            expected = brute_force(ids[w], logp[w], k)
            assert [tuple(t) for t in best[w].tolist()] == [t for _, t in expected]
            np.testing.assert_allclose(total[w], [s for s, _ in expected], rtol=0, atol=1e-12)
            checked += 1
    assert checked == 10_000


@given(st.integers(1, 4), st.integers(2, 6), st.integers(0, 10_000))
def test_gold_among_the_best_only_if_its_ranks_allow(masks: int, vocabulary: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logp = -np.sort(rng.random((1, masks, vocabulary)))
    ids = np.tile(np.arange(vocabulary), (1, masks, 1))
    best, _ = k_best(ids, logp, 5)
    for gold in best[0]:
        assert np.prod(gold + 1) <= 5, "a word with r_i better-or-equal pieces at mask i has prod r_i - 1 better words"


def test_places_and_near_ties() -> None:
    best = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert places(best, np.array([[3, 4], [9, 9]])).tolist() == [2, 0]
    assert near_ties(np.array([[-1.0, -1.000001], [-1.0, -2.0]])).tolist() == [True, False]


def test_fewer_words_than_k() -> None:
    best, total = k_best(np.array([[[4, 2]]]), np.array([[[-1.0, -2.0]]]), 5)
    assert best.tolist() == [[[4], [2]]]
    assert total.tolist() == [[-1.0, -2.0]]
