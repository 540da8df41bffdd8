"""The plain twin of the encoder: one item at a time, lists and loops, the spacing rule as `treebank.text` has it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluator.encode.pieces import cut_units
from evaluator.encode.rows import Inputs, Slots, encode_slots
from evaluator.encode.tokenizer import PieceCutter
from evaluator.treebank.text import gaps, is_spaced, traits_of
from evaluator.types import Sentence, Spacing


@dataclass(frozen=True)
class Encoded:
    """One item's ids, the pieces under its masks, and why it has none."""

    ids: list[int]
    gold: list[int]
    windowed: bool
    reason: str


@dataclass(frozen=True)
class Cutter:
    """A tokenizer of the tests: its door, its name, its unknown piece, and the cuts it has been asked for."""

    name: str
    door: PieceCutter
    unk_id: int | None
    known: dict[tuple[str, bool], list[int]] = field(default_factory=dict)

    def cut(self, spelling: str, spaced: bool) -> list[int]:
        if (spelling, spaced) not in self.known:
            self.known[spelling, spaced] = self.door.cut([spelling], after_space=spaced).pieces.tolist()
        return self.known[spelling, spaced]


def encode_plainly(
    sentence: Sentence, order: Sequence[int], target: int, lemma: bool, cutter: Cutter, *, limit: int, spacing: Spacing
) -> Encoded:
    """What `encode_slots` must give for one item."""
    door, traits = cutter.door, traits_of(sentence.units)
    spaced = gaps(traits, order, spacing)
    spaced[0] = door.starts_spaced
    slot = list(order).index(target)
    spaced[slot] = is_spaced(traits[target - 1], traits[target], True, spacing) if target else door.starts_spaced
    words = [(u.lemma if lemma and u.lemma is not None else u.form) for u in (sentence.units[i] for i in order)]
    cuts = [cutter.cut(word, gap) for word, gap in zip(words, spaced, strict=True)]
    gold = cuts[slot]
    room = limit - len(door.prefix) - len(door.suffix)
    windowed = sum(map(len, cuts)) > room
    first, last = (0, len(cuts)) if not windowed else _window([len(c) for c in cuts], slot, room)
    special = set(door.special.tolist()) - {cutter.unk_id}
    if not gold:
        return Encoded([], [], False, "no_pieces")
    if any(special & set(c) for c in cuts[first:last]):
        return Encoded([], [], False, "special_token_text")
    if not first <= slot < last:
        return Encoded([], [], False, "too_long")
    shown = [c if i != slot else [door.mask_id] * len(c) for i, c in enumerate(cuts)][first:last]
    ids = [*door.prefix.tolist(), *(p for c in shown for p in c), *door.suffix.tolist()]
    return Encoded(ids, gold, windowed, "not_expressible" if cutter.unk_id in gold else "")


def _window(lengths: list[int], target: int, room: int) -> tuple[int, int]:
    if lengths[target] > room:
        return 0, 0
    first, last, used = target, target + 1, lengths[target]
    left = right = True
    while left or right:
        if left:
            left = first > 0 and used + lengths[first - 1] <= room
            if left:
                first -= 1
                used += lengths[first]
        if right:
            right = last < len(lengths) and used + lengths[last] <= room
            if right:
                used += lengths[last]
                last += 1
    return first, last


def slots_from(items: Sequence[dict[str, Any]]) -> Slots:
    """The slots of items as rows."""
    return Slots(
        offsets=np.cumsum([0, *(len(i["order"]) for i in items)]),
        order=np.array([u for i in items for u in i["order"]], dtype=np.int64),
        sentence=np.array([i["sentence"] for i in items], dtype=np.int64),
        target=np.array([i["target"] for i in items], dtype=np.int64),
        lemma=np.array([i["lemma"] for i in items], dtype=np.bool_),
    )


def encode(
    sentences: Sequence[Sentence],
    items: Sequence[dict[str, Any]],
    cutter: Cutter,
    *,
    limit: int = 512,
    spacing: Spacing = "natural",
) -> Inputs:
    """The product's encoding of items as rows."""
    units = cut_units(sentences, cutter.door, unknown_id=cutter.unk_id)
    return encode_slots(slots_from(items), units, cutter.door, limit=limit, spacing=spacing)


def as_plain(inputs: Inputs, reasons: Sequence[str], i: int) -> Encoded:
    """Item i of the product's encoding, in the twin's form."""
    return Encoded(
        inputs.ids[inputs.offsets[i] : inputs.offsets[i + 1]].tolist(),
        inputs.golds[inputs.gold_offsets[i] : inputs.gold_offsets[i + 1]].tolist(),
        bool(inputs.windowed[i]),
        reasons[inputs.reason[i]],
    )
