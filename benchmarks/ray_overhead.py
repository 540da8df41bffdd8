"""What Ray costs: throughput against plain processes, and scheduling at the scale of a large sweep.

    python -m benchmarks.ray_overhead throughput --seconds 60
    python -m benchmarks.ray_overhead scale --shards 20000 --actors 200

`throughput`: two one-thread workers on Ray against two one-thread processes, over the same shards of the same model.
`scale`: workers that only sleep; overhead is the share of their time in which they had nothing to do.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import ray

from cluster.engine import run_ray
from cluster.placement import Demand
from cluster.pool import Pool, run_pass
from cluster.tasks import Outcome, Task, outcome_table, task_of
from evaluator.executor import ScoreJob, ShardDone, run_local
from evaluator.store.location import Location
from tests.cluster.jobs import make_job
from tests.fake_bundle import make_fake_bundle


def throughput(seconds: float, workers: int = 2) -> dict[str, float]:
    """Rows per second of processes and of Ray workers, and the ratio; Ray's with and without starting its workers."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        bundle = make_fake_bundle(model, work=1000)
        trial = make_job(Path(folder) / "trial", model, bundle, shards=8)
        began = time.perf_counter()
        list(run_local(trial, range(8), {}))
        shards = max(8, int(seconds * workers * 8 / (time.perf_counter() - began)))
        job = make_job(Path(folder) / "run", model, bundle, shards=shards)

        began = time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            pool.starmap(_score_locally, [(job, folder, range(i, shards, workers)) for i in range(workers)])
        processes_s = time.perf_counter() - began

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        began = time.perf_counter()
        first_s = 0.0
        for done in run_ray(job, range(shards), {"min_actors": workers, "max_actors": workers}):
            first_s = first_s or time.perf_counter() - began - done.wall_s
        ray_s = time.perf_counter() - began
        ray.shutdown()
    rows = shards * 16
    return {
        "shards": shards,
        "processes_rows_per_s": rows / processes_s,
        "ray_rows_per_s": rows / ray_s,
        "ratio": processes_s / ray_s,
        "ratio_once_started": processes_s / (ray_s - first_s),
    }


def _score_locally(job: ScoreJob, folder: str, shards: range) -> None:
    away = replace(job.scored, location=Location.of(Path(folder) / "local"))
    list(run_local(replace(job, scored=away), shards, {}))


class Sleeper:
    """A worker that takes 50 ms for anything."""

    def __init__(self, job: ScoreJob, versions: Mapping[str, str], gpus: float) -> None:
        del job, versions, gpus

    def __call__(self, batch: pa.Table) -> pa.Table:
        time.sleep(0.05)
        task = task_of(batch)
        return outcome_table(Outcome(task.shard, None, ShardDone(task.shard, 1, 1, 1, 0, 0.05, "none", "none")))


def scale(shards: int, actors: int) -> dict[str, float]:
    """Overhead of scheduling and growth of the driver's memory over a pass of many short shards."""
    ray.init(num_cpus=actors, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        job = make_job(Path(folder) / "run", model, make_fake_bundle(model), shards=1)
        pool = Pool(Demand(1, 0.0), actors, actors, 600)
        seen, began, early_mib = 0, 0.0, 0.0
        for _ in run_pass(job, [Task(s) for s in range(shards)], pool, {}, deaths=1, worker=Sleeper):
            seen += 1
            if seen == shards // 10:
                began, early_mib = time.perf_counter(), _resident_mib()
        wall_s = time.perf_counter() - began
    ray.shutdown()
    rest = seen - shards // 10
    return {
        "shards": seen,
        "actors": actors,
        "shards_per_s": rest / wall_s,
        "overhead": 1 - rest * 0.05 / (actors * wall_s),
        "driver_mib_early": early_mib,
        "driver_mib_late": _resident_mib(),
    }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def main() -> None:
    """Runs one of the two and prints its figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["throughput", "scale"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shards", type=int, default=20_000)
    parser.add_argument("--actors", type=int, default=200)
    flags = parser.parse_args()
    figures = throughput(flags.seconds) if flags.what == "throughput" else scale(flags.shards, flags.actors)
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
