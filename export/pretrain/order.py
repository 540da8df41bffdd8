"""The data order: which sentences form which batch, as a pure function of (seed, pass, batch).

Nothing about the order is stored: a run killed anywhere continues with the very batch it would have had.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.pretrain.corpus import Corpus
from export.pretrain.domain import draw_copies
from export.pretrain.masking import choose_masked

_POOL_BATCHES = 64  # sentences of so many batches are sorted by length together: little padding, still mixed


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of a tokenizer's special pieces."""

    pad: int
    cls: int
    sep: int
    mask: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded rows and what is to be predicted."""

    input_ids: NDArray[np.int64]  # (rows, longest)
    attention_mask: NDArray[np.int64]  # (rows, longest)
    masked_at: NDArray[np.int64]  # (masks,) flat index into rows * longest
    gold: NDArray[np.int64]  # (masks,)
    pieces: int  # without padding


def generator(seed: int, *address: int) -> np.random.Generator:
    """A random generator that depends on nothing but the seed and the address."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=address))


def plan_pass(corpus: Corpus, batch_pieces: int, seed: int, pass_number: int) -> list[NDArray[np.int64]]:
    """The sentence numbers of every batch of one pass over the training sentences.

    Batches hold sentences of like length, about `batch_pieces` with padding and special pieces.
    """
    rng = generator(seed, pass_number)
    drawn = draw_copies(np.where(corpus.held_out, 0.0, corpus.sample_weights), rng)
    lengths = np.diff(corpus.offsets) + 2
    pool_ends = np.searchsorted(np.cumsum(lengths[drawn]), np.arange(1, 10**6) * batch_pieces * _POOL_BATCHES)
    batches: list[NDArray[np.int64]] = []
    start = 0
    for end in [*pool_ends[pool_ends < len(drawn)].tolist(), len(drawn)]:
        pool = drawn[start:end]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        cut = list(_cut_by_size(lengths[pool], batch_pieces))
        batches.extend(pool[a:b] for a, b in (cut[i] for i in rng.permutation(len(cut))))
        start = end
    return batches


def _cut_by_size(lengths: NDArray[np.int64], batch_pieces: int) -> Iterator[tuple[int, int]]:
    """Bounds of consecutive rows, of ascending length, that fill `batch_pieces` when padded."""
    start = 0
    for i, longest in enumerate(lengths.tolist()):
        if i > start and longest * (i + 1 - start) > batch_pieces:
            yield start, i
            start = i
    if start < len(lengths):
        yield start, len(lengths)


def build_batch(
    corpus: Corpus, rows: NDArray[np.int64], special: SpecialIds, scale: float, most: float, rng: np.random.Generator
) -> Batch:
    """The batch of these sentences, each word masked with probability min(most, scale · weight)."""
    begins, ends = corpus.offsets[rows], corpus.offsets[rows + 1]
    lengths = ends - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    take = np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])
    pieces = corpus.pieces[take].astype(np.int64)
    chance = np.minimum(most, scale * corpus.mask_weights[take])
    masked = choose_masked(corpus.word_starts[take], chance, offsets, rng)
    longest = int(lengths.max()) + 2
    row = np.repeat(np.arange(len(rows)), lengths)
    flat = row * longest + 1 + np.arange(offsets[-1]) - offsets[row]
    padded = np.full(len(rows) * longest, special.pad, dtype=np.int64)
    padded[flat] = np.where(masked, special.mask, pieces)
    input_ids = padded.reshape(len(rows), longest)
    input_ids[:, 0] = special.cls
    input_ids[np.arange(len(rows)), lengths + 1] = special.sep
    attention = (np.arange(longest)[None, :] < (lengths + 2)[:, None]).astype(np.int64)
    return Batch(input_ids, attention, flat[masked], pieces[masked], int((lengths + 2).sum()))
