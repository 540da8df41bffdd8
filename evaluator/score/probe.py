"""How long a model would take over its rows here: some of the very batches it would score, scored for some seconds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from evaluator.score.backend import Provider, Session
from evaluator.score.batches import FlatRows
from evaluator.score.bundle import Bundle
from evaluator.score.shard import Model, ScoreSettings, batch_spans, score_rows
from evaluator.store.shards import ShardSet

GOLDEN = 0.6180339887498949
"""Multiples of it modulo 1 fill the unit interval evenly, however many are taken."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The estimate for one model, and what it rests on."""

    load_s: float
    score_s: float
    batches: int
    probed: int
    rows_per_s: float


def probe_model(
    folder: Path,
    bundle: Bundle,
    rows: ShardSet,
    shards: int,
    settings: ScoreSettings,
    *,
    provider: Provider,
    threads: int,
    seconds: float,
) -> Probe:
    """What scoring all `shards` would take: the time per padded piece of evenly spread batches, times all pieces.

    Batches are scored until `seconds` have passed, two at least; the first one that is run warms up and is not counted.
    """
    began = perf_counter()
    model = Model(
        Session(folder, bundle, provider=provider, threads=threads), bundle.pad_id, bundle.vocab_size, bundle.top_k
    )
    load_s = perf_counter() - began
    batches: list[tuple[int, int, int, int]] = []
    count = 0
    for shard in range(shards):
        flat = FlatRows.of(rows.read(shard))
        lengths = np.diff(flat.id_offsets)
        for first, last in batch_spans(flat, model, settings):
            batches.append((shard, first, last, int(lengths[first:last].max()) * (last - first)))
        count += len(lengths)
    if not batches:
        return Probe(load_s, 0.0, 0, 0, 0.0)
    wall = 0.0
    padded = probed = 0
    for probed, at in enumerate(_spread(len(batches))):
        shard, first, last, pieces = batches[at]
        table = rows.read(shard).slice(first, last - first)
        began = perf_counter()
        score_rows(table, model, settings)
        if probed:
            wall, padded = wall + perf_counter() - began, padded + pieces
        if wall >= seconds and probed >= 2:
            break
    score_s = wall * sum(b[3] for b in batches) / padded
    return Probe(load_s, score_s, len(batches), probed, count / score_s)


def _spread(count: int) -> Iterator[int]:
    """The middle of `count` batches, then all of them in an order whose every beginning is evenly spread."""
    yield count // 2
    yield from dict.fromkeys(int(count * (GOLDEN * i % 1.0)) for i in range(1, 8 * count + 2))
