"""The pieces of every unit of a run, cut once per spelling and left gap, as flat arrays to gather from.

A *variant* of a unit is one of four cuts: (form, lemma) × (directly after text, after a space).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.encode.tokenizer import PieceCutter
from evaluator.treebank.text import UnitTraits, traits_of
from evaluator.types import Bools, Int32s, Int64s, Sentence

SPACED = 1
LEMMA = 2
VARIANTS = 4


@dataclass(frozen=True, slots=True)
class UnitPieces:
    """All units of a run, sentence after sentence, and the pieces of their variants."""

    first_unit: Int64s
    """(sentences + 1): units of sentence s are first_unit[s] … first_unit[s + 1] - 1."""
    start: Int64s
    """(VARIANTS, units): where a variant's pieces start in `pieces`."""
    length: Int32s
    """(VARIANTS, units): how many they are."""
    pieces: Int32s
    unknown: Bools
    """(VARIANTS, units): whether a variant holds the unknown piece."""
    special: Bools
    """(VARIANTS, units): whether a variant holds a piece that only the template may use."""
    joins_next: Bools
    """(units) and the four below: see `evaluator.treebank.text.UnitTraits`."""
    attached_left: Bools
    attached_right: Bools
    starts_unspaced: Bools
    ends_unspaced: Bools


def cut_units(sentences: Sequence[Sentence], cutter: PieceCutter, *, unknown_id: int | None) -> UnitPieces:
    """The pieces and spacing traits of all units. A missing lemma is cut like the form; nothing asks for it."""
    forms = [u.form for s in sentences for u in s.units]
    lemmas = [u.lemma if u.lemma is not None else u.form for s in sentences for u in s.units]
    first_unit = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(s.units) for s in sentences], out=first_unit[1:])
    spellings = sorted({*forms, *lemmas})
    index = {spelling: i for i, spelling in enumerate(spellings)}
    of_form = np.fromiter((index[f] for f in forms), dtype=np.int64, count=len(forms))
    of_lemma = np.fromiter((index[f] for f in lemmas), dtype=np.int64, count=len(lemmas))

    direct, spaced = cutter.cut(spellings, after_space=False), cutter.cut(spellings, after_space=True)
    pieces = np.concatenate([direct.pieces, spaced.pieces])
    starts = [direct.offsets[:-1], spaced.offsets[:-1] + len(direct.pieces)]
    lengths = [np.diff(direct.offsets), np.diff(spaced.offsets)]
    unknown = [_any_of(c.pieces, c.offsets, [] if unknown_id is None else [unknown_id]) for c in (direct, spaced)]
    special_ids = [i for i in cutter.special.tolist() if i != unknown_id]
    special = [_any_of(c.pieces, c.offsets, special_ids) for c in (direct, spaced)]
    choices = [(of, gap) for of in (of_form, of_lemma) for gap in (0, 1)]

    traits = [t for s in sentences for t in traits_of(s.units)]
    return UnitPieces(
        first_unit=first_unit,
        start=np.stack([starts[gap][of] for of, gap in choices]),
        length=np.stack([lengths[gap][of] for of, gap in choices]).astype(np.int32),
        pieces=pieces,
        unknown=np.stack([unknown[gap][of] for of, gap in choices]),
        special=np.stack([special[gap][of] for of, gap in choices]),
        joins_next=_column(traits, "joins_next"),
        attached_left=_column(traits, "attached_left"),
        attached_right=_column(traits, "attached_right"),
        starts_unspaced=_column(traits, "starts_unspaced"),
        ends_unspaced=_column(traits, "ends_unspaced"),
    )


def _column(traits: Sequence[UnitTraits], name: str) -> Bools:
    return np.fromiter((getattr(t, name) for t in traits), dtype=np.bool_, count=len(traits))


def _any_of(pieces: Int32s, offsets: Int64s, wanted: Sequence[int]) -> Bools:
    """For each span, whether any of its pieces is in `wanted`."""
    hits = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(np.isin(pieces, np.array(wanted, dtype=np.int32)), out=hits[1:])
    return hits[offsets[1:]] > hits[offsets[:-1]]
