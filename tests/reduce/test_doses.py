"""Bins of Kendall's tau: of about equal size, of all orders but the original one, the same for all models."""

import random
from itertools import pairwise
from typing import Any

import pytest

from evaluator.reduce.complete import mark_complete
from evaluator.reduce.doses import BINS
from evaluator.reduce.summary import report_data
from tests.reduce.synthetic import run, table


def rows_with_tau() -> list[dict[str, Any]]:
    def tau(row: dict[str, Any]) -> float:
        if row["condition"] == "orig":
            return 1.0
        return random.Random(f"{row['base_id']} {row['condition']} {row['draw']}").randint(-8, 9) / 10

    return [row | {"kendall_tau": tau(row)} for row in run(sentences=30, draws={"full": 3})]


def test_bins_hold_the_items_between_their_ends() -> None:
    rows = rows_with_tau()
    found = report_data(mark_complete(table(rows)), resamples=10)["doses"]
    perturbed = [r for r in rows if r["condition"] != "orig" and not r["lemma"]]
    for model in ("m1", "m2"):
        bins = [d for d in found if d["model"] == model]
        mine = [r for r in perturbed if r["model"] == model]
        assert sum(d["n"] for d in bins) == len(mine) and len(bins) == BINS
        assert all(len(mine) / (2 * BINS) < d["n"] < 2 * len(mine) / BINS for d in bins)
        for before, after in pairwise(bins):
            assert before["tau_max"] < after["tau_min"]
        for d in bins:
            inside = [r for r in mine if d["tau_min"] - 1e-6 <= r["kendall_tau"] <= d["tau_max"] + 1e-6]
            assert d["n"] == len(inside) and d["n_sentences"] == len({r["sent_id"] for r in inside})
            assert d["tau"] == pytest.approx(sum(r["kendall_tau"] for r in inside) / len(inside), abs=1e-6)
            assert d["top1"] == pytest.approx(sum(r["correct1"] for r in inside) / len(inside))
            assert d["top1_ci"][0] <= d["top1"] <= d["top1_ci"][1]
    ends = [[(d["tau_min"], d["tau_max"], d["n"]) for d in found if d["model"] == m] for m in ("m1", "m2")]
    assert ends[0] == ends[1]


def test_equal_orders_share_a_bin_and_no_order_has_none() -> None:
    same = [row | {"kendall_tau": 0.5} for row in run(sentences=5)]
    assert [d["n"] for d in report_data(mark_complete(table(same)), resamples=10)["doses"]] == [10, 10]
    alone = run(sentences=5, conditions=("orig",))
    assert report_data(mark_complete(table(alone)), resamples=10)["doses"] == []


def test_the_order_of_rows_does_not_matter() -> None:
    rows = rows_with_tau()
    mixed = random.Random(1).sample(rows, len(rows))
    one, other = (report_data(mark_complete(table(r)), resamples=10)["doses"] for r in (rows, mixed))
    assert one == other
