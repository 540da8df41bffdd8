"""Shares of clustered outcomes: what strata change, and that the interval holds what it promises."""

import numpy as np
import pytest

from evaluator.reduce.shares import balanced_share, share


def drawn(rng: np.random.Generator, rates: tuple[float, ...], clusters: int, draws: int) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    """(hits, cluster, stratum): clusters with rates of their own around their stratum's, `draws` outcomes each."""
    stratum = np.repeat(np.arange(len(rates)), clusters)
    own = rng.beta(np.array(rates)[stratum] * 4, (1 - np.array(rates)[stratum]) * 4)
    hits = rng.random((len(own), draws)) < own[:, None]
    return hits.ravel(), np.repeat(np.arange(len(own)), draws), np.repeat(stratum, draws)


def test_one_stratum_is_a_plain_share() -> None:
    hits, cluster, _ = drawn(np.random.default_rng(0), (0.3,), 40, 10)
    plain = share(hits, np.ones_like(hits), cluster, 0.95)
    found = balanced_share(hits, cluster, np.zeros_like(cluster), 0.95)
    assert found["value"] == plain["value"] and found["ci"] == pytest.approx(plain["ci"])
    assert balanced_share(hits[:0], cluster[:0], cluster[:0], 0.95) == {"n": 0, "value": None, "ci": None}


@pytest.mark.parametrize(("rates", "narrower"), [((0.97, 0.03), 2.0), ((0.5, 0.5), 0.95), ((0.9, 0.6, 0.2), 1.1)])
def test_intervals_cover_and_strata_narrow_them(rates: tuple[float, ...], narrower: float) -> None:
    """Coverage over 300 repetitions, nominal 95 %; `narrower`: by what factor at least, on average."""
    rng = np.random.default_rng(1)
    covered, widths = 0, []
    for _ in range(300):
        hits, cluster, stratum = drawn(rng, rates, 60, 10)
        low, high = balanced_share(hits, cluster, stratum, 0.95)["ci"]
        covered += low <= np.mean(rates) <= high
        wide = share(hits, np.ones_like(hits), cluster, 0.95)["ci"]
        widths.append((wide[1] - wide[0]) / (high - low))
    assert covered >= 276, covered
    assert np.mean(widths) > narrower


def test_all_kept_is_not_certainty() -> None:
    hits, cluster = np.ones(200, dtype=bool), np.repeat(np.arange(20), 10)
    found = balanced_share(hits, cluster, np.repeat([0, 1], 100), 0.95)
    assert found["value"] == 1.0 and found["ci"][1] == 1.0 and 0.7 < found["ci"][0] < 0.9
