"""Words and ranges of one sentence to units: what is moved, masked and replaced by its lemma.

A range is one unit with the FORM and MISC of its own line; its words give it UPOS, FEATS, relation, head and lemma.
Empty nodes have no text and no place in the row.
"""

import re
from collections.abc import Mapping, Sequence

from evaluator.treebank.structure import BAD_HEAD
from evaluator.treebank.text import is_unspaced_pair
from evaluator.types import NO_HEAD, ROOT, Unit

_SOUND_FEAT = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?=[^=|\s]+")

Row = Mapping[str, str]
"""The ten raw fields of a word line by name, as a `conllu` Token holds them when its fields are left unparsed."""


def units_of(rows: Sequence[Row], heads: Sequence[int]) -> tuple[Unit, ...]:
    """The units of a structurally sound sentence, in order. `heads[i]` is the head of word i + 1: 0 root, -1 none.

    A range takes UPOS, FEATS and relation from its first word whose head lies outside the range, and that word's head
    (DESIGN, section 1); heads are mapped from words to units.
    """
    surfaces: list[tuple[Row, int, int]] = []  # (line that is written, first word, last word)
    words: list[Row] = []
    unit_of_word = [ROOT]
    range_end = 0
    for row in rows:
        ident = row["id"]
        if "-" in ident:
            start, _, end = ident.partition("-")
            range_end = int(end)
            surfaces.append((row, int(start), range_end))
        elif "." not in ident:
            words.append(row)
            if len(words) > range_end:
                surfaces.append((row, len(words), len(words)))
            unit_of_word.append(len(surfaces) - 1)
    return tuple(
        _word_unit(row, heads[first - 1], unit_of_word)
        if row is words[first - 1]
        else _range_unit(row, first, last, words, heads, unit_of_word)
        for row, first, last in surfaces
    )


def _word_unit(row: Row, head: int, unit_of_word: list[int]) -> Unit:
    """The unit of a word outside any range."""
    form = row["form"]
    return Unit(
        form,
        lemma_of(form, row["lemma"], row["upos"]),
        row["upos"],
        row["deprel"],
        NO_HEAD if head == BAD_HEAD else unit_of_word[head],
        row["feats"],
        is_space_after(row["misc"]),
        False,
        row["id"],
    )


def _range_unit(
    row: Row, first: int, last: int, words: list[Row], heads: Sequence[int], unit_of_word: list[int]
) -> Unit:
    """The unit of a range and the words under it. If no head leads out: the first word, headless."""
    chosen, head = first, BAD_HEAD
    for word in range(first, last + 1):
        if not first <= heads[word - 1] <= last:
            chosen, head = word, heads[word - 1]
            break
    named = words[chosen - 1]
    lemmas = [lemma_of(word["form"], word["lemma"], word["upos"]) for word in words[first - 1 : last]]
    return Unit(
        row["form"],
        joined(lemmas),
        named["upos"],
        named["deprel"],
        NO_HEAD if head == BAD_HEAD else unit_of_word[head],
        named["feats"],
        is_space_after(row["misc"]),
        True,
        row["id"],
    )


def lemma_of(form: str, lemma: str, upos: str) -> str | None:
    """The lemma as it would be written, or None when the treebank gives none.

    `_` and an empty field are missing, with two exceptions: FORM `_` with LEMMA `_` is the character itself, and
    punctuation and symbols (PUNCT, SYM), which do not inflect, stand for themselves. An underscore that joins the parts
    of a lemma (`em_frente_a`) and is not in the FORM is a space: no text ever contains it.
    """
    if lemma in ("_", ""):
        return form if form == "_" or upos in ("PUNCT", "SYM") else None
    if "_" in lemma and "_" not in form and not (lemma[0] == "_" or lemma[-1] == "_"):
        return lemma.replace("_", " ")
    return lemma


def joined(lemmas: Sequence[str | None]) -> str | None:
    """The lemmas with a space between them, none inside a script written without spaces; None when any is missing."""
    written = ""
    for lemma in lemmas:
        if lemma is None:
            return None
        written += lemma if not written or is_unspaced_pair(written, lemma) else f" {lemma}"
    return written or None


def is_space_after(misc: str) -> bool:
    """False iff MISC holds the exact item `SpaceAfter=No`."""
    return misc == "_" or ("SpaceAfter=No" not in misc.split("|"))


def is_sound_feats(feats: str) -> bool:
    """Whether FEATS is `_` or `Name=Value` items with distinct names; others go to the group `malformed`."""
    if feats == "_":
        return True
    items = feats.split("|")
    return all(map(_SOUND_FEAT.fullmatch, items)) and len({item.partition("=")[0] for item in items}) == len(items)


def features_of(feats: str) -> list[str]:
    """The `Name=Value` items of FEATS as written, each once; none for `_`, and nothing of what is malformed."""
    return [item for item in dict.fromkeys(feats.split("|")) if _SOUND_FEAT.fullmatch(item)]
