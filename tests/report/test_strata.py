"""Which items are shown: every kind of outcome, the largest changes, the surest errors, ties; in any order of rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evaluator.report.document import Document, open_document
from evaluator.report.strata import SURPRISING, choose_pairs
from tests.report.synthetic import Run

Key = tuple[str, int]


@pytest.fixture(scope="module")
def document(run: Run) -> Document:
    return open_document(run.report)


def chosen(document: Document, rows: pa.Table) -> list[tuple[Key, str]]:
    pairs, _ = choose_pairs(document, rows)
    model, item = rows["model"].to_pylist(), rows["item_id"].to_pylist()
    return [((model[pair.row], item[pair.row]), pair.remark) for pair in pairs]


def by_hand(run: Run) -> dict[Key, dict[str, Any]]:
    """Every scored item with a scored partner, and its partner's fields as `orig_…`."""
    rows = [row for row in run.outcomes.to_pylist() if row["status"] == "scored"]
    origin = {(r["model"], r["base_id"], r["lemma"]): r for r in rows if r["condition"] == "orig"}
    found = {}
    for row in rows:
        if row["condition"] == "orig" and not row["lemma"]:
            continue
        partner = origin[row["model"], row["base_id"], row["lemma"] and row["condition"] != "orig"]
        found[row["model"], row["item_id"]] = {**row, "before": partner}
    return found


def test_every_kind_is_there_and_the_largest_change_of_each(run: Run, document: Document) -> None:
    rows = by_hand(run)
    shown = dict(chosen(document, run.outcomes))
    strata: dict[Any, list[tuple[float, Key]]] = {}
    for key, row in rows.items():
        kind = (
            row["model"],
            row["treebank"],
            row["condition"],
            row["lemma"],
            row["correct1"],
            row["before"]["correct1"],
        )
        strata.setdefault(kind, []).append((abs(row["gold_logp"] - row["before"]["gold_logp"]), key))
    assert len(strata) > 100
    assert all(max(members)[1] in shown for members in strata.values())


def test_the_surest_errors_and_ties_are_there_and_named(run: Run, document: Document) -> None:
    rows = by_hand(run)
    remarks = dict(chosen(document, run.outcomes))
    for place in {(row["model"], row["treebank"]) for row in rows.values()}:
        here = {key: row for key, row in rows.items() if (row["model"], row["treebank"]) == place}
        errors = sorted((row["pred_logp"][0], key) for key, row in here.items() if not row["correct1"])[-SURPRISING:]
        assert {remarks.get(key) for _, key in errors} <= {"confident error", "near tie"}
        ties = [key for key, row in here.items() if row["near_tie"]]
        assert sum(remarks.get(key) == "near tie" for key in ties) >= min(SURPRISING, len(ties))
        assert not any(remark == "near tie" and not rows[key]["near_tie"] for key, remark in remarks.items())


def test_the_order_of_rows_is_no_matter(run: Run, document: Document) -> None:
    shuffled = run.outcomes.take(pa.array(np.random.default_rng(3).permutation(run.outcomes.num_rows)))
    assert chosen(document, run.outcomes) == chosen(document, shuffled)
    keys = [key for key, _ in chosen(document, run.outcomes)]
    assert len(keys) == len(set(keys))
