"""Paired tests: exactness against enumeration and scipy, uniformity under the null, Holm."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluator.reduce.complete import mark_complete
from evaluator.reduce.permutation import holm, sign_flip_p
from evaluator.reduce.summary import report_data
from tests.reduce.synthetic import run, table


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flip_equals_enumeration(differences: list[int]) -> None:
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    seen = abs(sum(differences))
    more, equal = sum(abs(s) > seen for s in sums) / len(sums), sum(abs(s) == seen for s in sums) / len(sums)
    p, mid = sign_flip_p(np.array(differences, dtype=np.int64))
    assert p == pytest.approx(more + equal)
    assert mid == pytest.approx(more + equal / 2 if any(differences) else 1.0)


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_one_pair_a_sentence_is_mcnemar(only_a: int, only_b: int) -> None:
    p, _ = sign_flip_p(np.array([1] * only_a + [-1] * only_b + [0] * 10, dtype=np.int64))
    expected = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert p == pytest.approx(max(expected, 1e-40), rel=1e-6, abs=1e-38)


def null_differences(sentences: int, per_sentence: int, simulations: int) -> np.ndarray:
    """Differences of two equally good sides whose items share their sentence's ease: (simulations, sentences)."""
    rng = np.random.default_rng(5)
    ease = rng.normal(size=(simulations, sentences, 1, 1))
    side = rng.normal(size=(simulations, sentences, 1, 2)) * 1.5  # a whole sentence suits one side better
    hits = ease + side + rng.normal(size=(simulations, sentences, per_sentence, 2)) < -0.5
    return np.asarray((hits[..., 0].astype(int) - hits[..., 1]).sum(axis=2))


@pytest.mark.parametrize("per_sentence", [1, 4])
def test_null_p_values_are_uniform(per_sentence: int) -> None:
    differences = null_differences(300, per_sentence, 2000)
    p, mid = np.array([sign_flip_p(row) for row in differences]).T
    # The test is discrete. Spread over its own atom (p − atom, p], p is uniform exactly, whatever the sample size.
    atom = np.minimum(2 * (p - mid), p)
    spread = p - atom * np.random.default_rng(0).random(len(p))
    assert stats.kstest(spread, "uniform").pvalue > 0.01
    assert 0.03 < (p <= 0.05).mean() <= 0.055
    assert 0.04 < (mid <= 0.05).mean() < 0.06


def test_mcnemar_on_items_would_find_too_much_where_items_share_a_sentence() -> None:
    rng = np.random.default_rng(5)
    side = rng.normal(size=(500, 100, 1, 2)) * 1.5
    hits = side + rng.normal(size=(500, 100, 4, 2)) < -0.5
    a, b = hits[..., 0].reshape(500, -1), hits[..., 1].reshape(500, -1)
    found = [stats.binomtest(int((x & ~y).sum()), int((x ^ y).sum())).pvalue for x, y in zip(a, b, strict=True)]
    assert np.mean(np.array(found) < 0.05) > 0.1


def test_holm_is_scipys_idea_of_it_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0] and holm([]) == []


def test_a_model_against_itself_shows_nothing() -> None:
    rows = run(sentences=20, models=("m1",))
    data = report_data(mark_complete(table(rows + [row | {"model": "m2"} for row in rows])), resamples=40)
    twins = [row for row in data["comparisons"] if row["family"] == "models"]
    assert len(twins) == 6
    for row in twins:
        assert (row["delta"], row["p"], row["p_holm"], row["only_a"], row["only_b"]) == (0.0, 1.0, 1.0, 0, 0)
        assert row["delta_ci"][0] < 0 < row["delta_ci"][1]


def test_families_and_their_sizes() -> None:
    data = report_data(mark_complete(table(run(sentences=12, models=("m1", "m2", "m3")))), resamples=20)
    sizes = {
        name: sum(row["family"] == name for row in data["comparisons"])
        for name in ("conditions", "inflection", "models")
    }
    assert sizes == {"conditions": 3 * 2 * 2, "inflection": 3 * 3, "models": 3 * 6}
    for row in data["comparisons"]:
        assert row["p"] <= row["p_holm"] <= 1 and row["n"] == 12
