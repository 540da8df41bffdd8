"""Rows to batches: neighbours of like length, as many as a budget of pieces and of head outputs allows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.encode.rows import offsets_of
from evaluator.types import Int64s


@dataclass(frozen=True, slots=True)
class FlatRows:
    """The columns of a ROWS table as flat arrays with offsets."""

    row: Int64s
    ids: Int64s
    id_offsets: Int64s
    mask_pos: Int64s
    mask_offsets: Int64s
    gold_ids: Int64s
    gold_offsets: Int64s
    """(golds + 1) spans of `gold_ids`."""
    golds_of_row: Int64s
    """(rows + 1) spans of golds."""

    @classmethod
    def of(cls, table: pa.Table) -> "FlatRows":
        """The arrays of a ROWS table."""
        ids, masks, golds = (table[c].combine_chunks() for c in ("ids", "mask_pos", "golds"))
        inner = golds.flatten()
        return cls(
            row=table["row"].to_numpy().astype(np.int64),
            ids=_values(ids),
            id_offsets=_starts(ids),
            mask_pos=_values(masks),
            mask_offsets=_starts(masks),
            gold_ids=_values(inner),
            gold_offsets=_starts(inner),
            golds_of_row=_starts(golds),
        )


def _values(column: pa.ListArray) -> Int64s:
    values: Int64s = column.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def _starts(column: pa.ListArray) -> Int64s:
    return offsets_of(np.asarray(column.value_lengths(), dtype=np.int64))


def plan_batches(
    lengths: Int64s, masks: Int64s, *, max_batch_pieces: int, max_batch_masks: int
) -> Iterator[tuple[int, int]]:
    """Spans (first, last) of consecutive rows, longest × rows ≤ `max_batch_pieces`, masks ≤ `max_batch_masks`.

    A row larger than a budget goes alone. Padded cost is longest × rows; rows come sorted by length.
    """
    first = 0
    longest = used = 0
    for i in range(len(lengths)):
        longest_with, used_with = max(longest, int(lengths[i])), used + int(masks[i])
        if i > first and (longest_with * (i - first + 1) > max_batch_pieces or used_with > max_batch_masks):
            yield first, i
            first, longest_with, used_with = i, int(lengths[i]), int(masks[i])
        longest, used = longest_with, used_with
    if first < len(lengths):
        yield first, len(lengths)


def pad_batch(rows: FlatRows, first: int, last: int, pad_id: int) -> tuple[Int64s, Int64s, Int64s]:
    """`input_ids`, `attention_mask` (rows, longest) and `mask_pos`, flat into them, of rows first … last - 1."""
    offsets = rows.id_offsets[first : last + 1]
    lengths = np.diff(offsets)
    longest = int(lengths.max())
    attention = (np.arange(longest) < lengths[:, None]).astype(np.int64)
    ids = np.full((last - first, longest), pad_id, dtype=np.int64)
    ids[attention.astype(bool)] = rows.ids[offsets[0] : offsets[-1]]
    spans = rows.mask_offsets[first : last + 1]
    owner = np.repeat(np.arange(last - first), np.diff(spans))
    return ids, attention, owner * longest + rows.mask_pos[spans[0] : spans[-1]]
