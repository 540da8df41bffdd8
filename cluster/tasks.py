"""What travels between driver and workers: a task (a shard, or some of its rows on trial) and what came of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from evaluator import errors
from evaluator.errors import MorphorderError
from evaluator.executor import ShardDone

TaskKey = tuple[int, tuple[int, int] | None]
"""Shard, and its rows on trial, if not all of it is scored."""
TASKS = pa.schema([pa.field("task", pa.string(), nullable=False)])
OUTCOMES = pa.schema([pa.field("outcome", pa.string(), nullable=False)])


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a worker: score a whole shard and write it, or rehearse some of its rows and write nothing."""

    shard: int
    rows: tuple[int, int] | None = None
    """First and last + 1 of the rows on trial; None for the whole shard, written."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Rows known to kill or break a worker, with the reason."""

    @property
    def key(self) -> "TaskKey":
        return self.shard, self.rows

    def cut(self, parts: int) -> list["Task"]:
        """The rows on trial in at most `parts` tasks of nearly equal size."""
        first, last = self.rows or (0, 0)
        bounds = sorted({first + (last - first) * i // parts for i in range(parts + 1)})
        return [Task(self.shard, span) for span in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker says of a task: done, or why not."""

    shard: int
    rows: tuple[int, int] | None
    done: ShardDone | None = None
    broke: str = ""
    """An exception that is not one of ours: these rows cannot be computed."""
    error: Mapping[str, str] = field(default_factory=dict)
    """One of our errors, taken apart: the run cannot go on."""

    @property
    def key(self) -> TaskKey:
        return self.shard, self.rows


def task_table(task: Task) -> pa.Table:
    """The task as a table of one row: JSON, so that no column type depends on what is in it."""
    value = {"shard": task.shard, "rows": task.rows, "failed": {str(k): v for k, v in task.failed.items()}}
    return pa.table({"task": [json.dumps(value)]}, schema=TASKS)


def task_of(table: pa.Table) -> Task:
    """The task in a table of one row."""
    value = json.loads(str(table["task"][0].as_py()))
    return Task(value["shard"], _span(value["rows"]), {int(k): v for k, v in value["failed"].items()})


def outcome_table(outcome: Outcome) -> pa.Table:
    """The outcome as a table of one row."""
    done = None if outcome.done is None else {name: getattr(outcome.done, name) for name in ShardDone.__slots__}
    why = {"broke": outcome.broke, "error": dict(outcome.error)}
    value = {"shard": outcome.shard, "rows": outcome.rows, "done": done, **why}
    return pa.table({"outcome": [json.dumps(value)]}, schema=OUTCOMES)


def outcomes_of(table: pa.Table) -> list[Outcome]:
    """The outcomes in a table."""
    found: list[Outcome] = []
    for text in table["outcome"].to_pylist():
        value: dict[str, Any] = json.loads(str(text))
        done = ShardDone(**value["done"]) if value["done"] else None
        found.append(Outcome(value["shard"], _span(value["rows"]), done, value["broke"], value["error"]))
    return found


def _span(rows: list[int] | None) -> tuple[int, int] | None:
    return None if rows is None else (rows[0], rows[1])


def taken_apart(error: MorphorderError) -> dict[str, str]:
    """An error of ours as strings: exceptions do not survive every pickler."""
    return {"kind": type(error).__name__, "message": error.message, "where": error.where, "hint": error.hint}


def put_together(parts: Mapping[str, str]) -> MorphorderError:
    """The error that `taken_apart` took apart."""
    kind: type[MorphorderError] = getattr(errors, parts["kind"], MorphorderError)
    return kind(parts["message"], where=parts["where"], hint=parts["hint"])
