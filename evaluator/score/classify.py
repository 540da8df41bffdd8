"""One shard of whole texts classified: logits of every row, batched like the rows of the masked models."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.encode.unique import lists
from evaluator.score.backend import TextSession
from evaluator.score.batches import plan_batches
from evaluator.score.shard import ScoreSettings, with_failed
from evaluator.store import schemas
from evaluator.types import Bools, Float32s, Int64s


@dataclass(frozen=True, slots=True)
class Classifier:
    """A session of a classifier with the facts of its bundle that scoring needs."""

    session: TextSession
    pad_id: int
    labels: int

    def score(self, table: pa.Table, settings: ScoreSettings, failed: Mapping[int, str]) -> pa.Table:
        """The LOGITS table of a TEXT_ROWS table; rows at the positions of `failed` are not run but failed so."""
        if not failed:
            return classify_rows(table, self, settings)
        positions = sorted(failed)
        is_failed = pa.array(np.isin(np.arange(table.num_rows), positions))
        scored = classify_rows(table.filter(pc.invert(is_failed)), self, settings)
        return with_failed(scored, table.filter(is_failed), [failed[p] for p in positions])


def classify_rows(table: pa.Table, model: Classifier, settings: ScoreSettings) -> pa.Table:
    """The LOGITS table of a TEXT_ROWS table, row for row in the same order.

    A row with a non-finite logit is `failed: non_finite` and holds no numbers.
    """
    ids, types = (table[name].combine_chunks() for name in ("ids", "types"))
    lengths = np.asarray(ids.value_lengths(), dtype=np.int64)
    flat_ids, flat_types = (c.flatten().to_numpy(zero_copy_only=False).astype(np.int64) for c in (ids, types))
    starts = np.cumsum(lengths) - lengths
    logits = np.zeros((len(lengths), model.labels), dtype=np.float32)
    one_each = np.ones_like(lengths)
    for first, last in plan_batches(
        lengths, one_each, max_batch_pieces=settings.max_batch_pieces, max_batch_masks=len(lengths)
    ):
        span = slice(starts[first], starts[last - 1] + lengths[last - 1])
        logits[first:last] = model.session.run(
            *padded(flat_ids[span], flat_types[span], lengths[first:last], model.pad_id)
        )
    return logits_table(table["row"], logits)


def padded(ids: Int64s, types: Int64s, lengths: Int64s, pad_id: int) -> tuple[Int64s, Int64s, Int64s]:
    """`input_ids`, `attention_mask` and `token_type_ids` (rows, longest) of flat pieces."""
    attention = (np.arange(int(lengths.max())) < lengths[:, None]).astype(np.int64)
    padded_ids = np.full_like(attention, pad_id)
    padded_types = np.zeros_like(attention)
    there = attention.astype(bool)
    padded_ids[there], padded_types[there] = ids, types
    return padded_ids, attention, padded_types


def logits_table(row: pa.ChunkedArray, logits: Float32s) -> pa.Table:
    """The LOGITS table of some rows; those with a non-finite logit are failed."""
    finite: Bools = np.asarray(np.isfinite(logits).all(axis=1))
    offsets = np.concatenate([[0], np.cumsum(np.where(finite, logits.shape[1], 0))]).astype(np.int64)
    return pa.table(
        [
            pa.array(row.to_numpy(), pa.int64()),
            lists(offsets, logits[finite].ravel(), pa.float32()),
            pa.array([None if ok else "non_finite" for ok in finite.tolist()], pa.string()),
        ],
        schema=schemas.LOGITS,
    )
