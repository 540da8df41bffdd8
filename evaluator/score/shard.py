"""One shard of rows scored: the same function on a laptop and on a cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.encode.rows import offsets_of
from evaluator.encode.unique import lists
from evaluator.score.backend import Answers, Provider, Session
from evaluator.score.batches import FlatRows, pad_batch, plan_batches
from evaluator.score.words import k_best, near_ties, places
from evaluator.store import schemas
from evaluator.types import Bools, Float64s, Int64s


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How rows are scored; nothing here changes a result beyond the last bits of float32."""

    k: int = 5
    max_batch_pieces: int = 1024
    max_head_bytes: int = 96 << 20
    """Largest masks × vocabulary × 4 bytes of one batch; the head holds about two and a half times that."""

    @classmethod
    def for_provider(cls, provider: Provider, k: int, max_batch_pieces: int = 0) -> "ScoreSettings":
        """The batch sizes measured best for a provider (benchmarks/RESULTS.md), unless pieces are given."""
        if provider == "cuda":  # wide enough to fill a GPU; not measured yet
            return cls(k, max_batch_pieces or 32768, 1 << 30)
        return cls(k, max_batch_pieces or cls().max_batch_pieces)


@dataclass(frozen=True, slots=True)
class Model:
    """A session with the facts of its bundle that scoring needs."""

    session: Session
    pad_id: int
    vocab_size: int
    top_k: int

    def score(self, table: pa.Table, settings: ScoreSettings, failed: Mapping[int, str]) -> pa.Table:
        """See `score_rows_except`."""
        return score_rows_except(table, self, settings, failed)


def score_rows(table: pa.Table, model: Model, settings: ScoreSettings) -> pa.Table:
    """The SCORED table of a ROWS table, row for row in the same order.

    A row with a non-finite probability is `failed: non_finite` and holds no numbers.
    """
    rows = FlatRows.of(table)
    parts = [_score_batch(rows, first, last, model, settings.k) for first, last in batch_spans(rows, model, settings)]
    return pa.concat_tables(parts) if parts else schemas.SCORED.empty_table()


def batch_spans(rows: FlatRows, model: Model, settings: ScoreSettings) -> Iterator[tuple[int, int]]:
    """Spans (first, last) of rows that go to the model together."""
    lengths, masks = np.diff(rows.id_offsets), np.diff(rows.mask_offsets)
    budget = max(1, settings.max_head_bytes // (4 * model.vocab_size))
    return plan_batches(lengths, masks, max_batch_pieces=settings.max_batch_pieces, max_batch_masks=budget)


def score_rows_except(table: pa.Table, model: Model, settings: ScoreSettings, failed: Mapping[int, str]) -> pa.Table:
    """The SCORED table of a ROWS table in which the rows at the positions of `failed` are not run but failed so."""
    if not failed:
        return score_rows(table, model, settings)
    positions = sorted(failed)
    is_failed = pa.array(np.isin(np.arange(table.num_rows), positions))
    scored = score_rows(table.filter(pc.invert(is_failed)), model, settings)
    return with_failed(scored, table.filter(is_failed), [failed[p] for p in positions])


def with_failed(scored: pa.Table, rows: pa.Table, reasons: list[str]) -> pa.Table:
    """The scored rows and others that failed for a reason, in the order of their numbers: lists empty, flags false."""
    count = len(reasons)
    columns = {"row": rows["row"], "failed": pa.array(reasons, pa.string())}
    for field in scored.schema:
        if field.name not in columns:
            nothing: list[Any] = [False] * count if pa.types.is_boolean(field.type) else [[] for _ in reasons]
            columns[field.name] = pa.array(nothing, field.type)
    failed = pa.table([columns[name] for name in scored.schema.names], schema=scored.schema)
    answers = pa.concat_tables([scored, failed])
    return answers.take(pc.sort_indices(answers["row"])) if answers.num_rows else answers


def _score_batch(rows: FlatRows, first: int, last: int, model: Model, k: int) -> pa.Table:
    ids, attention, mask_pos = pad_batch(rows, first, last, model.pad_id)
    queries = _queries(rows, first, last)
    answers = model.session.run(ids, attention, mask_pos, queries.mask, queries.piece)
    return _collect(rows, first, last, answers, queries, k)


@dataclass(frozen=True, slots=True)
class _Queries:
    """The gold pieces asked of a batch: piece q at mask `mask[q]` of the batch, for gold `gold[q]`."""

    mask: Int64s
    piece: Int64s
    gold: Int64s


def _queries(rows: FlatRows, first: int, last: int) -> _Queries:
    golds = np.arange(rows.golds_of_row[first], rows.golds_of_row[last])
    sizes = np.diff(rows.gold_offsets)[golds]
    row_of_gold = np.repeat(np.arange(first, last), np.diff(rows.golds_of_row[first : last + 1]))
    begins = rows.mask_offsets[row_of_gold] - rows.mask_offsets[first]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    span = slice(rows.gold_offsets[golds[0]], rows.gold_offsets[golds[-1] + 1]) if len(golds) else slice(0, 0)
    return _Queries(np.repeat(begins, sizes) + within, rows.gold_ids[span], np.repeat(np.arange(len(golds)), sizes))


def _collect(rows: FlatRows, first: int, last: int, answers: Answers, queries: _Queries, k: int) -> pa.Table:
    count = last - first
    mask_offsets = rows.mask_offsets[first : last + 1] - rows.mask_offsets[first]
    masks = np.diff(mask_offsets)
    golds_per_row = np.diff(rows.golds_of_row[first : last + 1])
    gold_row = np.repeat(np.arange(count), golds_per_row)
    gold_logp = np.bincount(queries.gold, weights=answers.gold_logp.astype(np.float64), minlength=len(gold_row))
    finite = _finite(answers, mask_offsets, count) & ~np.isin(np.arange(count), gold_row[~np.isfinite(gold_logp)])

    words = _Words(masks, finite, answers.topk_ids.shape[1], k)
    place = np.zeros(len(gold_row), dtype=np.int64)
    near = np.zeros(count, dtype=np.bool_)
    gold_starts = rows.gold_offsets[rows.golds_of_row[first] :]
    for size in np.unique(masks):
        group = np.flatnonzero((masks == size) & finite)
        if not len(group):
            continue
        at = mask_offsets[group][:, None] + np.arange(size)
        best, total = k_best(answers.topk_ids[at][:, :, : k + 1], answers.topk_logp[at][:, :, : k + 1], k + 1)
        near[group] = near_ties(total)
        words.put(group, best[:, :k], total[:, :k])
        which = np.flatnonzero(np.isin(gold_row, group))
        asked = rows.gold_ids[gold_starts[which][:, None] + np.arange(size)]
        place[which] = places(best[np.searchsorted(group, gold_row[which]), :k], asked)

    shown = np.where(finite, golds_per_row, 0)
    kept_gold = finite[gold_row]
    kept_query = kept_gold[queries.gold]
    sizes = masks[gold_row][kept_gold]
    gold_offsets, rank_offsets = offsets_of(shown), offsets_of(sizes)
    return pa.table(
        [
            pa.array(rows.row[first:last]),
            words.tuples(),
            lists(words.of_row, words.scores, pa.float64()),
            lists(gold_offsets, gold_logp[kept_gold], pa.float64()),
            pa.ListArray.from_arrays(
                pa.array(gold_offsets, pa.int32()), lists(rank_offsets, answers.gold_rank[kept_query], pa.int32())
            ),
            lists(gold_offsets, place[kept_gold], pa.int8()),
            pa.array(near),
            pa.array([None if ok else "non_finite" for ok in finite], pa.string()),
        ],
        schema=schemas.SCORED,
    )


class _Words:
    """The best words of a batch, flat: filled group by group of equal mask counts, read row after row."""

    def __init__(self, masks: Int64s, finite: Bools, candidates: int, k: int) -> None:
        # candidates ** masks, held down to where float64 is exact: only its minimum with k matters.
        held = np.minimum(k, np.minimum(candidates, k + 1.0) ** np.minimum(masks, 16)).astype(np.int64)
        self.of_row = offsets_of(np.where(finite, held, 0))
        """(rows + 1) spans of words."""
        self.of_word = offsets_of(np.repeat(masks, np.diff(self.of_row)))
        """(words + 1) spans of pieces."""
        self.scores = np.zeros(int(self.of_row[-1]))
        self.pieces = np.zeros(int(self.of_word[-1]), dtype=np.int32)

    def put(self, rows: Int64s, best: Int64s, total: Float64s) -> None:
        """Takes the words of some rows: best (rows, words, masks), total (rows, words)."""
        first = self.of_row[rows]
        self.scores[first[:, None] + np.arange(total.shape[1])] = total
        flat = best.reshape(len(rows), -1)
        self.pieces[self.of_word[first][:, None] + np.arange(flat.shape[1])] = flat

    def tuples(self) -> pa.ListArray:
        """Per row a list of words, each a list of pieces."""
        return pa.ListArray.from_arrays(pa.array(self.of_row, pa.int32()), lists(self.of_word, self.pieces, pa.int32()))


def _finite(answers: Answers, mask_offsets: Int64s, count: int) -> Bools:
    good = np.isfinite(answers.topk_logp).all(axis=1)
    owner = np.repeat(np.arange(count), np.diff(mask_offsets))
    bad: Int64s = np.bincount(owner[~good], minlength=count)
    return np.equal(bad, 0)
