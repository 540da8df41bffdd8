"""`report.md`, and the ending of a run in the terminal: the same tables and sentences as the page, shorter."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from evaluator.report import tables, words
from evaluator.report.citations import citations
from evaluator.report.comparisons import comparisons
from evaluator.report.document import Document, at_floor, condition_label, open_document
from evaluator.report.formats import interval, markdown, number, well_formed
from evaluator.report.joined import Joined
from evaluator.report.panels import Figure
from evaluator.report.table_formats import table_markdown

MAX_LINES = 10


def markdown_report(
    document: Document, drawn: Sequence[Figure], slugs: Mapping[str, str], joined: Sequence[Joined] = ()
) -> bytes:
    """`report.md`: fits a pull-request comment or a CI summary; figures are linked, not embedded."""
    _, badge = words.badge(document)
    parts = [f"# {markdown(words.title(document))}"]
    parts += [
        "\n".join(f"- {markdown(sentence)}" for sentence in words.findings(document)),
        f"{badge[:1].upper()}{badge[1:]}. Run {markdown(str(document.report.get('run_id') or '–'))}.",
    ]
    skipped = words.missing(document)
    parts += [f"Skipped: {markdown(skipped)}."] if skipped else []
    failed = [check for check in document.report.get("health") or [] if not check["ok"]]
    parts += (
        ["\n".join(f"- ✗ {markdown(check['name'])}: {markdown(str(check['detail']))}" for check in failed)]
        if failed
        else []
    )
    parts += ["## Results", table_markdown(tables.headline(document))]
    if document.strongest():
        parts.append(table_markdown(tables.sensitivity(document)))
        parts += [table_markdown(tables.interaction(document))] if document.has_lemma() else []
    parts += [table_markdown(tables.paper(document, model, slug)) for model, slug in slugs.items()]
    compared = [table_markdown(table) for _, table in comparisons(document)]
    parts += ["## Comparisons", *compared] if compared else []
    parts += (
        ["## Figures", *(f"![{markdown(figure.title)}](figures/{figure.name}.svg)" for figure in drawn)]
        if drawn
        else []
    )
    for block in joined:
        parts += [f"## {markdown(block.title)}", "\n".join(f"- {markdown(said)}" for said in block.findings)]
        parts += [table_markdown(table) for table in block.shown]
    parts += [
        "## Definitions",
        "\n".join(f"- **{markdown(term)}**: {markdown(said)}" for _, term, said in words.definitions(document)),
    ]
    parts += [
        "## What to cite",
        "\n".join(f"- {markdown(what)}: {markdown(whom)}" for what, whom in citations(document)),
    ]
    return ("\n\n".join(part.rstrip("\n") for part in parts if part) + "\n").encode("utf-8")


def terminal_table(report: Mapping[str, Any]) -> RichTable:
    """A rich table of A@1 (orig), S and I by model and language."""
    document = open_document(report)
    strongest = document.strongest()
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for label in ("model", "language"):
        table.add_column(label, overflow="fold")
    for label in (
        "n",
        "A@1 orig",
        *((f"S {condition_label(strongest)}", f"I {condition_label(strongest)}") if strongest else ()),
    ):
        table.add_column(label, justify="right", no_wrap=True)
    for model in document.models:
        for treebank in document.treebanks:
            table.add_row(*(Text(part) for part in _line(document, model, treebank, strongest)))
    return table


def summary_lines(report: Mapping[str, Any], path: str = "") -> list[str]:
    """The ending of a run, ≤ 10 plain lines: A_orig, S and I by model × language, what is missing, the path."""
    document = open_document(report)
    strongest = document.strongest()
    pairs = [(model, treebank) for model in document.models for treebank in document.treebanks]
    skipped = words.missing(document)
    tail = [words.badge(document)[1] + (f"; skipped: {skipped}" if skipped else "")]
    tail += [f"report: {path}"] if path else []
    room = MAX_LINES - len(tail)
    shown = pairs if len(pairs) <= room else pairs[: room - 1]
    lines = []
    for model, treebank in shown:
        name, place, n, *metrics = _line(document, model, treebank, strongest)
        labels = ["A@1 orig"] + (
            [f"S {condition_label(strongest)}", f"I {condition_label(strongest)}"] if strongest else []
        )
        said = "  ".join(f"{label} {value}" for label, value in zip(labels, metrics, strict=True))
        lines.append(f"{name} {place}  {said}  n = {n}")
    if len(shown) < len(pairs):
        lines.append(f"… and {len(pairs) - len(shown)} more model × language pairs in the report")
    return [well_formed(line.replace("\n", " ")) for line in [*lines, *tail]]


def _line(document: Document, model: str, treebank: str, strongest: str | None) -> list[str]:
    orig = document.cell(model, treebank, "orig", False)
    n = orig.get("n")
    parts = [model, document.place(treebank), "–" if n is None else f"{n:,}", number(orig.get("top1"))]
    if strongest:
        s, i = document.cell(model, treebank, strongest, False), document.interaction(model, treebank, strongest)
        shown = (("S", s, s.get("S"), s.get("S_ci")), ("I", i, i.get("I"), i.get("I_ci")))
        for metric, cell, value, ends in shown:
            parts.append(f"{number(value)} {interval(ends)}".strip() + (" (floor)" if at_floor(cell, metric) else ""))
    return [well_formed(part) for part in parts]
