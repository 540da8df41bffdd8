"""A sound run passes, and the command says so as other commands do."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.audit.checks import CHECKS, audit
from evaluator.audit.recount import cells_of, columns_of, complete_cases
from evaluator.audit.spans import numbers
from evaluator.cli import app
from evaluator.errors import StoreError
from evaluator.reduce.cells import reduce_cells
from evaluator.reduce.complete import mark_complete
from tests.audit.tampering import copied, replace, report
from tests.reduce.synthetic import run as made_up
from tests.reduce.synthetic import table


def test_sound_run_passes_every_check(good: Path) -> None:
    found = list(audit(str(good)))
    assert [f.name for f in found] == list(CHECKS)
    assert [f for f in found if f.status != "holds"] == []
    assert all(f.checked for f in found)
    assert len({f.found for f in found if "1," in f.found}) > 1


def test_run_holds_what_the_checks_are_about(good: Path) -> None:
    """Windows, skipped items, several golds of one row: else checks would pass over nothing."""
    counts = json.loads((good / "report" / "report.json").read_bytes())["counts"]
    assert counts["scored"] > 0
    assert {f.name: f.checked for f in audit(str(good))}["head_swaps"] >= 100


def test_command(good: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    said = runner.invoke(app, ["audit", str(good)])
    assert said.exit_code == 0
    assert f"{len(CHECKS)} hold, 0 violated, 0 not checked" in said.stdout
    tampered = copied(good, tmp_path / "run")
    with report(tampered) as document:
        document["cells"][0]["top1"] = 0.9
    said = runner.invoke(app, ["audit", str(tampered), "--json"])
    answer = json.loads(said.stdout)
    assert (said.exit_code, answer["ok"]) == (1, False)
    assert [c["name"] for c in answer["checks"]] == list(CHECKS)
    assert all(c["rule"].endswith(".") for c in answer["checks"])
    assert "cells_recomputed" in {c["name"] for c in answer["checks"] if c["status"] == "violated"}
    assert str(tmp_path) not in said.stdout


def test_no_run_is_the_users_mistake(tmp_path: Path) -> None:
    for content in (None, "{}"):
        if content:
            (tmp_path / "run.json").write_text(content)
        with pytest.raises(StoreError, match="no run here"):
            list(audit(str(tmp_path)))


def test_without_the_bundles_what_needs_them_is_said_to_be_unchecked(good: Path, tmp_path: Path) -> None:
    run = copied(good, tmp_path / "run")
    settings = json.loads((run / "config.json").read_bytes())
    settings["models"] = [str(tmp_path / "gone")]
    (run / "config.json").unlink()
    (run / "config.json").write_text(json.dumps(settings))
    found = {f.name: f.status for f in audit(str(run))}
    assert {name for name, status in found.items() if status == "not_checked"} == {"gold_is_target", "nothing_cut_off"}
    assert "violated" not in found.values()


@pytest.mark.parametrize("content", ["{}", '{"manifest": [], "cells": 3, "counts": null}', "[]", "{"])
def test_strange_report_is_a_violation_and_no_crash(content: str, good: Path, tmp_path: Path) -> None:
    run = copied(good, tmp_path / "run")
    replace(run / "report" / "report.json", content.encode())
    found = {f.name: f.status for f in audit(str(run))}
    assert "violated" in found.values()
    assert found["hits_recomputed"] == found["orders_permute"] == "holds", "tables are read without the report"


def test_model_without_answers_is_not_passed_over(good: Path, tmp_path: Path) -> None:
    run = copied(good, tmp_path / "run")
    shutil.rmtree(sorted((run / "scored").iterdir())[0])
    found = {f.name: f for f in audit(str(run))}
    assert "no whole answers" in found["files_whole"].found
    assert found["outcomes_are_items"].status == "violated"


def test_unfinished_run_is_not_sound(good: Path, tmp_path: Path) -> None:
    run = copied(good, tmp_path / "run")
    for folder in ("report", "scored"):
        shutil.rmtree(run / folder)
    found = {f.name: f for f in audit(str(run))}
    assert found["files_whole"].status == "violated"
    assert found["cells_recomputed"].status == found["rows_answered"].status == "not_checked"
    assert found["orders_permute"].status == found["links_resolve"].status == "holds"


@pytest.mark.parametrize("skip", [0.0, 0.02])
def test_two_ways_to_the_numbers_agree(skip: float) -> None:
    """On outcomes with hits, draws, skipped items and golds that cannot be expressed."""
    rows = made_up(treebanks=("T", "U"), sentences=60, seeds=(0, 1), draws={"full": 3}, skip=skip)
    outcomes = mark_complete(table(rows))
    columns = columns_of(outcomes)
    assert complete_cases(columns).tolist() == numbers(outcomes["complete"]).tolist()
    reduced = {
        (c["model"], c["treebank"], c["condition"], c["lemma"]): c for c in reduce_cells(outcomes, resamples=100)
    }
    counted = dict(cells_of(columns))
    assert counted.keys() == reduced.keys()
    for key, values in counted.items():
        for name, value in values.items():
            assert reduced[key][name] == (value if value is None else pytest.approx(value)), (key, name)
    assert any(c["I"] for c in counted.values())
