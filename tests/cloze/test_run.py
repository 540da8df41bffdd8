"""Scores equal those asked of the graph one by one; floors, groups and files are what the report says they are."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.cloze.dataset import SCHEMA, ClozeData
from evaluator.cloze.inputs import cased_like, encode_variants, left_to_right, question_of, variants_of
from evaluator.cloze.outcomes import best_form, most_frequent
from evaluator.cloze.paradigms import Paradigms
from evaluator.cloze.results import GROUPS, result_rows, share
from evaluator.cloze.run import run_cloze, with_paradigms
from evaluator.cloze.tables import read_table
from evaluator.config import Config, ScoringSettings
from evaluator.encode.tokenizer import PieceCutter
from evaluator.score.backend import Session
from evaluator.score.bundle import TOKENIZER_FILE, read_bundle
from evaluator.stages.encode import open_models
from tests.fake_bundle import make_fake_bundle

WORDS = ("She", "walks", "walk", "the", "home", "cloze", "lemma", "They", "take", "took", "taken")


@pytest.fixture(scope="module", params=["wordpiece", "unigram"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / request.param
    make_fake_bundle(folder, vocab=WORDS, tokenizer=request.param)
    return folder


def config(bundle: Path, out: Path, shard_rows: int = 2048) -> Config:
    scoring = ScoringSettings(threads=1, shard_rows=shard_rows)
    return Config(models=(str(bundle),), out=str(out), scoring=scoring)


def questions(data: ClozeData) -> list[Any]:
    return [question_of(i, row, row["paradigm"]) for i, row in enumerate(data.split("test").to_pylist())]


def one_by_one(folder: Path, ids: list[int], masks: list[int], golds: list[int]) -> list[float]:
    """log p of each gold piece at its mask, of one row alone."""
    session = Session(folder, read_bundle(folder), threads=1)
    row = np.array([ids], dtype=np.int64)
    at = np.array(masks, dtype=np.int64)
    answers = session.run(row, np.ones_like(row), at, np.arange(len(at)), np.array(golds, dtype=np.int64))
    return [float(x) for x in answers.gold_logp]


def test_scores_equal_those_of_single_rows(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    done = run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en"))
    assert done.complete
    outcomes = pq.read_table(tmp_path / "run/report/outcomes.parquet").to_pylist()
    model = open_models((str(bundle),))[0].bundle
    cutter = PieceCutter((bundle / TOKENIZER_FILE).read_bytes(), mask_id=model.mask_id)
    asked = questions(english)[:5]
    checked = 0
    for question in asked:
        for style, text in (("context", question.context), ("prompt", question.prompt)):
            outcome = next(o for o in outcomes if o["item"] == question.item and o["style"] == style)
            left, right = text.split("[x]")
            ids = cutter.cut_texts([left + question.forms[question.gold] + right])[0]
            before, after = cutter.prefix.tolist(), cutter.suffix.tolist()
            start = len(before) + len(cutter.cut_texts([left.rstrip()])[0]) if left else len(before)
            masks = list(range(start, start + outcome["n_masks"]))
            full = [*before, *ids, *after]
            golds = [full[m] for m in masks]
            hidden = [model.mask_id if i in masks else piece for i, piece in enumerate(full)]
            assert outcome["gold_logp"] == pytest.approx(sum(one_by_one(bundle, hidden, masks, golds)), abs=1e-4)
            steps = 0.0
            for step, mask in enumerate(masks):
                shown = list(hidden)
                for earlier in masks[:step]:
                    shown[earlier] = full[earlier]
                steps += one_by_one(bundle, shown, [mask], [full[mask]])[0]
            assert outcome["gold_logp_l2r"] == pytest.approx(steps, abs=1e-4)
            checked += outcome["n_masks"] > 1
    assert checked


def test_shards_and_reruns_change_nothing(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    table = read_table("en")
    first = run_cloze(english, "test", config(bundle, tmp_path / "a"), table=table).document
    again = run_cloze(english, "test", config(bundle, tmp_path / "a"), table=table).document
    cut = run_cloze(english, "test", config(bundle, tmp_path / "b", shard_rows=16), table=table).document
    assert first["rows"] == again["rows"]
    for ours, theirs in zip(first["rows"], cut["rows"], strict=True):
        assert ours["measures"] == theirs["measures"]


def test_the_parallel_decoder_alone_leaves_no_left_to_right(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    run = run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en"), l2r=False)
    measures = run.document["rows"][0]["measures"]
    assert measures["prompt.joint_l2r"] == {"n": 0, "value": None, "ci": None}
    assert measures["prompt.joint"]["n"] > 0


def test_the_report_is_written_and_agrees(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    done = run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en"))
    folder = tmp_path / "run/report"
    assert json.loads((folder / "report.json").read_text("utf-8"))["rows"] == json.loads(
        json.dumps(done.document["rows"])
    )
    page = (folder / "report.html").read_text("utf-8")
    assert "copy the lemma" in page and "most frequent form" in page and "default-src &#x27;none&#x27;" in page
    assert ' few"' in page or '"few"' in page
    assert (folder / "report.md").read_text("utf-8").startswith("# Verb-inflection cloze: en, test")
    assert {r["by"] for r in done.document["rows"]} == set(GROUPS)
    everything = done.document["rows"][0]
    assert everything["n_items"] == everything["n"] == done.document["counts"]["items"]
    csv = (folder / "tables/m0-choice-cell.csv").read_bytes()
    assert csv.splitlines()[0].startswith(b"group,n,context_joint,context_joint_lo")


def test_floors_are_counted_by_hand(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    done = run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en"))
    rows = english.split("test").to_pylist()
    measures = done.document["rows"][0]["measures"]
    assert measures["copy_lemma"]["value"] == sum(r["lemma"] == r["gold"].casefold() for r in rows) / len(rows)
    frequent = [most_frequent(r["paradigm"], r["paradigm_freq"]) == r["gold"].casefold() for r in rows]
    assert measures["frequent_form"]["value"] == sum(frequent) / len(rows)


def test_french_hides_the_cell_that_is_not_reported(english: ClozeData, bundle: Path, tmp_path: Path) -> None:
    run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en"))
    outcomes = pq.read_table(tmp_path / "run/report/outcomes.parquet")
    at = outcomes.column_names.index("cell")
    moved = outcomes.set_column(at, outcomes.schema.field(at), pa.array(["lem_low+form_high"] * outcomes.num_rows))
    rows = {(r["by"], r["group"]): r for r in result_rows(moved, read_table("fr"))}
    hidden = rows["cell", "lem_low+form_high"]
    assert hidden["note"].startswith("not reported for French") and hidden["n"] > 0
    assert all(m["value"] is None for m in hidden["measures"].values())
    assert rows["all", "all"]["note"], "a report of that cell alone would show it under another name"
    assert not rows["cell", "lem_high+form_low"]["note"] and rows["cell", "lem_high+form_low"]["n"] == 0


def test_a_text_too_long_is_windowed_and_one_with_a_special_piece_skipped(english: ClozeData, tmp_path: Path) -> None:
    make_fake_bundle(tmp_path / "short", vocab=WORDS, max_pieces=24)
    rows = english.split("test").to_pylist()
    rows[0]["context"] += " [MASK]"
    rows[0]["prompt"] = rows[0]["prompt"].replace(" feats=", " [MASK] feats=")
    marked = ClozeData("en", "en", {"test": pa.Table.from_pylist(rows, schema=SCHEMA)}, {})
    document = run_cloze(marked, "test", config(tmp_path / "short", tmp_path / "run"), table=None).document
    counts = document["counts"]
    assert counts["windowed"] > 0
    assert counts["scored"] + sum(counts["skipped"].values()) == counts["outcomes"] == 2 * len(rows)
    assert set(counts["skipped"]) <= {"special_token_text", "too_long"}


def test_without_a_paradigm_the_golds_of_the_lemma_are_the_choice(english: ClozeData) -> None:
    unknown = {"paradigm": None, "paradigm_freq": None}
    bare = {split: [row | unknown for row in part.to_pylist()] for split, part in english.splits.items()}
    parts = {split: pa.Table.from_pylist(rows, schema=SCHEMA) for split, rows in bare.items()}
    rows = [row for split in ("train", "dev", "test") for row in bare[split]]
    found = with_paradigms(replace(english, splits=parts), rows, Paradigms(), None)
    write = next(r for r in found if r["lemma"] == "write")
    assert write["paradigm"] == ["write", "written", "wrote"] and write["paradigm_freq"] is None


def test_variants_steps_and_cases() -> None:
    assert [cased_like(gold, "gehen") for gold in ("Ging", "GING", "ging")] == ["Gehen", "GEHEN", "gehen"]
    question = question_of(0, {"gold": "Took", "context": "[x] it.", "prompt": "p [x] it."}, ["take", "took", "TOOK"])
    assert question.forms == ("Take", "Took") and question.gold == 1
    variants = variants_of([question, question])
    assert variants.style.tolist() == [0, 0, 1, 1] * 2 and variants.form.tolist() == [0, 1] * 4


def test_steps_show_earlier_pieces_and_ask_for_the_next(bundle: Path) -> None:
    model = read_bundle(bundle)
    cutter = PieceCutter((bundle / TOKENIZER_FILE).read_bytes(), mask_id=model.mask_id)
    question = question_of(0, {"gold": "sang", "context": "She [x].", "prompt": "p [x]."}, ["sang", "walks"])
    inputs = encode_variants([question], cutter, unknown_id=model.unk_id, limit=64)
    steps = left_to_right(inputs, model.mask_id)
    first = [i for i, v in enumerate(steps.variant) if v == 0]
    golds = inputs.golds[inputs.gold_offsets[0] : inputs.gold_offsets[1]].tolist()
    assert len(first) == len(golds) > 1
    for step in first:
        ids = steps.inputs.ids[steps.inputs.offsets[step] : steps.inputs.offsets[step + 1]].tolist()
        assert ids.count(model.mask_id) == len(golds) - step
        assert steps.inputs.golds[step] == golds[step]
    assert 1 not in steps.variant.tolist()[: len(first)]


def test_choices_and_shares() -> None:
    assert best_form(np.array([-2.0, -1.0, -1.0])) == 1
    assert best_form(np.array([-np.inf, np.nan])) is None
    assert most_frequent(["a", "b"], [0, 0]) is None and most_frequent(["a", "b"], None) is None
    none = share(np.array([True]), np.array([False]), np.array([0]), 0.95)
    assert none == {"n": 0, "value": None, "ci": None}
    alone = share(np.array([True, False] * 20), np.ones(40, bool), np.arange(40), 0.95)
    twins = share(np.array([True, False] * 20).repeat(2), np.ones(80, bool), np.arange(40).repeat(2), 0.95)
    assert alone["value"] == twins["value"] == 0.5
    assert twins["ci"] == pytest.approx(alone["ci"], abs=0.01)
