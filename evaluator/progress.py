"""Progress on stderr: a bar per stage on a terminal, a line now and then elsewhere, JSON lines for programs."""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

ProgressStyle = Literal["auto", "bar", "lines", "json", "none"]
LINE_EVERY_S = 30.0
LINE_EVERY_SHARE = 0.05


class Meter(Protocol):
    """What a stage tells of itself as it goes."""

    def advance(self, units: int = 1) -> None:
        """Counts units of work as done."""


@dataclass(slots=True)
class _Silent:
    def advance(self, units: int = 1) -> None:
        return


@dataclass(slots=True)
class _Lines:
    stage: str
    total: int
    unit: str
    as_json: bool
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    last_time: float = field(default_factory=time.monotonic)
    last_done: int = 0

    def advance(self, units: int = 1) -> None:
        self.done += units
        now = time.monotonic()
        # Every 5 % is a line only when that is not faster than a reader: at most one a second.
        step = self.done - self.last_done >= LINE_EVERY_SHARE * self.total and now - self.last_time >= 1.0
        if step or now - self.last_time >= LINE_EVERY_S:
            self.say(now)

    def say(self, now: float) -> None:
        self.last_time, self.last_done = now, self.done
        rate = self.done / max(now - self.began, 1e-9)
        if self.as_json:
            facts = {
                "stage": self.stage,
                "done": self.done,
                "total": self.total,
                "unit": self.unit,
                "per_s": round(rate, 1),
            }
            print(json.dumps(facts), file=sys.stderr, flush=True)
        else:
            print(
                f"{self.stage}: {self.done:,} of {self.total:,} {self.unit}, {rate:,.0f}/s", file=sys.stderr, flush=True
            )


@dataclass(slots=True)
class _Bar:
    bar: Progress
    task: TaskID

    def advance(self, units: int = 1) -> None:
        self.bar.advance(self.task, units)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes a meter for each stage, in one style."""

    style: ProgressStyle = "none"

    def tell(self, name: str, facts: dict[str, Any], lines: Sequence[str]) -> None:
        """Says facts once: as lines, or as JSON for programs."""
        if self.style == "json":
            print(json.dumps({name: facts}), file=sys.stderr, flush=True)
        elif self.style != "none":
            print("\n".join(lines), file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Meter]:
        """A meter for one stage of `total` units; shown until the block ends."""
        style = self.style
        if style == "auto":
            style = "bar" if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else "lines"
        if style == "none" or total == 0:
            yield _Silent()
        elif style == "bar":
            columns = (
                TextColumn("{task.description:<24}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[unit]}"),
                TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            )
            with Progress(*columns, console=Console(stderr=True)) as bar:
                yield _Bar(bar, bar.add_task(name, total=total, unit=unit))
        else:
            lines = _Lines(name, total, unit, style == "json")
            yield lines
            if lines.last_done != lines.done or not lines.done:
                lines.say(time.monotonic())
