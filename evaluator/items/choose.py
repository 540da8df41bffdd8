"""Which unit of a sentence is masked: one content word, uniform among the possible, addressed by (seed, sentence)."""

from collections.abc import Collection

import numpy as np

from evaluator.items.randomness import address, lots, mix
from evaluator.types import Bools, Int64s, Sentence, UInt64s, Unit

_SEED, _TARGET = address("seed"), address("target")


def base_keys(sentence_keys: UInt64s, seed: int) -> UInt64s:
    """Base item keys (sentences,) uint64: the address of (sentence, seed), whatever else a run is set to."""
    return mix(mix(sentence_keys, _SEED), seed)


def can_be_target(unit: Unit, upos: Collection[str]) -> bool:
    """Whether a unit can be masked: of these parts of speech, no multiword token, with a text and a one-word lemma.

    A lemma of several words, joined by `_` (UD_Irish-IDT#92) or as read by a space, is no one-word gold, unless the
    form is written so too.
    """
    if unit.upos not in upos or unit.is_mwt or unit.lemma is None:
        return False
    if not unit.form.strip() or not unit.lemma.strip():
        return False
    joins = "_" in unit.lemma and "_" not in unit.form
    spaces = len(unit.lemma.split()) > 1 and len(unit.form.split()) == 1
    return not (joins or spaces)


def eligible_units(sentence: Sentence, upos: Collection[str]) -> Bools:
    """Which units can be the target, (units,)."""
    return np.array([can_be_target(unit, upos) for unit in sentence.units], bool)


def choose(eligible: Bools, keys: UInt64s) -> Int64s:
    """The target of each base item, (rows,) int64: the eligible unit with the smallest lot; -1 where there is none.

    `eligible` is (rows, units) bool for sentences of one length, `keys` are base item keys. A unit's lot is its own,
    so that widening the list of parts of speech changes a target only for a newly eligible one.
    """
    if not eligible.size:
        return np.full(len(keys), -1, np.int64)
    drawn = (lots(mix(keys, _TARGET), eligible.shape[1]) >> np.uint64(2)).view(np.int64)
    chosen = np.where(eligible, drawn, np.iinfo(np.int64).max).argmin(axis=1)
    return np.where(eligible.any(axis=1), chosen, -1)
