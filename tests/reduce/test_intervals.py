"""Intervals: exact values, and coverage on simulated paired data with a fixed seed."""

import numpy as np
import pytest
from scipy import stats

from evaluator.reduce.intervals import effective_size, percentile_interval, resample, stream, wilson
from evaluator.reduce.metrics import interaction, sensitivity
from evaluator.types import Float64s, Int64s

SIMULATIONS, RESAMPLES = 1500, 600


def limits(hits: int, n: int, effective: float) -> tuple[float, float]:
    low, high = wilson(np.array([hits]), np.array([n]), np.array([effective]), 0.95)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 400), (400, 400), (3, 400), (90, 400)])
def test_wilson_is_scipys_and_stays_in_the_unit_interval(hits: int, n: int) -> None:
    found = limits(hits, n, n)
    expected = stats.binomtest(hits, n).proportion_ci(0.95, "wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= found[0] <= hits / n <= found[1] <= 1


def test_effective_size_is_n_with_one_item_a_sentence_and_k_with_copies() -> None:
    hits = np.random.default_rng(0).integers(0, 2, size=200)
    ones = np.ones(200, dtype=np.int64)
    assert effective_size(hits, ones) == 200
    assert effective_size(hits * 3, ones * 3) == pytest.approx(200, rel=0.01)
    assert effective_size(hits * 0, ones * 3) == 200


def test_effective_size_of_independent_items_is_about_n() -> None:
    cluster_hits = np.random.default_rng(1).binomial(3, 0.3, size=(50, 400))
    found = effective_size(cluster_hits, np.full(400, 3))
    assert 1050 < found.mean() <= 1200


def test_resamples_are_the_documented_stream() -> None:
    columns = np.arange(12).reshape(6, 2)
    rng = stream(3, "T")
    drawn = resample(columns, stream(3, "T"), 4)
    for row in drawn.totals:
        assert row.tolist() == columns[rng.integers(0, 6, size=6)].sum(axis=0).tolist()
    assert (drawn.pseudo == rng.gamma(0.5, size=(4, 4))).all()
    assert (resample(columns, stream(3, "U"), 4).totals != drawn.totals).any()


def test_percentile_interval_without_finite_values_is_none() -> None:
    assert percentile_interval(np.array([np.nan]), 0.5, 0.95) is None
    assert percentile_interval(np.array([0.4, np.inf]), 0.5, 0.95) == (0.4, 0.5)


def simulated_hits(accuracy: tuple[float, ...], rho: float, n: int, per_sentence: int) -> Int64s:
    """Hits in orig, c, orig+L, c+L with a common ease: (n / per_sentence sentences, 4 · SIMULATIONS)."""
    rng = np.random.default_rng(20)
    sentences = n // per_sentence
    sentence = rng.normal(size=(SIMULATIONS, sentences, 1, 1)) * np.sqrt(rho / 2)
    item = rng.normal(size=(SIMULATIONS, sentences, per_sentence, 1)) * np.sqrt(rho / 2)
    own = rng.normal(size=(SIMULATIONS, sentences, per_sentence, 4)) * np.sqrt(1 - rho)
    hits = (sentence + item + own < stats.norm.ppf(accuracy)).sum(axis=2)
    return np.asarray(hits.transpose(1, 0, 2).reshape(sentences, -1), dtype=np.int64)


def coverage(accuracy: tuple[float, ...], rho: float, n: int, per_sentence: int = 1) -> tuple[float, float]:
    """Shares of simulations whose 95 % intervals of S and I hold the truth; all share one set of resamples."""
    hits = simulated_hits(accuracy, rho, n, per_sentence)
    drawn = resample(hits, stream(0, f"{n}"), RESAMPLES)
    s = per_sentence
    totals = drawn.totals.reshape(RESAMPLES, SIMULATIONS, 4)
    a: list[Float64s] = [(totals[..., i] + s * drawn.pseudo[:, [i]]) / (n + s) for i in range(4)]
    point = hits.reshape(-1, SIMULATIONS, 4).sum(axis=0) / n
    truth = [np.float64(x) for x in accuracy]
    covered = []
    for metric, roles in ((sensitivity, 2), (interaction, 4)):
        low, high = np.quantile(metric(*a[:roles]), [0.025, 0.975], axis=0)
        estimate = metric(*(point[:, i] for i in range(roles)))
        true = metric(*truth[:roles])
        inside = (np.fmin(low, estimate) <= true) & (true <= np.fmax(high, estimate))
        covered.append(float(inside.mean()))
    return covered[0], covered[1]


@pytest.mark.parametrize(
    ("accuracy", "rho", "n", "per_sentence"),
    [
        ((0.05, 0.03, 0.04, 0.025), 0.5, 400, 1),
        ((0.25, 0.012, 0.16, 0.010), 0.5, 400, 1),
        ((0.25, 0.12, 0.16, 0.08), 0.7, 400, 1),
        ((0.50, 0.10, 0.40, 0.08), 0.3, 1000, 1),
        ((0.30, 0.10, 0.20, 0.08), 0.6, 1002, 3),
    ],
)
def test_coverage_of_s_and_i(accuracy: tuple[float, ...], rho: float, n: int, per_sentence: int) -> None:
    for share in coverage(accuracy, rho, n, per_sentence):
        assert 0.93 <= share <= 0.97


def test_coverage_at_the_floor_does_not_collapse() -> None:
    """Two hits expected in c: the plain percentile interval covers 86 %, ours errs to the safe side."""
    assert 0.93 <= coverage((0.05, 0.005, 0.03, 0.004), 0.3, 400)[0] <= 0.985


@pytest.mark.parametrize(("p", "rho"), [(0.05, 0.4), (0.25, 0.4), (0.25, 0.9)])
def test_coverage_of_clustered_wilson(p: float, rho: float) -> None:
    hits = simulated_hits((p, p, p, p), rho, 999, 3)[:, ::4].T  # (simulations, sentences)
    total = hits.sum(axis=1)
    low, high = wilson(total, np.full(len(total), 999), effective_size(hits, np.full(333, 3)), 0.95)
    assert 0.93 <= float(((low <= p) & (p <= high)).mean()) <= 0.97


if __name__ == "__main__":
    for accuracy in (
        (0.05, 0.03, 0.04, 0.025),
        (0.1, 0.05, 0.08, 0.05),
        (0.25, 0.012, 0.16, 0.01),
        (0.5, 0.1, 0.4, 0.08),
    ):
        for rho in (0.3, 0.7):
            for n, per_sentence in ((400, 1), (1000, 1), (999, 3)):
                print(accuracy, rho, n, per_sentence, coverage(accuracy, rho, n, per_sentence), flush=True)
