"""A licence is told by language and treebank; the same code can be under another one in another language."""

import pytest

from evaluator.treebank.licences import UNKNOWN, is_permissive, known_licence, licence_of, treebank_code


@pytest.mark.parametrize(
    ("language", "name", "licence"),
    [
        ("ar", "UD_Arabic-PUD", "CC BY-SA 3.0"),
        ("cs", "cs_pud-ud-test", "CC BY-SA 4.0"),
        ("zh", "UD_Chinese-GSDSimp", "CC BY-SA 4.0"),
        ("de", "UD_German-PUD", "CC BY-SA 3.0"),
        ("en", "UD_English-GUM", "CC BY-NC-SA 4.0"),
        ("xx", "UD_Klingon-PUD", UNKNOWN),
    ],
)
def test_a_treebank_is_under_its_own_licence(language: str, name: str, licence: str) -> None:
    found = licence_of(language, treebank_code(name))
    assert found == licence and is_permissive(found) == ("NC" not in licence and licence != UNKNOWN)


def test_a_code_alone_says_nothing_where_languages_differ() -> None:
    assert (known_licence("ewt"), known_licence("pud")) == ("CC BY-SA 4.0", UNKNOWN)
