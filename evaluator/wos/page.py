"""What the pages of all commands on classifiers share: head, definitions, manifest, Markdown, files of tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.report.blocks import section
from evaluator.report.document import canonical_json
from evaluator.report.formats import markdown
from evaluator.report.markup import Html, el
from evaluator.report.table_formats import table_csv, table_tex
from evaluator.report.tables import Table

Row = Mapping[str, Any]
Definitions = Sequence[tuple[str, str, str]]
"""(anchor, term, what it means)."""


def header(document: Row, kicker: str, title: str, findings: Sequence[str], *more: Html) -> Html:
    """What it is, one sentence per model, and whether anything failed."""
    problems = document["problems"]
    badge = f"✗ {'; '.join(problems)}" if problems else "✓ complete"
    return el(
        "header",
        el("p", f"morphorder · {kicker}", class_="kicker"),
        el("h1", title),
        el("div", (el("p", sentence) for sentence in findings), class_="findings"),
        el("p", badge, class_=f"badge {'no' if problems else 'yes'}"),
        *more,
        class_="top",
    )


def closing(document: Row, definitions: Definitions) -> tuple[Html, Html]:
    """Definitions and manifest, the last two blocks of a page."""
    terms = ((el("dt", term, id=f"def-{anchor}"), el("dd", meaning)) for anchor, term, meaning in definitions)
    return (
        section("definitions", "Definitions", el("dl", terms, class_="defs")),
        section("manifest", "Manifest", el("pre", canonical_json(document["manifest"]).decode())),
    )


def markdown_page(title: str, findings: Sequence[str], parts: Sequence[str], definitions: Definitions) -> bytes:
    """report.md: title and findings, the parts, the definitions."""
    terms = "\n".join(f"- **{markdown(term)}**: {markdown(meaning)}" for _, term, meaning in definitions)
    said = "\n".join(f"- {markdown(sentence)}" for sentence in findings)
    pieces = [f"# {markdown(title)}", said, *parts, "## Definitions", terms]
    return ("\n\n".join(piece.rstrip("\n") for piece in pieces) + "\n").encode()


def table_files(tables: Sequence[Table], run_id: str) -> Iterator[tuple[str, bytes]]:
    """Every table as CSV and as LaTeX."""
    for table in tables:
        yield f"tables/{table.name}.csv", table_csv(table)
        yield f"tables/{table.name}.tex", table_tex(table, run_id)
