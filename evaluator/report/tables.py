"""The report's tables as values, before any format: their rows and columns, what a cell says and why it is empty.

`table_formats` writes each of them as HTML, Markdown, CSV and LaTeX, so that no two outputs can differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evaluator.report.document import Cell, Document, Interval, at_floor, condition_label
from evaluator.report.palette import diverging_class, sequential_class
from evaluator.report.words import reason

FEW = "under 5 hits, or under a tenth of the original's, leave too little to lose"
MANY_LANGUAGES = 12
"""Treebanks beyond which figures show a row per treebank instead of a panel."""
OVERLAP = "A word counts in the group of each of its features, and in none when it has none."
NOT_GIVEN = "not in the file of covariates"
Kind = Literal["number", "count", "p", "text"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One table cell: a value with its interval, or nothing with a note that says why."""

    value: float | str | None
    ci: Interval = None
    note: str = ""
    shade: str = ""
    """CSS class of its heat shade; `floor` hatches."""
    show: Mapping[str, str] | None = None
    """Filters of the examples that the value counts, as the page's script reads them."""
    bar: tuple[float, float, float] | None = None
    """Attainable range and value (low, high, at), drawn under the number."""


@dataclass(frozen=True, slots=True)
class Column:
    """One table column."""

    key: str
    label: str
    kind: Kind = "number"
    has_ci: bool = False
    define: str = ""
    """Anchor of its definition in the page."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first `stub` columns name the row."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    stub: int = 1


def headline(document: Document) -> Table:
    """Model × language: n, A@1 in every order and of +L, S and I of the strongest perturbation, all with intervals."""
    strongest = document.strongest()
    columns = [
        Column("model", "model", "text"),
        Column("language", "language", "text"),
        Column("n", "n", "count", define="n"),
    ]
    columns += [
        Column(f"top1_{name}", f"A@1 {condition_label(name)}", has_ci=True, define="A") for name in document.conditions
    ]
    if document.has_lemma():
        columns.append(Column("top1_orig_L", "A@1 +L", has_ci=True, define="A"))
    if strongest:
        label = condition_label(strongest)
        columns += [Column(f"S_{strongest}", f"S {label}", has_ci=True, define="S")]
        if document.has_lemma():
            columns += [Column(f"I_{strongest}", f"I {label}", has_ci=True, define="I")]
    rows = []
    for model, treebank in _places(document):
        orig = document.cell(model, treebank, "orig", False)
        row = [Entry(model), Entry(document.place(treebank)), Entry(orig.get("n"), note=_partial_note(orig))]
        row += [_metric(document.cell(model, treebank, name, False), "top1") for name in document.conditions]
        if document.has_lemma():
            row.append(_metric(document.cell(model, treebank, "orig", True), "top1"))
        if strongest:
            row.append(_metric(document.cell(model, treebank, strongest, False), "S", flag_floor=True))
            if document.has_lemma():
                row.append(_metric(document.interaction(model, treebank, strongest), "I", flag_floor=True))
        rows.append(tuple(row))
    caption = (
        f"Accuracy of the first answer (A@1), sensitivity S and interaction I by model and language, over n items "
        f"each; in brackets {document.level()} intervals: Wilson for A@1, paired bootstrap over sentences for S and I."
    )
    return Table("headline", caption, tuple(columns), tuple(rows), stub=2)


def is_many(document: Document) -> bool:
    """Whether there are too many treebanks for a panel each."""
    return len(document.treebanks) > MANY_LANGUAGES


def has_language_table(document: Document) -> bool:
    """Whether the table of all treebanks is shown: there are many, or a user's covariates belong beside them."""
    return is_many(document) or bool(document.report.get("covariates"))


def in_order(document: Document) -> list[str]:
    """The treebanks by the user's grouping where there is one, then by A(orig) averaged over models, best first."""
    groups: Mapping[str, str] = ((document.report.get("covariates") or {}).get("groups") or {}).get("values") or {}

    def key(treebank: str) -> tuple[str, float, str]:
        found = [document.cell(model, treebank, "orig", False).get("top1") for model in document.models]
        known = [value for value in found if value is not None]
        return groups.get(treebank, "\uffff"), -sum(known) / len(known) if known else 1.0, treebank

    return sorted(document.treebanks, key=key)


def languages(document: Document) -> Table:
    """F9's numbers: a row per treebank in `in_order`, A@1 of the original order and Δ of the strongest, by model."""
    found: Mapping[str, Any] = document.report.get("covariates") or {}
    groups, numbers = found.get("groups"), found.get("numbers") or []
    strongest = document.strongest()
    label = condition_label(strongest or "orig")
    columns = [Column("language", "language", "text")]
    columns += [Column("group", str(groups["name"]), "text")] if groups else []
    columns += [Column(f"covariate_{i}", str(one["name"])) for i, one in enumerate(numbers, start=1)]
    columns.append(Column("n", "n", "count", define="n"))
    for i, model in enumerate(document.models, start=1):
        columns.append(Column(f"top1_orig_{i}", f"{model}: A@1 orig", has_ci=True, define="A"))
        columns += [Column(f"delta_{i}", f"{model}: Δ {label}", has_ci=True, define="delta")] if strongest else []
    rows = []
    for treebank in in_order(document):
        row = [Entry(document.place(treebank))]
        row += [_given(one["values"], treebank) for one in [*([groups] if groups else []), *numbers]]
        row.append(Entry(document.cell(document.models[0], treebank, "orig", False).get("n")))
        for model in document.models:
            row.append(_metric(document.cell(model, treebank, "orig", False), "top1"))
            row += [_change(document.cell(model, treebank, strongest, False))] if strongest else []
        rows.append(tuple(row))
    by = f"{groups['name']}, then by " if groups else ""
    caption = f"All treebanks, sorted by {by}A(orig) averaged over models."
    return Table("languages", caption, tuple(columns), tuple(rows), stub=1)


def _given(values: Mapping[str, Any], treebank: str) -> Entry:
    return Entry(values.get(treebank), note="" if treebank in values else NOT_GIVEN)


def paper(document: Document, model: str, slug: str) -> Table:
    """One model in the layout papers print: conditions across; language, form or +L, and top-1 or top-5 down."""
    columns = [
        Column("language", "language", "text"),
        Column("spelling", "spelling", "text"),
        Column("metric", "answers", "text"),
    ]
    columns += [Column(name, condition_label(name), has_ci=True, define="A") for name in document.conditions]
    rows = []
    for treebank in document.treebanks:
        for lemma in (False, True) if document.has_lemma() else (False,):
            cells = [document.cell(model, treebank, name, lemma) for name in document.conditions]
            for metric, label in (("top1", "top-1"), ("top5", "top-5")):
                head = (Entry(document.place(treebank)), Entry("+L" if lemma else "form"), Entry(label))
                rows.append(head + tuple(_metric(cell, metric) for cell in cells))
    caption = f"{model}: share of masked words found, first answer (top-1) and first five (top-5)."
    return Table(f"paper-{slug}", caption, tuple(columns), tuple(rows), stub=3)


def sensitivity(document: Document) -> Table:
    """F3: S by model × language, conditions across, +L last; shaded on a scale fixed at 0–1."""
    asked = [(name, False) for name in document.conditions if name != "orig"]
    asked += [("orig", True)] if document.has_lemma() else []
    columns = [Column("model", "model", "text"), Column("language", "language", "text")]
    columns += [Column(f"S_{_key(*pair)}", condition_label(*pair), has_ci=True, define="S") for pair in asked]
    rows = []
    for model, treebank in _places(document):
        entries = [_shaded_s(document.cell(model, treebank, name, lemma)) for name, lemma in asked]
        rows.append((Entry(model), Entry(document.place(treebank)), *entries))
    caption = "S: share of the original accuracy that is lost. Shade: 0 to 1, the same in every report."
    return Table("sensitivity", caption, tuple(columns), tuple(rows), stub=2)


def interaction(document: Document) -> Table:
    """F4: I by model × language with its attainable range, and I in log-probability beside it."""
    perturbed = [name for name in document.conditions if name != "orig"]
    columns = [Column("model", "model", "text"), Column("language", "language", "text")]
    for name in perturbed:
        columns.append(Column(f"I_{name}", f"I {condition_label(name)}", has_ci=True, define="I"))
        columns.append(Column(f"I_logp_{name}", "in log p", has_ci=True, define="Ilog"))
    rows = []
    for model, treebank in _places(document):
        row = [Entry(model), Entry(document.place(treebank))]
        for name in perturbed:
            cell = document.interaction(model, treebank, name)
            row += [_shaded_i(cell), _metric(cell, "I_logp")]
        rows.append(tuple(row))
    caption = (
        "I: overlap of the two cues, in accuracy (above) and in nats of log p(gold). The bar is the range I could take "
        "given its margins, from −.5 to .5; shaded only where the interval excludes 0."
    )
    return Table("interaction", caption, tuple(columns), tuple(rows), stub=2)


def all_cells(document: Document) -> Table:
    """Every cell of the report, one row each: the table the LaTeX and Markdown readers can check against."""
    columns = [
        Column("model", "model", "text"),
        Column("language", "language", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count", define="n"),
    ]
    metrics = [
        ("top1", "A@1", "A"),
        ("top5", "A@5", "A"),
        ("S", "S", "S"),
        ("I", "I", "I"),
        ("I_logp", "I log p", "Ilog"),
    ]
    columns += [Column(key, label, has_ci=True, define=define) for key, label, define in metrics]
    rows = []
    for (model, treebank, condition, lemma), cell in document.cells.items():
        head = (
            Entry(model),
            Entry(document.place(treebank)),
            Entry(condition_label(condition, lemma)),
            Entry(cell.get("n")),
        )
        rows.append(head + tuple(_metric(cell, key, expected=_applies(key, condition, lemma)) for key, _, _ in metrics))
    return Table("cells", "Every cell of the report.", tuple(columns), tuple(rows), stub=3)


def breakdown(document: Document, by: str, conditions: Sequence[str]) -> Table:
    """F6's numbers: A@1 in groups of `by`, form spelling, the given conditions across."""
    found: Sequence[Mapping[str, Any]] = (document.report.get("breakdowns") or {}).get(by) or []
    index = {(r["model"], r["treebank"], str(r["group"]), r["condition"]): r for r in found if not r["lemma"]}
    columns = [
        Column("model", "model", "text"),
        Column("language", "language", "text"),
        Column("group", by, "text"),
        Column("n", "n", "count", define="n"),
    ]
    columns += [Column(f"top1_{name}", f"A@1 {condition_label(name)}", has_ci=True, define="A") for name in conditions]
    rows = []
    for model, treebank, group in dict.fromkeys(key[:3] for key in index):
        cells = [index.get((model, treebank, group, name)) for name in conditions]
        n = next((cell["n"] for cell in cells if cell), None)
        entries = [Entry(cell["top1"], cell.get("top1_ci")) if cell else Entry(None, note="no items") for cell in cells]
        rows.append((n or 0, (Entry(model), Entry(document.place(treebank)), Entry(group), Entry(n), *entries)))
    order = {place: i for i, place in enumerate(_places(document))}
    labels = {(model, document.place(treebank)): i for (model, treebank), i in order.items()}
    rows.sort(key=lambda row: (labels.get((str(row[1][0].value), str(row[1][1].value)), 0), -row[0]))
    caption = f"A@1 by {by}, word forms." + (f" {OVERLAP}" if by == "feats" else "")
    return Table(f"by-{by}", caption, tuple(columns), tuple(row for _, row in rows), stub=3)


def doses(document: Document) -> Table:
    """F7's numbers: A@1 in bins of Kendall's tau, forms, all perturbations of order."""
    found: Sequence[Mapping[str, Any]] = document.report.get("doses") or []
    columns = (
        Column("model", "model", "text"),
        Column("language", "language", "text"),
        Column("tau", "mean τ"),
        Column("tau_min", "from"),
        Column("tau_max", "to"),
        Column("n", "items", "count"),
        Column("top1", "A@1", has_ci=True, define="A"),
    )
    order = {place: i for i, place in enumerate(_places(document))}
    records = sorted(found, key=lambda r: (order.get((r["model"], r["treebank"]), 0), r["tau"]))
    rows = tuple(
        (
            Entry(record["model"]),
            Entry(document.place(record["treebank"])),
            *(Entry(record[key]) for key in ("tau", "tau_min", "tau_max", "n")),
            Entry(record["top1"], record["top1_ci"]),
        )
        for record in records
    )
    return Table("by-tau", "A@1 by Kendall's τ with the original order, word forms.", columns, rows, stub=3)


def _places(document: Document) -> list[tuple[str, str]]:
    return [(model, treebank) for model in document.models for treebank in document.treebanks]


def _key(condition: str, lemma: bool) -> str:
    return f"{condition}_L" if lemma else condition


def _applies(key: str, condition: str, lemma: bool) -> bool:
    """Whether a null in this cell needs a reason: S and I of `orig`, and I of +L cells, do not exist by definition."""
    if key == "S":
        return condition != "orig" or lemma
    return not key.startswith("I") or (condition != "orig" and not lemma)


def _metric(cell: Cell, key: str, *, flag_floor: bool = False, expected: bool = True) -> Entry:
    value: Any = cell.get(key)
    ends: Any = cell.get(f"{key}_ci")
    if value is None:
        return Entry(None, note=reason(cell.get("reason"), "not computed") if expected else "")
    note = f"floor: {reason(cell.get('reason'), FEW)}" if flag_floor and at_floor(cell, key) else ""
    return Entry(value, ends, note)


def _partial_note(cell: Cell) -> str:
    sentences, n = cell.get("n_sentences"), cell.get("n")
    return "" if sentences is None or sentences == n else f"n items from {sentences:,} sentences"


def _shaded_s(cell: Cell) -> Entry:
    plain = _metric(cell, "S", flag_floor=True)
    if at_floor(cell, "S") or not isinstance(plain.value, float | int):
        return Entry(plain.value, plain.ci, plain.note, shade="floor")
    return Entry(plain.value, plain.ci, plain.note, shade=sequential_class(plain.value))


def _shaded_i(cell: Cell) -> Entry:
    plain = _metric(cell, "I", flag_floor=True)
    ends = cell.get("I_range")
    if not isinstance(plain.value, float | int):
        return Entry(None, note=plain.note, shade="floor")
    bar = (ends[0], ends[1], float(plain.value)) if ends else None
    certain = plain.ci is not None and (plain.ci[0] > 0 or plain.ci[1] < 0)
    shade = "floor" if at_floor(cell, "I") else diverging_class(plain.value) if certain else ""
    return Entry(plain.value, plain.ci, plain.note, shade=shade, bar=bar)


def changes(document: Document) -> Table:
    """F2's numbers: Δ = A_c − A_orig by model × language, word forms then +L."""
    asked = [(name, lemma) for lemma in (False, True) for name in document.conditions if lemma or name != "orig"]
    asked = [pair for pair in asked if not pair[1] or document.has_lemma()]
    columns = [Column("model", "model", "text"), Column("language", "language", "text")]
    columns += [
        Column(f"delta_{_key(*pair)}", f"Δ {condition_label(*pair)}", has_ci=True, define="delta") for pair in asked
    ]
    rows = []
    for model, treebank in _places(document):
        entries = [_change(document.cell(model, treebank, *pair)) for pair in asked]
        rows.append((Entry(model), Entry(document.place(treebank)), *entries))
    return Table("changes", "Paired change in A@1 against the original order.", tuple(columns), tuple(rows), stub=2)


def _change(cell: Cell) -> Entry:
    lost, ends = cell.get("D"), cell.get("D_ci")
    if lost is None:
        return Entry(None, note=reason(cell.get("reason"), "not computed"))
    return Entry(-lost, None if ends is None else (-ends[1], -ends[0]))
