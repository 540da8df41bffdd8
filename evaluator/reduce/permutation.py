"""The exact sign-flip test on sentences, McNemar's exact test being the case of one pair a sentence; and Holm."""

import math

import numpy as np

from evaluator.types import Float64s, Int64s

EXACT_COUNT = 2000
TAIL_SD = 14
SMALLEST_P = 1e-40


def sign_flip_p(differences: Int64s) -> tuple[float, float]:
    """Two-sided (p, mid-p): p = P(|Σ ±t_k| ≥ |Σ t_k|) over all equally likely signs of the sentences' differences t_k.

    mid-p counts the probability of equality half. A sentence's items share its words, so they are not independent
    evidence: under the null the labels of the two sides can be swapped per sentence, not per item (McNemar on items
    would be anticonservative). With differences of ±1 this *is* the exact McNemar test; with none, p is 1. The
    distribution is computed, not sampled: the differences are small integers, so it is a convolution of one binomial
    per size. p below 1e-40 is given as that. Source: Fisher 1935; McNemar 1947.
    """
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    if not len(sizes):
        return 1.0, 1.0
    step = int(np.gcd.reduce(sizes))
    observed = abs(int(differences.sum())) // step
    pmf, half_width = np.ones(1), 0  # P(Σ = i − half_width)
    for size, count in zip((sizes // step).tolist(), counts.tolist(), strict=True):
        factor, reach = _flips(size, count)
        pmf, half_width = np.convolve(pmf, factor), half_width + reach
    beyond = pmf[half_width + observed + 1 :].sum() if observed + 1 <= half_width else 0.0
    equal = pmf[half_width + observed] if observed <= half_width else 0.0
    if observed == 0:
        return 1.0, float(2 * beyond + equal / 2)
    p, mid = min(1.0, float(2 * (beyond + equal))), float(2 * beyond + equal)
    return max(p, SMALLEST_P), max(mid, SMALLEST_P)


def _flips(size: int, count: int) -> tuple[Float64s, int]:
    """Distribution of size·(2X − count), X ~ Binomial(count, ½), on −reach…reach, and reach.

    Above 2,000 sentences only 14 standard deviations are kept: what is cut is below 1e-44.
    """
    half = count / 2
    spread = half if count <= EXACT_COUNT else min(half, TAIL_SD * math.sqrt(count) / 2)
    first = max(0, math.ceil(half - spread))
    x = np.arange(first, count - first + 1)
    log_factorial = np.array([math.lgamma(k + 1) for k in (*x.tolist(), count)])
    up, total = log_factorial[:-1], log_factorial[-1]
    reach = size * (count - 2 * first)
    spaced = np.zeros(2 * reach + 1)
    spaced[:: 2 * size] = np.exp(total - up - up[::-1] - count * math.log(2))
    return spaced, reach


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment: max over smaller p of (m − rank) · p, at most 1; in the order given.

    Controls the chance of any false finding in the family whatever the dependence. Source: Holm 1979.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted
