"""One shard of pairs with the attention of every head, reduced where it is computed to the strongest links of each.

A *link* goes from a word of the text that is reordered to a word of the other. Its weight is the attention summed over
the pieces of the word attended to and averaged over those of the word attending (Clark et al. 2019, section 4.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.encode.unique import lists
from evaluator.score.backend import AttentionSession
from evaluator.score.batches import plan_batches
from evaluator.score.bundle import Bundle
from evaluator.score.classify import logits_table, padded
from evaluator.score.shard import ScoreSettings, with_failed
from evaluator.store import schemas
from evaluator.types import Float32s, Int16s, Int64s

LINKS_PER_HEAD = 3
"""As many as Pham et al. (2021) look at."""
MOST_WEIGHTS = 8 << 20
"""Attention weights of one batch, all heads: 32 MiB."""


@dataclass(frozen=True, slots=True)
class Attender:
    """A session that gives attention, with the facts of its bundle that scoring needs."""

    session: AttentionSession
    pad_id: int
    labels: int
    head_mask: Float32s
    """(layers, heads), 0 for a silenced head, else 1."""
    from_side: int = 0
    """Of which text, 0 or 1, the words are that links go from."""

    def score(self, table: pa.Table, settings: ScoreSettings, failed: Mapping[int, str]) -> pa.Table:
        """The ATTENDED table of a WORD_ROWS table; rows at the positions of `failed` are not run but failed so."""
        if not failed:
            return attend_rows(table, self, settings)
        positions = sorted(failed)
        is_failed = pa.array(np.isin(np.arange(table.num_rows), positions))
        scored = attend_rows(table.filter(pc.invert(is_failed)), self, settings)
        return with_failed(scored, table.filter(is_failed), [failed[p] for p in positions])


def head_mask_of(bundle: Bundle, silenced: Sequence[tuple[int, int]]) -> Float32s:
    """(layers, heads) float32: 0 for the silenced (layer, head), else 1."""
    mask = np.ones((bundle.layers, bundle.heads), dtype=np.float32)
    for layer, head in silenced:
        mask[layer, head] = 0
    return mask


def attend_rows(table: pa.Table, model: Attender, settings: ScoreSettings) -> pa.Table:
    """The ATTENDED table of a WORD_ROWS table, row for row; a non-finite row is `failed: non_finite`, without links."""
    columns = {name: table[name].combine_chunks() for name in ("ids", "types", "side", "word")}
    lengths = np.asarray(columns["ids"].value_lengths(), dtype=np.int64)
    flat = {n: c.flatten().to_numpy(zero_copy_only=False).astype(np.int64) for n, c in columns.items()}
    starts = np.cumsum(lengths) - lengths
    sides = np.where(flat["side"] < 0, -1, flat["side"] ^ model.from_side)
    heads = model.head_mask.size
    logits = np.zeros((len(lengths), model.labels), dtype=np.float32)
    links = np.full((2, len(lengths), heads, LINKS_PER_HEAD), -1, dtype=np.int16)
    weights = np.zeros((len(lengths), heads, LINKS_PER_HEAD), dtype=np.float32)
    budget = max(1, MOST_WEIGHTS // heads)
    for first, last in plan_batches(
        lengths, lengths**2, max_batch_pieces=settings.max_batch_pieces, max_batch_masks=budget
    ):
        span = slice(starts[first], starts[last - 1] + lengths[last - 1])
        inputs = padded(flat["ids"][span], flat["types"][span], lengths[first:last], model.pad_id)
        logits[first:last], attention = model.session.run(*inputs, model.head_mask)
        for i in range(first, last):
            own = slice(starts[i], starts[i] + lengths[i])
            size = int(lengths[i])
            of_row = attention[i - first].reshape(heads, *attention.shape[-2:])[:, :size, :size]
            links[0, i], links[1, i], weights[i] = strongest_links(of_row, sides[own], flat["word"][own])
    answered = logits_table(table["row"], logits)
    finite = answered["failed"].is_null().to_numpy()
    sizes = np.where(finite, heads * LINKS_PER_HEAD, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    found = [
        lists(offsets, links[0][finite].ravel(), pa.int16()),
        lists(offsets, links[1][finite].ravel(), pa.int16()),
        lists(offsets, weights[finite].ravel(), pa.float32()),
    ]
    return pa.table([*answered.columns, *found], schema=schemas.ATTENDED)


def strongest_links(attention: Float32s, side: Int64s, word: Int64s) -> tuple[Int16s, Int16s, Float32s]:
    """(from, to, weight), each (heads, LINKS_PER_HEAD): the strongest links of every head, ties by the words' numbers.

    `attention` is (heads, pieces, pieces); `side` (0: from, 1: to) and `word` (pieces) say what each piece is of.
    """
    heads = len(attention)
    ends = np.full((2, heads, LINKS_PER_HEAD), -1, dtype=np.int16)
    weight = np.zeros((heads, LINKS_PER_HEAD), dtype=np.float32)
    sizes = [int(word[side == s].max(initial=-1)) + 1 for s in (0, 1)]
    if not all(sizes):
        return ends[0], ends[1], weight
    gather = [np.zeros((sizes[s], len(word)), dtype=np.float64) for s in (0, 1)]
    for s in (0, 1):
        at = np.flatnonzero(side == s)
        gather[s][word[at], at] = 1
    gather[0] /= np.maximum(gather[0].sum(axis=1, keepdims=True), 1)
    joined = (gather[0] @ attention.astype(np.float64) @ gather[1].T).reshape(heads, -1)
    # Rounded, so that words which are attended alike are ordered by their places and not by the last bits of a sum.
    best = np.argsort(-joined.round(7), axis=1, kind="stable")[:, :LINKS_PER_HEAD]
    count = best.shape[1]
    ends[0, :, :count], ends[1, :, :count] = best // sizes[1], best % sizes[1]
    weight[:, :count] = np.take_along_axis(joined, best, axis=1)
    return ends[0], ends[1], weight
