"""Shards scored on a real Ray are byte for byte those scored here, whoever dies on the way."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from cluster import engine
from cluster.engine import run_ray
from cluster.versions import versions_here
from evaluator.errors import MorphorderError, StoreError, UserError
from evaluator.score.bundle import Bundle
from tests.cluster.jobs import POISON, answers, local_answers, make_job
from tests.cluster.processes import workers_of_this_process
from tests.fake_bundle import make_fake_bundle

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("ray_cluster")]
Fake = tuple[Path, Bundle]


@pytest.mark.parametrize("actors", [1, 2])
def test_same_bytes_as_local_in_any_order(actors: int, fake: Fake, tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *fake, shards=6)
    order = random.Random(actors).sample(range(6), 6)
    done = list(run_ray(job, order, {"min_actors": actors, "max_actors": actors}))
    assert sorted(d.shard for d in done) == list(range(6))
    assert answers(job.scored, 6) == local_answers(job, tmp_path / "local", 6)
    assert all(d.provider == "CPUExecutionProvider" and d.worker.endswith("CPU") for d in done)


def test_row_that_kills_its_worker_fails_alone(fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path / "run", *fake, shards=3, poison=(20,))
    done = {d.shard: d for d in run_ray(job, range(3), {"max_actors": 1, "retries": 0})}
    assert {shard: d.failed for shard, d in done.items()} == {0: 0, 1: 1, 2: 0}
    scored = job.scored.read(1)
    assert scored["row"].to_pylist() == list(range(16, 32))
    assert [r for r, why in zip(scored["row"].to_pylist(), scored["failed"].to_pylist(), strict=True) if why] == [20]
    assert scored["failed"][4].as_py() == "worker_died"
    assert "shard 1: 1 row failed (worker_died)" in capsys.readouterr().err


def test_endless_deaths_end_the_run(fake: Fake, tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *fake, shards=4, poison=tuple(range(64)))
    with pytest.raises(MorphorderError, match="workers died more than 2 times"):
        list(run_ray(job, range(4), {"max_actors": 1, "max_worker_deaths": 2}))


def test_killed_actors_are_replaced(slow: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path / "run", *slow, shards=16)
    reports = run_ray(job, range(16), {"min_actors": 2, "max_actors": 2})
    first = next(reports)
    for worker in workers_of_this_process():  # all, since one of them may still be loading its model
        worker.kill()
    rest = list(reports)
    assert "lost a worker, retry 1 of 2" in capsys.readouterr().err
    assert sorted(d.shard for d in [first, *rest]) == list(range(16))
    assert answers(job.scored, 16) == local_answers(job, tmp_path / "local", 16)


DRIVER = """
import pickle, sys, ray
from pathlib import Path
from cluster.engine import run_ray
from cluster.versions import versions_here
job = pickle.loads(Path(sys.argv[1]).read_bytes())
for done in run_ray(job, range(8), {"address": sys.argv[2], "max_actors": 1}):
    print(done.shard, flush=True)
"""


def test_killed_driver_leaves_whole_shards_and_a_rerun_goes_on(slow: Fake, tmp_path: Path) -> None:
    import pickle
    import sys

    import ray

    job = make_job(tmp_path / "run", *slow, shards=8)
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "job"), ray.get_runtime_context().gcs_address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        driver.stdout.readline()
        driver.kill()
    deadline = time.monotonic() + 30
    while workers_of_this_process() and time.monotonic() < deadline:
        time.sleep(0.2)
    pending = [s for s in range(8) if not job.scored.is_done(s)]
    assert 0 < len(pending) < 8
    assert sorted(d.shard for d in run_ray(job, pending, {"max_actors": 2})) == pending
    assert answers(job.scored, 8) == local_answers(job, tmp_path / "local", 8)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that can be made smaller."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_full_disk_stops_with_the_reason_and_a_rerun_goes_on(fake: Fake, small_disk: Path, tmp_path: Path) -> None:
    job = make_job(small_disk / "run", *fake, shards=8)
    expected = local_answers(job, tmp_path / "local", 8)
    usage = shutil.disk_usage(small_disk)
    size = usage.used + sum(map(len, expected)) // 2
    subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)
    with pytest.raises(StoreError, match="No space left on device"):
        list(run_ray(job, range(8), {"max_actors": 2}))
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    pending = [s for s in range(8) if not job.scored.is_done(s)]
    assert 0 < len(pending) < 8
    list(run_ray(job, pending, {"max_actors": 2}))
    assert not list((small_disk / "run" / "scored").rglob("_*.arrow.*")), "a temporary file was left"
    assert answers(job.scored, 8) == expected


def test_other_versions_are_refused_in_a_line(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path / "run", *fake, shards=2)
    monkeypatch.setattr(engine, "versions_here", lambda: {**versions_here(), "pyarrow": "1.0"})
    with pytest.raises(UserError, match=r"versions differ from the driver's: pyarrow 1\.0 →") as caught:
        list(run_ray(job, range(2), {}))
    assert "\n" not in str(caught.value)


def test_no_room_names_demand_and_supply(fake: Fake, tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *fake, shards=9)
    with pytest.raises(UserError, match=r"no room for 9 actors of 1 CPU within 1 s: the cluster has 2 CPU \+ 2 GPU"):
        list(run_ray(job, range(9), {"min_actors": 9, "placement_timeout_s": 1}))


def test_job_that_stands_still_ends_with_the_reason(tmp_path: Path) -> None:
    bundle = make_fake_bundle(tmp_path / "hangs", hang_on=POISON)
    job = make_job(tmp_path / "run", tmp_path / "hangs", bundle, shards=2, poison=(20,))
    with pytest.raises(MorphorderError, match="no shard finished for 8 s"):
        list(run_ray(job, range(2), {"max_actors": 1, "stall_timeout_s": 8}))
    assert job.scored.is_done(0)
    assert not job.scored.is_done(1)
