"""A Hub dataset folder: Parquet files, and a card whose header names them as configs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evaluator.convert.eee import sample_hash
from evaluator.frames import COLUMNS, TableName, flat_table, records_of
from evaluator.report.document import open_document
from evaluator.report.formats import markdown
from evaluator.report.table_formats import table_markdown
from evaluator.report.tables import headline
from evaluator.report.words import definitions, findings, title
from evaluator.store.shards import parquet_bytes
from evaluator.treebank.licences import UNKNOWN

CONFIGS: tuple[TableName, ...] = ("outcomes", "cells", "breakdowns")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
         (10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))  # fmt: skip
HASHED = {"sample_hash": "SHA-256 of text and gold, as in Every Eval Ever; not there under --no-text"}
STRICTNESS = ("CC0", "CC BY", "CC BY-SA", "CC BY-NC", "CC BY-NC-SA")


def hub_files(report: Mapping[str, Any], outcomes: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Yields (path, bytes): `README.md` and `data/*.parquet` for every config of the card. Same input, same bytes."""
    for name in CONFIGS:
        table = _hashed(outcomes) if name == "outcomes" else flat_table(records_of(report, name))
        yield f"data/{name}.parquet", parquet_bytes(table)
    yield "README.md", card(report, outcomes.num_rows).encode("utf-8")


def _hashed(outcomes: pa.Table) -> pa.Table:
    """The outcomes with the hash under which Every Eval Ever knows each, unless they come without their text."""
    if not {"text", "gold"} <= set(outcomes.column_names):
        return outcomes
    pairs = zip(outcomes["text"].to_pylist(), outcomes["gold"].to_pylist(), strict=True)
    hashes = pa.array([sample_hash(text, gold) for text, gold in pairs], pa.string())
    return outcomes.append_column(pa.field("sample_hash", pa.string(), nullable=False), hashes)


def card(report: Mapping[str, Any], rows: int) -> str:
    """The dataset card: YAML header, findings, headline table, what the columns hold, licences of the treebanks."""
    document = open_document(report)
    parts = [f"# {markdown(title(document))}", f"A run of morphorder, {markdown(str(report.get('run_id') or 'run'))}."]
    parts.append("\n".join(f"- {markdown(said)}" for said in findings(document)))
    parts.append(table_markdown(headline(document)).rstrip("\n"))
    parts.append("## Treebanks\n\nSentences are the treebanks' own, under their licences.\n\n" + _treebank_list(report))
    for name in CONFIGS:
        columns = COLUMNS[name] | (HASHED if name == "outcomes" else {})
        listed = "\n".join(f"- `{column}`: {markdown(said)}" for column, said in columns.items())
        parts.append(f"## Columns of `{name}`\n\n{listed}")
    parts.append("Columns `…_lo` and `…_hi` are the ends of the interval of the column before them.")
    defined = "\n".join(f"- **{markdown(term)}**: {markdown(said)}" for _, term, said in definitions(document))
    parts.append(f"## Definitions\n\n{defined}")
    return header(report, rows) + "\n" + "\n\n".join(parts) + "\n"


def header(report: Mapping[str, Any], rows: int) -> str:
    """The card's YAML between `---` lines; every value is written as JSON, which YAML reads."""
    treebanks = _treebanks(report)
    languages = sorted({str(t.get("language")) for t in treebanks if t.get("language")})
    facts: list[tuple[str, Any]] = [
        ("pretty_name", f"morphorder: {title(open_document(report))}"),
        ("language", languages or sorted({cell["language"] for cell in report["cells"]})),
        ("license", hub_licence([str(t.get("licence") or UNKNOWN) for t in treebanks])),
        ("task_categories", ["fill-mask"]),
        ("size_categories", [next((name for limit, name in SIZES if rows < limit), "n>100M")]),
        ("source_datasets", ["extended|universal_dependencies"]),
        ("tags", ["morphorder", "word order", "morphology", "evaluation"]),
    ]
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts]
    lines.append("configs:")
    for name in CONFIGS:
        lines += [f"- config_name: {name}", f"  data_files: data/{name}.parquet"]
        lines += ["  default: true"] if name == CONFIGS[0] else []
    return "\n".join(["---", *lines, "---", ""])


def hub_licence(licences: Sequence[str]) -> str:
    """The Hub's id of the strictest licence: `cc-by-sa-4.0`; `unknown` when one is not known or there is none."""
    ranked = [(_rank(licence), licence) for licence in licences]
    if not ranked or any(rank is None for rank, _ in ranked):
        return UNKNOWN
    return max(ranked, key=lambda pair: (pair[0] or 0, pair[1]))[1].lower().replace(" ", "-")


def _rank(licence: str) -> int | None:
    if licence == "Apache-2.0":
        return 0
    kind = licence.rpartition(" ")[0] if not licence.startswith("CC0") else "CC0"
    return STRICTNESS.index(kind) if kind in STRICTNESS else None


def _treebank_list(report: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- {markdown(str(t.get('name')))} ({markdown(str(t.get('language')))}): "
        f"{markdown(str(t.get('licence') or UNKNOWN))}, SHA-256 `{t.get('sha256')}`"
        for t in _treebanks(report)
    )


def _treebanks(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((report.get("manifest") or {}).get("treebanks") or [])
