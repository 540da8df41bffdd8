"""What Ray costs: throughput against plain processes, and scheduling at the scale of a large sweep.

    python -m benchmarks.ray_overhead throughput --seconds 60
    python -m benchmarks.ray_overhead scale --shards 20000 --actors 8

`throughput`: two one-thread workers on Ray between two turns of two one-thread processes, over the same shards of the
same model; the job of each turn takes `--seconds` or more. `scale`: workers that only sleep 50 ms, so that what is
measured is the driver: shards a second, the share of the workers' time in which they had nothing to do, memory, and
processor time per shard, which says how many shards a second it could do on a core of its own.
"""

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

os.environ.update(RAY_worker_niceness="0")  # no nicer than their driver, as the processes are; Ray's own is 15

import pyarrow as pa
import ray

from benchmarks.machine import machine_facts
from cluster.engine import run_ray
from cluster.placement import Demand
from cluster.pool import Pool, run_pass
from cluster.tasks import Outcome, Task, outcome_table, task_of
from evaluator.executor import ScoreJob, ShardDone, run_local
from evaluator.store.location import Location
from tests.cluster.jobs import make_job
from tests.fake_bundle import make_fake_bundle

WORKERS = 2
SHARD_S = 0.5
"""A shard of the throughput job, roughly; one of 2048 rows takes a hundred times as long on a CPU with a real model."""
SLEEP_S = 0.05


def throughput(seconds: float) -> dict[str, Any]:
    """Rows per second of processes and of Ray workers, and the ratio; Ray's with and without starting its workers."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        work = _work_for(SHARD_S, place)
        bundle = make_fake_bundle(place / "model", work=work)
        shards = 2 * int(seconds / SHARD_S)
        job = make_job(place / "run", place / "model", bundle, shards=shards)
        before_s = _processes_s(job, place / "before", shards)
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        began = time.perf_counter()
        first_s = 0.0
        for done in run_ray(job, range(shards), {"min_actors": WORKERS, "max_actors": WORKERS}):
            first_s = first_s or time.perf_counter() - began - done.wall_s
        ray_s = time.perf_counter() - began
        ray.shutdown()
        after_s = _processes_s(job, place / "after", shards)
    processes_s = fmean([before_s, after_s])
    return {
        "shards": shards,
        "rows": shards * 16,
        "processes_s": [before_s, after_s],
        "ray_s": ray_s,
        "of_it_before_the_first_shard_s": first_s,
        "ratio": processes_s / ray_s,
        "ratio_once_started": processes_s / (ray_s - first_s),
    }


def _work_for(shard_s: float, place: Path) -> int:
    """How many products per batch make a shard of a fake model take so long."""
    work = 2000
    bundle = make_fake_bundle(place / "trial", work=work)
    job = make_job(place / "trial-run", place / "trial", bundle, shards=8)
    took = [done.wall_s for done in run_local(job, range(8), {})]
    return int(work * shard_s / fmean(took[1:]))


def _processes_s(job: ScoreJob, place: Path, shards: int) -> float:
    """Seconds in which two processes, started for it, score the shards between them."""
    away = replace(job, scored=replace(job.scored, location=Location.of(place)))
    began = time.perf_counter()
    # A session each, as Ray gives its workers: Linux shares a busy machine out between sessions first.
    with multiprocessing.get_context("spawn").Pool(WORKERS, initializer=os.setsid) as pool:
        pool.starmap(_score_locally, [(away, range(i, shards, WORKERS)) for i in range(WORKERS)])
    return time.perf_counter() - began


def _score_locally(job: ScoreJob, shards: range) -> None:
    list(run_local(job, shards, {}))


class Sleeper:
    """A worker that takes 50 ms for anything."""

    def __init__(self, job: ScoreJob, versions: Mapping[str, str], gpus: float) -> None:
        del job, versions, gpus

    def __call__(self, batch: pa.Table) -> pa.Table:
        time.sleep(SLEEP_S)
        task = task_of(batch)
        return outcome_table(Outcome(task.shard, None, ShardDone(task.shard, 1, 1, 1, 0, SLEEP_S, "none", "none")))


def scale(shards: int, actors: int) -> dict[str, Any]:
    """Shards a second, overhead of scheduling, and the driver's memory over a pass of many short shards.

    Overhead is counted from the first outcome to the last: starting the workers is not in it.
    """
    ray.init(num_cpus=actors, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        job = make_job(Path(folder) / "run", model, make_fake_bundle(model), shards=1)
        pool = Pool(Demand(1, 0.0), actors, actors, 600)
        resident: list[float] = []
        began = cpu_began = 0.0
        for seen, _ in enumerate(run_pass(job, [Task(s) for s in range(shards)], pool, {}, deaths=1, worker=Sleeper)):
            if not began:
                began, cpu_began = time.perf_counter(), time.process_time()
            if seen % (shards // 10) == 0:
                resident.append(_resident_mib())
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
        resident.append(_resident_mib())
    ray.shutdown()
    return {
        "shards": seen + 1,
        "actors": actors,
        "wall_s": wall_s,
        "shards_per_s": seen / wall_s,
        "overhead": 1 - seen * SLEEP_S / (actors * wall_s),
        "driver_cpu_ms_per_shard": 1000 * cpu_s / seen,
        "driver_mib_by_tenths": [round(m) for m in resident],
    }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def main() -> None:
    """Runs one of the two and prints its figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["throughput", "scale"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shards", type=int, default=20_000)
    parser.add_argument("--actors", type=int, default=8)
    flags = parser.parse_args()
    machine = machine_facts()
    figures = throughput(flags.seconds) if flags.what == "throughput" else scale(flags.shards, flags.actors)
    rounded = {name: round(v, 3) if isinstance(v, float) else v for name, v in figures.items()}
    print(json.dumps({"benchmark": f"ray {flags.what}", "machine": machine, **rounded}))


if __name__ == "__main__":
    main()
