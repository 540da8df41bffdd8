"""One `Table` as HTML, Markdown, CSV or LaTeX: the same numbers through the same formatter, each with its own escaper.

An empty cell is `–` with a letter; the letters are spelt out under the table, so the reason survives print and touch.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.report import formats
from evaluator.report.markup import Html, el
from evaluator.report.palette import INTERACTION_SPAN
from evaluator.report.tables import Column, Entry, Table

PREAMBLE = r"""% Before \begin{document}: \input{tables/preamble}. Then a table: \input{tables/headline}
\usepackage{booktabs}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\fi
"""
MARKDOWN_COLUMNS = 8
"""Columns of a Markdown table before it is cut in two: what fits a pull-request comment."""


def shown(entry: Entry, column: Column) -> str:
    """The cell's main text in any format that can print Unicode."""
    value = entry.value
    if value is None:
        return formats.MISSING
    if isinstance(value, str):
        return value
    if column.kind == "count":
        return formats.count(int(value))
    return formats.p_value(value) if column.kind == "p" else formats.number(value)


def notes_of(table: Table) -> dict[str, str]:
    """Letter of each distinct note in the table, in reading order."""
    found = dict.fromkeys(entry.note for row in table.rows for entry in row if entry.note)
    return {note: _letter(index) for index, note in enumerate(found)}


def _letter(index: int) -> str:
    return (_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("a") + index % 26)


def table_html(table: Table, *, css: str = "", heading: bool = True) -> Html:
    """The table in its own scrolling frame, with caption, scoped headers, notes and a link to its CSV."""
    notes = notes_of(table)
    head = el("tr", (_header_html(column, i if i < table.stub else None) for i, column in enumerate(table.columns)))
    body = [
        _row_html(table, row, previous, notes) for row, previous in zip(table.rows, [(), *table.rows], strict=False)
    ]
    files = el(
        "span",
        el("a", "csv", href=f"tables/{table.name}.csv"),
        " · ",
        el("a", "tex", href=f"tables/{table.name}.tex"),
        class_="files",
    )
    caption = el("caption", el("span", table.caption if heading else "", class_="says"), " ", files)
    frame = el(
        "div",
        el(
            "table",
            caption,
            el("thead", head),
            el("tbody", body),
            class_=f"data stubs{table.stub} {css}".strip(),
            data_sortable=True,
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=table.caption,
    )
    return Html(frame + _notes_html(notes))


def _header_html(column: Column, stub: int | None) -> Html:
    label = el("a", column.label, href=f"#def-{column.define}") if column.define else column.label
    classes = (f"stub{stub}" if stub is not None else "", "" if column.kind == "text" else "num")
    return el("th", label, scope="col", class_=" ".join(filter(None, classes)) or None)


def _row_html(table: Table, row: Sequence[Entry], previous: Sequence[Entry], notes: Mapping[str, str]) -> Html:
    cells, same = [], bool(previous)
    for index, (entry, column) in enumerate(zip(row, table.columns, strict=True)):
        if index < table.stub:
            same = same and entry.value == previous[index].value
            classes = " ".join(name for name, holds in (("again", same), (f"stub{index}", True)) if holds)
            cells.append(el("th", shown(entry, column), scope="row", class_=classes))
        else:
            cells.append(_cell_html(entry, column, notes))
    starts = bool(previous) and row[0].value != previous[0].value
    return el("tr", cells, class_="group" if starts else None)


def _cell_html(entry: Entry, column: Column, notes: Mapping[str, str]) -> Html:
    marker = el("sup", notes[entry.note], class_="mark") if entry.note else None
    ends = el("small", formats.interval(entry.ci)) if entry.ci is not None else None
    bar = _range_bar(entry.bar) if entry.bar else None
    classes = f"{'txt' if column.kind == 'text' else ''} {entry.shade}".strip()
    main: Html | str = shown(entry, column)
    if entry.show:
        main = el("a", main, href="#examples", data_show=formats.json_for_script(entry.show))
    return el("td", main, marker, ends, bar, class_=classes or None)


def _range_bar(bar: tuple[float, float, float]) -> Html:
    """A 60-px line from the lowest to the highest I the margins allow, zero marked, a tick at I."""
    low, high, at = (30 + 28 * min(max(end / INTERACTION_SPAN, -1.0), 1.0) for end in bar)
    lines = (
        el("line", x1="30", x2="30", y1="1", y2="9", class_="zero"),
        el("line", x1=f"{low:.1f}", x2=f"{high:.1f}", y1="5", y2="5", class_="span"),
        el("line", x1=f"{at:.1f}", x2=f"{at:.1f}", y1="1", y2="9", class_="at"),
    )
    label = f"attainable {formats.interval(bar[:2])}"
    return el(
        "svg", el("title", label), lines, class_="range", viewBox="0 0 60 10", width="60", height="10", role="img"
    )


def _notes_html(notes: Mapping[str, str]) -> Html:
    if not notes:
        return Html("")
    return el("p", ((el("sup", letter), " ", note, ". ") for note, letter in notes.items()), class_="notes")


def table_markdown(table: Table) -> str:
    """The table as GFM, cut into blocks of ≤ 8 columns that repeat the row names."""
    notes, step = notes_of(table), MARKDOWN_COLUMNS - table.stub
    values = range(table.stub, len(table.columns))
    blocks = []
    for start in range(0, len(values), step):
        wanted = [*range(table.stub), *values[start : start + step]]
        columns = [table.columns[i] for i in wanted]
        lines = ["| " + " | ".join(formats.markdown(column.label) for column in columns) + " |"]
        lines.append("|" + "|".join("---" if column.kind == "text" else "--:" for column in columns) + "|")
        lines += [
            "| " + " | ".join(_cell_markdown(row[i], table.columns[i], notes) for i in wanted) + " |"
            for row in table.rows
        ]
        blocks.append("\n".join(lines))
    listed = [f"{letter}: {formats.markdown(note)}." for note, letter in notes.items()]
    return (
        "\n\n".join([f"**{formats.markdown(table.caption)}**", *blocks, *(["  \n".join(listed)] if listed else [])])
        + "\n"
    )


def _cell_markdown(entry: Entry, column: Column, notes: Mapping[str, str]) -> str:
    main = formats.markdown(shown(entry, column)) if isinstance(entry.value, str) else shown(entry, column)
    main = main.replace("<", "\\<") if not isinstance(entry.value, str) else main
    ends = f" {formats.interval(entry.ci)}" if entry.ci is not None else ""
    return main + ends + (f" ({notes[entry.note]})" if entry.note else "")


def table_csv(table: Table) -> bytes:
    """The table as CSV: a metric with its interval is three columns (`top1`, `top1_lo`, `top1_hi`), empty when null."""
    header: list[str] = []
    for column in table.columns:
        header += [column.key, f"{column.key}_lo", f"{column.key}_hi"] if column.has_ci else [column.key]
    return formats.csv_bytes(header, (list(_row_csv(table, row)) for row in table.rows))


def _row_csv(table: Table, row: Sequence[Entry]) -> Iterable[str]:
    for entry, column in zip(row, table.columns, strict=True):
        if entry.value is None:
            yield ""
        elif isinstance(entry.value, str):
            yield entry.value
        elif column.kind == "count":
            yield str(int(entry.value))
        else:
            yield formats.number(entry.value, minus="-") if column.kind == "number" else formats.p_value(entry.value)
        if column.has_ci:
            yield from (["", ""] if entry.ci is None else [formats.number(end, minus="-") for end in entry.ci])


def table_tex(table: Table, origin: str) -> bytes:
    """The table as a booktabs `tabular` for `preamble_tex`, intervals in small type; its origin in the first line."""
    notes = notes_of(table)
    spec = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    lines = [f"% {_comment(origin)}", rf"\begin{{tabular}}{{{spec}}}", r"\toprule"]
    lines.append(" & ".join(formats.tex(column.label) for column in table.columns) + r" \\ \midrule")
    lines += [
        " & ".join(_cell_tex(*pair, notes) for pair in zip(row, table.columns, strict=True)) + r" \\"
        for row in table.rows
    ]
    lines += [r"\bottomrule", r"\end{tabular}", ""]
    lines += [rf"% {letter}: {_comment(note)}" for note, letter in notes.items()]
    return ("\n".join(lines).rstrip("\n") + "\n").encode("utf-8")


def preamble_tex() -> bytes:
    """What every table needs before `\\begin{document}`, for any engine."""
    return PREAMBLE.encode("ascii")


def _cell_tex(entry: Entry, column: Column, notes: Mapping[str, str]) -> str:
    ends = rf" {{\scriptsize {formats.tex_interval(entry.ci)}}}" if entry.ci is not None else ""
    marker = rf"\textsuperscript{{{notes[entry.note]}}}" if entry.note else ""
    return formats.tex(shown(entry, column)) + ends + marker


def _comment(text: str) -> str:
    return " ".join(formats.well_formed(text).split())


def records_csv(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows of `report.json` as CSV, values exact: intervals as `…_lo` and `…_hi`, sides as `a_model`."""
    flat = [dict(flattened(record)) for record in records]
    header = list(dict.fromkeys(key for record in flat for key in record))
    return formats.csv_bytes(header, ([formats.canonical(record.get(key)) for key in header] for record in flat))


def flattened(record: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """A row of `report.json` as (column, value): intervals and ranges as `…_lo`, `…_hi`, sides as `a_model`."""
    for key, value in record.items():
        if key.endswith("_ci") or key.startswith("I_range"):
            stem = key.removesuffix("_ci")
            low, high = value if value is not None else (None, None)
            yield from ((f"{stem}_lo", low), (f"{stem}_hi", high))
        elif isinstance(value, Mapping) and key in ("a", "b"):
            yield from ((f"{key}_{inner}", part) for inner, part in value.items())
        else:
            yield key, value
