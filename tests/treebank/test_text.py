"""Spaces follow the rule of the design, in the source's order and in others."""

from pathlib import Path

import pytest

from evaluator.treebank.read import read_treebank
from evaluator.treebank.text import ends_unspaced, folded, gaps, source_text, spell, starts_unspaced, traits_of
from evaluator.types import Unit


def units(text: str, *, lemmas: dict[str, str] | None = None) -> list[Unit]:
    """Units of a text in which `|` marks a cut without a space; units without letters are punctuation."""
    found = []
    for word in text.split(" "):
        parts = word.split("|")
        for part in parts:
            upos = "X" if any(character.isalnum() for character in part) else "PUNCT"
            lemma = (lemmas or {}).get(part)
            found.append(Unit(part, lemma, upos, "dep", -1, "_", part is parts[-1], False, str(len(found) + 1)))
    return found


def test_source_order_rebuilds_the_text() -> None:
    found = units("„|Ja|“ ,|sagte sie|.")
    assert spell(found) == source_text(found) == "„Ja“ ,sagte sie."


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("a b c|.", (1, 0, 2, 3), "b a c."),
        ("a b c|.", (0, 3, 2, 1), "a. c b"),  # a full stop stays attached to its left
        ("a|. b c", (3, 1, 0, 2), "c. a b"),
        ("( b", (1, 0), "b ("),  # a bracket that stood alone is attached to nothing
        ("a (|b|) c", (0, 4, 1, 2, 3), "a c (b)"),
        ("a (|b|) c", (1, 0, 3, 4, 2), "(a) c b"),
        ("a (|b|) c", (4, 1, 2, 0, 3), "c (b a)"),
        ("do|n't go", (2, 0, 1), "go don't"),  # words written together stay so while they are neighbours
        ("do|n't go", (1, 0, 2), "n't do go"),
        ("我|们 x 山|。", (4, 3, 2, 1, 0), "。山 x 们我"),
        ("我 们", (0, 1), "我 们"),  # the source's own space stays
        ("我 x 们", (0, 2, 1), "我们 x"),
        ("ไทย a ไทย", (0, 2, 1), "ไทยไทย a"),
        ("한국 a 한국", (0, 2, 1), "한국 한국 a"),
        ("well|-|known a", (3, 0, 1, 2), "a well-known"),
        ("well|-|known a", (0, 3, 1, 2), "well a-known"),
    ],
)
def test_natural_spacing(text: str, order: tuple[int, ...], expected: str) -> None:
    assert spell(units(text), order) == expected


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("do|n't go|.", (0, 1, 2, 3), "do n't go ."),
        ("我|们 x 山|。", (0, 1, 2, 3, 4), "我们 x 山。"),
        ("我 们", (0, 1), "我们"),
    ],
)
def test_uniform_spacing(text: str, order: tuple[int, ...], expected: str) -> None:
    assert spell(units(text), order, spacing="uniform") == expected


def test_no_space_before_the_first_slot() -> None:
    found = units("a b|.")
    assert gaps(traits_of(found), (2, 1, 0)) == [False, True, True]
    assert gaps(traits_of([]), ()) == []


def test_lemmas_are_spaced_like_their_forms_and_missing_ones_are_the_form() -> None:
    found = units("Cats ran|.", lemmas={"Cats": "cat", "ran": "run"})
    assert spell(found, lemma=True) == "cat run."
    assert spell(found, lemma=True, masked=1) == "cat ⟨mask⟩."
    assert spell(found, (1, 0, 2), masked=1, marker="[]") == "[] Cats."


@pytest.mark.parametrize(
    "text", ["山", "。", "々", "ー", "ｱ", "！", "ไ", "ລ", "ཀ", "မ", "ខ", "𠀀", "\u200b山", "น้ำ", "は\u3099"]
)
def test_scripts_written_without_spaces(text: str) -> None:
    assert starts_unspaced(text) and ends_unspaced(text)


@pytest.mark.parametrize("text", ["a", "1", ".", "“", "한", "я", "א", "ا", "क", "\u3000", "", "e\u0301"])
def test_scripts_written_with_spaces(text: str) -> None:
    assert not starts_unspaced(text) and not ends_unspaced(text)


def test_both_ends_are_told_apart() -> None:
    assert starts_unspaced("山x") and not ends_unspaced("山x")
    assert ends_unspaced("x山") and not starts_unspaced("x山")


def test_text_of_every_treebank_is_rebuilt(shared: Path) -> None:
    read = mismatches = 0
    for path in sorted((shared / "data" / "ud").glob("*/*.conllu")):
        result = read_treebank([path], name=path.stem, language="xx")
        assert not result.issues and result.counts.bad_sentences == 0
        read += len(result.sentences)
        mismatches += sum(note.code == "text_mismatch" for note in result.notes)
        assert all(spell(sentence.units) == sentence.text for sentence in result.sentences[::7])
    # zh_pud_t2s writes one character in the text another way than in its forms.
    assert (read, mismatches) == (45_823, 1)


def test_runs_of_white_space_are_folded() -> None:
    assert folded(" a \u00a0 b\t") == "a b"
