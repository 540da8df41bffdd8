"""Words and ranges become the units that the design defines."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluator.treebank.read import read_treebank
from evaluator.treebank.structure import FIELDS
from evaluator.treebank.units import features_of, is_sound_feats, is_space_after, joined, lemma_of, units_of
from evaluator.types import NO_HEAD, ROOT, Sentence, Unit


def middle(folder: Path, name: str) -> Sentence:
    """The second sentence of a fixture."""
    return read_treebank([folder / f"{name}.conllu"], name="T", language="xx").sentences[1]


def units(*rows: tuple[str, str, str, str, int | None, str, str]) -> tuple[Unit, ...]:
    """Units of rows (id, form, lemma, upos, head, deprel, misc)."""
    lines = []
    heads = []
    for ident, form, lemma, upos, head, deprel, misc in rows:
        values = (ident, form, lemma, upos, "_", f"From={ident}", "_", deprel, "_", misc)
        lines.append(dict(zip(FIELDS, values, strict=True)))
        if ident.isdecimal():
            heads.append(-1 if head is None else head)
    return units_of(lines, heads)


def row(
    ident: str, form: str, head: int | None = None, *, upos: str = "X", deprel: str = "dep", misc: str = "_"
) -> tuple[str, str, str, str, int | None, str, str]:
    return (ident, form, form, upos, head, deprel, misc)


def heads(found: Sequence[Unit]) -> list[int]:
    return [unit.head for unit in found]


def test_range_is_one_unit_named_by_its_first_word_with_a_head_outside() -> None:
    found = units(
        row("1", "go", 0),
        row("2-4", "xyz", misc="SpaceAfter=No"),
        row("2", "x", 3, upos="ADP", deprel="case"),
        row("3", "y", 5, upos="NOUN", deprel="obj"),
        row("4", "z", 1, upos="DET", deprel="det"),
        row("5", "w", 1),
    )
    assert found[1] == Unit("xyz", "x y z", "NOUN", "obj", 2, "From=3", False, True, "2-4")
    assert heads(found) == [ROOT, 2, 0]


def test_head_inside_a_range_becomes_the_range() -> None:
    found = units(row("1-2", "xy"), row("1", "x", 0), row("2", "y", 1), row("3", "z", 2))
    assert heads(found) == [ROOT, 0]


def test_range_whose_heads_stay_inside_has_no_head() -> None:
    found = units(row("1-2", "xy"), row("1", "x", 2, upos="A"), row("2", "y", 1, upos="B"), row("3", "z", 0))
    assert (found[0].upos, found[0].head) == ("A", NO_HEAD)


def test_word_after_a_range_is_a_unit_of_its_own_and_empty_nodes_are_none(treebank_data: Path) -> None:
    assert [unit.word_id for unit in middle(treebank_data, "range").units] == ["1-2", "3"]
    assert [unit.form for unit in middle(treebank_data, "empty_nodes_ten").units] == ["a", "b"]
    assert [unit.head for unit in middle(treebank_data, "empty_node_first").units] == [ROOT]


def test_only_the_range_line_decides_the_space_after_a_range() -> None:
    inside = row("2", "y", 1, misc="SpaceAfter=No")
    found = units(row("1-2", "xy"), row("1", "x", 0), inside, row("3", "z", 1))
    assert [unit.space_after for unit in found] == [True, True]


def test_heads_that_point_nowhere(treebank_data: Path) -> None:
    for name in ("head_out_of_range", "head_negative", "head_superscript_digit", "head_of_five_thousand_digits"):
        sentence = middle(treebank_data, name)
        assert heads(sentence.units) == [ROOT, NO_HEAD]
        assert not sentence.is_tree


def test_units_in_a_cycle_are_no_tree_though_the_words_are(treebank_data: Path) -> None:
    assert not middle(treebank_data, "unit_cycle").is_tree
    assert middle(treebank_data, "range").is_tree


@pytest.mark.parametrize(
    ("form", "lemma", "upos", "expected"),
    [
        ("maps", "map", "NOUN", "map"),
        ("old", "_", "ADJ", None),
        ("old", "", "ADJ", None),
        ("_", "_", "X", "_"),
        ("!", "_", "PUNCT", "!"),
        ("§", "", "SYM", "§"),
        ("frente", "em_frente_a", "ADP", "em frente a"),
        ("^_^", "^_^", "SYM", "^_^"),
        ("x", "_x", "X", "_x"),
        ("New  York", "New  York", "PROPN", "New  York"),
    ],
)
def test_lemma(form: str, lemma: str, upos: str, expected: str | None) -> None:
    assert lemma_of(form, lemma, upos) == expected


def test_lemmas_of_a_range_are_joined_with_spaces_only_in_spaced_scripts() -> None:
    assert joined(["in", "das"]) == "in das"
    assert joined(["食べ", "た"]) == "食べた"
    assert joined(["食べ", "x"]) == "食べ x"
    assert joined(["in", None]) is None


@pytest.mark.parametrize(
    ("misc", "expected"),
    [
        ("_", True),
        ("SpaceAfter=No", False),
        ("Flag|Gloss=,|SpaceAfter=No|Note=a=b", False),
        ("SpaceAfter=No|SpaceAfter=Yes", False),
        ("SpaceAfter=Yes", True),
        ("spaceafter=no", True),
        ("XSpaceAfter=No", True),
        ("SpaceAfter=None", True),
        (r"SpacesAfter=\s", True),
    ],
)
def test_only_the_exact_item_decides_the_space(misc: str, expected: bool) -> None:
    assert is_space_after(misc) is expected


def test_features_are_taken_apart_once_each_and_malformed_ones_left() -> None:
    assert features_of("Case=Nom|Gender=Fem,Masc|Number[psor]=Sing") == [
        "Case=Nom",
        "Gender=Fem,Masc",
        "Number[psor]=Sing",
    ]
    assert features_of("Case=Nom|Case=Acc|Case=Nom|") == ["Case=Nom", "Case=Acc"]
    assert all(features_of(feats) == [] for feats in ("_", "", "Sing", "=Sing", "A=b=c"))


def test_feats() -> None:
    assert all(map(is_sound_feats, ("_", "Case=Nom", "Case=Nom|Number[psor]=Sing", "Gender=Fem,Masc")))
    assert not any(map(is_sound_feats, ("Sing", "=Sing", "A=b=c", "Case=Nom|", "Case=Nom|Case=Acc", "")))


def test_fields_pass_through_untouched(treebank_data: Path) -> None:
    feats = [unit.feats for unit in middle(treebank_data, "feats_malformed").units]
    assert feats == ["Sing", "Case=Nom|", "Case=Nom|Case=Acc", "A=b=c"]
    assert [unit.form for unit in middle(treebank_data, "space_inside_form").units] == ["New  York", "sleeps"]
    assert [unit.form for unit in middle(treebank_data, "line_separator_in_form").units] == ["a\u2028b", "c\u0085"]
