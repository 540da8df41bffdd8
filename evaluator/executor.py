"""Engines: who scores which shard where. An engine only places work; `ShardScorer` does it, the same everywhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from evaluator.errors import ConfigError
from evaluator.score.backend import Provider, Session
from evaluator.score.bundle import read_bundle
from evaluator.score.shard import Model, ScoreSettings, score_rows, score_rows_except
from evaluator.store.shards import ShardSet


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """All that a worker needs to score shards of one model: small, picklable, made of values only."""

    bundle: str
    """Folder of the model bundle on the worker's machine."""
    rows: ShardSet
    scored: ShardSet
    settings: ScoreSettings
    provider: Provider
    threads: int


@dataclass(frozen=True, slots=True)
class ShardDone:
    """What scoring one shard came to."""

    shard: int
    rows: int
    pieces: int
    padded_pieces: int
    failed: int
    wall_s: float
    provider: str
    worker: str = "local"
    """The process that scored it: host, device."""


Engine = Callable[[ScoreJob, Sequence[int], dict[str, Any]], Iterator[ShardDone]]
"""(job, shards still to do, the engine's own settings) → one report per shard, in any order."""


class ShardScorer:
    """A loaded model that scores shards of a job."""

    def __init__(self, job: ScoreJob) -> None:
        self.job = job
        folder = Path(job.bundle)
        bundle = read_bundle(folder)
        session = Session(folder, bundle, provider=job.provider, threads=job.threads)
        self.model = Model(session, bundle.pad_id, bundle.vocab_size, bundle.top_k)

    def score(self, shard: int, failed: Mapping[int, str] = MappingProxyType({})) -> ShardDone:
        """Reads a shard of rows, scores it, writes its answers, all or nothing.

        `failed`: positions of rows that cannot be scored, with the reason; they are written as failed, and not run.
        """
        began = perf_counter()
        table = self.job.rows.read(shard)
        scored = score_rows_except(table, self.model, self.job.settings, failed)
        if scored.num_rows != table.num_rows:
            raise AssertionError(f"shard {shard}: {table.num_rows} rows in, {scored.num_rows} out")
        self.job.scored.write(shard, scored)
        pieces = len(table["ids"].combine_chunks().flatten())
        return ShardDone(
            shard=shard,
            rows=table.num_rows,
            pieces=pieces,
            padded_pieces=pieces,
            failed=table.num_rows - scored["failed"].null_count,
            wall_s=perf_counter() - began,
            provider=self.model.session.provider,
        )

    def rehearse(self, shard: int, first: int, last: int) -> int:
        """The number of rows first … last - 1 of a shard that were scored; nothing is written.

        Finds out which rows kill or break a worker.
        """
        table = self.job.rows.read(shard).slice(first, last - first)
        return int(score_rows(table, self.model, self.job.settings).num_rows)


def run_local(job: ScoreJob, shards: Sequence[int], settings: dict[str, Any]) -> Iterator[ShardDone]:
    """Scores the shards in this process, one after another, on all its threads."""
    scorer = ShardScorer(job)
    for shard in shards:
        yield scorer.score(shard)


def engine_named(name: str) -> Engine:
    """The engine that a package registered under `name` in the entry-point group `morphorder.engines`."""
    found = {e.name: e for e in entry_points(group="morphorder.engines")}
    if name not in found:
        raise ConfigError(f"no engine {name!r}", where="engine", hint=f"installed: {', '.join(sorted(found))}")
    engine: Engine = found[name].load()
    return engine
