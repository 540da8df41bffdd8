"""Reading ahead and writing behind change nothing but the waiting: the plain twin is one `score` after another."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.errors import StoreError
from evaluator.executor import ScoreJob, ShardScorer, overlapped, run_local
from evaluator.score.bundle import Bundle
from evaluator.score.shard import ScoreSettings
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet
from tests.score.conftest import rows_table

GetFake = Callable[..., tuple[Path, Bundle]]
SHARDS = 4


@pytest.fixture
def job(fake: GetFake, tmp_path: Path) -> ScoreJob:
    """Four shards of rows of a fake model."""
    folder, bundle = fake()
    rows = ShardSet(Location.of(tmp_path / "rows"), "rows", schemas.ROWS, "f")
    for shard in range(SHARDS):
        rows.write(shard, rows_table(10 + shard, vocab=bundle.vocab_size, seed=shard))
    scored = ShardSet(Location.of(tmp_path / "scored"), "part", schemas.SCORED, "f")
    return ScoreJob(str(folder), rows, scored, ScoreSettings(max_batch_pieces=64), "cpu", 1)


def test_same_answers_and_reports_as_one_after_another(job: ScoreJob, tmp_path: Path) -> None:
    plain_job = replace(job, scored=replace(job.scored, location=Location.of(tmp_path / "plain")))
    scorer = ShardScorer(plain_job)
    plain = [scorer.score(shard) for shard in range(SHARDS)]
    reports = list(run_local(job, range(SHARDS), {}))
    assert [replace(r, wall_s=0) for r in reports] == [replace(r, wall_s=0) for r in plain]
    assert [r.shard for r in reports] == list(range(SHARDS))
    for shard in range(SHARDS):
        assert job.scored.read(shard).equals(plain_job.scored.read(shard))


def test_padded_pieces_are_those_given_to_the_model(job: ScoreJob) -> None:
    given: list[int] = []
    scorer = ShardScorer(job)
    runtime = scorer.model.session._session

    class Counting:
        def run(self, names: list[str], feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            given.append(feeds["input_ids"].size)
            answers: list[np.ndarray] = runtime.run(names, feeds)
            return answers

    scorer.model.session._session = Counting()
    report = scorer.score(2)
    assert report.padded_pieces == sum(given) >= report.pieces
    assert len(given) > 1


def test_no_shards(job: ScoreJob) -> None:
    assert list(run_local(job, [], {})) == []


def test_a_report_means_that_the_answers_are_on_disk(job: ScoreJob) -> None:
    for report in run_local(job, range(SHARDS), {}):
        assert job.scored.is_done(report.shard)


@pytest.mark.parametrize("step", ["read", "compute", "write"])
def test_errors_come_out_and_what_was_computed_before_is_kept(
    job: ScoreJob, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = ShardScorer(job)
    whole = getattr(ShardScorer, step)

    def fails(self: ShardScorer, first: object, *more: object) -> object:
        shard = first if isinstance(first, int) else first.done.shard  # type: ignore[attr-defined]  # a Scored
        if shard == 2:
            raise StoreError("broken", where="shard 2")
        return whole(self, first, *more)

    monkeypatch.setattr(ShardScorer, step, fails)
    reports = []
    with pytest.raises(StoreError, match="broken"):
        reports.extend(overlapped(scorer, range(SHARDS)))
    assert all(r.shard < 2 for r in reports)
    assert [job.scored.is_done(shard) for shard in range(3)] == [True, True, False]
    assert not [t for t in threading.enumerate() if t.name.startswith(("read", "write"))]


def test_stopping_early_leaves_no_thread(job: ScoreJob) -> None:
    reports = run_local(job, range(SHARDS), {})
    assert next(reports).shard == 0
    reports.close()  # type: ignore[attr-defined]  # a generator
    assert not [t for t in threading.enumerate() if t.name.startswith(("read", "write"))]


def test_reading_and_writing_happen_meanwhile(job: ScoreJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """While shard 1 is computed, shard 2 is read and shard 0 written."""
    both = threading.Barrier(3, timeout=20)
    steps = {name: getattr(ShardScorer, name) for name in ("read", "compute", "write")}
    awaited = {"read": 2, "compute": 1, "write": 0}

    def wrapped(name: str) -> Callable[..., object]:
        def step(self: ShardScorer, first: object, *more: object) -> object:
            shard = first if isinstance(first, int) else first.done.shard  # type: ignore[attr-defined]  # a Scored
            if shard == awaited[name]:
                both.wait()
            return steps[name](self, first, *more)

        return step

    for name in steps:
        monkeypatch.setattr(ShardScorer, name, wrapped(name))
    assert len(list(run_local(job, range(3), {}))) == 3


def test_empty_shard(job: ScoreJob) -> None:
    job.rows.write(0, schemas.ROWS.empty_table())
    report = next(iter(run_local(job, [0], {})))
    assert (report.rows, report.pieces, report.padded_pieces) == (0, 0, 0)
    assert job.scored.read(0).equals(pa.Table.from_batches([], schemas.SCORED))
