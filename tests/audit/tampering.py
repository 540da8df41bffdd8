"""Ways to change a finished run behind its back: columns of its shards, its outcomes, its report. Not a test."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.store.shards import ROWS, arrow_bytes

Rows = list[dict[str, Any]]


def copied(run: Path, place: Path) -> Path:
    """A copy of a run; files are shared until one is replaced."""
    return Path(shutil.copytree(run, place, copy_function=os.link))


def replace(path: Path, content: bytes) -> None:
    """Gives a file another content, without touching the file it was linked from."""
    path.unlink()
    path.write_bytes(content)


def shard_of(run: Path, pattern: str, holding: Callable[[Rows], object] = bool) -> Path:
    """The first shard that `holding` accepts."""
    for path in sorted(run.glob(pattern)):
        if holding(pa.ipc.open_file(path).read_all().to_pylist()):
            return path
    raise AssertionError(f"no shard {pattern} is of use")


@contextmanager
def shard_rows(path: Path) -> Iterator[Rows]:
    """The rows of a shard, to be changed in place; its marks stay, but for the number of rows and the checksum."""
    table = pa.ipc.open_file(path).read_all()
    rows = table.to_pylist()
    yield rows
    marks = {**(table.schema.metadata or {}), ROWS: str(len(rows)).encode()}
    plain = table.schema.remove_metadata()
    replace(path, arrow_bytes(pa.Table.from_pylist(rows, schema=plain), marks))


@contextmanager
def outcome_rows(run: Path) -> Iterator[Rows]:
    """The rows of the outcomes, to be changed in place."""
    path = run / "report" / "outcomes.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    yield rows
    path.unlink()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


@contextmanager
def report(run: Path) -> Iterator[dict[str, Any]]:
    """The report document, to be changed in place."""
    path = run / "report" / "report.json"
    document = json.loads(path.read_bytes())
    yield document
    replace(path, json.dumps(document).encode())
