"""Which words of a batch are hidden: whole words, the rarer the likelier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mask_scale(
    weights: NDArray[np.floating], word_lengths: NDArray[np.int64], mask_share: float, most: float = 0.5
) -> float:
    """The factor c for which masking each word with probability min(most, c · weight) hides `mask_share` of all pieces.

    `weights` and `word_lengths` have one entry per word. At the limit `most` of every word, the largest possible share.
    """
    total = float(word_lengths.sum())
    low, high = 0.0, 100.0
    for _ in range(40):
        scale = (low + high) / 2
        share = float(np.minimum(most, scale * weights) @ word_lengths) / total
        low, high = (scale, high) if share < mask_share else (low, scale)
    return (low + high) / 2


def choose_masked(
    word_starts: NDArray[np.bool_],
    probabilities: NDArray[np.floating],
    offsets: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Whether each piece is hidden: (P,). All pieces of a word share its fate; every sentence hides a word or more.

    `probabilities` (P,) are read where a word starts; `offsets` (S + 1,) bound the sentences. A sentence in which
    chance hides nothing hides the word whose draw came nearest; one without any maskable word hides nothing.
    """
    starts = np.flatnonzero(word_starts)
    chance = probabilities[starts]
    draws = rng.random(len(starts))
    margin = np.where(chance > 0, draws / np.maximum(chance, 1e-9), np.inf)  # hidden iff < 1
    first_words = np.searchsorted(starts, offsets[:-1])
    nearest = np.minimum.reduceat(margin, first_words)
    words_in = np.diff(np.append(first_words, len(starts)))
    hidden = (margin < 1) | ((margin == np.repeat(nearest, words_in)) & np.isfinite(margin))
    word_of_piece = np.cumsum(word_starts) - 1
    masked: NDArray[np.bool_] = hidden[word_of_piece]
    return masked
