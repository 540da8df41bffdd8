"""Distinct inputs of a classifier over a whole run: deduplicated, sorted by length, with a link from every item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.encode.rows import hash_spans, offsets_of
from evaluator.encode.tokenizer import TextPieces
from evaluator.encode.unique import lists
from evaluator.store import schemas
from evaluator.types import Bools, Int8s, Int16s, Int32s, Int64s

TOO_LONG = "too_long"
_SALTS = (0x9216D5D98979FB1B, 0xD1310BA698DFB5AC)


@dataclass(frozen=True, slots=True)
class UniqueTexts:
    """The distinct inputs of a run in their final order, flat, and the row of each item (-1: it does not fit)."""

    offsets: Int64s
    ids: Int32s
    types: Int8s
    side: Int8s
    word: Int16s
    """As in `TextPieces`; empty when it has none."""
    row: Int64s
    n_pieces: Int64s

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def shard(self, first: int, last: int) -> pa.Table:
        """Rows first … last - 1 as a TEXT_ROWS table, or as WORD_ROWS where the words of pieces are known."""
        offsets = self.offsets[first : last + 1]
        span = slice(offsets[0], offsets[-1])
        columns = [
            pa.array(np.arange(first, last), pa.int64()),
            lists(offsets - offsets[0], self.ids[span], pa.int32()),
            lists(offsets - offsets[0], self.types[span], pa.int8()),
        ]
        if not len(self.word):
            return pa.table(columns, schema=schemas.TEXT_ROWS)
        columns += [
            lists(offsets - offsets[0], values[span], kind)
            for values, kind in ((self.side, pa.int8()), (self.word, pa.int16()))
        ]
        return pa.table(columns, schema=schemas.WORD_ROWS)

    def links(self, item_id: pa.ChunkedArray, first: int) -> pa.Table:
        """The TEXT_LINKS of items first … first + len(item_id) - 1."""
        span = slice(first, first + len(item_id))
        skipped = self.row[span] < 0
        columns = [
            pa.array(item_id.to_numpy(), pa.uint64()),
            pa.array(self.row[span], pa.int64(), mask=skipped),
            pa.array(self.n_pieces[span], pa.int32()),
            pa.array([TOO_LONG if s else None for s in skipped], pa.string()),
        ]
        return pa.table(columns, schema=schemas.TEXT_LINKS)


def unique_texts(parts: Sequence[TextPieces], limit: int) -> UniqueTexts:
    """Distinct inputs of at most `limit` pieces, sorted by (length, hash): the order depends on the inputs alone.

    Nothing is cut: an input that is longer has no row, since a cut would show other words after a shuffle than before.
    """
    lengths = _joined([np.diff(p.offsets) for p in parts], np.int64)
    ids, types = _joined([p.ids for p in parts], np.int32), _joined([p.types for p in parts], np.int8)
    offsets = offsets_of(lengths)
    side, word = _joined([p.side for p in parts], np.int8), _joined([p.word for p in parts], np.int16)
    marked = ids.astype(np.int64) + (types.astype(np.int64) << 40)
    if len(word):
        marked += ((side.astype(np.int64) + 1) << 44) + ((word.astype(np.int64) + 1) << 46)
    keys = [hash_spans(marked, offsets, salt) for salt in _SALTS]
    fits: Bools = lengths <= limit
    order = np.flatnonzero(fits)
    order = order[np.lexsort((keys[1][order], keys[0][order], lengths[order]))]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([values[order[1:]] != values[order[:-1]] for values in (lengths, *keys)])
    row = np.full(len(lengths), -1, dtype=np.int64)
    row[order] = np.cumsum(new) - 1
    kept = order[new]
    at = np.arange(int(lengths[kept].sum())) + np.repeat(offsets[kept] - offsets_of(lengths[kept])[:-1], lengths[kept])
    own = (side[at], word[at]) if len(word) else (side, word)
    return UniqueTexts(offsets_of(lengths[kept]), ids[at], types[at], *own, row, lengths)


def _joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, kind)
