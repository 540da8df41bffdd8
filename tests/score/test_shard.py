"""Scoring rows: the same answers however they are batched, padded, ordered or cut into shards."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.score.batches import FlatRows, pad_batch, plan_batches
from evaluator.score.shard import Model, ScoreSettings, score_rows, score_rows_except
from evaluator.score.words import NEAR_TIE_NATS
from evaluator.store import schemas
from tests.score.conftest import MASK, NAN_PIECE, rows_table

GetModel = Callable[..., Model]
TOLERANCE = 5e-5
"""Half of what is called a near tie: float32 sums depend on the shape of a batch."""


def assert_same(a: pa.Table, b: pa.Table) -> None:
    """Equal but for the last bits of float32, and for words that near ties let change places."""
    for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True):
        assert (x["row"], x["failed"]) == (y["row"], y["failed"])
        if not (x["near_tie"] or y["near_tie"]):
            assert x["words"] == y["words"]
            assert x["hit"] == y["hit"]
        np.testing.assert_allclose(x["word_logp"], y["word_logp"], rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(x["gold_logp"], y["gold_logp"], rtol=0, atol=TOLERANCE)


def one_by_one(table: pa.Table, model: Model, **more: int) -> pa.Table:
    parts = [score_rows(table.slice(i, 1), model, ScoreSettings(**more)) for i in range(table.num_rows)]
    return pa.concat_tables(parts)


@pytest.mark.parametrize("max_batch_pieces", [1, 37, 300, 1 << 20])
@pytest.mark.parametrize("max_head_bytes", [1, 256 << 20])
def test_batched_is_one_by_one(model: GetModel, max_batch_pieces: int, max_head_bytes: int) -> None:
    fake = model()
    table = rows_table(60, vocab=fake.vocab_size, golds=2)
    batched = score_rows(table, fake, ScoreSettings(max_batch_pieces=max_batch_pieces, max_head_bytes=max_head_bytes))
    assert batched.schema == schemas.SCORED
    assert_same(batched, one_by_one(table, fake))


def test_shuffled_is_sorted(model: GetModel) -> None:
    table = rows_table(50, vocab=model().vocab_size)
    order = np.random.default_rng(1).permutation(50)
    shuffled = score_rows(table.take(pa.array(order)), model(), ScoreSettings())
    assert shuffled["row"].to_pylist() == order.tolist()
    assert_same(shuffled.take(pa.array(np.argsort(order))), score_rows(table, model(), ScoreSettings()))


def test_one_shard_is_many(model: GetModel) -> None:
    table = rows_table(50, vocab=model().vocab_size)
    parts = [score_rows(table.slice(a, 11), model(), ScoreSettings()) for a in range(0, 50, 11)]
    assert_same(pa.concat_tables(parts), score_rows(table, model(), ScoreSettings()))


def test_any_padding(model: GetModel) -> None:
    """A row beside one far longer answers as it does alone."""
    rows = rows_table(8, vocab=model().vocab_size).to_pylist()
    long = {"row": 8, "ids": [7] * 200 + [MASK], "mask_pos": [200], "golds": [[9]]}
    table = pa.Table.from_pylist([*rows, long], schema=schemas.ROWS)
    assert_same(score_rows(table, model(), ScoreSettings()), one_by_one(table, model()))


def test_words_and_gold_are_those_of_the_whole_vocabulary(model: GetModel) -> None:
    """Against all probabilities of the graph, asked for piece by piece, and a product written out."""
    fake = model()
    table = rows_table(12, vocab=fake.vocab_size, golds=3)
    scored = score_rows(table, fake, ScoreSettings()).to_pylist()
    for row, answer in zip(table.to_pylist(), scored, strict=True):
        masks, vocab = len(row["mask_pos"]), fake.vocab_size
        ids = np.array([row["ids"]])
        full = (
            fake.session.run(
                ids,
                np.ones_like(ids),
                np.array(row["mask_pos"]),
                np.repeat(np.arange(masks), vocab),
                np.tile(np.arange(vocab), masks),
            )
            .gold_logp.reshape(masks, vocab)
            .astype(np.float64)
        )
        np.testing.assert_allclose(np.exp(full).sum(axis=1), 1, atol=1e-4)
        for gold, logp, ranks in zip(row["golds"], answer["gold_logp"], answer["gold_ranks"], strict=True):
            assert logp == pytest.approx(sum(full[m, g] for m, g in enumerate(gold)), abs=TOLERANCE)
            assert ranks == [int((full[m] > full[m, g]).sum()) for m, g in enumerate(gold)]
        tops = [np.argsort(-r, kind="stable")[:20] for r in full]
        sums = np.zeros(1)
        for r, top in zip(full, tops, strict=True):
            sums = (sums[:, None] + r[top]).ravel()
        np.testing.assert_allclose(answer["word_logp"], -np.sort(-sums)[:5], rtol=0, atol=TOLERANCE)
        assert answer["near_tie"] == bool((np.diff(np.sort(-sums)[:6]) < NEAR_TIE_NATS).any())
        for gold, hit in zip(row["golds"], answer["hit"], strict=True):
            assert hit == (answer["words"].index(gold) + 1 if gold in answer["words"] else 0)


def test_golds_that_are_the_answers_are_hits_in_their_places(model: GetModel) -> None:
    table = rows_table(20, vocab=model().vocab_size)
    words = score_rows(table, model(), ScoreSettings())["words"].to_pylist()
    asked = table.set_column(3, schemas.ROWS.field("golds"), pa.array(words, schemas.ROWS.field("golds").type))
    again = score_rows(asked, model(), ScoreSettings())
    assert again["hit"].to_pylist() == [[1, 2, 3, 4, 5]] * 20
    for row in again.to_pylist():
        np.testing.assert_allclose(row["gold_logp"], row["word_logp"], rtol=0, atol=TOLERANCE)


def test_empty_shard(model: GetModel) -> None:
    empty = schemas.ROWS.empty_table()
    assert score_rows(empty, model(), ScoreSettings()).equals(schemas.SCORED.empty_table())
    assert score_rows_except(empty, model(), ScoreSettings(), {}).num_rows == 0


@pytest.mark.parametrize("nan_rows", [(0,), (3, 4, 19), tuple(range(20))])
def test_non_finite_rows_fail_alone(model: GetModel, nan_rows: tuple[int, ...]) -> None:
    broken = model(nan_on=NAN_PIECE)
    table = rows_table(20, vocab=broken.vocab_size, nan_rows=nan_rows, golds=2)
    scored = score_rows(table, broken, ScoreSettings())
    for row in scored.to_pylist():
        assert (row["failed"] == "non_finite") == (row["row"] in nan_rows)
        if row["failed"]:
            assert row["words"] == row["word_logp"] == row["gold_logp"] == row["gold_ranks"] == row["hit"] == []
        else:
            assert len(row["words"]) == 5
            assert np.isfinite(row["gold_logp"]).all()
    healthy = np.array([r not in nan_rows for r in range(20)])
    if healthy.any():
        kept = pa.array(healthy)
        assert_same(scored.filter(kept), score_rows(table.filter(kept), model(), ScoreSettings()))


def test_rows_named_as_failed_are_not_run(model: GetModel) -> None:
    table = rows_table(10, vocab=model().vocab_size)
    scored = score_rows_except(table, model(), ScoreSettings(), {2: "worker_died", 7: "timed_out"})
    assert scored["row"].to_pylist() == list(range(10))
    assert scored["failed"].to_pylist() == [{2: "worker_died", 7: "timed_out"}.get(r) for r in range(10)]
    everything = score_rows_except(table, model(), ScoreSettings(), dict.fromkeys(range(10), "worker_died"))
    assert everything["failed"].null_count == 0


@pytest.mark.parametrize("k", [1, 5, 50])
def test_any_number_of_words(model: GetModel, k: int) -> None:
    table = rows_table(15, vocab=model().vocab_size)
    few, more = (score_rows(table, model(), ScoreSettings(k=n)).to_pylist() for n in (k, min(k + 1, 50)))
    for a, b in zip(few, more, strict=True):
        assert len(a["words"]) == k
        assert a["words"] == b["words"][:k]
        assert a["word_logp"] == sorted(a["word_logp"], reverse=True)
        assert len({tuple(w) for w in a["words"]}) == k


@given(
    lengths=st.lists(st.integers(1, 60), max_size=40),
    pieces=st.integers(1, 200),
    masks=st.integers(1, 12),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=100)
def test_batches_cover_all_rows_within_budget(lengths: list[int], pieces: int, masks: int, seed: int) -> None:
    asked = np.random.default_rng(seed).integers(1, 5, len(lengths))
    sizes = np.array(lengths, dtype=np.int64)
    spans = list(plan_batches(sizes, asked, max_batch_pieces=pieces, max_batch_masks=masks))
    assert [i for a, b in spans for i in range(a, b)] == list(range(len(lengths)))
    for a, b in spans:
        assert b - a == 1 or (sizes[a:b].max() * (b - a) <= pieces and asked[a:b].sum() <= masks)


def test_padding_is_outside_the_attention_and_masks_point_at_masks() -> None:
    rows = FlatRows.of(rows_table(9, vocab=200))
    ids, attention, at = pad_batch(rows, 2, 7, 0)
    assert ids.shape == attention.shape
    assert (ids[attention == 0] == 0).all()
    assert (attention.sum(axis=1) == np.diff(rows.id_offsets)[2:7]).all()
    assert (ids.ravel()[at] == MASK).all()
    assert len(at) == (ids == MASK).sum()
