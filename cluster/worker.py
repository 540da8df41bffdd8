"""The actor that Ray Data calls: a loaded model, one task per call. All it decides is whether it may work at all."""

import os
import socket
import traceback
from collections.abc import Mapping

import pyarrow as pa
import ray

from cluster.metrics import WorkerMetrics
from cluster.tasks import Outcome, Task, outcome_table, taken_apart, task_of
from cluster.versions import differences, versions_here
from evaluator.errors import MorphorderError, StoreError, UserError
from evaluator.executor import ScoreJob, ShardScorer
from evaluator.store.run import STAGE_FILE


class Worker:
    """One model in one process.

    A worker that may not work (other versions, no model, no run folder in sight, no GPU) answers each task with the
    reason: raising in a constructor would have Ray start it again and again.
    """

    def __init__(self, job: ScoreJob, versions: Mapping[str, str], gpus: float) -> None:
        self.refusal: MorphorderError | None = None
        self.name = socket.gethostname()
        try:
            self.name = f"{self.name} {_device(job.threads, gpus)}"
            _check_versions(versions, self.name)
            _check_sight(job, self.name)
            self.scorer = ShardScorer(job, self.name)
        except MorphorderError as error:
            self.refusal = error
        self.metrics = WorkerMetrics()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The outcome of the one task in `batch`."""
        return outcome_table(self._outcome(task_of(batch)))

    def _outcome(self, task: Task) -> Outcome:
        if self.refusal is not None:
            return Outcome(task.shard, task.rows, error=taken_apart(self.refusal))
        try:
            if task.rows is not None:
                self.scorer.rehearse(task.shard, *task.rows)
                return Outcome(task.shard, task.rows)
            done = self.scorer.score(task.shard, task.failed)
        except MorphorderError as error:
            return Outcome(task.shard, task.rows, error=taken_apart(error))
        except Exception as error:  # of any type: the runtime is native code, and the driver then looks for the row
            last = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
            return Outcome(task.shard, task.rows, broke=last[:500])
        self.metrics.count(done)
        return Outcome(task.shard, None, done=done)


def _device(cpus: int, gpus: float) -> str:
    """What Ray gave this worker, as "GPU 0" or "2 CPU". Errors: UserError when that is not what it was to have."""
    context = ray.get_runtime_context()
    where = f"worker {os.getpid()}"
    given = context.get_assigned_resources().get("CPU", 0)
    if given != cpus:
        raise UserError(f"was given {given:g} CPU, computes on {cpus}", where=where, hint="see: ray status")
    if not gpus:
        return f"{cpus} CPU"
    devices = context.get_accelerator_ids().get("GPU", [])
    if len(devices) != 1:
        raise UserError(f"was given {len(devices)} GPUs, needs one", where=where, hint="see: ray status")
    return f"GPU {devices[0]}"


def _check_versions(expected: Mapping[str, str], name: str) -> None:
    if different := differences(expected, versions_here()):
        raise UserError(
            f"versions differ from the driver's: {different}",
            where=f"worker on {name}",
            hint="use one image on all nodes, or: morphorder submit --install",
        )


def _check_sight(job: ScoreJob, name: str) -> None:
    if not job.rows.location.exists(STAGE_FILE):
        raise StoreError(
            "the run folder cannot be seen from here",
            where=f"worker on {name}: {job.rows.location}",
            hint="use --out s3://… or a folder that all nodes share",
        )
