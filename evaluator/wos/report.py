"""The results as tables, and those as page, Markdown, CSV and LaTeX, with formatter and page of the other reports."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.report.blocks import folded, section
from evaluator.report.formats import count, interval, markdown, number
from evaluator.report.markup import Html, el
from evaluator.report.table_formats import records_csv, table_html, table_markdown
from evaluator.report.tables import Column, Entry, Table
from evaluator.wos.measures import REASONS
from evaluator.wos.page import Report, Row, report_files
from evaluator.wos.published import MARKS

LABELS = {
    "ngram1": "single words",
    "ngram2": "blocks of two",
    "ngram3": "blocks of three",
    "noun_swap": "two nouns swapped",
}
DEFINITIONS = (
    ("dev-r", "dev-r",
     "Examples whose reordered input is one sentence of more than three words, that every block order can change, that "
     "the classifier gets right unshuffled, and as many of every class as its rarest one has, chosen by lot. Accuracy "
     "on it is 1 by construction. Pham et al. 2021, section 2.3.1."),
    ("orders", "orders",
     "Consecutive blocks of one, two or three words in random order, the last block may be shorter, the punctuation "
     "that ends the text stays; drawn again until the text differs. Two nouns swapped: proper nouns first."),
    ("wos", "WOS",
     "(1 − p) / (1 − b): p accuracy after shuffling, on dev-r; b chance, one over the number of classes. 0: order does "
     "not matter; 1: what was right is at chance; above 1: below chance. Pham et al. 2021, equation 1."),
    ("loss", "loss in rank correlation",
     "For numbers in place of classes: (ρ₀ − ρ) / ρ₀, Spearman's ρ with the gold numbers before and after, chance 0; "
     "all usable examples, for none is right or wrong."),
    ("full", "all usable examples",
     "Accuracy before and after over every example that can be shuffled, whether right or wrong unshuffled, classes as "
     "they come; majority: the share of the largest class."),
    ("kept", "kept",
     "Share of correct predictions that stay as they were, by class; all correctly classified examples, not balanced."),
    ("both", "both inputs",
     "The other input of the pair reordered too, by an order of its own; only pairs whose both inputs can be."),
    ("draws", "draws", "Lowest and highest figure of one draw alone: one order of every example."),
    ("n", "n",
     "Examples. Intervals are Wilson's with Kish's effective size: an example's draws are one cluster, and each "
     "example has draws of its own, so that they cover both; on dev-r the classes, equally many by design, are "
     "strata. For rank correlations: bootstrap over examples."),
)  # fmt: skip


def tables_of(document: Row) -> list[Table]:
    """Every table of the report."""
    regression = any(r["measure"] == "spearman" for r in document["rows"])
    tables = [_sensitivity(document["rows"]), _steps(document["steps"])]
    if not regression:
        tables[1:1] = [_full(document["rows"]), _kept(document["kept"])]
    return [*tables, *_published(document)]


def label_of(row: Row) -> str:
    """An order in words."""
    return LABELS[row["condition"]] + (", both inputs" if row.get("both") else "")


def _sensitivity(rows: Sequence[Row]) -> Table:
    is_rank = any(r["measure"] == "spearman" for r in rows)
    columns = (
        Column("model", "model", "text"),
        Column("order", "order", "text", define="orders"),
        Column("n", "n", "count", define="n"),
        Column("chance", "chance"),
        Column("original", "ρ before" if is_rank else "before"),
        Column("shuffled", "ρ after" if is_rank else "after", has_ci=True),
        Column("wos", "loss" if is_rank else "WOS", has_ci=True, define="loss" if is_rank else "wos"),
        Column("draws", "draws", "text", define="draws"),
    )
    body = []
    for row in rows:
        note = REASONS[row["reason"]] if row["reason"] else ""
        draws = row["per_draw"]
        body.append(
            (
                Entry(row["model"]),
                Entry(label_of(row)),
                Entry(row["n"]),
                Entry(row["chance"], note="" if row["chance"] is not None else note),
                Entry(row["original"], note="" if row["original"] is not None else note),
                Entry(row["shuffled"], ci=row["shuffled_ci"], note="" if row["shuffled"] is not None else note),
                Entry(row["wos"], ci=row["wos_ci"], note=note),
                Entry(f"{number(min(draws))} to {number(max(draws))}" if draws else None, note="" if draws else note),
            )
        )
    said = "Rank correlation with the gold numbers" if is_rank else "Accuracy on dev-r"
    caption = f"{said} before and after reordering, and word-order sensitivity."
    return Table("sensitivity", caption, columns, tuple(body), stub=2)


def _full(rows: Sequence[Row]) -> Table:
    columns = (
        Column("model", "model", "text"),
        Column("order", "order", "text", define="orders"),
        Column("full_n", "n", "count", define="full"),
        Column("full_majority", "majority"),
        Column("full_original", "before"),
        Column("full_shuffled", "after", has_ci=True),
    )
    body = []
    for r in rows:
        note = "" if r["full_n"] else REASONS["no_examples"]
        body.append(
            (Entry(r["model"]), Entry(label_of(r)), Entry(r["full_n"]), Entry(r["full_majority"], note=note),
             Entry(r["full_original"], note=note), Entry(r["full_shuffled"], ci=r["full_ci"], note=note))
        )  # fmt: skip
    return Table(
        "unfiltered", "Accuracy before and after reordering, all usable examples.", columns, tuple(body), stub=2
    )


def _kept(rows: Sequence[Row]) -> Table:
    columns = (
        Column("model", "model", "text"),
        Column("order", "order", "text", define="orders"),
        Column("label", "class", "text"),
        Column("n", "n", "count", define="n"),
        Column("kept", "kept", has_ci=True, define="kept"),
    )
    body = [
        (Entry(r["model"]), Entry(LABELS[r["condition"]]), Entry(r["label"]), Entry(r["n"]),
         Entry(r["kept"], ci=r["kept_ci"], note="" if r["n"] else REASONS["no_examples"]))
        for r in rows
    ]  # fmt: skip
    return Table("kept", "Share of correct predictions kept, by class.", columns, tuple(body), stub=3)


def _steps(rows: Sequence[Row]) -> Table:
    labels = list(dict.fromkeys(label for r in rows for label in r["by_label"]))
    columns = [
        Column("model", "model", "text"),
        Column("step", "step", "text"),
        Column("n", "n", "count", define="dev-r"),
    ]
    columns += [Column(f"label_{i}", label, "count") for i, label in enumerate(labels)]
    body = [
        (Entry(r["model"]), Entry(r["step"]), Entry(r["n"]),
         *(Entry(r["by_label"].get(label), note="" if label in r["by_label"] else "another model's class")
           for label in labels))
        for r in rows
    ]  # fmt: skip
    return Table("steps", "Examples left after every step of selection.", tuple(columns), tuple(body), stub=2)


def _published(document: Row) -> list[Table]:
    """The published numbers of the task, one row each, in percent, with their marks."""
    published = document["published"]
    if not published or not published["tables"]:
        return []
    columns = (
        Column("table", "published", "text"),
        Column("figure", "figure", "text"),
        Column("value", "value", "text"),
        Column("mark", "known", "text"),
    )
    body = []
    for table in published["tables"]:
        for column, value in table["values"].items():
            mark = table["wos_mark"] if column.startswith("wos") else table["mark"]
            note = table.get("note", "")
            body.append((Entry(table["title"]), Entry(column), Entry(f"{value:g}", note=note), Entry(MARKS[mark])))
    caption = f"Published for {published['task']}, percent except WOS and counts. {published['source']}."
    return [Table("published", caption, columns, tuple(body), stub=2)]


def findings(document: Row) -> list[str]:
    """One sentence per model: WOS of every order, and what is left of the accuracy."""
    said = []
    for model in document["models"]:
        own = [r for r in document["rows"] if r["model"] == model and not r["both"]]
        parts = [f"{LABELS[r['condition']]} {number(r['wos'])} {interval(r['wos_ci'])}".strip() for r in own]
        first = own[0]
        if all(r["wos"] is None for r in own):
            said.append(f"{model}: no word-order sensitivity can be given: {REASONS[first['reason']]}.")
            continue
        if first["measure"] == "spearman":
            said.append(f"{model}: share of its rank correlation lost: {'; '.join(parts)} (n = {count(first['n'])}).")
        else:
            said.append(
                f"{model}: word-order sensitivity on {count(first['n'])} examples it gets right: {'; '.join(parts)}. "
                f"0 means order does not matter, 1 that shuffling leaves chance ({number(first['chance'])})."
            )
    return said


def render(document: Row) -> Iterator[tuple[str, bytes]]:
    """Every file of the report as (relative name, bytes): report.json, .html, .md, tables/*.csv and *.tex."""
    tables = tables_of(document)
    title = f"Classifiers under shuffling: {document['task']}"
    report = Report("classifiers under shuffling", title, findings(document), tables, DEFINITIONS)
    facts = "\n".join(f"- {markdown(k)}: {markdown(v)}" for k, v in _facts(document))
    parts = [facts, "## Results", *(table_markdown(t) for t in tables)]
    command = el("p", "Reproduce ", el("code", document["manifest"]["command"], class_="command"))
    yield from report_files(document, report, _sections(document, tables), parts, command)
    for name in ("rows", "kept", "steps"):
        if document[name]:
            yield f"tables/{name}-exact.csv", records_csv([_plain(row) for row in document[name]])


def _plain(row: Row) -> dict[str, Any]:
    """A row with its lists and tables as one column each."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}_{name}": inner for name, inner in value.items()}
        elif isinstance(value, list) and not key.endswith("_ci"):
            flat[key] = " ".join(f"{v:.6g}" for v in value)
        else:
            flat[key] = value
    return flat


def _sections(document: Row, tables: Sequence[Table]) -> list[Html]:
    folding = ("steps", "published")
    first, rest = ([t for t in tables if (t.name in folding) == late] for late in (False, True))
    facts = el("dl", (el("div", el("dt", k), el("dd", v)) for k, v in _facts(document)), class_="facts")
    return [
        section("health", "Health", facts),
        section("results", "Results", [table_html(t) for t in first]),
        section("beside", "Beside it", [folded(t.caption, table_html(t, heading=False)) for t in rest]),
    ]


def _facts(document: Row) -> list[tuple[str, str]]:
    counts = document["counts"]
    excluded = ", ".join(f"{reason} {n:,}" for reason, n in counts["excluded"].items()) or "none"
    skipped = ", ".join(f"{reason} {n:,}" for reason, n in counts["skipped"].items()) or "none"
    return [
        ("examples", count(counts["examples"])),
        ("take no part in shuffling", excluded),
        ("input that is reordered", document["changed"]),
        ("nouns are", document["nouns"]),
        ("inputs, all models", count(counts["outcomes"])),
        ("skipped or failed", skipped),
        *((f"{model}, distinct inputs", count(n)) for model, n in counts["unique_rows"].items()),
    ]
