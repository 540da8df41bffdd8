"""One pass of tasks through Ray Data: an actor pool, one task per call, outcomes as they come.

Ray's own retries are off. A task sent to an actor that is just restarting uses them up without having run, and an actor
past `max_restarts` is not replaced (seen with 2.60), so a pass never promises all: who calls it runs the missing again.
"""

import logging
import queue
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import ray
import ray.data
from ray.data import ActorPoolStrategy, Dataset

from cluster.placement import Demand
from cluster.tasks import Outcome, Task, outcomes_of, task_table
from cluster.worker import Worker
from evaluator.errors import MorphorderError
from evaluator.executor import ScoreJob

LOGGERS = {"ray.data": logging.ERROR, "ray.data._internal.execution.streaming_executor_state": logging.CRITICAL}
"""The second logs a traceback for each lost task; the engine says the same in a line."""

LEAVING_S = 30.0
"""How long a pass that was given up may take to notice."""


@dataclass(frozen=True, slots=True)
class Pool:
    """How many workers, of what, and when to give up on them."""

    demand: Demand
    min_actors: int
    max_actors: int
    stall_timeout_s: float


def run_pass(
    job: ScoreJob,
    tasks: Sequence[Task],
    pool: Pool,
    versions: Mapping[str, str],
    *,
    deaths: int,
    patient: bool = True,
    worker: type = Worker,
) -> Iterator[Outcome]:
    """The outcomes of those tasks whose worker lived, in the order in which they finish.

    `deaths`: how many tasks may be lost before the pass ends with Ray's error. `patient`: let each worker queue a task
    behind the one it runs; not when that task would be lost with it. `worker`: another one to measure the rest with.
    """
    strategy = ActorPoolStrategy(
        min_size=min(pool.min_actors, len(tasks)),
        max_size=min(pool.max_actors, len(tasks)),
        initial_size=min(pool.max_actors, len(tasks)),
        max_tasks_in_flight_per_actor=2 if patient else 1,
    )
    with warnings.catch_warnings():
        # max_restarts has no other way in yet, and the alternative is Ray's default: for ever.
        warnings.simplefilter("ignore")
        # Not from_arrow: that starts a Ray task for each table, only to look at its columns.
        scored = ray.data.from_blocks([task_table(task) for task in tasks]).map_batches(
            worker,
            fn_constructor_args=(job, dict(versions), pool.demand.gpus),
            batch_size=1,
            batch_format="pyarrow",
            compute=strategy,
            num_cpus=pool.demand.cpus,
            num_gpus=pool.demand.gpus or None,
            max_restarts=deaths,
            max_task_retries=0,
        )
    context = scored.context
    context.enable_progress_bars = False
    context.max_errored_blocks = deaths
    context.execution_options.preserve_order = False
    for name, level in LOGGERS.items():
        logging.getLogger(name).setLevel(level)
    for batch in _watched(scored, pool.stall_timeout_s):
        yield from outcomes_of(batch)


def _watched(dataset: Dataset, timeout_s: float) -> Iterator[pa.Table]:
    """The dataset's batches. Errors: MorphorderError when none came for `timeout_s`; it leaves the cluster then."""
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    unwanted = threading.Event()

    def drain() -> None:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                arrived.put(batch)
                if unwanted.is_set():
                    return
        except Exception as error:  # of any type: the thread that waits raises it again
            arrived.put(error)
        else:
            arrived.put(None)

    drainer = threading.Thread(target=drain, name="morphorder-ray-data", daemon=True)
    drainer.start()
    try:
        while True:
            try:
                got = arrived.get(timeout=timeout_s)
            except queue.Empty:
                ray.shutdown()  # the one way to end a worker that does not answer
                drainer.join(LEAVING_S)
                raise MorphorderError(
                    f"no shard finished for {timeout_s:g} s",
                    where="engine ray",
                    hint="see ray status; longer shards need a larger ray.stall_timeout_s",
                ) from None
            if got is None:
                return
            if isinstance(got, Exception):
                raise got
            yield got
    finally:
        unwanted.set()
