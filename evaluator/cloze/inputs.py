"""Items to model inputs, through the encoder of the rest: a context becomes units, the blank the unit that is masked.

Each item is read in two styles: `context`, the sentence alone, and `prompt`, the data set's own prompt with lemma and
features, its blank masked. Each form of the lemma's paradigm is a *variant* of the item. Forms with equally many pieces
give the same input, and so one row with several golds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaluator.cloze.dataset import MARKER
from evaluator.encode.pieces import cut_units
from evaluator.encode.rows import Inputs, Slots, encode_slots
from evaluator.encode.tokenizer import PieceCutter
from evaluator.types import ROOT, Int32s, Int64s, Sentence, Unit

Style = Literal["context", "prompt"]
STYLES: tuple[Style, ...] = ("context", "prompt")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model about one item: the texts it may read, and the forms it may choose from."""

    item: int
    context: str
    prompt: str
    forms: tuple[str, ...]
    """In the gold's case; the gold itself is one of them."""
    gold: int
    """Index of the gold among the forms."""


@dataclass(frozen=True, slots=True)
class Variants:
    """Every (question, style, form), question after question, style after style: flat arrays of equal length."""

    question: Int64s
    style: Int64s
    form: Int64s

    def __len__(self) -> int:
        return len(self.question)


def cased_like(gold: str, form: str) -> str:
    """The form in the gold's case: `Went`, `WENT` or as it is."""
    if len(gold) > 1 and gold.isupper():
        return form.upper()
    return form[:1].upper() + form[1:] if gold[:1].isupper() else form


def question_of(item: int, row: dict[str, object], paradigm: Sequence[str]) -> Question:
    """The question of a row: the paradigm's distinct forms in the gold's case, the gold as it is written."""
    gold = str(row["gold"])
    forms = sorted({form.casefold() for form in paradigm} | {gold.casefold()})
    cased = tuple(gold if form == gold.casefold() else cased_like(gold, form) for form in forms)
    return Question(item, str(row["context"]), str(row["prompt"]), cased, forms.index(gold.casefold()))


def variants_of(questions: Sequence[Question]) -> Variants:
    """The variants of the questions."""
    sizes = np.array([len(q.forms) for q in questions], dtype=np.int64)
    per_question = sizes * len(STYLES)
    question = np.repeat(np.arange(len(questions)), per_question)
    within = np.arange(int(per_question.sum())) - np.repeat(np.cumsum(per_question) - per_question, per_question)
    size = sizes[question]
    return Variants(question, within // np.maximum(size, 1), within % np.maximum(size, 1))


def encode_variants(
    questions: Sequence[Question], cutter: PieceCutter, *, unknown_id: int | None, limit: int
) -> Inputs:
    """The model inputs of all variants of the questions, in the order of `variants_of`.

    A text that does not fit is cut to a window around the blank, which can leave the prompt's lemma out: such inputs
    are flagged `windowed`.
    """
    sentences = [s for q in questions for text in (q.context, q.prompt) for s in _filled(text, q.forms)]
    sizes = np.array([len(s.units) for s in sentences], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slots = Slots(
        offsets=offsets,
        order=np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], sizes),
        sentence=np.arange(len(sentences)),
        target=np.array([s.key for s in sentences], dtype=np.int64),
        lemma=np.zeros(len(sentences), dtype=np.bool_),
    )
    units = cut_units(sentences, cutter, unknown_id=unknown_id)
    return encode_slots(slots, units, cutter, limit=limit, spacing="natural")


def _filled(text: str, forms: Sequence[str]) -> Iterator[Sentence]:
    """The text as a sentence of its space-separated parts, the blank filled with each form; `key` is its place."""
    left, _, right = text.partition(MARKER)
    before, after = _units(left), _units(right)
    if before and not left[-1:].isspace():
        before[-1] = _unit(before[-1].form, is_spaced=False)
    is_spaced = not right or right[:1].isspace()
    for form in forms:
        units = (*before, _unit(form, is_spaced=is_spaced), *after)
        yield Sentence("", "", "", "", units, "", False, len(before))


def _units(text: str) -> list[Unit]:
    return [_unit(part, is_spaced=True) for part in text.split()]


def _unit(form: str, *, is_spaced: bool) -> Unit:
    return Unit(form, None, "X", "", ROOT, "_", is_spaced, False, "")


@dataclass(frozen=True, slots=True)
class Steps:
    """The left-to-right steps of variants of several pieces: step j shows the first j pieces and asks for the next."""

    variant: Int64s
    """(steps) the variant a step belongs to."""
    inputs: Inputs


def left_to_right(inputs: Inputs, mask_id: int) -> Steps:
    """The steps of all variants that have a row and more than one mask, in order.

    log p(word) = Σ_j log p(piece j | context, pieces before j shown, piece j and the later ones masked): PLL-word-l2r
    of Kauf & Ivanova 2023. A word of one piece has it from the parallel pass.
    """
    lengths, masks = np.diff(inputs.offsets), np.diff(inputs.gold_offsets)
    asked = np.flatnonzero((masks > 1) & (lengths > 0) & (inputs.reason == 0))
    variant = np.repeat(asked, masks[asked])
    step = np.arange(len(variant)) - np.repeat(np.cumsum(masks[asked]) - masks[asked], masks[asked])
    size = lengths[variant]
    offsets = np.zeros(len(variant) + 1, dtype=np.int64)
    np.cumsum(size, out=offsets[1:])
    row = np.repeat(np.arange(len(variant)), size)
    ids: Int32s = inputs.ids[np.arange(int(offsets[-1])) - np.repeat(offsets[:-1] - inputs.offsets[variant], size)]
    at = np.flatnonzero(ids == mask_id)
    owner = row[at]
    ordinal = np.arange(len(at)) - np.searchsorted(owner, owner)
    shown = ordinal < step[owner]
    ids[at[shown]] = inputs.golds[inputs.gold_offsets[variant[owner[shown]]] + ordinal[shown]]
    return Steps(
        variant,
        Inputs(
            offsets=offsets,
            ids=ids,
            gold_offsets=np.arange(len(variant) + 1, dtype=np.int64),
            golds=inputs.golds[inputs.gold_offsets[variant] + step],
            windowed=inputs.windowed[variant],
            reason=np.zeros(len(variant), dtype=np.int32),
        ),
    )
