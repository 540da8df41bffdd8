"""A script: a run killed (SIGKILL) at one write after another, then run again; prints what became of each, as JSON.

    python -m tests.stages.killed CONFIG_JSON FOLDER EVERY

Each run is a fork of this process, so libraries load once. Write n dies in one of three ways, taken in turn: before
anything, with the temporary file half written, and just after the rename.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.config import Config
from evaluator.progress import Reporter
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.stages.run import run_all
from evaluator.store.location import Location

WAYS = ("before", "half written", "after")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(count: int, way: str) -> None:
    """Makes the write number `count` the last thing this process does."""
    write, seen = Location.write, iter(range(1_000_000))

    def dying(self: Location, name: str, content: bytes | pa.Buffer) -> None:
        if next(seen) != count:
            write(self, name, content)
            return
        if way == "half written":
            path = Path(self.text, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(f"_{path.name}.1.half").write_bytes(memoryview(content)[: len(memoryview(content)) // 2])
        if way == "after":
            write(self, name, content)
        die()

    Location.write = dying  # type: ignore[method-assign]


def in_fork(work: Callable[[], object]) -> int:
    """The exit status of a forked copy of this process that does the work: negative, the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def only_json(document: dict[str, Any], *_: object, **__: object) -> Iterator[tuple[str, bytes]]:
    yield "report.json", canonical_json(document)


def main() -> None:
    settings, root, every = Config.model_validate_json(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    render.render_report = only_json

    def run(name: str) -> None:
        run_all(settings.model_copy(update={"out": str(root / name)}), Reporter("none"))

    def report_of(name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((root / name / "report" / "report.json").read_bytes())
        document["manifest"].pop("wall_s")
        return document

    found: list[dict[str, Any]] = [{"whole": in_fork(lambda: run("whole"))}]
    expected = report_of("whole")
    count, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        name, way = f"killed-{count}", WAYS[(count // every) % len(WAYS)]

        def killed(name: str = name, way: str = way, count: int = count) -> None:
            kill_at(count, way)
            run(name)

        status = in_fork(killed)
        again = in_fork(lambda name=name: run(name))  # type: ignore[misc]  # bound now, called now
        same = (root / name / "report" / "report.json").is_file() and report_of(name) == expected
        found.append({"write": count, "way": way, "killed": status, "again": again, "same": same})
        count += every
    print(json.dumps(found))


if __name__ == "__main__":
    main()
