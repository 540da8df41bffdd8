"""Rows of a task: a TSV, CSV, JSON Lines, Parquet or CoNLL-U file with named columns, or a GLUE task from the hub.

A CoNLL-U file's columns are the comments of its sentences (`# label = 1`), and its `text` is made of its units.
"""

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.errors import DatasetError
from evaluator.store.hub import hub_dataset
from evaluator.treebank.read import read_bytes, read_scan, tokenlists
from evaluator.treebank.scan import scan
from evaluator.types import Unit
from evaluator.wos.settings import WosConfig, glue_tasks

GLUE = "nyu-mll/glue"
TEXT = "text"
SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet", ".conllu")


@dataclass(frozen=True, slots=True)
class Row:
    """One example as it was found: its texts with runs of white space folded, and its label as a string."""

    texts: tuple[str, ...]
    label: str
    source: str
    """`path:line`, or the split and number of a row that has no line."""
    units: tuple[Unit, ...] = ()
    """Units of the column `text` where the data are a treebank."""


@dataclass(frozen=True, slots=True)
class TaskData:
    """The rows of a task, the names of its classes where the data give them, and a hash of what was read."""

    name: str
    rows: tuple[Row, ...]
    sha256: str
    label_names: tuple[str, ...] = ()


def read_task(config: WosConfig, split: str = "") -> TaskData:
    """The task that a config names; of GLUE on the hub a `split`, by default its development set.

    Errors: DatasetError with file, line and column.
    """
    wanted = (*config.columns, config.label)
    if config.data in glue_tasks():
        return _from_hub(config.data, wanted, split or glue_tasks()[config.data].split)
    path = Path(config.data)
    if path.suffix not in SUFFIXES:
        known = f"one of {', '.join(glue_tasks())}, or a file {', '.join(SUFFIXES)}"
        raise DatasetError("no such task or kind of file", where=config.data, hint=known)
    if not path.is_file():
        raise DatasetError("no such file", where=config.data)
    rows = tuple(_row(values, wanted, where, units) for where, values, units in _records(path, wanted))
    if not rows:
        raise DatasetError("holds no rows", where=config.data, hint="a header, then one example a line")
    return TaskData(path.stem, rows, hashlib.sha256(path.read_bytes()).hexdigest())


Record = tuple[str, Mapping[str, Any], tuple[Unit, ...]]
"""Where it stands, its columns, and its units if it is a sentence of a treebank."""


def _records(path: Path, wanted: Sequence[str]) -> Iterator[Record]:
    if path.suffix == ".conllu":
        return _conllu(path)
    if path.suffix == ".jsonl":
        return ((where, row, ()) for where, row in _json_lines(path))
    if path.suffix == ".parquet":
        return ((where, row, ()) for where, row in _parquet(path, wanted))
    return ((where, row, ()) for where, row in _separated(path, wanted))


def _row(values: Mapping[str, Any], wanted: Sequence[str], where: str, units: tuple[Unit, ...]) -> Row:
    for column in wanted:
        if column not in values:
            raise _no_column(column, list(values), where)
        if values[column] is None or not str(values[column]).strip():
            raise DatasetError(f"{column!r} is empty", where=where, hint="every row needs its texts and a label")
    *texts, label = (" ".join(str(values[c]).split()) for c in wanted)
    return Row(tuple(texts), label, where, units)


def _no_column(column: str, found: Sequence[str], where: str) -> DatasetError:
    hint = f"name them with --columns; columns found: {', '.join(found) or 'none'}"
    return DatasetError(f"no column {column!r}", where=where, hint=hint)


def _separated(path: Path, wanted: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """TSV as GLUE writes it: fields between tabs, quotes are text. CSV as spreadsheets do: quotes quote."""
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if path.suffix == ".tsv" else {}
    text = _text(path)
    reader = csv.reader(text.splitlines() if path.suffix == ".tsv" else text.splitlines(keepends=True), **options)
    try:
        header = next(reader, [])
        for column in wanted:
            if column not in header:
                raise _no_column(column, header, f"{path}:1")
        for fields in reader:
            if not fields:
                continue
            where = f"{path}:{reader.line_num}"
            if len(fields) != len(header):
                raise DatasetError(
                    f"{len(fields)} fields, the header names {len(header)}", where=where, hint="one row a line"
                )
            yield where, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise DatasetError(f"cannot be read: {error}", where=f"{path}:{reader.line_num}") from error


def _json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise DatasetError(f"not JSON: {error}", where=where, hint="one object a line") from error
        if not isinstance(value, dict):
            raise DatasetError("not a JSON object", where=where, hint="one object a line")
        yield where, value


def _parquet(path: Path, wanted: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise DatasetError(f"not Parquet: {first}", where=str(path), hint="download or write it again") from error
    for column in wanted:
        if column not in table.column_names:
            raise _no_column(column, table.column_names, str(path))
    for number, row in enumerate(table.select(list(dict.fromkeys(wanted))).to_pylist()):
        yield f"{path}:row {number}", row


def _conllu(path: Path) -> Iterator[Record]:
    """The usable sentences with their comments; both readings leave out the same damaged ones."""
    sentences = read_scan(scan(read_bytes(path), str(path)), name=path.stem, language="").sentences
    for sentence, tokens in zip(sentences, tokenlists(path), strict=True):
        yield sentence.source, {**tokens.metadata, TEXT: sentence.text}, sentence.units


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot be read: {error}", where=str(path), hint="save it as UTF-8") from error


def _from_hub(name: str, wanted: Sequence[str], split: str) -> TaskData:
    """One split of a GLUE task, loaded with the package `datasets`."""
    missing = DatasetError(
        "reading GLUE from the hub needs the package `datasets`",
        where=name,
        hint="pip install datasets, or give the task as a file",
    )
    loaded = hub_dataset(GLUE, name, split=split, missing=missing, hint="or give the task as a file")
    found = [
        _row(values, wanted, f"{GLUE}:{name}/{split}:{i}", ()) for i, values in enumerate(loaded.to_list())
    ]  # fmt: skip
    names = tuple(getattr(loaded.features.get(wanted[-1]), "names", None) or ())
    digest = hashlib.sha256(json.dumps([[r.texts, r.label] for r in found]).encode())
    return TaskData(name, tuple(found), digest.hexdigest(), names)
