"""Score jobs over made-up rows: everything an engine needs, without treebanks."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluator.executor import ScoreJob, run_local
from evaluator.score.bundle import Bundle
from evaluator.score.shard import ScoreSettings
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.run import write_stage
from evaluator.store.shards import ShardSet, arrow_bytes

POISON = 90
"""A piece id that rows hold only where they are told to."""


def made_up_rows(bundle: Bundle, *, first: int, count: int, poison: tuple[int, ...] = ()) -> pa.Table:
    """`count` rows from row number `first` on, of their own pieces, one or two masks; `poison` rows have POISON."""
    ids, masks, golds = [], [], []
    for row in range(first, first + count):
        rng = np.random.default_rng(row)
        length = int(rng.integers(5, 12))
        pieces = rng.integers(100, bundle.vocab_size, length)
        at = sorted({int(i) for i in rng.integers(1, length - 1, int(rng.integers(1, 3)))})
        pieces[at] = bundle.mask_id
        if row in poison:
            pieces[0] = POISON
        ids.append(pieces.tolist())
        masks.append(at)
        golds.append([rng.integers(5, bundle.vocab_size, len(at)).tolist()])
    return pa.table([pa.array(range(first, first + count)), ids, masks, golds], schema=schemas.ROWS)


def make_job(
    place: str | Path,
    folder: Path,
    bundle: Bundle,
    *,
    shards: int,
    rows: int = 16,
    poison: tuple[int, ...] = (),
    k: int = 5,
) -> ScoreJob:
    """A job of `shards` shards of `rows` rows, its run folder at `place` with the rows in it."""
    location = Location.of(place)
    encoded = ShardSet(location / "encoded", "rows", schemas.ROWS, "encoded-mark")
    scored = ShardSet(location / "scored" / bundle.fingerprint, "part", schemas.SCORED, f"scored-{bundle.fingerprint}")
    for shard in range(shards):
        encoded.write(shard, made_up_rows(bundle, first=shard * rows, count=rows, poison=poison))
    write_stage(encoded, {"shards": shards, "rows": shards * rows})
    return ScoreJob(str(folder), encoded, scored, ScoreSettings(k=k), "cpu", 1)


def local_answers(job: ScoreJob, place: Path, shards: int) -> list[bytes]:
    """The same of an undisturbed local run."""
    away = ShardSet(Location.of(place), job.scored.prefix, job.scored.schema, job.scored.fingerprint)
    list(run_local(ScoreJob(job.bundle, job.rows, away, job.settings, job.provider, 1), range(shards), {}))
    return answers(away, shards)


def answers(scored: ShardSet, shards: int) -> list[bytes]:
    """The bytes of each scored shard, but for the remark on who scored it."""
    return [arrow_bytes(scored.read(s), {}) for s in range(shards)]
