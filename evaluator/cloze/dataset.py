"""The data set: its documented columns, read from a folder, a file or a hub, with one clear line for what is wrong.

`DOCUMENTED` are the fields of the published card; a file must have them all. `OURS` are columns we write beside them;
a file without them is read with nulls there.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.errors import DatasetError
from evaluator.store.hub import hub_dataset

MARKER = "[x]"
CELLS = ("lem_high+form_low", "lem_high+form_high", "lem_low+form_low", "lem_low+form_high")
SPLITS = ("train", "dev", "test")
BUILD_FILE = "build.json"

DOCUMENTED = pa.schema(
    [
        pa.field(name, pa.int64() if name in ("form_freq", "lemma_other_freq") else pa.string(), nullable=False)
        for name in (
            "prompt", "gold", "lemma", "context", "feats", "phenomenon", "cell", "form_freq", "lemma_other_freq",
            "form_level", "lemma_level", "person_number", "verbclass", "resource", "source_treebank",
        )
    ]
)  # fmt: skip
OURS = pa.schema(
    [
        pa.field("licence", pa.string()),
        pa.field("sent_id", pa.string()),
        pa.field("paradigm", pa.list_(pa.string())),
        pa.field("paradigm_freq", pa.list_(pa.int64())),
    ]
)
"""Licence and id of the sentence; the lemma's forms with their counts, for choices and the most-frequent-form floor."""
SCHEMA = pa.schema([*DOCUMENTED, *OURS])


@dataclass(frozen=True, slots=True)
class ClozeData:
    """One language's data set: its splits as tables of `SCHEMA`, and what its builder wrote of itself, if anything."""

    name: str
    language: str
    """Code of the language where it can be known from the folder or the build; else empty."""
    splits: Mapping[str, pa.Table]
    build: Mapping[str, Any]

    def split(self, name: str) -> pa.Table:
        """A split; `test` is the union of the cells where it is missing. Errors: DatasetError when there is none."""
        if name in self.splits:
            return self.splits[name]
        if name == "test" and (cells := [s for s in self.splits if s.startswith("test_")]):
            return pa.concat_tables([self.splits[s] for s in sorted(cells)])
        raise DatasetError(f"no split {name!r}", where=self.name, hint=f"it has {', '.join(sorted(self.splits))}")

    @property
    def main(self) -> dict[str, pa.Table]:
        """The splits that hold each row once: train, dev and test where they are there; otherwise all."""
        found = {s: self.splits[s] for s in SPLITS if s in self.splits}
        if "test" not in found and any(s.startswith("test_") for s in self.splits):
            found["test"] = self.split("test")
        return found or dict(self.splits)


def cell_name(lemma_level: str, form_level: str) -> str:
    """The cell of two levels: `lem_high+form_low`."""
    return f"lem_{lemma_level}+form_{form_level}"


def cell_split(cell: str) -> str:
    """The split that holds a test cell: `test_lemhigh_formlow`."""
    return "test_" + cell.replace("lem_", "lem").replace("+form_", "_form")


def prompt_of(lemma: str, context: str, feats: str) -> str:
    """The prompt: `cloze lemma=<L> context=<sentence with [x]> feats=<partial feats> ->`."""
    return f"cloze lemma={lemma} context={context} feats={feats} ->"


def read_dataset(place: str) -> ClozeData:
    """The data set at `place`: a folder of splits, one .parquet, .jsonl or .json file, or `owner/name:config` on a hub.

    `FOLDER:de` is the folder of language de inside FOLDER. Errors: DatasetError naming the file and column.
    """
    path, _, config = place.rpartition(":") if re.search(r":[\w-]+$", place) else (place, "", "")
    folder = Path(path) / config if config and Path(path).is_dir() else Path(path)
    if folder.is_dir():
        return _from_folder(folder)
    if folder.is_file():
        return ClozeData(folder.name, _language(folder.resolve().parent.name), {folder.stem: read_file(folder)}, {})
    if re.fullmatch(r"[\w.-]+/[\w.-]+", path) and not Path(path).parent.is_dir():
        return _from_hub(path, config)
    raise DatasetError(
        "no such data set", where=place, hint="give a folder, a .parquet or .jsonl file, or owner/name:de"
    )


def _from_folder(folder: Path) -> ClozeData:
    splits: dict[str, pa.Table] = {}
    files = sorted(f for f in [*folder.glob("*"), *folder.glob("data/*")] if f.suffix in (".parquet", ".jsonl"))
    if not files:
        inner = sorted(f.name for f in folder.iterdir() if f.is_dir())
        hint = f"give one of its languages, as {folder}:{inner[0]}" if inner else "splits are .parquet or .jsonl files"
        raise DatasetError("no splits in this folder", where=str(folder), hint=hint)
    for file in files:
        name = re.sub(r"-\d{5}-of-\d{5}$", "", file.stem)  # the hub's shards of one split
        table = read_file(file)
        splits[name] = pa.concat_tables([splits[name], table]) if name in splits else table
    build = {}
    if (folder / BUILD_FILE).is_file():
        try:
            build = json.loads((folder / BUILD_FILE).read_text(encoding="utf-8"))
        except ValueError as error:
            raise DatasetError(f"not JSON: {error}", where=str(folder / BUILD_FILE), hint="build it again") from error
    name = folder.resolve().name
    return ClozeData(name, str(build.get("language") or _language(name)), splits, build)


def _from_hub(repository: str, config: str) -> ClozeData:
    missing = DatasetError(
        "reading from a hub needs the package `datasets`",
        where=repository,
        hint="pip install datasets, or download the files and give their folder",
    )
    loaded = hub_dataset(repository, config or None, missing=missing)
    splits = {str(name): conform(_table_of(split), f"{repository}:{config}/{name}") for name, split in loaded.items()}
    return ClozeData(f"{repository}:{config}", _language(config), splits, {})


def _table_of(split: Any) -> pa.Table:
    """A split of the `datasets` package as a table; one without rows still has its columns."""
    rows = split.to_list()
    return pa.Table.from_pylist(rows) if rows else pa.table({name: pa.nulls(0) for name in split.column_names})


def _language(name: str) -> str:
    return name if re.fullmatch(r"[a-z]{2,3}", name) else ""


def read_file(path: Path) -> pa.Table:
    """One file of items as a table of `SCHEMA`. Errors: DatasetError with file, line or column."""
    if path.suffix == ".parquet":
        try:
            return conform(pq.read_table(path), str(path))
        except (pa.ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise DatasetError(f"not Parquet: {first}", where=str(path), hint="download or build it again") from error
    rows = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise DatasetError("not a JSON object", where=f"{path}:{number}", hint="one item a line")
                rows.append(row)
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot be read: {error}", where=str(path)) from error
    except ValueError as error:
        raise DatasetError(f"not JSON: {error}", where=f"{path}:{number}", hint="one item a line") from error
    return conform(pa.Table.from_pylist(rows), str(path))


def conform(table: pa.Table, where: str) -> pa.Table:
    """The table with the columns of `SCHEMA`, in order and type.

    Errors: DatasetError for the first documented column that is missing (with the likely misspelling), holds nulls or
    cannot be read as its type.
    """
    names: Sequence[str] = table.column_names
    if repeated := next((n for n in names if list(names).count(n) > 1), None):
        raise DatasetError(f"column {repeated!r} is there twice", where=where)
    columns = []
    for field in SCHEMA:
        if field.name not in names:
            if field.nullable:
                columns.append(pa.nulls(table.num_rows, field.type))
                continue
            raise DatasetError(f"no column {field.name!r}", where=where, hint=_meant(field.name, names))
        column = table[field.name].combine_chunks()
        if not field.nullable and column.null_count:
            row = column.is_null().index(pa.scalar(True)).as_py()
            raise DatasetError(f"column {field.name!r} is empty in row {row}", where=where, hint="every row needs it")
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            kind = "whole numbers" if field.type == pa.int64() else str(field.type)
            raise DatasetError(
                f"column {field.name!r} is {column.type}, expected {kind}", where=where, hint="see the data card"
            ) from error
    return pa.table(columns, schema=SCHEMA)


def _meant(name: str, found: Sequence[str]) -> str:
    spare = [f for f in found if f not in SCHEMA.names]
    close = difflib.get_close_matches(name, spare, 1, 0.6)
    folded = [f for f in spare if re.sub(r"[\W_]", "", f.casefold()) == re.sub(r"[\W_]", "", name)]
    if near := folded or close:
        return f"rename {near[0]!r}"
    return f"columns found: {', '.join(found) or 'none'}"
