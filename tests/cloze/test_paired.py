"""Prompt against context: shares, test and interval against ways of their own."""

from itertools import product
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binomtest

from evaluator.cloze.dataset import ClozeData
from evaluator.cloze.paired import compare, style_tests
from evaluator.cloze.report import DEFINITIONS, joined, render
from evaluator.cloze.run import run_cloze
from evaluator.cloze.tables import read_table
from evaluator.reduce.intervals import stream
from evaluator.report.render import render_report
from tests.cloze.test_run import bundle, config  # noqa: F401  (the fixture)
from tests.report.synthetic import make_run


def rng() -> np.random.Generator:
    return stream(0, "test")


def test_one_item_a_sentence_is_mcnemar() -> None:
    draw = np.random.default_rng(4)
    hits = (draw.random((300, 2)) < (0.2, 0.35)).astype(np.int64)
    found = compare(hits, np.arange(300), rng(), 4000, 0.95)
    b, c = (int(((hits[:, 1] - hits[:, 0]) == sign).sum()) for sign in (1, -1))
    assert (found["only_prompt"], found["only_context"]) == (b, c)
    assert found["delta"] == pytest.approx((b - c) / 300)
    assert found["p"] == pytest.approx(binomtest(b, b + c).pvalue)
    half = 1.96 * (hits[:, 1] - hits[:, 0]).std(ddof=1) / 300**0.5
    assert found["delta_ci"] == pytest.approx([found["delta"] - half, found["delta"] + half], abs=0.02)


def test_items_of_a_sentence_flip_together() -> None:
    """Every sign of every sentence's difference, counted out."""
    differences = [2, 1, -1, 1, 3]
    hits, sentence = [], []
    for number, difference in enumerate(differences):
        for item in range(3):
            right = (0, 1) if item < difference else (1, 0) if item < -difference else (0, 0)
            hits.append(right)
            sentence.append(number)
    found = compare(np.array(hits, dtype=np.int64), np.array(sentence), rng(), 200, 0.95)
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in product((1, -1), repeat=5)]
    assert found["p"] == pytest.approx(sum(value >= sum(differences) for value in sums) / len(sums))
    low, high = found["delta_ci"]
    assert found["delta"] == pytest.approx(sum(differences) / 15)
    assert low <= found["delta"] <= high


def test_nothing_to_compare_is_null_and_no_difference_is_one() -> None:
    none = compare(np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64), rng(), 100, 0.95)
    assert none["n"] == 0 and none["p"] is None and none["delta"] is None
    same = compare(np.ones((40, 2), dtype=np.int64), np.arange(40), rng(), 100, 0.95)
    assert same["delta"] == 0.0 and same["p"] == 1.0 and same["delta_ci"][0] <= 0 <= same["delta_ci"][1]


@pytest.fixture
def done(english: ClozeData, bundle: Path, tmp_path: Path) -> dict[str, Any]:  # noqa: F811
    return run_cloze(english, "test", config(bundle, tmp_path / "run"), table=read_table("en")).document


def test_the_report_holds_them_as_recounted_from_the_outcomes(done: dict[str, Any], tmp_path: Path) -> None:
    rows = pq.read_table(tmp_path / "run/report/outcomes.parquet").to_pylist()
    assert {"all", *(row["cell"] for row in rows)} <= {test["group"] for test in done["tests"]}
    for test in done["tests"]:
        right: dict[int, dict[str, bool]] = {}
        for row in rows:
            if row["status"] == "scored" and row[test["measure"]] is not None and test["group"] in ("all", row["cell"]):
                right.setdefault(row["item"], {})[row["style"]] = row[test["measure"]]
        both = [r for r in right.values() if len(r) == 2]
        assert test["n"] == len(both)
        assert (test["only_prompt"] or 0) == sum(r["prompt"] and not r["context"] for r in both)
        assert (test["only_context"] or 0) == sum(r["context"] and not r["prompt"] for r in both)
    family = sorted(row["p"] for row in done["tests"] if row["p"] is not None)
    assert min(r["p_holm"] for r in done["tests"] if r["p_holm"] is not None) == pytest.approx(
        min(1.0, family[0] * len(family))
    )


def test_the_page_is_one_of_the_house_and_joins_a_run(done: dict[str, Any]) -> None:
    written = dict(render(done))
    html5lib.HTMLParser(strict=True).parse(written["report.html"].decode())
    page = written["report.html"].decode()
    assert "prompt − context" in page and 'id="def-cloze-prompt"' in page and "<script>" in page
    run = make_run(("de",), ("m",), ("orig", "full"), items=6, draws=1)
    block = joined(done).named("cloze-en")
    files = dict(render_report({**run.report, "cloze": [done]}, run.outcomes, joined=[block]))
    whole = files["report.html"].decode()
    html5lib.HTMLParser(strict=True).parse(whole)
    assert '<section id="cloze-en">' in whole and 'href="#cloze-en"' in whole
    assert all(f'id="def-{anchor}"' in whole for anchor, _, _ in DEFINITIONS)
    assert "tables/cloze-en-m0-prompt.csv" in files and "Verb-inflection cloze: en, test" in files["report.md"].decode()


def test_style_tests_leave_hidden_cells_out(done: dict[str, Any], tmp_path: Path) -> None:
    outcomes = pq.read_table(tmp_path / "run/report/outcomes.parquet")
    groups = {row["group"] for row in style_tests(outcomes, ["lem_low+form_high"], resamples=100)}
    assert "lem_low+form_high" not in groups and "lem_high+form_high" in groups
