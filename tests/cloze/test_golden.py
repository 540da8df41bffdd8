"""The hand-checked items: exactly these, with exactly these fields, come of our own sentences."""

import json

import pytest

from evaluator.cloze.candidates import find_candidates
from evaluator.cloze.paradigms import Paradigms, add_treebank, read_unimorph
from evaluator.cloze.tables import read_table
from tests.cloze.conftest import DATA, LANGUAGES, resources, small, treebank

FIELDS = ("context", "gold", "lemma", "phenomenon", "feats", "person_number", "verbclass")
EXPECTED = {
    language: [json.loads(line) for line in (DATA / f"{language}.expected.jsonl").read_text("utf-8").splitlines()]
    for language in LANGUAGES
}


def test_the_golden_set_is_large_enough() -> None:
    assert all(len(EXPECTED[language]) >= 20 for language in ("de", "en", "fr"))
    assert sum(map(len, EXPECTED.values())) >= 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_candidates_are_the_expected_ones(language: str) -> None:
    own, paradigms = treebank(language), Paradigms()
    add_treebank(paradigms, own.sentences)
    for path in resources(language).unimorph:
        read_unimorph(paradigms, path)
    found, _ = find_candidates(own.sentences, read_table(language), paradigms)
    rows = [{"sent_id": c.sentence.sent_id, **{name: getattr(c, name) for name in FIELDS}} for c in found]
    assert rows == EXPECTED[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_hold_the_expected_fields(language: str) -> None:
    data = small(language)
    rows = [row for part in data.main.values() for row in part.to_pylist()]
    expected = {(row["context"], row["gold"]): row for row in EXPECTED[language]}
    assert rows and len(rows) + sum(data.build["candidates_left_out"].values()) == len(expected)
    for row in rows:
        assert {name: row[name] for name in FIELDS} == {
            name: expected[row["context"], row["gold"]][name] for name in FIELDS
        }
        assert row["prompt"] == f"cloze lemma={row['lemma']} context={row['context']} feats={row['feats']} ->"


def test_what_is_left_out_is_counted() -> None:
    left_out = {language: small(language).build["verbs_left_out"] for language in LANGUAGES}
    assert left_out["en"] == {"auxiliary": 1, "in_multiword_token": 1, "no_phenomenon": 3, "syncretic": 1}
    assert left_out["de"] == {"auxiliary": 1, "no_phenomenon": 3}
    assert left_out["fr"] == {"auxiliary": 1, "no_phenomenon": 3}


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("de", ["agree_pres", "agree_past", "ptcp"]),
        ("fr", ["agree_pres", "agree_imp", "agree_ps", "agree_fut", "agree_cnd", "agree_sbjv"]),
        ("en", ["agree_pres", "past", "ptcp_vs_past"]),
    ],
)
def test_every_phenomenon_of_the_card_is_there_and_tested(language: str, names: list[str]) -> None:
    assert [p.name for p in read_table(language).phenomena] == names
    assert {row["phenomenon"] for row in EXPECTED[language]} == set(names)
