"""What the pages of all commands on classifiers share: head, definitions, manifest, Markdown, files of tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.report.blocks import section
from evaluator.report.document import canonical_json
from evaluator.report.formats import markdown
from evaluator.report.markup import Html, el
from evaluator.report.page import shell
from evaluator.report.table_formats import table_csv, table_tex
from evaluator.report.tables import Table

Row = Mapping[str, Any]
Definitions = Sequence[tuple[str, str, str]]
"""(anchor, term, what it means)."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says beside its document: of what kind it is, its title, findings, tables and definitions."""

    kicker: str
    title: str
    findings: Sequence[str]
    tables: Sequence[Table]
    definitions: Definitions


def report_files(
    document: Row, report: Report, sections: Sequence[Html], parts: Sequence[str], *more: Html
) -> Iterator[tuple[str, bytes]]:
    """report.json, report.html of the sections, report.md of the parts, all tables; `more` ends the page's head."""
    main = el("main", *sections, *_closing(document, report.definitions))
    body = el("body", _header(document, report, *more), main)
    yield "report.json", canonical_json(dict(document))
    yield "report.html", shell(f"{document['run_id']} · {report.kicker}", body)
    yield "report.md", _markdown(report, parts)
    yield from table_files(report.tables, document["run_id"])


def _header(document: Row, report: Report, *more: Html) -> Html:
    """What it is, one sentence per model, and whether anything failed."""
    problems = document["problems"]
    badge = f"✗ {'; '.join(problems)}" if problems else "✓ complete"
    return el(
        "header",
        el("p", f"morphorder · {report.kicker}", class_="kicker"),
        el("h1", report.title),
        el("div", (el("p", sentence) for sentence in report.findings), class_="findings"),
        el("p", badge, class_=f"badge {'no' if problems else 'yes'}"),
        *more,
        class_="top",
    )


def _closing(document: Row, definitions: Definitions) -> tuple[Html, Html]:
    """Definitions and manifest, the last two blocks of a page."""
    terms = ((el("dt", term, id=f"def-{anchor}"), el("dd", meaning)) for anchor, term, meaning in definitions)
    return (
        section("definitions", "Definitions", el("dl", terms, class_="defs")),
        section("manifest", "Manifest", el("pre", canonical_json(document["manifest"]).decode())),
    )


def _markdown(report: Report, parts: Sequence[str]) -> bytes:
    """Title and findings, the parts, the definitions."""
    terms = "\n".join(f"- **{markdown(term)}**: {markdown(meaning)}" for _, term, meaning in report.definitions)
    said = "\n".join(f"- {markdown(sentence)}" for sentence in report.findings)
    pieces = [f"# {markdown(report.title)}", said, *parts, "## Definitions", terms]
    return ("\n\n".join(piece.rstrip("\n") for piece in pieces) + "\n").encode()


def table_files(tables: Sequence[Table], run_id: str) -> Iterator[tuple[str, bytes]]:
    """Every table as CSV and as LaTeX."""
    for table in tables:
        yield f"tables/{table.name}.csv", table_csv(table)
        yield f"tables/{table.name}.tex", table_tex(table, run_id)
