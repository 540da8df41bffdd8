"""F9: many treebanks on one page, a row each instead of a panel, and accuracy against what a user knows of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from evaluator.report.document import Document, condition_label
from evaluator.report.formats import number, well_formed
from evaluator.report.palette import BLUE, LIGHT
from evaluator.report.panels import (
    BARE,
    PAPER,
    Figure,
    Row,
    along_x,
    extremes,
    faceted,
    point,
    value_axis,
)
from evaluator.report.tables import in_order

ROW_STEP = 13
"""Pixels of a treebank's row."""
LANE_STEP = 8
"""Pixels of each of its lanes, where it has two."""


def overview(document: Document) -> Figure | None:
    """A@1 in the original order and under the strongest perturbation: a row per treebank, a panel per model."""
    shown = [name for name in ("orig", document.strongest()) if name in document.conditions]
    rows = [
        point(document, document.cell(model, treebank, str(name), False), "top1", place=_place(document, treebank))
        for model in document.models
        for treebank in document.treebanks
        for name in shown
        if document.cell(model, treebank, str(name), False).get("top1") is not None
    ]
    if not rows:
        return None
    base = alt.Chart()
    top = max(row["high"] or row["value"] for row in rows)
    x = value_axis("value", "share found", (0.0, min(1.0, top * 1.05)))
    span = base.mark_rule(strokeWidth=1, color=BLUE).encode(along_x("low"), alt.X2("high"))
    is_orig = "datum.condition == 'orig'"
    filled = base.transform_filter(is_orig).mark_point(filled=True, shape="circle", size=34, opacity=1, color=BLUE)
    hollow = base.transform_filter(f"!({is_orig})").mark_point(shape="diamond", size=34, opacity=1, fillOpacity=1)
    layers = [span, filled.encode(x), hollow.encode(x, stroke=alt.value(BLUE), fill=alt.value(PAPER))]
    lanes = alt.YOffset("name:N", sort=[condition_label(str(name)) for name in shown])
    chart = _by_model(document, rows, layers, lanes=lanes)
    caption = (
        f"A@1 with {document.level()} Wilson interval, {_sorting(document)}: filled circle in the original order, "
        f"hollow diamond under {condition_label(document.strongest() or 'orig')}. Word forms."
    )
    return Figure("f9-languages", "Accuracy by language", caption, extremes(rows), chart, "languages")


def overview_of_change(document: Document) -> Figure | None:
    """The paired change under the strongest perturbation: a row per treebank, a panel per model."""
    strongest = document.strongest()
    if strongest is None:
        return None
    rows = []
    for model in document.models:
        for treebank in document.treebanks:
            cell = document.cell(model, treebank, strongest, False)
            if cell.get("D") is None:
                continue
            row = point(document, cell, "D", place=_place(document, treebank))
            low, high = (None, None) if row["low"] is None else (-row["high"], -row["low"])
            rows.append({**row, "value": -row["value"], "low": low, "high": high})
    if not rows:
        return None
    ends = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
    base = alt.Chart()
    label = condition_label(strongest)
    x = value_axis("value", f"Δ share found, {label} − orig", (min(0.0, *ends) * 1.03, max(0.0, *ends) * 1.03))
    zero = base.mark_rule(color=LIGHT["line"], strokeWidth=0.8).encode(alt.X("mean(zero):Q"))
    span = base.mark_rule(strokeWidth=1, color=BLUE).encode(along_x("low"), alt.X2("high"))
    dot = base.mark_point(filled=True, shape="circle", size=34, opacity=1, color=BLUE).encode(x)
    chart = _by_model(document, rows, [span, dot], rule=zero)
    caption = (
        f"Δ = A({label}) − A(orig) over the same items, {document.level()} interval from a paired bootstrap over "
        f"sentences, {_sorting(document)}; claims rest on this figure."
    )
    return Figure("f9-drop", "Paired change by language", caption, extremes(rows), chart, "languages")


def scatters(document: Document) -> Iterator[Figure]:
    """A@1 against each covariate of the report, original order (filled) and strongest perturbation (hollow)."""
    for index, found in enumerate(covariates(document), start=1):
        values: Mapping[str, float] = found["values"]
        conditions = [name for name in ("orig", document.strongest()) if name in document.conditions]
        rows = [
            {**point(document, cell, "top1", x=values[treebank], label=document.languages[treebank]), "panel": model}
            for model in document.models
            for treebank in document.treebanks
            for name in conditions
            if (cell := document.cell(model, treebank, str(name), False)).get("top1") is not None and treebank in values
        ]
        if rows:
            yield _scatter(document, found, rows, index)


def covariates(document: Document) -> Sequence[Mapping[str, Any]]:
    """The covariates in the report: `name`, `values` by treebank, and `correlations` with A@1."""
    return (document.report.get("covariates") or {}).get("numbers") or []


def _scatter(document: Document, found: Mapping[str, Any], rows: list[Row], index: int) -> Figure:
    base = alt.Chart()
    name = well_formed(str(found["name"]))
    xs = [row["x"] for row in rows]
    room = (max(xs) - min(xs)) * 0.04 or 1.0
    x = alt.X(
        "x:Q",
        title=name,
        scale=alt.Scale(domain=[min(xs) - room, max(xs) + room], nice=False, zero=False),
        axis=alt.Axis(tickCount=5, grid=False),
    )
    top = min(1.0, max(row["high"] or row["value"] for row in rows) * 1.05)
    y = alt.Y(
        "value:Q",
        title="share found",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=4, format="~f", labelExpr=BARE),
    )
    span = base.mark_rule(strokeWidth=0.7, color=LIGHT["line"]).encode(x, alt.Y("low:Q"), alt.Y2("high"))
    is_orig = "datum.condition == 'orig'"
    filled = base.transform_filter(is_orig).mark_point(filled=True, shape="circle", size=34, opacity=1, color=BLUE)
    hollow = base.transform_filter(f"!({is_orig})").mark_point(shape="diamond", size=34, opacity=1, fillOpacity=1)
    named = base.transform_filter(is_orig).mark_text(align="left", dx=5, dy=-4, fontSize=8, color=LIGHT["soft"])
    layers = [
        span,
        hollow.encode(x, y, stroke=alt.value(BLUE), fill=alt.value(PAPER)),
        filled.encode(x, y),
        named.encode(x, y, alt.Text("label:N")),
    ]
    across = min(3, len(document.models))
    layered = alt.layer(*layers).properties(width={1: 520, 2: 420}.get(across, 300), height=240)
    chart = faceted(layered, rows, list(document.models), across)
    caption = (
        f"A@1 against {name}, one point per treebank with {document.level()} Wilson interval: filled circle in the "
        f"original order, hollow diamond under {condition_label(document.strongest() or 'orig')}. "
        f"{_correlations(found, document.strongest())}"
    )
    return Figure(f"f9-covariate-{index}", f"Accuracy against {name}", caption, "", chart, "languages")


def _correlations(found: Mapping[str, Any], strongest: str | None) -> str:
    said = [
        f"{row['model']}, {condition_label(row['condition'])} {number(row['rho'])} (n = {row['n']})"
        for row in found["correlations"]
        if row["rho"] is not None and row["condition"] in ("orig", strongest)
    ]
    return f"Spearman's ρ over treebanks, without interval: {'; '.join(said)}." if said else ""


def _by_model(
    document: Document, rows: list[Row], layers: Sequence[Any], *, rule: Any = None, lanes: Any = None
) -> dict[str, Any]:
    for row in rows:
        row["panel"] = well_formed(row["model"])
    order = [_place(document, treebank) for treebank in in_order(document)]
    names = alt.Axis(grid=False, ticks=False, domain=False, labelLimit=240)
    axis = alt.Y("place:N", sort=order, title=None, axis=names)
    placed = [layer.encode(axis) if lanes is None else layer.encode(axis, lanes) for layer in layers]
    across = min(3, len(document.models))
    layered = alt.layer(*([rule] if rule is not None else []), *placed).properties(
        width={1: 560, 2: 400}.get(across, 270), height=alt.Step(ROW_STEP if lanes is None else LANE_STEP)
    )
    return faceted(layered, rows, [well_formed(model) for model in document.models], across)


def _place(document: Document, treebank: str) -> str:
    """The treebank's label, after its group where the user gave one."""
    groups = (document.report.get("covariates") or {}).get("groups")
    group = groups["values"].get(treebank) if groups else None
    return well_formed(f"{group} · {document.place(treebank)}" if group else document.place(treebank))


def _sorting(document: Document) -> str:
    groups = (document.report.get("covariates") or {}).get("groups")
    return f"sorted by {groups['name']}, then by A(orig)" if groups else "sorted by A(orig), averaged over models"
