"""U5: a line is the text the model saw, cut at its units; direction and language are read off the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.report.lines import cut, direction, language_tag


def test_units_written_together_are_cut_by_their_spellings() -> None:
    line = cut("nach Mann.alte ⟨mask⟩⟨mask⟩", [2, 1, 4, 0, 3], 3, ["alte", "Mann", "nach", "ging", "."], None)
    assert line["t"] == ["", "nach", " ", "Mann", "", ".", "", "alte", " ", "⟨mask⟩⟨mask⟩", ""]
    assert line["u"] == [2, 1, 4, 0, 3]


def test_lemmas_carry_the_form_they_stand_for() -> None:
    line = cut("er gehen ⟨mask⟩", [0, 1, 2], 2, ["er", "gehen", "Haus"], ["er", "ging", "Hause"])
    assert line["r"] == ["", "ging", ""]


def test_without_spellings_punctuation_is_a_unit_of_its_own() -> None:
    assert cut("Der ⟨mask⟩ ging.", [0, 1, 2, 3], 1, None, None)["t"][1::2] == ["Der", "⟨mask⟩", "ging", "."]


def test_a_text_that_cannot_be_cut_stays_whole() -> None:
    assert cut("这个⟨mask⟩", [0, 1, 2], 2, None, None) == {"t": ["这个⟨mask⟩"], "u": [], "r": []}
    assert cut("a b", [0, 1], -1, ["a", "x"], None)["t"] == ["", "a", " ", "b", ""]


@given(st.text(), st.integers(1, 6))
def test_a_cut_never_changes_the_text(text: str, units: int) -> None:
    line = cut(text, list(range(units)), 0, None, None)
    assert "".join(line["t"]) == text
    assert not line["u"] or len(line["t"]) == 2 * units + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ذهب ⟨mask⟩ إلى البيت", "rtl"),
        ("הילד 42 BBC הלך", "rtl"),
        ("dhahaba ⟨mask⟩", "ltr"),
        ("…", "ltr"),
        ("我们", "ltr"),
    ],
)
def test_direction_is_the_majority_of_strong_characters(text: str, expected: str) -> None:
    assert direction(text) == expected


def test_chinese_gets_the_script_of_its_characters() -> None:
    assert [language_tag("zh", "这个问题"), language_tag("zh", "這個問題"), language_tag("ja", "問題")] == [
        "zh-Hans",
        "zh-Hant",
        "ja",
    ]
    assert language_tag('x"><b>', "a") == "xb"
