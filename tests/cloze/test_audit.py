"""Every guarantee holds for what we build, and its check fails on a data set that breaks it, and only then."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from evaluator.cloze.audit import CHECKS, audit
from evaluator.cloze.build import build
from evaluator.cloze.dataset import SCHEMA, ClozeData, cell_split
from evaluator.cloze.tables import read_table
from tests.cloze.conftest import LANGUAGES, frequencies, resources, small, treebank

Row = dict[str, Any]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_we_build_keeps_every_guarantee(language: str, seed: int) -> None:
    checks = audit(small(language, seed), read_table(language))
    assert [c for c in checks if c.ok is False] == []
    unseen = {c.name for c in checks if c.ok is None} - {"ptcp_vs_past: one feats for both answers"}
    assert unseen == set() and [c.name for c in checks] == list(CHECKS)


def broken(data: ClozeData, change: Callable[[dict[str, list[Row]]], None], **build_facts: Any) -> ClozeData:
    rows = {split: part.to_pylist() for split, part in data.splits.items()}
    change(rows)
    splits = {split: pa.Table.from_pylist(part, schema=SCHEMA) for split, part in rows.items()}
    return replace(data, splits=splits, build={**data.build, **build_facts})


def sound() -> ClozeData:
    """A data set with rows in every split, so that each guarantee can be broken."""
    table = read_table("en")
    data = build([treebank("en")], table, resources("en"), frequencies("en"))
    rows = [row for part in data.main.values() for row in part.to_pylist()]
    levels = [("high", 50), ("low", 0)]
    for i, row in enumerate(rows):
        row["form_level"], row["form_freq"] = levels[i % 2]
        row["lemma_level"], other = "high", 100 - row["form_freq"]
        row["lemma_other_freq"] = other
        row["paradigm"], row["paradigm_freq"] = [row["gold"].casefold(), "~"], [row["form_freq"], other]
        row["cell"] = f"lem_{row['lemma_level']}+form_{row['form_level']}"
    lemmas = sorted({row["lemma"] for row in rows})
    texts = {row["context"].replace("[x]", row["gold"]) for row in rows}
    assert len(texts) > 15
    single = [r for r in rows if sum(q["sent_id"] == r["sent_id"] for q in rows) == 1]
    split_of = {lemma: ("train", "dev", "test")[i % 3] for i, lemma in enumerate(lemmas)}
    parts = {s: [r for r in single if split_of[r["lemma"]] == s] for s in ("train", "dev", "test")}
    parts |= {cell_split(c): [r for r in parts["test"] if r["cell"] == c] for c in {r["cell"] for r in single}}
    return ClozeData("en", "en", {s: pa.Table.from_pylist(p, schema=SCHEMA) for s, p in parts.items()}, data.build)


def move_lemma(rows: dict[str, list[Row]]) -> None:
    rows["train"].append(rows["dev"][0] | {"context": "Other [x].", "prompt": ""})


def move_sentence(rows: dict[str, list[Row]]) -> None:
    row = rows["dev"][0]
    words = row["context"].replace("[x]", row["gold"]).split()
    rows["train"].append(row | {"lemma": "new", "gold": words[0], "context": " ".join(["[x]", *words[1:]])})


def repeat(rows: dict[str, list[Row]]) -> None:
    rows["train"] += [rows["train"][0]] * 11


def repeat_person(rows: dict[str, list[Row]]) -> None:
    row = next(r for r in rows["train"] if r["person_number"] != "-")
    rows["train"] += [row | {"lemma": f"l{i}"} for i in range(201)]


def fill_ceiling(rows: dict[str, list[Row]]) -> None:
    rows["test"] += [rows["test"][0] | {"cell": "lem_high+form_high"}] * 801


def two_markers(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["context"] += " [x]"


def count_the_form(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["lemma_other_freq"] += rows["dev"][0]["form_freq"] + 1


def rare_in_train(rows: dict[str, list[Row]]) -> None:
    rows["train"][0]["lemma_level"] = "low"


def wrong_cell(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["form_level"] = "low" if rows["dev"][0]["form_level"] == "high" else "high"


def no_union(rows: dict[str, list[Row]]) -> None:
    rows["test"].pop()


def other_feats(rows: dict[str, list[Row]]) -> None:
    next(r for part in rows.values() for r in part if r["phenomenon"] == "ptcp_vs_past")["feats"] = "V;PST;PTCP"


def other_prompt(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["prompt"] = "cloze"


def new_phenomenon(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["phenomenon"] = "agree_past"


def no_licence(rows: dict[str, list[Row]]) -> None:
    rows["dev"][0]["licence"] = "unknown"


BREAKS = {
    "lemma-disjoint splits": move_lemma,
    "sentence-disjoint splits": move_sentence,
    "cap per phenomenon and lemma": repeat,
    "cap per phenomenon and person-number": repeat_person,
    "lem_high+form_high is capped": fill_ceiling,
    "one marker per context": two_markers,
    "lemma_other_freq excludes the form": count_the_form,
    "rare lemmas are in test": rare_in_train,
    "levels and cells follow the counts": wrong_cell,
    "test is the union of its cells": no_union,
    "ptcp_vs_past: one feats for both answers": other_feats,
    "prompt is made of its fields": other_prompt,
    "phenomena, feats and cells are known": new_phenomenon,
    "every row has a treebank and a licence": no_licence,
}


def verdicts(data: ClozeData) -> dict[str, bool | None]:
    return {check.name: check.ok for check in audit(data, read_table("en"))}


def test_the_sound_data_set_passes() -> None:
    assert False not in verdicts(sound()).values()


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_guarantee_is_found(name: str) -> None:
    assert verdicts(broken(sound(), BREAKS[name]))[name] is False


def test_a_marker_in_the_sources_is_found() -> None:
    data = broken(sound(), lambda _: None, markers_in_sources=1)
    assert verdicts(data)["marker in no source"] is False


def test_every_check_is_broken_here() -> None:
    assert {*BREAKS, "marker in no source", "no hand-written cue words"} == set(CHECKS)


def test_a_released_file_shows_what_it_can() -> None:
    data = sound()
    bare = {
        split: pa.Table.from_pylist(
            [
                row | dict.fromkeys(("licence", "sent_id", "paradigm", "paradigm_freq")) | {"source_treebank": "UD_ewt"}
                for row in part.to_pylist()
            ],
            schema=SCHEMA,
        )
        for split, part in data.splits.items()
    }
    found = verdicts(ClozeData("en", "en", bare, {}))
    assert False not in found.values()
    assert {name for name, ok in found.items() if ok is None} == {
        "no hand-written cue words",
        "cap per phenomenon and lemma",
        "cap per phenomenon and person-number",
        "marker in no source",
    }
