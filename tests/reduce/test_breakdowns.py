"""Breakdowns and draws: groups partition the base items, features overlap, +L stays with its base item."""

from itertools import groupby

import pytest

from evaluator.reduce.breakdowns import length_bin
from evaluator.reduce.complete import mark_complete
from evaluator.reduce.summary import report_data
from tests.reduce.synthetic import run, table


@pytest.mark.parametrize(
    ("n_units", "name"), [(1, "1-9"), (9, "1-9"), (10, "10-14"), (39, "30-39"), (40, "40+"), (300, "40+")]
)
def test_length_bins(n_units: int, name: str) -> None:
    assert length_bin(n_units) == name


def test_groups_partition_the_items_of_each_cell_largest_first() -> None:
    data = report_data(mark_complete(table(run(sentences=40, draws={"full": 2}))), resamples=10)
    n = {(r["model"], r["condition"], r["lemma"]): r["n"] for r in data["cells"]}
    for rows in (rows for by, rows in data["breakdowns"].items() if by != "feats"):
        for key, group in groupby(rows, key=lambda r: (r["model"], r["condition"], r["lemma"])):
            sizes = [row["n"] for row in group]
            assert sum(sizes) == n[key] and sizes == sorted(sizes, reverse=True)


def test_a_base_item_is_in_the_group_of_each_of_its_features() -> None:
    rows = mark_complete(table(run(sentences=40, draws={"full": 2})))
    data = report_data(rows, resamples=10)
    carried: dict[str, set[int]] = {}
    for base_id, feats in zip(rows["base_id"].to_pylist(), rows["feats"].to_pylist(), strict=True):
        for name in ("Case=Acc", "Case=Nom", "Gender=Fem,Masc", "Number=Plur", "Number=Sing", "Number[psor]=Plur"):
            if name in feats.split("|"):
                carried.setdefault(name, set()).add(base_id)
    sizes = {name: len(base_ids) for name, base_ids in carried.items()}
    assert len(sizes) == 6
    order = sorted(sizes, key=lambda name: (-sizes[name], name))
    for _, group in groupby(data["breakdowns"]["feats"], key=lambda r: (r["model"], r["condition"], r["lemma"])):
        assert [(row["group"], row["n"]) for row in group] == [(name, sizes[name]) for name in order]


def test_without_features_there_are_no_groups_of_them() -> None:
    data = report_data(mark_complete(table([row | {"feats": "_"} for row in run(sentences=4)])), resamples=10)
    assert data["breakdowns"]["feats"] == [] and data["breakdowns"]["upos"]


def test_masks_are_those_of_orig_with_forms_in_every_cell() -> None:
    data = report_data(mark_complete(table(run(sentences=40))), resamples=10)
    sizes = {}
    for row in data["breakdowns"]["masks"]:
        sizes.setdefault((row["model"], row["group"]), set()).add(row["n"])
        assert row["masks_changed"] == 1.0  # the synthetic lemma always has one mask more, or three fewer
    assert all(len(found) == 1 for found in sizes.values())


def test_draws_average_to_the_cell() -> None:
    data = report_data(mark_complete(table(run(sentences=15, seeds=(0, 4), draws={"full": 3}))), resamples=10)
    for cell in data["cells"]:
        key = ("model", "condition", "lemma")
        rows = [row for row in data["draws"] if all(row[name] == cell[name] for name in key)]
        assert sum(row["n"] for row in rows) == cell["n_items"]
        assert sum(row["n"] * row["top1"] for row in rows) / cell["n_items"] == pytest.approx(cell["top1"])
        assert {row["seed"] for row in rows} == {0, 4}
