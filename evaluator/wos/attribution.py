"""LIME for the words of a text (Ribeiro et al. 2016): what a classifier says of many copies of it that lack some words.

The library `lime` is not used: its last release is of June 2020, and it asks for the predictions of one text at a time
from within its own loop, so that texts can be neither batched together, nor deduplicated, sharded or sent to an engine.
Sampling, kernel and regression are its: words left out uniformly in number, cosine distance, width 25, ridge with 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.items.randomness import lots, mix
from evaluator.treebank.text import gaps, traits_of
from evaluator.types import Bools, Float64s, UInt64s, Unit

WIDTH = 25.0
"""Kernel width in hundredths of cosine distance."""
PENALTY = 1.0


@dataclass(frozen=True, slots=True)
class Words:
    """A text's units, those of them that are words, which samples leave out, and an order of all."""

    units: tuple[Unit, ...]
    at: tuple[int, ...]
    """The units that are words; the others, punctuation, stay."""
    order: tuple[int, ...]
    """The unit that stands at each place after the shuffle."""

    @classmethod
    def of(cls, units: tuple[Unit, ...], order: Sequence[int]) -> "Words":
        """The words among the units."""
        return cls(units, tuple(i for i, unit in enumerate(units) if unit.upos != "PUNCT"), tuple(order))

    @property
    def forms(self) -> tuple[str, ...]:
        """The words as they are written, in their own order."""
        return tuple(self.units[i].form for i in self.at)

    def texts(self, kept: Bools, *, shuffled: bool) -> list[str]:
        """One text per row of `kept` (samples, words): the kept words and all punctuation, in either order."""
        traits, order = traits_of(self.units), self.order if shuffled else tuple(range(len(self.units)))
        stays = np.ones((len(kept), len(self.units)), dtype=np.bool_)
        stays[:, self.at] = kept
        texts = []
        for row in stays.tolist():
            own = [unit for unit in order if row[unit]]
            spaced = zip(own, gaps(traits, own), strict=True)
            texts.append("".join([" " * gap + self.units[unit].form for unit, gap in spaced]))
        return texts


def samples_of(key: np.uint64, words: int, samples: int) -> Bools:
    """(samples, words) which words each sample keeps: the first all; the others lack some, uniform in number and place.

    Addressed by the example's key and the sample's number alone.
    """
    kept = np.ones((samples, words), dtype=np.bool_)
    if samples > 1 and words:
        keys: UInt64s = np.concatenate([mix(np.array([key]), sample) for sample in range(1, samples)])
        drawn = lots(keys, words + 1)
        left_out = 1 + (drawn[:, 0] % np.uint64(words)).astype(np.int64)
        ranks = np.argsort(np.argsort(drawn[:, 1:], axis=1, kind="stable"), axis=1, kind="stable")
        kept[1:] = ranks >= left_out[:, None]
    return kept


def word_weights(kept: Bools, probability: Float64s) -> Float64s:
    """(words,) LIME's weight of each word for the probability (samples,) that the class has without those left out.

    Ridge regression, Σ_s π_s (p_s − a − Σ_w β_w z_sw)² + Σ_w β_w², of the probability on the kept words z, samples
    weighted by π = √exp(−d² / 25²), d = 100 · cosine distance between z and all words. Above 0: speaks for the class.
    """
    z = kept.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = np.where(z.sum(axis=1) > 0, np.sqrt(z.sum(axis=1) / z.shape[1]), 0.0)
    near = np.sqrt(np.exp(-((100 * (1 - cosine)) ** 2) / WIDTH**2))
    total = near.sum()
    centred = z - (near @ z) / total
    target = probability - (near @ probability) / total
    weighted = centred * near[:, None]
    weights: Float64s = np.linalg.solve(weighted.T @ centred + PENALTY * np.eye(z.shape[1]), weighted.T @ target)
    return weights


def rank_agreement(a: Float64s, b: Float64s) -> float | None:
    """Spearman's rank correlation of two weightings of the same words; None where one of them does not vary."""
    from scipy.stats import rankdata  # half a second to load, for whoever asks for any other command

    ranks = [rankdata(values.round(12)) - (len(values) + 1) / 2 for values in (a, b)]
    size = float(np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / size if size else None


def top_word(weights: Float64s) -> int:
    """The word that speaks most for the class, ties to the earlier one."""
    return int(np.argmax(weights.round(12)))


def top_share(weights: npt.NDArray[np.float64]) -> float | None:
    """The part of Σ |weight| that the top word has; None where all are 0."""
    total = float(np.abs(weights).sum())
    return float(abs(weights[top_word(weights)])) / total if total else None
