"""The comparison on the terminal: settings, items, a line per cell, flips, rules."""

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evaluator.compare import tables
from evaluator.compare.document import headline
from evaluator.compare.tables import LETTERS, gate_lines, note_lines
from evaluator.report.formats import interval, well_formed
from evaluator.report.table_formats import shown
from evaluator.report.tables import Table


def print_comparison(document: Mapping[str, Any]) -> None:
    """Prints the comparison to stdout, plain where that is not a terminal."""
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    changed = tables.settings(document)
    if changed.rows:
        console.print(rich_table(changed))
    else:
        console.print("no setting, version, model or treebank differs", style="dim")
    for table in (tables.items(document), tables.differences(document), tables.contrasts(document)):
        if table.rows:
            console.print()
            console.print(rich_table(table))
    console.print()
    console.print(rich_table(tables.flips(document, "condition")))
    console.print()
    for line in (*note_lines(document), LETTERS, *headline(document), *gate_lines(document)):
        console.print(Text(well_formed(line)))


def rich_table(table: Table) -> RichTable:
    """One of the report's tables for the terminal."""
    table = tables.slim(table)
    found = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        found.add_column(column.label, justify="left" if column.kind == "text" else "right", overflow="fold")
    for row in table.rows:
        cells = [
            f"{shown(entry, column)} {interval(entry.ci)}" for entry, column in zip(row, table.columns, strict=True)
        ]
        found.add_row(*(Text(well_formed(cell.strip())) for cell in cells))
    return found
