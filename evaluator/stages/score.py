"""Encoded rows and a model in; scored rows out, one shard at a time, by whatever engine was asked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.config import Config
from evaluator.errors import ConfigError, MorphorderError, StoreError
from evaluator.executor import MADE_ON, ScoreJob, ShardDone, engine_named
from evaluator.progress import Reporter
from evaluator.score.backend import PROVIDERS
from evaluator.score.shard import ScoreSettings
from evaluator.stages.encode import ModelFolder
from evaluator.store.run import RunFolder, read_stage, write_stage
from evaluator.store.shards import ShardSet


def score(run: RunFolder, model: ModelFolder, config: Config, reporter: Reporter) -> dict[str, Any]:
    """The facts of the finished score stage: `rows`, `failed`, `provider`, `wall_s`. Only missing shards are scored."""
    if config.k > model.bundle.top_k:
        raise ConfigError(
            f"k = {config.k}, but the graph of {model.bundle.name} keeps {model.bundle.top_k} pieces per mask",
            where="k",
            hint="lower k",
        )
    tokenizer = model.bundle.tokenizer_fingerprint
    scored = run.scored(tokenizer, model.bundle.fingerprint, config.k)
    return score_shards(run.rows(tokenizer), scored, model, config, reporter)


def score_shards(
    rows: ShardSet,
    scored: ShardSet,
    model: ModelFolder,
    config: Config,
    reporter: Reporter,
    *,
    silenced: tuple[tuple[int, int], ...] = (),
    from_side: int = 0,
) -> dict[str, Any]:
    """The facts of scoring any rows into any answers, by the engine of the config; only missing shards are scored."""
    encoded = read_stage(rows)
    if encoded is None:
        raise StoreError("its rows are not finished", where=str(rows.location), hint="run: morphorder encode")
    shards = range(int(encoded["shards"]))
    pending = [s for s in shards if answers_of(scored, s, encoded) is None]
    if not pending and (done := read_stage(scored)) is not None:
        return done
    job = ScoreJob(
        bundle=model.place or str(model.folder),
        rows=rows,
        scored=scored,
        settings=settings_of(config),
        provider=config.scoring.provider,
        threads=config.scoring.threads,
        silenced=silenced,
        from_side=from_side,
    )
    began = perf_counter()
    reports: list[ShardDone] = []
    with reporter.stage(f"score {model.bundle.name}", int(encoded["rows"]), "rows") as meter:
        meter.advance(int(encoded["rows"]) - sum(_size(s, encoded) for s in pending))
        for report in engine_named(config.engine)(job, pending, config.ray.model_dump()) if pending else ():
            reports.append(report)
            meter.advance(report.rows)
    ended = [_ended(scored, s, encoded) for s in shards]
    if missing := ended.count(None):
        raise MorphorderError(
            f"{missing} of {len(shards)} shards of {model.bundle.name} were not scored",
            where=str(scored.location),
            hint="run the same command again: finished shards are kept",
        )
    facts = {
        "rows": int(encoded["rows"]),
        "shards": len(shards),
        "failed": sum(end.failed for end in ended if end),
        "provider": providers_of(end.made_by for end in ended if end) or PROVIDERS[config.scoring.provider],
        "wall_s": perf_counter() - began,
        "rows_now": sum(r.rows for r in reports),
        "pieces_now": sum(r.pieces for r in reports),
        "padded_pieces_now": sum(r.padded_pieces for r in reports),
    }
    write_stage(scored, facts)
    return facts


def settings_of(config: Config) -> ScoreSettings:
    """How a config's rows are scored: in batches of its size, or of the provider's."""
    return ScoreSettings.for_provider(config.scoring.provider, config.k, config.scoring.max_batch_pieces)


def providers_of(remarks: Iterable[str]) -> str:
    """Every provider named by the remarks of scored shards: several after a run was continued elsewhere."""
    return ", ".join(sorted({remark.partition(MADE_ON)[0] for remark in remarks} - {""}))


def answers_of(scored: ShardSet, shard: int, encoded: dict[str, Any]) -> tuple[pa.Table, str] | None:
    """A shard's answers and remark; None unless they are whole and of the rows that the encode stage put into it."""
    found = scored.find(shard)
    first = shard * int(encoded["shard_rows"])
    if found is None or not np.array_equal(found[0]["row"], np.arange(first, first + _size(shard, encoded))):
        return None
    return found


@dataclass(frozen=True, slots=True)
class _End:
    """What one scored shard came to."""

    failed: int
    made_by: str


def _ended(scored: ShardSet, shard: int, encoded: dict[str, Any]) -> _End | None:
    found = answers_of(scored, shard, encoded)
    if found is None:
        return None
    table, made_by = found
    return _End(table.num_rows - table["failed"].null_count, made_by)


def _size(shard: int, encoded: dict[str, Any]) -> int:
    return min(int(encoded["shard_rows"]), int(encoded["rows"]) - shard * int(encoded["shard_rows"]))
