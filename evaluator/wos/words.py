"""Texts as units that can be reordered, and whether a text is one sentence; both without a parser, in any language.

Words are what stands between spaces, as in Pham et al. 2021; the run of punctuation that ends the text is held back. A
treebank's own units, where there are some, are used as they are.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from evaluator.types import ROOT, Unit

Tagger = Callable[[str, bool], str]
"""(word without punctuation at its edges, whether it is the text's first) → its tag, `X` when that is not known."""
_ENDS = re.compile(r"[.!?…。！？।؟۔][\"'”’»)\]]*\Z")
_ABBREVIATION = re.compile(r"(?:\w\.)+")
_LONGEST_TITLE = 3
LEAST_WORDS = 4
"""More than three, so that blocks of three can be reordered."""


def is_punctuation(text: str) -> bool:
    """Whether every character is punctuation (Unicode category P)."""
    return bool(text) and all(unicodedata.category(c)[0] == "P" for c in text)


def is_one_sentence(text: str) -> bool:
    """Whether no sentence seems to end before the text does.

    One ends at a word in . ! ? or their like in other scripts, closing quotes included, that another word follows which
    is not written small. A full stop after single letters (`U.S.`) or a capital and at most two more (`Dr.`) ends none.
    """
    words = text.split()
    for word, following in pairwise(words):
        start = following.lstrip("\"'“‘«([¿¡")[:1]
        if _ENDS.search(word) and not _is_abbreviation(word) and start and not start.islower():
            return False
    return True


def _is_abbreviation(word: str) -> bool:
    is_title = word[-1] == "." and word[:1].isupper() and word[:-1].isalpha() and len(word) <= _LONGEST_TITLE + 1
    return is_title or _ABBREVIATION.fullmatch(word) is not None


def units_of(text: str, tag: Tagger | None = None, *, split: Literal["final", "all"] = "final") -> tuple[Unit, ...]:
    """The text's words as units, the punctuation that ends it apart from them, so that no shuffle moves it.

    `split="all"` also takes the punctuation at the edges of every other word off it: a swapped noun leaves its comma.
    """
    words = text.split()
    final = len(words)
    while final and is_punctuation(words[final - 1]):
        final -= 1
    units: list[Unit] = []
    for i, word in enumerate(words):
        if i >= final:
            units.append(_unit(word, "PUNCT", is_spaced=True))
            continue
        before, core, after = _edges(word)
        if split == "final":
            before, core, after = "", before + core + (after if i < final - 1 else ""), after if i == final - 1 else ""
        units += [_unit(before, "PUNCT", is_spaced=False)] if before else []
        upos = "PUNCT" if is_punctuation(core) else tag(core, i == 0) if tag else "X"
        units.append(_unit(core, upos, is_spaced=not after))
        units += [_unit(after, "PUNCT", is_spaced=True)] if after else []
    return tuple(units)


def _edges(word: str) -> tuple[str, str, str]:
    """The punctuation that begins a word, what is left of it, and the punctuation that ends it."""
    if is_punctuation(word):
        return "", word, ""
    start, end = 0, len(word)
    while is_punctuation(word[start]):
        start += 1
    while is_punctuation(word[end - 1]):
        end -= 1
    return word[:start], word[start:end], word[end:]


def _unit(form: str, upos: str, *, is_spaced: bool) -> Unit:
    return Unit(form, None, upos, "", ROOT, "_", is_spaced, False, "")
