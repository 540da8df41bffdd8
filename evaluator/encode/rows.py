"""Items to model inputs, as gathers of pieces already cut: no tokenizer call and no Python object per item."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.encode.pieces import LEMMA, SPACED, UnitPieces
from evaluator.encode.tokenizer import PieceCutter
from evaluator.encode.window import window_slots
from evaluator.types import Bools, Int32s, Int64s, Spacing, UInt64s

REASONS = ("", "not_expressible", "no_pieces", "special_token_text", "too_long")
"""Reason codes of an item; the first two have a row, the rest are skipped."""
NOT_EXPRESSIBLE, NO_PIECES, SPECIAL_TEXT, TOO_LONG = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Slots:
    """Which unit stands where: flat over items, item i has slots offsets[i] … offsets[i + 1] - 1."""

    offsets: Int64s
    order: Int64s
    """Index of the unit within its sentence."""
    sentence: Int64s
    """(items): index of the sentence in the run."""
    target: Int64s
    """(items): index of the masked unit within its sentence; -1 masks nothing."""
    lemma: Bools
    """(items): every unit is spelled as its lemma."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Model inputs, flat over items: ids[offsets[i]:offsets[i + 1]], empty for a skipped item."""

    offsets: Int64s
    ids: Int32s
    gold_offsets: Int64s
    golds: Int32s
    """The pieces under the masks, flat over items."""
    windowed: Bools
    reason: Int32s
    """(items): index into REASONS."""


def slots_of(items: pa.Table) -> Slots:
    """The slots of an ITEMS table."""
    order = items["order"].combine_chunks()
    values = order.flatten().to_numpy().astype(np.int64)
    lengths = np.asarray(order.value_lengths(), dtype=np.int64)
    return Slots(
        offsets=offsets_of(lengths),
        order=values,
        sentence=items["sentence"].to_numpy().astype(np.int64),
        target=items["target"].to_numpy().astype(np.int64),
        lemma=items["lemma"].to_numpy(),
    )


def encode_slots(slots: Slots, units: UnitPieces, cutter: PieceCutter, *, limit: int, spacing: Spacing) -> Inputs:
    """Model inputs of at most `limit` pieces, specials included.

    The target keeps the cut it has in `orig`, so its gold and number of masks are the same in every order. An item
    that does not fit is cut to a window of whole units around its target (see `window_slots`) and flagged.
    """
    count = len(slots.target)
    item = np.repeat(np.arange(count), np.diff(slots.offsets))
    base = units.first_unit[slots.sentence]
    unit = base[item] + slots.order
    spelling = slots.lemma[item].astype(np.int64)
    spaced = _spaced(units, np.roll(unit, 1), unit, spacing)
    spaced[slots.offsets[:-1]] = cutter.starts_spaced
    is_target = slots.order == slots.target[item]
    spaced[is_target] = _spaced_in_source(slots, units, cutter, spacing)[item[is_target]]

    variant = spelling * LEMMA + spaced * SPACED
    start, length = units.start[variant, unit], units.length[variant, unit].astype(np.int64)
    room = limit - len(cutter.prefix) - len(cutter.suffix)
    target_length = np.zeros(count, dtype=np.int64)
    target_length[item[is_target]] = length[is_target]
    windowed = np.add.reduceat(length, slots.offsets[:-1]) > room if count else np.zeros(0, dtype=np.bool_)
    for i in np.flatnonzero(windowed):
        span = slice(slots.offsets[i], slots.offsets[i + 1])
        length[span] *= window_slots(length[span], int(np.flatnonzero(is_target[span])[0]), room)

    reason = np.zeros(count, dtype=np.int32)
    kept = length > 0
    reason[item[is_target & units.unknown[variant, unit]]] = NOT_EXPRESSIBLE
    reason[item[kept & units.special[variant, unit]]] = SPECIAL_TEXT
    reason[(slots.target >= 0) & (target_length == 0)] = NO_PIECES
    reason[target_length > room] = TOO_LONG
    length[(reason > NOT_EXPRESSIBLE)[item]] = 0
    return _gather(units, cutter, item, start, length, is_target, windowed, reason)


def _spaced(units: UnitPieces, left: Int64s, right: Int64s, spacing: Spacing) -> Bools:
    """Whether a space stands between two units: the vectorised twin of `evaluator.treebank.text.is_spaced`."""
    unspaced: Bools = units.ends_unspaced[left] & units.starts_unspaced[right]
    if spacing == "uniform":
        return ~unspaced
    moved = unspaced | units.attached_left[right] | units.attached_right[left]
    return ~np.where(right == left + 1, units.joins_next[left], moved)


def _spaced_in_source(slots: Slots, units: UnitPieces, cutter: PieceCutter, spacing: Spacing) -> Bools:
    """(items) whether a space stands before the target in `orig`; a sentence's first unit as the tokenizer reads it."""
    target = units.first_unit[slots.sentence] + np.maximum(slots.target, 0)
    spaced = _spaced(units, np.maximum(target - 1, 0), target, spacing)
    spaced[slots.target <= 0] = cutter.starts_spaced
    return spaced


def _gather(
    units: UnitPieces,
    cutter: PieceCutter,
    item: Int64s,
    start: Int64s,
    length: Int64s,
    is_target: Bools,
    windowed: Bools,
    reason: Int32s,
) -> Inputs:
    count = len(reason)
    content = np.bincount(item, weights=length, minlength=count).astype(np.int64)
    skipped = reason > NOT_EXPRESSIBLE
    specials = np.where(skipped, 0, len(cutter.prefix) + len(cutter.suffix))
    offsets = offsets_of(content + specials)
    total = int(length.sum())
    flat = np.arange(total)
    source = flat + np.repeat(start - offsets_of(length)[:-1], length)
    shift = np.where(skipped, 0, offsets[:-1] + len(cutter.prefix)) - offsets_of(content)[:-1]
    place = flat + np.repeat(shift, content)

    ids = np.empty(int(offsets[-1]), dtype=np.int32)
    alive = np.flatnonzero(~skipped)
    for j, piece in enumerate(cutter.prefix):
        ids[offsets[alive] + j] = piece
    for j, piece in enumerate(cutter.suffix):
        ids[offsets[alive + 1] - len(cutter.suffix) + j] = piece
    ids[place] = units.pieces[source]
    masked = np.repeat(is_target, length)
    ids[place[masked]] = cutter.mask_id
    gold_length = np.bincount(item, weights=length * is_target, minlength=count).astype(np.int64)
    return Inputs(
        offsets=offsets,
        ids=ids,
        gold_offsets=offsets_of(gold_length),
        golds=units.pieces[source[masked]],
        windowed=windowed & ~skipped,
        reason=reason,
    )


def offsets_of(lengths: Int64s) -> Int64s:
    """Where spans of these lengths begin when they stand one after another; one more than lengths, from 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def hash_spans(values: Int32s, offsets: Int64s, salt: int) -> UInt64s:
    """A 64-bit hash of each span of `values`, of its numbers in their order; 0 for an empty span."""
    lengths = np.diff(offsets)
    place = (np.arange(len(values)) - np.repeat(offsets[:-1], lengths)).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + place * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed += np.uint64(salt)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        sums = np.zeros(len(values) + 1, dtype=np.uint64)
        np.cumsum(mixed ^ (mixed >> np.uint64(31)), out=sums[1:])
        return sums[offsets[1:]] - sums[offsets[:-1]]
