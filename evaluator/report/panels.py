"""What all figures share: panels by treebank and model, axes, marks, style, and the step to static SVG."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert as vlc

from evaluator.report.document import Document, condition_label
from evaluator.report.formats import count, number, well_formed
from evaluator.report.markup import el
from evaluator.report.palette import BLUE, LIGHT, VERMILLION

FONT = "Helvetica, Arial, sans-serif"
PAPER = "#fefefe"
"""Inside of hollow marks; the page's dark theme recolours exactly this value."""
BARE = "replace(datum.label, /^(−?)0\\./, '$1.')"
"""Axis labels in the report's number style: `.2`, not `0.2`."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure: `name` is its file's stem, `caption` states unit and interval, `finding` its main number."""

    name: str
    title: str
    caption: str
    finding: str
    spec: Mapping[str, Any]
    """Vega-Lite, data inside."""
    numbers: str
    """Name of the table that holds its numbers."""


def svg(figure: Figure) -> bytes:
    """The figure as static SVG with a title and description; byte-identical for equal input."""
    drawn: str = vlc.vegalite_to_svg(dict(figure.spec))
    head = f'<svg role="img" aria-labelledby="{figure.name}-t {figure.name}-d"'
    described = el("title", figure.title, id=f"{figure.name}-t") + el("desc", describe(figure), id=f"{figure.name}-d")
    return re.sub(r"^<svg([^>]*)>", lambda m: f"{head}{m[1]}>{described}", _slim(drawn), count=1).encode("utf-8")


def _slim(drawn: str) -> str:
    """The drawing without the renderer's empty shapes and repeated attributes: half the bytes, the same picture."""
    drawn = re.sub(r'<path class="(?:back|fore)ground"[^>]*?(?:d="M0,0h0v0h0Z"|display="none")[^>]*/>', "", drawn)
    drawn = re.sub(r"<[^>]*>", lambda tag: _slim_tag(tag.group()), drawn)
    drawn = re.sub(_DOT, r'<circle \1r="\2"', drawn)
    drawn = re.sub(r'<path d="[^"]*"/>', "", drawn)  # neither filled nor stroked: the group around has fill="none"
    drawn = re.sub(r"<text[^>]*/>", "", drawn)
    drawn = re.sub(r"<g>((?:<(?:line|circle|path)[^>]*/>)+)</g>", _share, drawn)
    for _ in range(4):
        drawn = re.sub(r"<g>(?:<g></g>|<g/>)*</g>|<g/>", "", drawn)
    return drawn.replace("<svg ", f'<svg font-family="{FONT}" ', 1)


_DOT = r'<path ([^>]*?)d="M([\d.]+),0A\2,\2,0,1,1,-\2,0A\2,\2,0,1,1,\2,0"'
"""A circle as the renderer writes it."""


_IMPLIED = (
    ' opacity="1"', ' fill-opacity="1"', ' stroke-width="1"', ' x2="0"', ' y2="0"', ' text-anchor="start"',
    ' font-weight="normal"',
)  # fmt: skip
"""What SVG takes for granted."""


def _share(group: re.Match[str]) -> str:
    """The group with the colours and widths that all its marks have given once, on the group."""
    marks = re.findall(r"<[^>]*>", group[1])
    said = [set(re.findall(r' (?:fill|stroke|stroke-width)="[^"]*"', mark)) for mark in marks]
    common = sorted(set.intersection(*said))
    body = group[1]
    for attribute in common:
        body = body.replace(attribute, "")
    return f"<g{''.join(common)}>{body}</g>"


def _slim_tag(tag: str) -> str:
    tag = re.sub(
        r' (?:class|role|aria-roledescription|aria-label|aria-hidden|pointer-events|version|xmlns:xlink)="[^"]*"',
        "",
        tag,
    )
    for implied in (*_IMPLIED, f' font-family="{FONT}"', ' transform="translate(0,0)"'):
        tag = tag.replace(implied, "")
    return re.sub(r"(\d\.\d\d)\d+", r"\1", tag)


def describe(figure: Figure) -> str:
    """What a screen reader says of the figure: what it shows and its main number."""
    return f"{figure.caption} {figure.finding}".strip()


def point(document: Document, cell: Mapping[str, Any], metric: str, **more: Any) -> Row:
    """One mark: the metric of a cell with its interval, its condition as shown, `form` or `+L`."""
    ends = cell.get(f"{metric}_ci") or (None, None)
    return {
        "model": cell["model"],
        "treebank": cell["treebank"],
        "condition": cell["condition"],
        "n": cell["n"],
        "name": condition_label(cell["condition"]),
        "spelling": "+L" if cell["lemma"] else "form",
        "value": cell.get(metric),
        "low": ends[0],
        "high": ends[1],
        **more,
    }


def extremes(rows: Sequence[Row]) -> str:
    """The lowest and the highest value shown, with their places: the main numbers for a screen reader."""
    low, high = min(rows, key=lambda r: r["value"]), max(rows, key=lambda r: r["value"])
    said = [
        f"{number(row['value'])} ({row['model']}, {row['treebank']}, {row['name']}, {row['spelling']})"
        for row in (low, high)
    ]
    return f"Lowest {said[0]}, highest {said[1]}."


def mapping(domain: Sequence[Any], output: Sequence[Any]) -> Any:
    """A scale that sends each name of `domain` to its own output."""
    return alt.Scale(domain=list(domain), range=list(output))


def value_axis(field: str, title: str, domain: tuple[float, float]) -> Any:
    """The x encoding all panels share, over a fixed domain."""
    axis = alt.Axis(tickCount=4, format="~f", labelExpr=BARE)
    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(domain=list(domain), nice=False, zero=False), axis=axis)


def along_x(field: str) -> Any:
    """Another field on the shared x."""
    return alt.X(f"{field}:Q")


def interval_dots(base: Any, x: Any) -> list[Any]:
    """Interval rules and points: form a filled blue circle, +L a hollow vermillion triangle."""
    names = ["form", "+L"]
    hue, key = mapping(names, [BLUE, VERMILLION]), alt.Legend(title=None)
    stroke = alt.Stroke("spelling:N", sort=names, scale=hue, legend=key)
    span = base.mark_rule(strokeWidth=1).encode(along_x("low"), alt.X2("high"), stroke)
    dot = base.mark_point(size=34, strokeWidth=1.3, opacity=1, fillOpacity=1).encode(
        x,
        stroke,
        alt.Fill("spelling:N", sort=names, scale=mapping(names, [BLUE, PAPER]), legend=key),
        alt.Shape("spelling:N", sort=names, scale=mapping(names, ["circle", "triangle-up"]), legend=key),
    )
    return [span, dot]


def condition_axis(document: Document, *, skip_orig: bool = False) -> Any:
    """The y encoding: conditions in dose order, first on top."""
    names = [condition_label(name) for name in document.conditions if not (skip_orig and name == "orig")]
    return alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=False, ticks=False, domain=False))


def columns_across(document: Document) -> int:
    """Panels in a row: models of one treebank stay side by side."""
    models, treebanks = len(document.models), len(document.treebanks)
    return 4 if models in (2, 4) and treebanks > 1 else min(3, models * treebanks)


def panel_width(document: Document) -> int:
    """Panel width in pixels such that a row of panels fills the page's column."""
    return {4: 208, 3: 290, 2: 380}.get(columns_across(document), 480)


def panel_title(document: Document, model: str, treebank: str, n: int | None) -> str:
    """`de · model · n = 400`; the model only where there are several."""
    named = f"{model} · " if len(document.models) > 1 else ""
    return well_formed(f"{document.place(treebank)} · {named}n = {count(n)}")


def in_panels(
    document: Document,
    rows: list[Row],
    layers: Sequence[Any],
    axis: Any,
    *,
    offset: Any = None,
    spelt: bool = True,
    rule: Any = None,
) -> dict[str, Any]:
    """The layers in one panel per treebank and model, treebanks down and models across when there are two or three."""
    panels = []
    for treebank in document.treebanks:
        for model in document.models:
            mine = [row for row in rows if row["treebank"] == treebank and row["model"] == model]
            if mine:
                n = document.cell(model, treebank, "orig", False).get("n", mine[0]["n"])
                panels.append(panel_title(document, model, treebank, n))
                for row in mine:
                    row["panel"] = panels[-1]
    if offset is None and spelt and document.has_lemma():
        offset = alt.YOffset("spelling:N", sort=["form", "+L"])
    placed = [layer.encode(axis) if offset is None else layer.encode(axis, offset) for layer in layers]
    if rule is not None:
        placed.insert(0, rule)
    step = alt.Step(9 if offset is not None else 15)
    layered = alt.layer(*placed).properties(width=panel_width(document), height=step)
    return faceted(layered, rows, panels, columns_across(document))


def faceted(layered: Any, rows: Sequence[Row], panels: Sequence[str], columns: int) -> dict[str, Any]:
    """The Vega-Lite specification of the layered marks repeated over `panels`, in the report's style."""
    facet = alt.Facet(
        "panel:N", sort=list(panels), title=None, header=alt.Header(labelFontWeight=600, labelAnchor="start")
    )
    # The rows join after Altair is done: it copies and validates its data at every step.
    data = alt.InlineData(values=[], name="rows")
    chart = layered.properties(data=data).facet(facet=facet, columns=columns, spacing=18)
    chart = (
        chart.configure(font=FONT, aria=False, background="#ffffff", padding=4)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=LIGHT["ink"],
            titleColor=LIGHT["soft"],
            gridColor="#e4e4e4",
            domainColor=LIGHT["line"],
            tickColor=LIGHT["line"],
            labelFontSize=10,
            titleFontSize=10,
            titleFontWeight="normal",
            labelLimit=160,
        )
        .configure_header(labelColor=LIGHT["ink"], labelFontSize=11, labelLimit=300)
        .configure_legend(
            orient="top",
            direction="horizontal",
            labelFontSize=10,
            labelColor=LIGHT["ink"],
            symbolStrokeWidth=1.3,
            offset=16,
        )
    )
    spec: dict[str, Any] = chart.to_dict()
    spec["data"] = {"values": [_rounded({**row, "zero": 0}) for row in rows]}
    spec.pop("datasets", None)
    return spec


def _rounded(row: Row) -> Row:
    """The row with floats to six digits (finer than a pixel) and without lone surrogates."""
    return {
        key: round(value, 6) if isinstance(value, float) else well_formed(value) if isinstance(value, str) else value
        for key, value in row.items()
    }
