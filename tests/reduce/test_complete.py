"""Which base items count."""

import numpy as np
import pyarrow as pa
import pytest

from evaluator.errors import StoreError
from evaluator.reduce.complete import mark_complete
from evaluator.store.schemas import OUTCOMES
from tests.reduce.synthetic import outcome, run, skipped, table


def complete_ids(outcomes: pa.Table) -> set[tuple[str, int]]:
    marked = mark_complete(outcomes)
    assert marked.schema.equals(OUTCOMES)
    return {(row["model"], row["item_id"]) for row in marked.to_pylist() if row["complete"]}


def test_one_skipped_cell_takes_its_base_item_out_of_all_cells_and_models() -> None:
    rows = [
        outcome(model=model, base_id=base, sent_id=f"s{base}", item_id=10 * base + k, condition=condition)
        for model in ("m1", "m2")
        for base in (1, 2)
        for k, condition in enumerate(("orig", "full"))
    ]
    lost = next(row for row in rows if (row["model"], row["item_id"]) == ("m2", 21))
    rows[rows.index(lost)] = skipped(
        "too_long", **{k: lost[k] for k in ("model", "base_id", "sent_id", "item_id", "condition")}
    )
    assert complete_ids(table(rows)) == {("m1", 10), ("m1", 11), ("m2", 10), ("m2", 11)}


def test_base_item_with_an_absent_row_is_incomplete() -> None:
    rows = run(sentences=4, models=("m1",))
    assert len(complete_ids(table(rows))) == len(rows)
    gone = rows.pop(5)
    kept = {item for _, item in complete_ids(table(rows))}
    assert kept == {row["item_id"] for row in rows if row["base_id"] != gone["base_id"]}


def test_not_expressible_gold_is_a_scored_miss() -> None:
    rows = [outcome(correct1=False, correct5=False, gold_logp=None, reason="not_expressible")]
    assert complete_ids(table(rows)) == {("m1", 1)}


def test_model_without_a_scored_row_takes_nobody_down() -> None:
    rows = [
        outcome(),
        skipped("too_long", model="m2"),
        outcome(treebank="U", base_id=2, item_id=2),
        outcome(treebank="U", base_id=2, item_id=2, model="m2"),
    ]
    assert len(complete_ids(table(rows))) == 3


def test_cell_that_nobody_scored_takes_nothing_down() -> None:
    rows = [outcome(), skipped("no_lemma", lemma=True, item_id=2)]
    assert complete_ids(table(rows)) == {("m1", 1)}


def test_order_of_rows_does_not_matter() -> None:
    rows = run(treebanks=("A", "B"), sentences=12, skip=0.02)
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    assert complete_ids(table(rows)) == complete_ids(table(shuffled))


def test_repeated_cell_is_refused() -> None:
    with pytest.raises(StoreError, match="1 outcomes repeat a cell"):
        mark_complete(table([outcome(), outcome(item_id=2)]))


def test_empty_table() -> None:
    assert mark_complete(table([])).num_rows == 0
