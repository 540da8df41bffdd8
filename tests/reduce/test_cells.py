"""Cells: values by hand, nulls with reasons, and what they must not depend on."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.errors import StoreError
from evaluator.reduce.cells import reduce_cells
from evaluator.reduce.complete import mark_complete
from evaluator.reduce.summary import report_data
from tests.reduce.synthetic import outcome, run, skipped, table


def cell(rows: list[dict[str, Any]], condition: str, lemma: bool = False, model: str = "m1") -> dict[str, Any]:
    found = reduce_cells(mark_complete(table(rows)), resamples=50)
    return next(r for r in found if (r["condition"], r["lemma"], r["model"]) == (condition, lemma, model))


def hits(condition: str, lemma: bool, correct: list[int], draw: int = 0) -> list[dict[str, Any]]:
    rows = []
    for i, x in enumerate(correct):
        at = {"sent_id": f"s{i}", "base_id": i + 1, "condition": condition, "lemma": lemma, "draw": draw}
        at["item_id"] = 100 * i + 10 * draw + 2 * (condition != "orig") + lemma
        rows.append(outcome(**at, correct1=bool(x), gold_logp=-1.0 - i - 2 * lemma - (condition != "orig")))
    return rows


def test_metrics_by_hand() -> None:
    rows = hits("orig", False, [1, 1, 1, 1, 0]) + hits("full", False, [1, 0, 0, 0, 0])
    rows += hits("orig", True, [1, 1, 0, 0, 0]) + hits("full", True, [0, 0, 0, 0, 0])
    form, lemma, orig_l = cell(rows, "full"), cell(rows, "full", True), cell(rows, "orig", True)
    assert form["top1"] == 0.2 and form["top5"] == 1.0 and form["n"] == form["n_sentences"] == 5
    assert form["D"] == pytest.approx(0.6) and form["S"] == pytest.approx(0.75)
    assert lemma["S"] == 1.0 and orig_l["S"] == pytest.approx(0.5)
    assert form["I"] == pytest.approx(0.6 + 0.4 - 0.8)
    assert form["I_range"] == pytest.approx([0.2, 1.2]) and form["I_range_no_gain"] == pytest.approx([0.2, 0.4])
    assert form["I_logp"] == pytest.approx(0.0) and form["mean_gold_logp"] == pytest.approx(-4.0)
    assert form["floor"] is lemma["floor"] is True and lemma["I"] is None


def test_draws_are_averaged_within_a_base_item() -> None:
    rows = hits("orig", False, [1, 1]) + hits("full", False, [1, 0], 0) + hits("full", False, [0, 0], 1)
    assert cell(rows, "full")["top1"] == 0.25 and (cell(rows, "full")["n"], cell(rows, "full")["n_items"]) == (2, 4)
    assert cell(rows, "full")["S"] == 0.75


def test_orig_without_hits_makes_s_null_not_zero() -> None:
    found = cell(hits("orig", False, [0, 0]) + hits("full", False, [0, 0]), "full")
    assert found["S"] is None and found["S_ci"] is None and found["reason"] == "orig_zero"
    assert found["D"] == 0.0 and found["top1"] == 0.0


def test_without_lemmas_i_is_null_with_a_reason() -> None:
    found = cell(hits("orig", False, [1, 0]) + hits("full", False, [0, 0]), "full")
    assert found["I"] is found["I_range"] is found["I_logp"] is None and found["reason"] == "no_lemma"


def test_treebank_with_everything_skipped_has_rows_with_nulls_and_a_reason() -> None:
    rows = [skipped("too_long", treebank="E", condition=c, item_id=i) for i, c in enumerate(("orig", "full"))]
    data = report_data(mark_complete(table(rows + run(sentences=5))), resamples=50)
    empty = [row for row in data["cells"] if row["treebank"] == "E"]
    assert [row["n"] for row in empty] == [0, 0] and {row["reason"] for row in empty} == {"model_not_scored"}
    keep = {"model", "treebank", "language", "condition", "lemma", "n", "n_items", "n_sentences", "reason"}
    assert all(value is None for row in empty for name, value in row.items() if name not in keep)
    assert data["counts"]["treebanks"]["E"]["skipped"] == {"too_long": 2}


def test_items_are_scored_plus_skipped() -> None:
    rows = run(treebanks=("A", "B"), sentences=20, skip=0.05)
    kept = ("model", "treebank", "base_id", "sent_id", "item_id", "condition")
    rows[0] = skipped("session_error", **{name: rows[0][name] for name in kept}, status="failed")
    counts = report_data(mark_complete(table(rows)), resamples=20)["counts"]
    for row in (counts, *counts["treebanks"].values()):
        assert row["items"] == row["scored"] + sum(row["skipped"].values())
    assert counts["failed"] == 1 and counts["distinct_items"] * 2 == counts["items"]


def test_flags_that_do_not_fill_the_grid_are_refused() -> None:
    outcomes = mark_complete(table(run(sentences=4)))
    flags = outcomes["complete"].to_pylist()
    flags[3] = False
    broken = outcomes.set_column(outcomes.column_names.index("complete"), "complete", pa.array(flags))
    with pytest.raises(StoreError, match="do not fill every cell"):
        reduce_cells(broken)


def test_no_resamples_means_no_bootstrap_intervals() -> None:
    found = reduce_cells(mark_complete(table(run(sentences=4))), resamples=0)
    assert all(
        row["top1_ci"] and row["D_ci"] is row["S_ci"] is row["I_ci"] is row["I_logp_ci"] is None for row in found
    )


def as_bytes(data: Any) -> str:
    return json.dumps(data, allow_nan=False)


def test_bytes_do_not_depend_on_order_chunks_or_encoding() -> None:
    rows = run(treebanks=("A", "B"), sentences=25, seeds=(0, 1), draws={"full": 2}, skip=0.004)
    outcomes = mark_complete(table(rows))
    expected = as_bytes(report_data(outcomes, resamples=40))
    shuffled = outcomes.take(np.random.default_rng(1).permutation(len(rows)))
    pieces = pa.concat_tables([shuffled.slice(i, 97) for i in range(0, len(rows), 97)])
    names = ("model", "treebank", "sent_id", "condition", "status", "reason", "upos")
    encoded = pieces
    for name in names:
        encoded = encoded.set_column(encoded.column_names.index(name), name, encoded[name].dictionary_encode())
    for other in (shuffled, pieces, encoded):
        assert as_bytes(report_data(other, resamples=40)) == expected


def test_a_treebank_does_not_depend_on_the_others() -> None:
    rows = run(treebanks=("A", "B"), sentences=20, skip=0.004)
    both = report_data(mark_complete(table(rows)), resamples=40)
    alone = report_data(mark_complete(table([row for row in rows if row["treebank"] == "B"])), resamples=40)
    for name in ("cells", "draws", "comparisons"):
        assert as_bytes([row for row in both[name] if row["treebank"] == "B"]) == as_bytes(alone[name])


def test_a_cell_does_not_depend_on_other_conditions_or_on_names_of_models() -> None:
    rows = run(sentences=30, models=("m1",))
    twins = rows + [row | {"model": "m2"} for row in rows]
    few = [row for row in twins if row["condition"] != "partial"]
    all_cells = {
        (r["model"], r["condition"], r["lemma"]): r for r in reduce_cells(mark_complete(table(twins)), resamples=40)
    }
    for row in reduce_cells(mark_complete(table(few)), resamples=40):
        assert row == all_cells[row["model"], row["condition"], row["lemma"]]
    for (model, condition, lemma), row in all_cells.items():
        assert row | {"model": ""} == all_cells["m1", condition, lemma] | {"model": ""}, model


@settings(max_examples=40, deadline=None)
@given(
    sentences=st.integers(1, 15),
    seeds=st.integers(1, 3),
    draws=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    skip=st.sampled_from([0.0, 0.02, 0.3]),
)
def test_bounds_hold_on_any_outcomes(sentences: int, seeds: int, draws: int, seed: int, skip: float) -> None:
    rows = run(sentences=sentences, seeds=tuple(range(seeds)), draws={"full": draws}, seed=seed, skip=skip)
    outcomes = mark_complete(table(rows))
    complete = {row["item_id"] for row in outcomes.to_pylist() if row["complete"]}
    found = reduce_cells(outcomes, resamples=30)
    for model in {row["model"] for row in found}:
        assert sum(row["n_items"] for row in found if row["model"] == model) == len(complete)
        assert len({row["n"] for row in found if row["model"] == model and row["n"]}) <= 1
    for row in found:
        if not row["n"]:
            assert row["reason"] and row["top1"] is row["S"] is row["I"] is row["floor"] is None
            continue
        assert row["top5"] >= row["top1"]
        for name in ("top1", "top5"):
            assert 0 <= row[f"{name}_ci"][0] <= row[name] <= row[f"{name}_ci"][1] <= 1
        for name in ("D", "S", "I", "I_logp"):
            if row.get(f"{name}_ci"):
                assert row[f"{name}_ci"][0] <= row[name] <= row[f"{name}_ci"][1]
        assert row["S"] is None or (row["S"] <= 1 and (row["S_ci"] is None or row["S_ci"][1] <= 1))
        if row["I"] is not None:
            assert row["I_range"][0] - 1e-12 <= row["I"] <= row["I_range"][1] + 1e-12
            assert row["I_range_no_gain"][0] <= row["I_range_no_gain"][1] + 1e-12
