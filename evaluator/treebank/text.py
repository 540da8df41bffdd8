"""Spaces between units: how a sentence is written in its own order or any other, with forms or lemmas.

The rule is a pure boolean function of two units' traits and of whether they are neighbours in the source, so that it
can be applied to whole arrays of orders as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.types import Spacing, Unit

# Scripts written without spaces between words, with the punctuation that belongs to them: Thai, Lao; Tibetan; Myanmar;
# Khmer; Tai Le to Khmer symbols; Tai Tham; Balinese; CJK radicals, kana, bopomofo, enclosed forms and Han; Yi;
# Javanese; Myanmar extensions; compatibility and full-width forms; kana supplements; Han extensions.
# Not the ideographic space, nor Hangul, which is written with spaces.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f"
    "\u2e80-\u2fff\u3001-\u312f\u31a0-\u31ff\u3220-\u325f\u3280-\u4dbf\u4e00-\u9fff\ua000-\ua4cf"
    "\ua980-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\ufe10-\ufe1f\ufe30-\ufe4f\uff01-\uff9f\uffe0-\uffe6"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)
_IGNORED = "\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\u0300-\u036f"  # invisible marks at the edge of a word
_STARTS_UNSPACED = re.compile(f"[{_IGNORED}]*[{_UNSPACED}]")
_ENDS_UNSPACED = re.compile(f"[{_UNSPACED}][{_IGNORED}]*\\Z")
MASK_MARKER = "⟨mask⟩"


@dataclass(frozen=True, slots=True)
class UnitTraits:
    """What the spaces around one unit depend on, wherever it is moved; its lemma is spaced like its form."""

    attached_left: bool
    """Punctuation that the source writes directly after its left neighbour."""
    attached_right: bool
    """Punctuation that the source writes directly before its right neighbour."""
    starts_unspaced: bool
    """Its first character belongs to a script written without spaces."""
    ends_unspaced: bool
    """So does its last."""
    joins_next: bool
    """The source writes its right neighbour directly after it; False for the last unit."""


def traits_of(units: Sequence[Unit]) -> tuple[UnitTraits, ...]:
    """The traits of each unit of a sentence, in source order."""
    last = len(units) - 1
    traits = []
    joined_to_previous = False
    for index, unit in enumerate(units):
        joins_next = index < last and not unit.space_after
        is_punctuation = unit.upos == "PUNCT"
        traits.append(
            UnitTraits(
                is_punctuation and joined_to_previous,
                is_punctuation and joins_next,
                starts_unspaced(unit.form),
                ends_unspaced(unit.form),
                joins_next,
            )
        )
        joined_to_previous = joins_next
    return tuple(traits)


def is_spaced(a: UnitTraits, b: UnitTraits, neighbours: bool, spacing: Spacing) -> bool:
    """Whether a space stands between a and b, b following a; `neighbours`: b follows a in the source as well.

    natural: neighbours keep the gap of the source, so that the source order rebuilds the text exactly. Others are
    written together iff b was punctuation attached to its left, or a punctuation attached to its right, or both sides
    of the gap are in a script written without spaces.
    uniform: always a space, except where both sides are in a script written without spaces.
    """
    both_unspaced = a.ends_unspaced and b.starts_unspaced
    if spacing == "uniform":
        return not both_unspaced
    if neighbours:
        return not a.joins_next
    return not (b.attached_left or a.attached_right or both_unspaced)


def gaps(traits: Sequence[UnitTraits], order: Sequence[int], spacing: Spacing = "natural") -> list[bool]:
    """Whether a space stands before each slot of an order of units; False before the first."""
    spaced = [False] * len(order)
    for slot in range(1, len(order)):
        left, right = order[slot - 1], order[slot]
        spaced[slot] = is_spaced(traits[left], traits[right], right == left + 1, spacing)
    return spaced


def spell(
    units: Sequence[Unit],
    order: Sequence[int] | None = None,
    *,
    spacing: Spacing = "natural",
    lemma: bool = False,
    masked: int | None = None,
    marker: str = MASK_MARKER,
) -> str:
    """The text of the units in an order (default: the source's), unit `masked` written as `marker`.

    With `lemma`, each unit is written as its lemma, and one without a lemma as its form.
    """
    order = range(len(units)) if order is None else order
    pieces = []
    for unit, spaced in zip(order, gaps(traits_of(units), order, spacing), strict=True):
        if spaced:
            pieces.append(" ")
        if unit == masked:
            pieces.append(marker)
        else:
            pieces.append((units[unit].lemma if lemma else None) or units[unit].form)
    return "".join(pieces)


def source_text(units: Sequence[Unit]) -> str:
    """The text as the source writes it: `spell` in source order with natural spacing, without the detour."""
    return "".join([unit.form + " " if unit.space_after else unit.form for unit in units[:-1]]) + (
        units[-1].form if units else ""
    )


def folded(text: str) -> str:
    """The text with runs of white space as one space and none at the ends: the measure for `# text`."""
    return " ".join(text.split())


def starts_unspaced(text: str) -> bool:
    """Whether the first visible character belongs to a script written without spaces."""
    return _STARTS_UNSPACED.match(text) is not None


def ends_unspaced(text: str) -> bool:
    """Whether the last visible character belongs to a script written without spaces."""
    return _ENDS_UNSPACED.search(text) is not None


def is_unspaced_pair(left: str, right: str) -> bool:
    """Whether both sides of the gap between two spellings are in a script written without spaces."""
    return ends_unspaced(left) and starts_unspaced(right)
