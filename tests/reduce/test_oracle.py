"""The reductions against their plain recomputation."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evaluator.reduce.complete import mark_complete
from evaluator.reduce.summary import report_data
from tests.oracle_stats import check
from tests.reduce.synthetic import run, skipped, table

SHARED = ("base_id", "sent_id", "item_id", "condition", "lemma", "language", "model")


def unscored(rows: list[dict[str, Any]], reason: str, **values: Any) -> list[dict[str, Any]]:
    """The rows again as other, skipped items."""
    return [skipped(reason, **({name: row[name] for name in SHARED} | values)) for row in rows]


FORMS, ONE = run(sentences=16, lemmas=(False,)), run(sentences=16, models=("m1",))
RUNS: dict[str, list[dict[str, Any]]] = {
    "one item a sentence": run(treebanks=("A", "B"), sentences=24, conditions=("orig", "full")),
    "seeds and draws": run(sentences=20, seeds=(0, 1), draws={"full": 3, "partial": 2}, skip=0.004),
    "no +L": FORMS,
    "no orig": run(sentences=16, conditions=("full", "partial"), models=("m1",)),
    "+L never scored": FORMS + unscored(FORMS, "no_lemma", lemma=True),
    "a model without scores": ONE + unscored(ONE, "too_long", model="m0"),
    "nothing scored": run(sentences=5, skip=1.0) + run(treebanks=("U",), sentences=4),
    "one sentence": run(sentences=1, seeds=(0, 1, 2)),
}


@pytest.mark.parametrize("name", RUNS)
def test_every_statistic_equals_its_recomputation(name: str, tmp_path: Path) -> None:
    outcomes = mark_complete(table(RUNS[name]))
    pq.write_table(outcomes, tmp_path / "outcomes.parquet")
    data = report_data(outcomes, resamples=60, confidence=0.9, seed=7)
    (tmp_path / "report.json").write_text(json.dumps(data, allow_nan=False))
    assert check(tmp_path / "outcomes.parquet", tmp_path / "report.json") == []


def test_oracle_sees_a_changed_figure(tmp_path: Path) -> None:
    outcomes = mark_complete(table(RUNS["no +L"]))
    pq.write_table(outcomes, tmp_path / "outcomes.parquet")
    data = report_data(outcomes, resamples=60)
    data["cells"][1]["S_ci"][0] += 1e-4
    (tmp_path / "report.json").write_text(json.dumps(data))
    assert len(check(tmp_path / "outcomes.parquet", tmp_path / "report.json")) == 1
