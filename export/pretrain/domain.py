"""How much a sentence reads like news or encyclopedia text: sampling weights, no labels needed.

The training files mix news, encyclopedia, novels, plays, help pages and prompts without saying which line is which, and
the models are evaluated on news and encyclopedia text. Sentences that name a recent year seed a naive Bayes score (the
log-odds selection of Moore & Lewis 2010, https://aclanthology.org/P10-2041, with unigram models).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from export.pretrain.text import Sentence

_YEAR = re.compile(r"(?<!\d)(?:19[0-9]\d|20[01]\d)(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
_MIN_COUNT = 5
_PULL = 8.0  # pseudo-words that pull the score of a short sentence towards 0
_ROUNDS = 2
_SEED_SHARE = 0.12


def features(text: str, language: str) -> list[str]:
    """Lower-cased words; pairs of neighbouring characters in Chinese."""
    words: list[str] = _WORD.findall(text.lower())
    if language != "zh":
        return words
    return [word[i : i + 2] for word in words for i in range(len(word) - 1)]


def domain_scores(texts: Sequence[str], language: str) -> NDArray[np.float64]:
    """Mean log-odds per word of being a seed sentence: (sentences,), higher is closer to news and encyclopedia.

    After the first round the seeds are replaced by the best-scoring sentences, which frees the score from the years.
    """
    bags = [features(text, language) for text in texts]
    every = Counter(word for bag in bags for word in bag)
    seeds = np.array([_YEAR.search(text) is not None and len(bag) >= 8 for text, bag in zip(texts, bags, strict=True)])
    scores = np.zeros(len(texts))
    for _ in range(_ROUNDS):
        if not seeds.any():
            break
        seeded = Counter(word for bag, seed in zip(bags, seeds, strict=True) if seed for word in bag)
        share = seeded.total() / max(every.total(), 1)
        odds = {
            word: math.log((seeded[word] + 2.0 * share) / ((count + 2.0) * share))
            for word, count in every.items()
            if count >= _MIN_COUNT
        }
        scores = np.array([sum(odds.get(word, 0.0) for word in bag) / (len(bag) + _PULL) for bag in bags])
        seeds = scores >= np.quantile(scores, 1.0 - _SEED_SHARE)
    return scores


def domain_weights(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sampling weights from 0.25 (lowest rank) to 2.5 (highest), about 1 on average: (sentences,)."""
    if len(scores) < 2:
        return np.ones(len(scores))
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.linspace(0.0, 1.0, len(scores))
    return 0.25 + 2.25 * ranks**2


def sampling_weights(sentences: Sequence[Sentence], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected uses of each sentence per pass: (sentences,).

    Within a language by domain; between languages so that each gets the same share of the total size.
    """
    languages = np.array([sentence.language for sentence in sentences])
    present = list(dict.fromkeys(languages.tolist()))
    weights = np.zeros(len(sentences))
    for language in present:
        rows = np.flatnonzero(languages == language).tolist()
        weights[rows] = domain_weights(domain_scores([sentences[row].text for row in rows], language))
        weights[rows] *= sizes.sum() / len(present) / max(float(weights[rows] @ sizes[rows]), 1.0)
    return weights


def draw_copies(weights: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Sentence numbers in random order, each as often as its weight on average (floor(weight + uniform)): (draws,)."""
    copies = np.floor(weights + rng.random(len(weights))).astype(np.int64)
    drawn: NDArray[np.int64] = np.repeat(np.arange(len(weights)), copies)
    return rng.permutation(drawn)
