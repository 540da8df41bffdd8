"""A sentence as the model saw it, cut at its units without changing a character; its direction and language tag."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NotRequired, TypedDict

MASK_RUN = re.compile(r"⟨mask⟩(?: ?⟨mask⟩)*")
"""The target as `outcomes.text` writes it: once per masked piece."""
MASK = "⟨mask⟩"
SWAPS = ("head", "head_all", "noun_swap")
"""Conditions that exchange pairs of units, whose members get a letter."""

_SIMPLIFIED = frozenset(
    "们这个来时说国学会对发经过么还没样为开见问题点间气现长话东电车书马门风飞鱼鸟龙难汉语习图馆园买卖"
)
_TRADITIONAL = frozenset(
    "們這個來時說國學會對發經過麼還沒樣為開見問題點間氣現長話東電車書馬門風飛魚鳥龍難漢語習圖館園買賣"
)


class Line(TypedDict):
    """`t`: separator, unit, separator, unit, …, tail, which joined give the text; `u`: the unit shown at each slot.

    `r`: per slot the word form a lemma stands for, or "" where both are the same. `u` is empty when the text could not
    be cut at units; `t` then holds the text alone.
    """

    t: list[str]
    u: list[int]
    r: list[str]
    p: NotRequired[list[str]]
    """Per slot the letter that the unit shares with the one it changed places with, or ""."""


def cut(text: str, order: Sequence[int], target: int, words: Sequence[str] | None, forms: Sequence[str] | None) -> Line:
    """The text cut at its units: along `words` (spellings by unit), else at spaces and punctuation, else whole."""
    pieces = _walk(text, order, target, words) if words is not None else None
    pieces = pieces or _guess(text, len(order))
    if pieces is None:
        return {"t": [text], "u": [], "r": []}
    shown_forms = [
        "" if forms is None or words is None or unit == target or forms[unit] == words[unit] else forms[unit]
        for unit in order
    ]
    return {"t": pieces, "u": list(order), "r": shown_forms}


def _walk(text: str, order: Sequence[int], target: int, words: Sequence[str]) -> list[str] | None:
    pieces, at = [], 0
    for unit in order:
        start = at
        while at < len(text) and text[at].isspace() and not text.startswith(words[unit], at):
            at += 1
        run = MASK_RUN.match(text, at) if unit == target else None
        length = (
            run.end() - at if run else len(words[unit]) if unit != target and text.startswith(words[unit], at) else 0
        )
        if not length:
            return None
        pieces += [text[start:at], text[at : at + length]]
        at += length
    return [*pieces, text[at:]]


def _guess(text: str, units: int) -> list[str] | None:
    """A cut at spaces, then at punctuation too, taken only if it gives exactly the number of units."""
    for pattern in (r"(?:⟨mask⟩ ?)*⟨mask⟩\S*|\S+", r"(?:⟨mask⟩ ?)*⟨mask⟩|[\w\u0300-\u036f\u0900-\u097f'’-]+|[^\w\s]"):
        found = list(re.finditer(pattern, text))
        if len(found) == units:
            pieces, at = [], 0
            for match in found:
                pieces += [text[at : match.start()], match.group()]
                at = match.end()
            return [*pieces, text[at:]]
    return None


def swap_letters(order: Sequence[int]) -> dict[int, str]:
    """By unit the letter of its swap, in reading order: the two units of a swap share one; others have none."""
    pairs = [(slot, unit) for slot, unit in enumerate(order) if slot < unit and order[unit] == slot]
    letters: dict[int, str] = {}
    for index, pair in enumerate(pairs):
        letters |= dict.fromkeys(pair, chr(ord("a") + index % 26) * (index // 26 + 1))
    return letters


def direction(text: str) -> str:
    """`rtl` iff most strong characters are right-to-left; read off the text, since treebanks can be transliterated."""
    strong = [unicodedata.bidirectional(character) for character in text.replace(MASK, "")]
    right = sum(kind in ("R", "AL") for kind in strong)
    return "rtl" if right > sum(kind == "L" for kind in strong) else "ltr"


def language_tag(language: str, text: str) -> str:
    """BCP 47 tag for glyph choice: Chinese gets its script from the characters, other languages stay as they are."""
    tag = re.sub(r"[^A-Za-z0-9-]", "", language)[:16] or "und"
    if tag.lower() in ("zh", "zho", "cmn", "lzh", "yue"):
        simplified = sum(c in _SIMPLIFIED and c not in _TRADITIONAL for c in text)
        traditional = sum(c in _TRADITIONAL and c not in _SIMPLIFIED for c in text)
        return f"{tag}-{'Hant' if traditional > simplified else 'Hans'}"
    return tag
