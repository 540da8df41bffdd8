"""The nouns: words as Universal Dependencies names them, units, sentences, targets, items. Read this first.

A *word* is a syntactic word; a *unit* is one orthographic token (a word outside any multiword token, or a whole
multiword token) and is what gets moved; a *piece* is a tokenizer's unit. An *item* is one masked sentence under one
condition; a *base item* is the (sentence, target, seed) that all its conditions share.
"""

from dataclasses import dataclass
from typing import Literal, NewType

import numpy as np
import numpy.typing as npt

SentenceIndex = NewType("SentenceIndex", int)
"""Position of a sentence in a run's `sentences/` table."""

Condition = Literal[
    "orig", "full", "partial", "head", "head_all", "ngram1", "ngram2", "ngram3", "noun_swap", "reverse", "window3",
    "subtree",
]  # fmt: skip
Spacing = Literal["natural", "uniform"]
Precision = Literal["fp32", "fp16", "int8"]
ModelKind = Literal["fill-mask", "text-classification", "attention"]
"""What a graph answers: pieces at masks; logits of a whole input; those and the attention of every head."""
Status = Literal["scored", "skipped", "failed"]

Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float64s = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

CONTENT_UPOS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")
"""Universal Dependencies' open classes without INTJ: what `partial` permutes, whatever may be a target."""

NO_HEAD = -2
"""Head of a unit whose annotated head is missing, out of range or not a number."""
ROOT = -1
"""Head of a unit that hangs on the root."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One orthographic token: what is moved, masked and replaced by its lemma."""

    form: str
    lemma: str | None
    """The word's lemma; for a multiword token its words' lemmas, joined by a space. None when any is missing."""
    upos: str
    deprel: str
    head: int
    """Index of the head *unit* in the sentence, `ROOT` or `NO_HEAD`."""
    feats: str
    space_after: bool
    """False iff the source writes the next unit directly after this one."""
    is_mwt: bool
    word_id: str
    """CoNLL-U ID: "4", or "4-5" for a multiword token."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a treebank as a row of units, with where it came from."""

    treebank: str
    language: str
    sent_id: str
    """The treebank's own id; "#<ordinal>" where it has none or repeats one."""
    text: str
    """The text rebuilt from the units; equals `# text` (runs of spaces folded) in a sound treebank."""
    units: tuple[Unit, ...]
    source: str
    """`path:line` of the first word line."""
    is_tree: bool
    """False when heads form a cycle, point nowhere, or there is not exactly one root."""
    key: int
    """64-bit hash of (treebank, sent_id): the sentence's address for randomness, independent of load order."""


@dataclass(frozen=True, slots=True)
class BaseItem:
    """A sentence, the unit masked in it, and the seed that chose it: shared by all conditions."""

    sentence: SentenceIndex
    target: int
    """Index of the target unit."""
    seed: int
    key: int
    """64-bit hash of (sentence key, seed); with (condition, draw, lemma) it addresses every random decision."""
