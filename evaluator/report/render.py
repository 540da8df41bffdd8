"""Every file of a report as (relative name, bytes), from `report.json` and the outcomes: no clock, files or network."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from evaluator.report import curves, examples, figures, tables
from evaluator.report.comparisons import comparisons
from evaluator.report.document import Document, canonical_json, open_document, slugs
from evaluator.report.formats import excel_csv
from evaluator.report.joined import Joined
from evaluator.report.page import page
from evaluator.report.panels import svg
from evaluator.report.settings import settings_files, settings_toml
from evaluator.report.summary import markdown_report
from evaluator.report.table_formats import preamble_tex, records_csv, table_csv, table_tex


def render_report(
    report: dict[str, Any],
    outcomes: pa.Table,
    *,
    text: bool = True,
    sentences: pa.Table | None = None,
    pieces: examples.Pieces | None = None,
    excel: bool = False,
    joined: Sequence[Joined] = (),
) -> Iterator[tuple[str, bytes]]:
    """Yields (file name, bytes) of `report.json`, `report.html`, `report.md`, `run.toml`, `tables/…`, `figures/…`.

    `outcomes` follows `store.schemas.OUTCOMES`; it feeds the examples and F8 only. `sentences` (`schemas.SENTENCES`)
    marks unit boundaries inside the examples exactly; without it they are guessed at spaces and punctuation, or left
    out. `pieces` adds to each example what the model read. `text=False` leaves sentences and words out; `excel` adds a
    guarded copy of every CSV; `joined` are blocks of other tasks. Same input, same bytes, whatever the order of rows.
    """
    document = open_document(report)
    names = slugs(document.models)
    sample = curves.sampled(outcomes)
    is_sample = outcomes.num_rows > curves.MAX_ROWS
    drawn = list(figures.figures(document, curves.log_probability_curves(sample), sampled=is_sample))
    chosen = examples.choose(document, sample, outcomes.num_rows, sentences, with_text=text, pieces=pieces)
    pictures = {figure.name: svg(figure) for figure in drawn}
    yield "report.json", canonical_json(report)
    yield "report.html", page(document, drawn, pictures, chosen, names, with_text=text, joined=joined)
    yield "report.md", markdown_report(document, drawn, names, joined)
    for name in settings_files(document):
        yield name, settings_toml(report["manifest"]["config"])
    for name, content in _table_files(document, names, joined):
        yield name, content
        if excel and name.endswith(".csv"):
            yield f"{name.removesuffix('.csv')}.excel.csv", excel_csv(content)
    for figure in drawn:
        yield f"figures/{figure.name}.svg", pictures[figure.name]
        yield f"figures/{figure.name}.vl.json", canonical_json(figure.spec)


def all_tables(document: Document, names: dict[str, str]) -> list[tables.Table]:
    """Every table that is written as CSV and LaTeX, `names` being the models' slugs."""
    found = [tables.headline(document), tables.all_cells(document)]
    found += [tables.paper(document, model, slug) for model, slug in names.items()]
    if document.strongest():
        found += [tables.sensitivity(document), tables.changes(document)]
        found += [tables.interaction(document)] if document.has_lemma() else []
    found += [tables.languages(document)] if tables.has_language_table(document) else []
    found += [table for _, table in comparisons(document)]
    wanted = [name for name in document.conditions if name in ("orig", document.strongest())]
    for by in figures.GROUPS:
        table = tables.breakdown(document, by, wanted)
        found += [table] if table.rows else []
    found += [tables.doses(document)] if document.report.get("doses") else []
    return found


def _table_files(document: Document, names: dict[str, str], joined: Sequence[Joined]) -> Iterator[tuple[str, bytes]]:
    made_by = (document.report.get("manifest") or {}).get("config_fingerprint")
    origin = f"{document.report.get('run_id')}, configuration {made_by}"
    yield "tables/preamble.tex", preamble_tex()
    for table in [*all_tables(document, names), *(table for block in joined for table in block.tables)]:
        yield f"tables/{table.name}.csv", table_csv(table)
        yield f"tables/{table.name}.tex", table_tex(table, origin)
    breakdowns = document.report.get("breakdowns") or {}
    exact = {
        "cells-exact": document.report.get("cells") or [],
        "draws": document.report.get("draws") or [],
        "doses": document.report.get("doses") or [],
        "comparisons-exact": document.report.get("comparisons") or [],
        "breakdowns-exact": [{"by": by, **row} for by in sorted(breakdowns) for row in breakdowns[by] or []],
    }
    yield from ((f"tables/{name}.csv", records_csv(rows)) for name, rows in exact.items() if rows)
