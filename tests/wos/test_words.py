"""Texts as units: written back they are the text; what ends a sentence; what is held back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.treebank.text import spell
from evaluator.wos.nouns import noun_rule
from evaluator.wos.words import is_one_sentence, is_punctuation, units_of

DRAWN = st.lists(st.sampled_from(["a", "Bee", ",", "...", "(x)", "c,", "«d»", "!?", "e-f", "'"]), max_size=9)


@given(DRAWN)
def test_units_written_in_order_are_the_text(parts: list[str]) -> None:
    text = " ".join(parts)
    assert spell(units_of(text)) == text
    assert spell(units_of(text, split="all")) == text


@given(DRAWN)
def test_the_final_punctuation_is_all_that_is_held_back(parts: list[str]) -> None:
    units = units_of(" ".join(parts))
    assert len(units) in (len(parts), len(parts) + 1)
    if len(units) > len(parts):
        assert is_punctuation(units[-1].form) or any(u.upos == "PUNCT" for u in units)


def test_where_words_and_punctuation_part() -> None:
    assert [u.form for u in units_of('He left, "at last".')] == ["He", "left,", '"at', "last", '".']
    split = units_of('He left, "at last".', split="all")
    assert [u.form for u in split] == ["He", "left", ",", '"', "at", "last", '".']
    assert [u.upos for u in split] == ["X", "X", "PUNCT", "PUNCT", "X", "X", "PUNCT"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He saw it all.", True),
        ("He saw it. She left.", False),
        ("Dr. Smith of the U.S. Army came.", True),
        ("Is it so? yes, he said.", True),
        ("他走了。 她來了。", False),
        ("He said “Go!” Then he left.", False),
        ("About 3.5 percent, e.g. in May.", True),
        ("", True),
    ],
)
def test_one_sentence(text: str, expected: bool) -> None:
    assert is_one_sentence(text) is expected


def test_nouns_by_capitals_and_by_a_treebank(tmp_path: pytest.TempPathFactory) -> None:
    rule = noun_rule("")
    assert [rule.tag(w, i == 0) for i, w in enumerate(["Does", "Mary", "see", "Ann"])] == ["X", "PROPN", "X", "PROPN"]
    file = tmp_path / "en_x-ud-test.conllu"  # type: ignore[operator]
    lines = [("The", "DET"), ("dog", "NOUN"), ("dogs", "VERB"), ("Ann", "PROPN"), ("dogs", "NOUN"), ("dogs", "NOUN")]
    body = "".join(f"{i}\t{w}\t{w}\t{t}\t_\t_\t{i - 1}\tdep\t_\t_\n" for i, (w, t) in enumerate(lines, 1))
    file.write_text(f"# sent_id = 1\n{body}\n", encoding="utf-8")
    rule = noun_rule(str(file))
    assert [rule.tag(w, False) for w in ("dog", "Dogs", "ann", "the", "cat")] == ["NOUN", "NOUN", "PROPN", "DET", "X"]
    assert "en_x-ud-test" in rule.said
