"""Scores the shards of a job on a Ray cluster. State is only in the run folder: whatever dies, a rerun goes on."""

import gc
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import ray

from cluster.metrics import DriverMetrics
from cluster.placement import connect, demand_of, room, wait_for_room
from cluster.pool import Pool, run_pass
from cluster.tasks import Outcome, Task, TaskKey, put_together
from cluster.versions import versions_here
from evaluator.config import RaySettings
from evaluator.errors import MorphorderError
from evaluator.executor import ScoreJob, ShardDone

WORKER_DIED = "worker_died"
WORKER_ERROR = "worker_error"
PARTS = 16
"""A suspect span of rows is cut into so many: 2048 rows need three rounds."""


def run_ray(job: ScoreJob, shards: Sequence[int], settings: dict[str, Any]) -> Iterator[ShardDone]:
    """One report per shard, as they finish.

    A shard whose worker dies is given to others `retries` times; then its rows are rehearsed in ever smaller spans
    until those that kill a worker are known, and the shard is written with them as failed.
    """
    options = RaySettings.model_validate(settings)
    demand = demand_of(options, job.provider)
    connect(options)
    gc.collect()  # Ray ends a worker when the last reference to it goes: those of a pass that failed are in cycles
    wait_for_room(demand, min(options.min_actors, len(shards)), options.placement_timeout_s)
    most = options.max_actors or max(room(demand), options.min_actors)
    pool = Pool(demand, min(options.min_actors, most), most, options.stall_timeout_s)
    placed = replace(job, threads=demand.cpus)
    yield from _Driver(placed, pool, options).run([Task(shard) for shard in shards])


class _Driver:
    """One job on its way: what is still to do, and how many workers it has cost."""

    def __init__(self, job: ScoreJob, pool: Pool, options: RaySettings) -> None:
        self.job = job
        self.pool = pool
        self.options = options
        self.deaths = 0
        self.broke: dict[int, str] = {}
        """Shard → the exception that some of its rows raised."""
        self.versions = versions_here()
        self.metrics = DriverMetrics()

    def run(self, tasks: list[Task]) -> Iterator[ShardDone]:
        """Reports of all shards. Errors: MorphorderError when some cannot be scored by any means."""
        pending = tasks
        for attempt in range(self.options.retries + 1):
            if attempt:
                _say(f"{_shards(pending)} lost a worker, retry {attempt} of {self.options.retries}")
            pending = yield from self._scored(pending)
            if not pending:
                return
        _say(f"{_shards(pending)} lost every worker: looking for the rows that do it")
        poison = self._poison([task.shard for task in pending])
        for shard, failed in sorted(poison.items()):
            reasons = ", ".join(sorted(set(failed.values()))) or "none of them alone"
            _say(f"shard {shard}: {len(failed)} row{'s' * (len(failed) != 1)} failed ({reasons})")
        last = yield from self._scored([Task(shard, failed=failed) for shard, failed in poison.items()])
        if last:
            why = next(
                (self.broke[t.shard] for t in last if t.shard in self.broke), "workers die of it, though of no row"
            )
            raise MorphorderError(
                f"{_shards(last)} cannot be scored: {why}",
                where="engine ray",
                hint="too little memory? lower scoring.max_batch_pieces",
            )

    def _scored(self, tasks: list[Task]) -> Generator[ShardDone, None, list[Task]]:
        """Reports of the shards that were scored; returns the tasks that were lost."""
        lost = {task.key: task for task in tasks}
        self.metrics.queue.set(len(lost))
        for outcome in self._outcomes(tasks):
            if outcome.done is not None:
                del lost[outcome.key]
                self.metrics.queue.set(len(lost))
                yield outcome.done
            elif outcome.broke:
                self.broke[outcome.shard] = outcome.broke
        return list(lost.values())

    def _outcomes(self, tasks: list[Task], *, patient: bool = True) -> Iterator[Outcome]:
        """Outcomes of one pass; those that do not come are deaths. Errors: what workers met; too many deaths."""
        left = self.options.max_worker_deaths - self.deaths
        heard = 0
        failure = ""
        try:
            for outcome in run_pass(self.job, tasks, self.pool, self.versions, deaths=left, patient=patient):
                if outcome.error:
                    raise put_together(outcome.error)
                heard += 1
                yield outcome
        except ray.exceptions.RayError as error:
            failure = _first_line(error)
        if failure:  # raised out here: the frames of Ray's error hold on to the workers, and those to their CPUs
            raise MorphorderError(
                f"workers died more than {self.options.max_worker_deaths} times, last: {failure}",
                where="engine ray",
                hint="finished shards are kept; see: ray logs",
            )
        if lost := len(tasks) - heard:
            self.deaths += lost
            self.metrics.lost.inc(lost)

    def _poison(self, shards: list[int]) -> dict[int, dict[int, str]]:
        """Per shard, the rows that kill or break a worker each time they are tried alone, with the reason."""
        spans = [Task(shard, (0, self.job.rows.read(shard).num_rows)) for shard in shards]
        while wide := [s for s in spans if s.rows and s.rows[1] - s.rows[0] > 1]:
            parts = [part for span in wide for part in span.cut(PARTS)]
            spans = [s for s in spans if s not in wide] + self._suspects(parts)[0]
        reasons: dict[TaskKey, str] = {}
        for _ in range(self.options.retries):
            spans, reasons = self._suspects(spans)
        found: dict[int, dict[int, str]] = {shard: {} for shard in shards}
        for span in spans:
            if span.rows:
                found[span.shard][span.rows[0]] = reasons.get(span.key, WORKER_DIED)
        return found

    def _suspects(self, tasks: list[Task]) -> tuple[list[Task], dict[TaskKey, str]]:
        """The tasks whose rows killed or broke their worker, and the reason of those that did not simply die."""
        suspect = {task.key: task for task in tasks}
        reasons = {}
        if tasks:
            for outcome in self._outcomes(tasks, patient=False):
                if outcome.broke:
                    reasons[outcome.key] = WORKER_ERROR
                else:
                    suspect.pop(outcome.key, None)
        return list(suspect.values()), reasons


def _shards(tasks: Sequence[Task]) -> str:
    numbers = [str(t.shard) for t in tasks[:5]] + ["…"] * (len(tasks) > 5)
    return f"shard{'s' * (len(tasks) > 1)} {', '.join(numbers)}"


def _say(line: str) -> None:
    print(f"ray: {line}", file=sys.stderr, flush=True)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300]
