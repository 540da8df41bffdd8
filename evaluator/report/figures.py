"""The figures as Altair charts: conditions in dose order, intervals on their points, two hues and two shapes.

F3 and F4 are tables (`tables.sensitivity`, `tables.interaction`). A figure is drawn only where the report has its data.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median, stdev
from typing import Any

import altair as alt

from evaluator.report.curves import Curve
from evaluator.report.document import Document, condition_label, dose
from evaluator.report.formats import number
from evaluator.report.languages import overview, overview_of_change, scatters
from evaluator.report.palette import BLUE, GREEN, GREY, LIGHT, PURPLE, VERMILLION
from evaluator.report.panels import (
    BARE,
    PAPER,
    Figure,
    Row,
    along_x,
    columns_across,
    condition_axis,
    extremes,
    faceted,
    in_panels,
    interval_dots,
    mapping,
    panel_title,
    panel_width,
    point,
    value_axis,
)
from evaluator.report.tables import OVERLAP, is_many

GROUPS = {
    "upos": "part of speech",
    "deprel": "relation",
    "feats": "morphological feature",
    "masks": "number of masks",
    "length": "length in units",
}
"""What F6 is drawn by."""
MOST_GROUPS = 12
"""Groups of a panel; the rest is in the table."""
MOST_DOTS, QUANTILE_DOTS = 30, 20
"""Dots of a cell in F5, and how many quantiles stand for more."""


def figures(document: Document, curves: Sequence[Curve], *, sampled: bool = False) -> Iterator[Figure]:
    """F1, F2, F5, F6 by every property, F7 and F8, as far as the report has their data; `sampled`: F8 is of a sample.

    Beyond 12 treebanks F9 stands for all of them: nobody reads a hundred panels, and their numbers are in the tables.
    """
    if is_many(document):
        drawn = [overview(document), overview_of_change(document)]
    else:
        drawn = [accuracy(document), drop(document), draws(document), *(groups(document, by) for by in GROUPS)]
    yield from (figure for figure in drawn if figure is not None)
    yield from scatters(document)
    if not is_many(document) and (dosed := doses(document)) is not None:
        yield dosed
    if curves and not is_many(document):
        yield log_probability(document, curves, sampled=sampled)


def accuracy(document: Document) -> Figure | None:
    """F1: A@1 with its interval by condition, panels by language and model; top-5 as a light tick."""
    rows = [point(document, cell, "top1", top5=cell.get("top5")) for cell in document.cells.values()]
    rows = [row for row in rows if row["value"] is not None]
    if not rows:
        return None
    _start_each(document, rows)
    top = max(row["top5"] or row["high"] or row["value"] for row in rows)
    base = alt.Chart()
    x = value_axis("value", "share found", (0.0, min(1.0, top * 1.05)))
    tick = base.mark_tick(color=LIGHT["line"], thickness=1, height=9).encode(along_x("top5"))
    chart = in_panels(document, rows, [tick, *interval_dots(base, x)], condition_axis(document), rule=_start_line(base))
    caption = (
        f"A@1, the share of masked words found by the first answer, with {document.level()} Wilson interval "
        "(sentences as clusters); light tick: first five answers (A@5); thin line: original order."
    )
    return Figure("f1-accuracy", "Accuracy by condition", caption, extremes(rows), chart, "cells")


def _start_each(document: Document, rows: Sequence[Row]) -> None:
    """Nothing: notes in each row the accuracy of its model and treebank in the original order, forms, all words."""
    for row in rows:
        row["start"] = document.cell(row["model"], row["treebank"], "orig", False).get("top1")


def _start_line(base: alt.Chart) -> Any:
    """A thin line at the original order, one in each panel."""
    return base.mark_rule(color=LIGHT["line"], strokeWidth=0.8).encode(alt.X("mean(start):Q"))


def drop(document: Document) -> Figure | None:
    """F2: paired change Δ = A_c − A_orig with its interval and a zero line."""
    rows = []
    for cell in document.cells.values():
        if cell.get("D") is None or (cell["condition"] == "orig" and not cell["lemma"]):
            continue
        row = point(document, cell, "D")
        low, high = (None, None) if row["low"] is None else (-row["high"], -row["low"])
        rows.append({**row, "value": -row["value"], "low": low, "high": high})
    if not rows:
        return None
    base = alt.Chart()
    ends = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
    x = value_axis("value", "Δ share found, against original order", (min(0.0, *ends) * 1.03, max(0.0, *ends) * 1.03))
    zero = base.mark_rule(color=LIGHT["line"], strokeWidth=0.8).encode(alt.X("mean(zero):Q"))
    axis = condition_axis(document, skip_orig=not document.has_lemma())
    chart = in_panels(document, rows, interval_dots(base, x), axis, rule=zero)
    caption = (
        f"Δ = A_c − A_orig over the same items, {document.level()} interval from a paired bootstrap over sentences; "
        "claims rest on this figure."
    )
    return Figure("f2-drop", "Paired change in accuracy", caption, extremes(rows), chart, "cells-exact")


def draws(document: Document) -> Figure | None:
    """F5: A@1 of every seed and draw, and the cell's mean; None where there is one draw only."""
    rows = []
    for record in document.report.get("draws") or []:
        cell = document.cell(record["model"], record["treebank"], record["condition"], record["lemma"])
        if record["condition"] == "orig" or record["lemma"] or record.get("top1") is None or "condition" not in cell:
            continue
        rows.append({**point(document, cell, "top1"), "draw": record["top1"]})
    if len(rows) <= len({(r["model"], r["treebank"], r["condition"]) for r in rows}):
        return None
    spread = _spread(rows)
    rows, thinned = _thinned(rows)
    base = alt.Chart()
    x = value_axis("draw", "share found", (0.0, min(1.0, max(max(r["draw"], r["high"] or 0) for r in rows) * 1.05)))
    dots = base.mark_point(shape="circle", filled=False, color=BLUE, size=26, strokeWidth=1, opacity=1).encode(x)
    span = base.mark_rule(color=LIGHT["line"]).encode(along_x("low"), alt.X2("high"))
    mean = base.mark_tick(color=BLUE, thickness=2, height=11).encode(along_x("value"))
    layers = [span, dots, mean]
    chart = in_panels(document, rows, layers, condition_axis(document, skip_orig=True), spelt=False)
    dot = f"{QUANTILE_DOTS} quantiles of the seeds and draws" if thinned else "One hollow dot per seed and draw"
    caption = f"{dot}, bar: the cell, line: its {document.level()} interval over sentences. Forms. {spread}"
    return Figure("f5-draws", "Spread over draws", caption.strip(), "", chart, "draws")


def _thinned(rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """The rows, of a cell of more than `MOST_DOTS` draws only quantiles of them; and whether there is such a cell."""
    thin: list[Row] = []
    for cell in _by_cell(rows):
        if len(cell) <= MOST_DOTS:
            thin += cell
            continue
        values = sorted(row["draw"] for row in cell)
        places = ((2 * i + 1) * len(values) // (2 * QUANTILE_DOTS) for i in range(QUANTILE_DOTS))
        thin += [{**cell[0], "draw": values[place]} for place in places]
    return thin, len(thin) < len(rows)


def _by_cell(rows: Sequence[Row]) -> list[list[Row]]:
    cells: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["model"], row["treebank"], row["condition"]), []).append(row)
    return list(cells.values())


def _spread(rows: Sequence[Row]) -> str:
    """How much draws differ against how uncertain a cell is: medians over cells of draw SD and item SE."""
    cells = _by_cell(rows)
    deviations = [stdev(row["draw"] for row in cell) for cell in cells if len(cell) > 1]
    errors = [(cell[0]["high"] - cell[0]["low"]) / (2 * 1.96) for cell in cells if cell[0]["low"] is not None]
    if not deviations or not errors:
        return ""
    return f"Median over cells: SD of draws {number(median(deviations))}, SE over sentences {number(median(errors))}."


def groups(document: Document, by: str) -> Figure | None:
    """F6: A@1 by a property, original order (filled) against the strongest perturbation (hollow)."""
    strongest = document.strongest()
    found = (document.report.get("breakdowns") or {}).get(by) or []
    wanted = {"orig", strongest}
    rows = [
        {
            **point(document, record, "top1"),
            "group": str(record["group"]),
            "label": f"n={record['n']}" if record["n"] < 30 else "",
            "few": record["n"] < 30,
        }
        for record in found
        if record["condition"] in wanted and not record["lemma"] and record.get("top1") is not None
    ]
    if not rows:
        return None
    total: dict[str, int] = {}
    for row in rows:
        total[row["group"]] = total.get(row["group"], 0) + row["n"]
    order = sorted(total, key=lambda group: (-total[group], group))[:MOST_GROUPS]
    rows = [row for row in rows if row["group"] in order]
    _start_each(document, rows)
    if by in ("masks", "length"):
        order.sort(key=lambda group: (int(re.sub(r"\D.*", "", group) or 0), group))
    base = alt.Chart()
    top = max(max(row["high"] or row["value"], row["start"] or 0) for row in rows)
    x = value_axis("value", "share found", (0.0, min(1.0, top) * 1.14))
    colour = alt.condition("datum.few", alt.value(GREY), alt.value(BLUE))
    span = base.mark_rule(strokeWidth=1).encode(along_x("low"), alt.X2("high"), color=colour)
    is_orig = "datum.condition == 'orig'"
    dot: dict[str, Any] = {"size": 34, "opacity": 1}
    filled = base.transform_filter(is_orig).mark_point(filled=True, shape="circle", **dot).encode(x, color=colour)
    hollow = base.transform_filter(f"!({is_orig})").mark_point(filled=True, shape="diamond", strokeWidth=1.2, **dot)
    hollow = hollow.encode(x, stroke=colour, fill=alt.value(PAPER))
    few = base.mark_text(align="left", dx=4, fontSize=8, color=GREY).encode(along_x("high"), alt.Text("label:N"))
    axis = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(grid=False, ticks=False, domain=False))
    offset = alt.YOffset("name:N", sort=["orig", condition_label(strongest or "")])
    chart = in_panels(document, rows, [span, filled, hollow, few], axis, offset=offset, rule=_start_line(base))
    caption = (
        f"A@1 by {GROUPS[by]}, word forms, {document.level()} Wilson interval: filled circle in the original order, "
        f"hollow diamond under {condition_label(strongest or 'orig')}; thin line: all words in the original order. "
        f"{_sorting(by, len(total))}; groups under 30 items in grey with their n. Intervals are not adjusted for the "
        "number of groups."
    )
    caption += f" {OVERLAP}" if by == "feats" else ""
    return Figure(f"f6-{by}", f"By {GROUPS[by]}", caption, "", chart, f"by-{by}")


def _sorting(by: str, total: int) -> str:
    if by in ("masks", "length"):
        return "In order"
    return f"The {MOST_GROUPS} largest of {total} by n" if total > MOST_GROUPS else "Sorted by n"


def doses(document: Document) -> Figure | None:
    """F7: A@1 by how much of the order is left; None unless there are three bins of it somewhere."""
    found: Sequence[Mapping[str, Any]] = document.report.get("doses") or []
    sizes: dict[tuple[str, str], list[int]] = {}
    for record in found:
        sizes.setdefault((record["model"], record["treebank"]), []).append(record["n"])
    if max(map(len, sizes.values()), default=0) < 3:
        return None
    titles = {place: panel_title(document, *place, sum(n)) for place, n in sizes.items()}
    rows: list[Row] = [
        {
            "model": record["model"],
            "treebank": record["treebank"],
            "panel": titles[record["model"], record["treebank"]],
            "tau": record["tau"],
            "value": record["top1"],
            "low": record["top1_ci"][0],
            "high": record["top1_ci"][1],
        }
        for record in found
    ]
    _start_each(document, rows)
    top = max(max(row["high"], row["start"] or 0) for row in rows)
    base = alt.Chart()
    x = value_axis("tau", "Kendall's τ with the original order", (min(0.0, *(row["tau"] for row in rows)) - 0.05, 1.0))
    y = alt.Y(
        "value:Q",
        title="share found",
        scale=alt.Scale(domain=[0, min(1.0, top * 1.05)], nice=False),
        axis=alt.Axis(tickCount=3, format="~f", labelExpr=BARE),
    )
    start = base.mark_rule(color=LIGHT["line"], strokeWidth=0.8).encode(alt.Y("mean(start):Q"))
    span = base.mark_rule(color=BLUE, strokeWidth=1).encode(along_x("tau"), alt.Y("low:Q"), alt.Y2("high"))
    line = base.mark_line(color=BLUE, strokeWidth=1).encode(x, y)
    dot = base.mark_point(filled=True, shape="circle", color=BLUE, size=30, opacity=1).encode(along_x("tau"), y)
    layered = alt.layer(start, span, line, dot).properties(width=panel_width(document), height=110)
    places = [(model, treebank) for treebank in document.treebanks for model in document.models]
    panels = [titles[place] for place in places if place in titles]
    chart = faceted(layered, rows, panels, columns_across(document))
    caption = (
        "A@1 by how much of the order is left: items of all perturbations of order, in bins of about equal n by "
        f"Kendall's τ (1: as written, 0: no order left), {document.level()} Wilson interval; thin line: original "
        "order. Word forms; n counts items. Bins differ in which conditions they hold: this shows an association."
    )
    return Figure("f7-dose", "By order left", caption, "", chart, "by-tau")


def log_probability(document: Document, curves: Sequence[Curve], *, sampled: bool) -> Figure:
    """F8: distribution of the paired change in log p(gold), one curve per condition."""
    sizes: dict[tuple[str, str], int] = {}
    for curve in curves:
        sizes.setdefault((curve.model, curve.treebank), curve.n)
    rows: list[Row] = [
        {
            "panel": panel_title(document, curve.model, curve.treebank, sizes[curve.model, curve.treebank]),
            "condition": condition_label(curve.condition),
            "value": value,
            "share": share,
        }
        for curve in curves
        for value, share in zip(curve.values, curve.shares, strict=True)
    ]
    names = [condition_label(name) for name in sorted({curve.condition for curve in curves}, key=dose)]
    shades = [BLUE, VERMILLION, GREEN, PURPLE]
    colour = alt.Color(
        "condition:N", sort=names, title=None, scale=mapping(names, [shades[i % 4] for i in range(len(names))])
    )
    dashes = [[1, 0], [5, 2], [2, 2], [7, 2, 1, 2]]
    dash = alt.StrokeDash(
        "condition:N",
        sort=names,
        title=None,
        scale=mapping(names, [dashes[(i + i // 4) % 4] for i in range(len(names))]),
    )
    base = alt.Chart()
    low, high = min(row["value"] for row in rows), max(row["value"] for row in rows)
    x = value_axis("value", "Δ log p(gold), nats", (low, high))
    zero = base.mark_rule(color=LIGHT["line"], strokeWidth=0.8).encode(alt.X("mean(zero):Q"))
    y = alt.Y(
        "share:Q",
        title="share of items",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(tickCount=2, format="~f", labelExpr=BARE),
    )
    line = base.mark_line(strokeWidth=1.4).encode(x, y, colour, dash)
    places = [(model, treebank) for treebank in document.treebanks for model in document.models]
    panels = [panel_title(document, *place, sizes[place]) for place in places if place in sizes]
    layered = alt.layer(zero, line).properties(width=panel_width(document), height=110)
    chart = faceted(layered, rows, panels, columns_across(document))
    caption = (
        "Cumulative share of items by change in log p(gold) against the original order (1st to 99th percentile): "
        "what still moves when accuracy is at the floor. Word forms, first draw."
    )
    caption += " From a fixed hash sample of the base items." if sampled else ""
    return Figure("f8-logp", "Change in log-probability", caption, "", chart, "cells-exact")
