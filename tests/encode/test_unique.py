"""Distinct rows: what is kept, in which order, and what each item's link resolves to."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evaluator.encode.rows import REASONS
from evaluator.encode.unique import UniqueRows, batch_of, unique_rows
from evaluator.types import Sentence
from tests.encode.conftest import FAKE
from tests.encode.plain import Cutter, encode, encode_plainly
from tests.encode.test_rows import Rows, items_of

GetCutter = Callable[[str], Cutter]


def rows_of(sentences: Sequence[Sentence], shards: Sequence[Rows], cutter: Cutter, limit: int = 40) -> UniqueRows:
    return unique_rows(
        [
            batch_of(np.array([i["item_id"] for i in rows], np.uint64), encode(sentences, rows, cutter, limit=limit))
            for rows in shards
        ]
    )


@pytest.mark.parametrize("name", FAKE)
def test_links_lead_to_what_the_plain_twin_encodes(demo: list[Sentence], cutter: GetCutter, name: str) -> None:
    rows = items_of(demo, seeds=(0, 1))[::3]
    half = len(rows) // 2
    unique = rows_of(demo, [rows[:half], rows[half:]], cutter(name))
    table = unique.shard(0, unique.count, cutter(name).door.mask_id).to_pylist()
    links = [link for part in unique.links for link in part.to_pylist()]
    seen: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for item, link in zip(rows, links, strict=True):
        plain = encode_plainly(
            demo[item["sentence"]],
            item["order"],
            item["target"],
            item["lemma"],
            cutter(name),
            limit=40,
            spacing="natural",
        )
        assert link["item_id"] == item["item_id"]
        assert link["windowed"] == plain.windowed
        assert link["reason"] == (plain.reason or None)
        if not plain.ids:
            assert link["row"] is link["gold"] is link["n_pieces"] is link["n_masks"] is None
            continue
        row = table[link["row"]]
        assert row["ids"] == plain.ids
        assert row["golds"][link["gold"]] == plain.gold
        assert row["mask_pos"] == [p for p, i in enumerate(plain.ids) if i == cutter(name).door.mask_id]
        assert (link["n_pieces"], link["n_masks"]) == (len(plain.ids), len(plain.gold))
        seen.setdefault(tuple(plain.ids), set()).add(tuple(plain.gold))
    assert len(table) == len(seen), "one row per distinct input"
    assert [r["row"] for r in table] == list(range(len(table)))
    assert all({tuple(g) for g in r["golds"]} == seen[tuple(r["ids"])] for r in table)
    assert all(len(r["golds"]) == len(seen[tuple(r["ids"])]) for r in table), "and each gold once"
    lengths = [len(r["ids"]) for r in table]
    assert lengths == sorted(lengths)


def test_rows_do_not_depend_on_how_items_are_sharded(demo: list[Sentence], cutter: GetCutter) -> None:
    rows = items_of(demo)[::5]
    one = rows_of(demo, [rows], cutter("fake-unigram"))
    shuffled: list[dict[str, Any]] = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    many = rows_of(demo, [shuffled[:7], [], shuffled[7:200], shuffled[200:]], cutter("fake-unigram"))
    assert one.shard(0, one.count, 4).equals(many.shard(0, many.count, 4))
    by_item = {link["item_id"]: link for part in many.links for link in part.to_pylist()}
    assert all(by_item[link["item_id"]] == link for link in one.links[0].to_pylist())


def test_shards_of_rows_put_together_are_the_whole(demo: list[Sentence], cutter: GetCutter) -> None:
    unique = rows_of(demo, [items_of(demo)[::5]], cutter("fake-wordpiece"))
    bounds = [*range(0, unique.count, 13), unique.count]
    parts = [unique.shard(a, b, 4) for a, b in itertools.pairwise(bounds)]
    assert pa.concat_tables(parts).equals(unique.shard(0, unique.count, 4))


def test_nothing_and_only_skipped(demo: list[Sentence], cutter: GetCutter) -> None:
    assert unique_rows([]).count == 0
    rows = items_of(demo)[:20]
    unique = rows_of(demo, [rows], cutter("fake-unigram"), limit=2)
    assert unique.count == 0
    assert unique.shard(0, 0, 4).num_rows == 0
    assert {link["reason"] for link in unique.links[0].to_pylist()} == {"too_long"} <= set(REASONS)
