"""Engines: who scores which shard where. An engine only places work; `ShardScorer` does it, the same everywhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import entry_points
from time import perf_counter
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.errors import ConfigError
from evaluator.score.attend import Attender, head_mask_of
from evaluator.score.backend import AttentionSession, Provider, Session, TextSession
from evaluator.score.bundle import read_bundle
from evaluator.score.classify import Classifier
from evaluator.score.fetch import local_bundle
from evaluator.score.shard import Model, ScoreSettings
from evaluator.store.shards import ShardSet


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """All that a worker needs to score shards of one model: small, picklable, made of values only."""

    bundle: str
    """Folder of the model bundle on the worker's machine, or a URI from which each machine fetches it once."""
    rows: ShardSet
    scored: ShardSet
    settings: ScoreSettings
    provider: Provider
    threads: int
    silenced: tuple[tuple[int, int], ...] = ()
    """(layer, head), from 0, of the heads that say nothing; this and the next only for bundles of kind `attention`."""
    from_side: int = 0
    """Of which of two texts, 0 or 1, links go from."""


@dataclass(frozen=True, slots=True)
class ShardDone:
    """What scoring one shard came to."""

    shard: int
    rows: int
    pieces: int
    padded_pieces: int
    """Pieces the model was given, padding included; those of rows named as failed are not among them."""
    failed: int
    wall_s: float
    """Time of computing: reading and writing happen meanwhile."""
    provider: str
    worker: str
    """Who scored it: host and device, as "node1 GPU 0" or "node1 2 CPU", or "local"."""


MADE_ON = " on "
"""Between provider and worker, in the remark that a scored shard carries."""

Engine = Callable[[ScoreJob, Sequence[int], dict[str, Any]], Iterator[ShardDone]]
"""(job, shards still to do, the engine's own settings) → one report per shard, in any order."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A shard's answers, and the report to give once they are written."""

    done: ShardDone
    table: pa.Table


def open_model(job: ScoreJob) -> Model | Classifier | Attender:
    """The job's model, loaded: what it makes of a row is for its kind to say."""
    folder = local_bundle(job.bundle)
    bundle = read_bundle(folder)
    if bundle.kind == "text-classification":
        session = TextSession(folder, bundle, provider=job.provider, threads=job.threads)
        return Classifier(session, bundle.pad_id, len(bundle.labels))
    if bundle.kind == "attention":
        attending = AttentionSession(folder, bundle, provider=job.provider, threads=job.threads)
        return Attender(attending, bundle.pad_id, len(bundle.labels), head_mask_of(bundle, job.silenced), job.from_side)
    masked = Session(folder, bundle, provider=job.provider, threads=job.threads)
    return Model(masked, bundle.pad_id, bundle.vocab_size, bundle.top_k)


class ShardScorer:
    """A loaded model that scores shards of a job, under the name of its worker."""

    def __init__(self, job: ScoreJob, worker: str = "local") -> None:
        self.job = job
        self.worker = worker
        self.model = open_model(job)

    def score(self, shard: int, failed: Mapping[int, str] = MappingProxyType({})) -> ShardDone:
        """Reads a shard of rows, scores it, writes its answers, all or nothing.

        `failed`: positions of rows that cannot be scored, with the reason; they are written as failed, and not run.
        """
        return self.write(self.compute(shard, self.read(shard), failed))

    def read(self, shard: int) -> pa.Table:
        """The rows of a shard."""
        return self.job.rows.read(shard)

    def compute(self, shard: int, table: pa.Table, failed: Mapping[int, str] = MappingProxyType({})) -> "Scored":
        """The answers to the rows of a shard, nothing written yet."""
        began, run_before = perf_counter(), self.model.session.pieces_run
        scored = self.model.score(table, self.job.settings, failed)
        if scored.num_rows != table.num_rows:
            raise AssertionError(f"shard {shard}: {table.num_rows} rows in, {scored.num_rows} out")
        done = ShardDone(
            shard=shard,
            rows=table.num_rows,
            pieces=pc.sum(pc.list_value_length(table["ids"])).as_py() or 0,
            padded_pieces=self.model.session.pieces_run - run_before,
            failed=table.num_rows - scored["failed"].null_count,
            wall_s=perf_counter() - began,
            provider=self.model.session.provider,
            worker=self.worker,
        )
        return Scored(done, scored)

    def write(self, scored: "Scored") -> ShardDone:
        """The report of a shard, once its answers are on disk."""
        done = scored.done
        self.job.scored.write(done.shard, scored.table, made_by=f"{done.provider}{MADE_ON}{done.worker}")
        return done

    def rehearse(self, shard: int, first: int, last: int) -> int:
        """The number of rows first … last - 1 of a shard that were scored; nothing is written.

        Finds out which rows kill or break a worker.
        """
        table = self.job.rows.read(shard).slice(first, last - first)
        return int(self.model.score(table, self.job.settings, {}).num_rows)


def run_local(job: ScoreJob, shards: Sequence[int], settings: dict[str, Any]) -> Iterator[ShardDone]:
    """Scores the shards in this process, in order, on all its threads."""
    yield from overlapped(ShardScorer(job), shards)


def overlapped(scorer: ShardScorer, shards: Sequence[int]) -> Iterator[ShardDone]:
    """One report per shard, in order; as one `scorer.score` after another, but never waiting for a file.

    The next shard is read and the last one written while the model computes: one shard ahead, one behind. An error of
    any of the three is raised here; a shard that was already computed is still written.
    """
    with ThreadPoolExecutor(1, "read") as reader, ThreadPoolExecutor(1, "write") as writer:
        ahead = [reader.submit(scorer.read, shard) for shard in shards[:1]]
        behind: list[Future[ShardDone]] = []
        for i, shard in enumerate(shards):
            table = ahead.pop().result()
            ahead = [reader.submit(scorer.read, following) for following in shards[i + 1 : i + 2]]
            scored = scorer.compute(shard, table)
            if behind:
                yield behind.pop().result()
            behind.append(writer.submit(scorer.write, scored))
        if behind:
            yield behind.pop().result()


def engine_named(name: str) -> Engine:
    """The engine that a package registered under `name` in the entry-point group `morphorder.engines`."""
    found = {e.name: e for e in entry_points(group="morphorder.engines")}
    if name not in found:
        raise ConfigError(f"no engine {name!r}", where="engine", hint=f"installed: {', '.join(sorted(found))}")
    engine: Engine = found[name].load()
    return engine
