"""Distinct model inputs of a whole run: deduplicated, sorted by length, with a link from every item to its row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.encode.rows import NOT_EXPRESSIBLE, REASONS, Inputs, hash_spans
from evaluator.store import schemas
from evaluator.types import Int32s, Int64s, UInt64s

_SALTS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0)


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of one shard of items, distinct within the shard, and how its items map to them."""

    item_id: UInt64s
    key: UInt64s
    """(items, 2) hash of the model input."""
    gold_key: UInt64s
    """(items) hash of the gold pieces."""
    n_pieces: Int32s
    n_masks: Int32s
    inputs: Inputs


@dataclass(frozen=True, slots=True)
class UniqueRows:
    """The distinct rows of a run in their final order, flat, and per shard of items the links to them."""

    offsets: Int64s
    ids: Int32s
    pair_row: Int64s
    """(pairs) row of each distinct (row, gold), ascending."""
    pair_offsets: Int64s
    pair_golds: Int32s
    links: tuple[pa.Table, ...]

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def shard(self, first: int, last: int, mask_id: int, *, first_mask_only: bool = False) -> pa.Table:
        """Rows first … last - 1 as a ROWS table; `first_mask_only` asks of each row nothing but its first mask."""
        begin, end = self.offsets[first], self.offsets[last]
        ids = self.ids[begin:end]
        offsets = self.offsets[first : last + 1] - begin
        at = np.flatnonzero(ids == mask_id)
        row_of = np.searchsorted(offsets, at, side="right") - 1
        if first_mask_only:
            row_of, begins = np.unique(row_of, return_index=True)
            at = at[begins]
        mask_offsets = np.searchsorted(row_of, np.arange(last - first + 1))
        pairs = slice(*np.searchsorted(self.pair_row, [first, last]))
        pair_first = np.searchsorted(self.pair_row[pairs], np.arange(first, last + 1))
        gold_offsets = self.pair_offsets[pairs.start : pairs.stop + 1]
        golds = self.pair_golds[gold_offsets[0] : gold_offsets[-1]]
        return pa.table(
            [
                pa.array(np.arange(first, last), pa.int64()),
                lists(offsets, ids, pa.int32()),
                lists(mask_offsets, at - offsets[row_of], pa.int16()),
                pa.ListArray.from_arrays(
                    pa.array(pair_first, pa.int32()), lists(gold_offsets - gold_offsets[0], golds, pa.int32())
                ),
            ],
            schema=schemas.ROWS,
        )


def lists(offsets: Int64s, values: npt.NDArray[Any], kind: pa.DataType) -> pa.ListArray:
    """A list column from flat values."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, kind))


def batch_of(item_id: UInt64s, inputs: Inputs) -> Batch:
    """The shard's inputs with their hashes."""
    keys = [hash_spans(inputs.ids, inputs.offsets, salt) for salt in _SALTS[:2]]
    return Batch(
        item_id=item_id,
        key=np.stack(keys, axis=1),
        gold_key=hash_spans(inputs.golds, inputs.gold_offsets, _SALTS[2]),
        n_pieces=np.diff(inputs.offsets).astype(np.int32),
        n_masks=np.diff(inputs.gold_offsets).astype(np.int32),
        inputs=inputs,
    )


def unique_rows(batches: list[Batch]) -> UniqueRows:
    """Distinct inputs of all shards, sorted by (length, hash): the order depends on nothing but the inputs."""
    n_pieces = _joined([b.n_pieces for b in batches], np.int32)
    keys = np.concatenate([b.key for b in batches]) if batches else np.zeros((0, 2), np.uint64)
    gold_key = _joined([b.gold_key for b in batches], np.uint64)
    reason = _joined([b.inputs.reason for b in batches], np.int32)
    alive = np.flatnonzero(reason <= NOT_EXPRESSIBLE)

    by_row = alive[np.lexsort((gold_key[alive], keys[alive, 1], keys[alive, 0], n_pieces[alive]))]
    sorted_keys, sorted_golds = keys[by_row], gold_key[by_row]
    new_row = np.ones(len(by_row), dtype=np.bool_)
    new_row[1:] = np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1) | (n_pieces[by_row[1:]] != n_pieces[by_row[:-1]])
    new_pair = new_row.copy()
    new_pair[1:] |= sorted_golds[1:] != sorted_golds[:-1]
    row_sorted = np.cumsum(new_row) - 1
    pair_sorted = np.cumsum(new_pair) - 1
    pair_row = row_sorted[new_pair]
    first_pair = np.searchsorted(pair_row, np.arange(int(new_row.sum())))

    row = np.full(len(reason), -1, dtype=np.int64)
    gold = np.zeros(len(reason), dtype=np.int64)
    row[by_row] = row_sorted
    gold[by_row] = pair_sorted - first_pair[row_sorted]
    offsets, ids = _collect([(b.inputs.offsets, b.inputs.ids) for b in batches], by_row[new_row])
    pair_offsets, pair_golds = _collect([(b.inputs.gold_offsets, b.inputs.golds) for b in batches], by_row[new_pair])
    ends = np.cumsum([0, *(len(b.item_id) for b in batches)])
    links = tuple(_links(b, row[ends[i] : ends[i + 1]], gold[ends[i] : ends[i + 1]]) for i, b in enumerate(batches))
    return UniqueRows(offsets, ids, pair_row, pair_offsets, pair_golds, links)


def _joined(parts: list[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _collect(parts: list[tuple[Int64s, Int32s]], wanted: Int64s) -> tuple[Int64s, Int32s]:
    """The spans `wanted` (numbered over all parts), one after another."""
    bases = np.cumsum([0, *(len(values) for _, values in parts)])
    starts = _joined([offsets[:-1] + base for (offsets, _), base in zip(parts, bases, strict=False)], np.int64)
    lengths = _joined([np.diff(offsets) for offsets, _ in parts], np.int64)
    values = _joined([values for _, values in parts], np.int32)
    offsets = np.zeros(len(wanted) + 1, dtype=np.int64)
    np.cumsum(lengths[wanted], out=offsets[1:])
    source = np.arange(int(offsets[-1])) + np.repeat(starts[wanted] - offsets[:-1], lengths[wanted])
    return offsets, values[source]


def _links(batch: Batch, row: Int64s, gold: Int64s) -> pa.Table:
    skipped = row < 0
    reasons = np.array(REASONS, dtype=object)[batch.inputs.reason]
    return pa.table(
        [
            pa.array(batch.item_id, pa.uint64()),
            pa.array(row, pa.int64(), mask=skipped),
            pa.array(gold, pa.int16(), mask=skipped),
            pa.array(batch.n_pieces, pa.int16(), mask=skipped),
            pa.array(batch.n_masks, pa.int16(), mask=skipped),
            pa.array(batch.inputs.windowed, pa.bool_()),
            pa.array(reasons, pa.string(), mask=batch.inputs.reason == 0),
        ],
        schema=schemas.LINKS,
    )
