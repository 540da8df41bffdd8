"""The page's blocks, from its head to its manifest, each a `<section>` with a heading and an anchor."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evaluator.report import tables, words
from evaluator.report.cards import card
from evaluator.report.citations import citations
from evaluator.report.comparisons import comparisons
from evaluator.report.document import Document
from evaluator.report.examples import AT_LEAST, MAX_BYTES, OUTCOMES_IN_WORDS, Sample
from evaluator.report.formats import count, json_for_script, number
from evaluator.report.joined import Joined, joined_body
from evaluator.report.markup import Child, Html, el, join
from evaluator.report.panels import Figure
from evaluator.report.records import packed, within
from evaluator.report.settings import SETTINGS_FILE
from evaluator.report.table_formats import table_html

EXAMPLES_IN_PAGE = AT_LEAST
"""Examples readable without the script."""
FIRST = ("f1", "f2", "f9")
"""Figures before the shaded tables."""
MANY_NOTE = (
    "the figures show a row for each instead of a panel; what they leave out (all conditions, draws, breakdowns) is in "
    "the tables, as CSV too."
)
LONG_TABLE = 40
"""Rows beyond which a table starts folded."""


def section(anchor: str, title: str, *children: Child) -> Html:
    """A block with its heading, reachable as `#anchor`."""
    return el("section", el("h2", title), *children, id=anchor)


def head(document: Document, files: Sequence[str]) -> Html:
    """Block 0: title, run, one sentence per model, badge, sibling files, the command to reproduce."""
    complete, said = words.badge(document)
    glyph = "✓" if complete else "✗"
    command = words.redacted((document.report.get("manifest") or {}).get("command") or "")
    badge = el("p", f"{glyph} {said}", class_=f"badge {'yes' if complete else 'no'}")
    return el(
        "header",
        el("p", "morphorder · word order and inflectional form in masked language models", class_="kicker"),
        el("h1", words.title(document)),
        el("div", (el("p", sentence) for sentence in words.findings(document)), class_="findings"),
        badge,
        el("p", "Run again ", el("code", command, class_="command"), _settings(files)) if command else None,
        el("p", "Beside this page: ", _commas(el("a", name, href=name) for name in files), class_="soft"),
        el("p", f"Run {document.report.get('run_id') or '–'}", class_="soft"),
        class_="top",
    )


def _settings(files: Sequence[str]) -> Iterator[Child]:
    """Where the settings of the command are, when they lie beside the page."""
    if SETTINGS_FILE in files:
        yield from (" with ", el("a", SETTINGS_FILE, href=SETTINGS_FILE), " from beside this page")


def _commas(parts: Iterable[Html]) -> list[str]:
    found: list[str] = []
    for part in parts:
        found += [", ", part] if found else [part]
    return found


def health(document: Document) -> Html:
    """Block 1: invariants with ✓ or ✗, what was skipped and why, precision and provider really used."""
    checks = [
        el(
            "li",
            el("b", "✓ holds" if check["ok"] else "✗ look", class_="yes" if check["ok"] else "no"),
            f" {check['name']}",
            el("span", f" {check['detail']}", class_="soft") if check.get("detail") else None,
        )
        for check in document.report.get("health") or []
    ]
    counts: Mapping[str, Any] = document.report.get("counts") or {}
    listed = (
        ("base items", "base_items"),
        ("complete in all cells", "complete_base_items"),
        ("items", "items"),
        ("scored", "scored"),
        ("distinct model inputs", "unique_rows"),
    )
    facts = [(label, count(counts.get(key))) for label, key in listed]
    facts.append(("skipped", words.missing(document) or "none"))
    models: Sequence[Mapping[str, Any]] = (document.report.get("manifest") or {}).get("models") or []
    facts += [
        (str(m.get("name")), f"{m.get('precision') or '–'} on {m.get('provider') or '–'}{_whole_text(m)}")
        for m in models
    ]
    pairs = el("dl", (el("div", el("dt", label), el("dd", value)) for label, value in facts), class_="facts")
    return section("health", "Health", el("ul", checks, class_="checks") if checks else None, pairs)


def _whole_text(model: Mapping[str, Any]) -> str:
    shares = [share for share in (model.get("whole_text_equal") or {}).values() if share is not None]
    return f"; pieces equal cutting the whole text in ≥ {number(min(shares))} of sentences" if shares else ""


def headline(document: Document, slugs: Mapping[str, str]) -> Html:
    """Block 2: the headline table, and each model in the papers' layout."""
    papers = [
        folded(
            f"{model}: all conditions, form and +L, top-1 and top-5", table_html(tables.paper(document, model, slug))
        )
        for model, slug in slugs.items()
    ]
    return section("results", "Results", table_html(tables.headline(document)), papers)


def folded(summary: str, *children: Child, unfolded: bool = False) -> Html:
    """A `<details>`; the print sheet opens them all."""
    return el("details", el("summary", summary), *children, open=unfolded)


def figure_block(document: Document, drawn: Sequence[Figure], pictures: Mapping[str, bytes]) -> Html:
    """Block 3: F1 and F2 (F9 past 12 treebanks), F3 and F4 as shaded tables, then F5 to F8, each with its numbers."""
    placed = {figure.name: figure_html(document, figure, pictures[figure.name]) for figure in drawn}
    first = [shown for name, shown in placed.items() if name[:2] in FIRST]
    rest = [shown for name, shown in placed.items() if name[:2] not in FIRST]
    heat: list[Html] = []
    if document.strongest():
        shaded = tables.sensitivity(document)
        heat.append(el("div", el("h3", "Sensitivity S"), table_html(shaded, css="heat"), class_="fig"))
        if document.has_lemma():
            shaded = tables.interaction(document)
            heat.append(el("div", el("h3", "Interaction I"), table_html(shaded, css="heat"), class_="fig"))
    many = tables.is_many(document)
    said = el("p", f"With {len(document.treebanks)} treebanks, {MANY_NOTE}", class_="soft") if many else None
    beside = tables.has_language_table(document)
    listed = folded("Numbers of all treebanks", table_html(tables.languages(document))) if beside else None
    return section("figures", "Figures", said, first, listed, heat, rest)


def figure_html(document: Document, figure: Figure, picture: bytes) -> Html:
    """The figure inline with caption, files and its numbers folded under it."""
    drawing = Html(picture.decode("utf-8").replace("<svg ", '<svg class="plot" ', 1))
    links = _commas(
        [
            el("a", "svg", href=f"figures/{figure.name}.svg"),
            el("a", "vl.json", href=f"figures/{figure.name}.vl.json"),
            el("a", "csv", href=f"tables/{figure.numbers}.csv"),
        ]
    )
    caption = el("figcaption", figure.caption, " ", el("span", links, class_="files"))
    numbers = _numbers(document, figure)
    framed = el("div", drawing, class_="scroll", tabindex=0, role="region", aria_label=figure.title)
    return el("figure", el("h3", figure.title), framed, caption, numbers, class_="fig")


def _numbers(document: Document, figure: Figure) -> Html | None:
    if figure.name.startswith("f1"):
        return folded("Numbers of all cells", table_html(tables.all_cells(document)))
    if figure.name.startswith("f6"):
        wanted = [name for name in ("orig", document.strongest()) if name in document.conditions]
        by = figure.name.removeprefix("f6-")
        return folded("Numbers", table_html(tables.breakdown(document, by, [name for name in wanted if name])))
    if figure.name.startswith("f7"):
        return folded("Numbers", table_html(tables.doses(document)))
    if figure.name.startswith("f2"):
        return folded("Numbers", table_html(tables.changes(document)))
    return None


def comparison_block(document: Document) -> Html | None:
    """Block 4: paired comparisons by family; long families start folded. None when the report has none."""
    blocks = []
    for family, table in comparisons(document):
        body = table_html(table)
        blocks.append(folded(f"{family} ({len(table.rows)})", body) if len(table.rows) > LONG_TABLE else body)
    return section("comparisons", "Comparisons", blocks) if blocks else None


def joined_block(joined: Joined) -> Html:
    """A block for the results of another task, of a run that lies in this one's folder."""
    return section(joined.anchor, joined.title, joined_body(joined))


def example_block(sample: Sample, *, with_text: bool, room: int) -> Html:
    """Block 5: 50 cards in the page, and as many sampled items as fit into `room` bytes as data for the script."""
    if not sample.examples:
        return section(
            "examples", "Examples", el("p", "No item has both an original and a perturbed answer.", class_="soft")
        )
    privacy = (
        None if with_text else el("p", "Sentences and words are left out of this report (--no-text).", class_="soft")
    )
    legend = "; ".join(f"{name}: {glyph} {said}" for name, (glyph, said) in OUTCOMES_IN_WORDS.items())
    cards = join(card(example) for example in sample.examples[:EXAMPLES_IN_PAGE])
    kept = within(sample, min(MAX_BYTES, room - len(cards.encode("utf-8", "replace"))))
    data = Html(json_for_script([packed(example) for example in kept.examples]))
    return section(
        "examples",
        "Examples",
        el("p", f"Now {kept.rule()}; the rest is in outcomes.parquet.", class_="soft"),
        privacy,
        el(
            "p",
            "Small numbers are positions in the original sentence; moved units are underlined; units "
            "that changed places share a letter; τ is Kendall's rank correlation with the original order. ",
            legend,
            ".",
            class_="soft",
        ),
        el("form", id="filters", hidden=True, aria_label="Filter examples"),
        el("div", cards, id="cards"),
        el("nav", id="pager", hidden=True, aria_label="Pages of examples"),
        el("script", data, type="application/json", id="data"),
    )


def definitions(document: Document, joined: Sequence[Joined] = ()) -> Html:
    """Block 6: every formula once, and what S and I cannot say; then those of the blocks that were joined."""
    more = dict.fromkeys(definition for block in joined for definition in block.definitions)
    listed = [*words.definitions(document), *more]
    terms = [(el("dt", term, id=f"def-{anchor}"), el("dd", said)) for anchor, term, said in listed]
    limits = (
        "S and I compare accuracies. Where A(orig) is small, S swings with a handful of items and I stays near 0, "
        "whatever the model does: such cells are hatched, with the reason. Differences between languages also carry "
        "differences between treebanks and tokenizers."
    )
    return section("definitions", "Definitions", el("dl", terms, class_="defs"), el("p", limits))


def manifest(document: Document) -> Html:
    """Block 7: differences from the default configuration first, then everything that made the run."""
    whole: Mapping[str, Any] = words.redacted(document.report.get("manifest") or {})
    shown = [
        ("Differences from the default configuration", whole.get("config_diff"), True),
        ("Versions", whole.get("versions"), False),
        ("Models", whole.get("models"), False),
        ("Treebanks and licences", whole.get("treebanks"), True),
        ("Full configuration", whole.get("config"), False),
        ("Wall time by stage, seconds", whole.get("wall_s"), False),
    ]
    parts = [folded(title, _dump(title, value), unfolded=unfolded) for title, value, unfolded in shown if value]
    seeds = ", ".join(map(str, whole.get("seeds") or [])) or "–"
    ids = f"configuration {whole.get('config_fingerprint') or '–'} · seeds {seeds}"
    cited = el("dl", ((el("dt", what), el("dd", whom)) for what, whom in citations(document)), class_="defs")
    return section(
        "manifest", "Manifest", el("p", ids, class_="soft"), folded("What to cite", cited, unfolded=True), parts
    )


def _dump(title: str, value: Any) -> Html:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        keys = list(dict.fromkeys(key for row in value for key in row))
        caption = el("caption", el("span", title, class_="says"))
        top = el("thead", el("tr", (el("th", key, scope="col") for key in keys)))
        rows = [el("tr", (_dump_cell(row.get(key), first=i == 0) for i, key in enumerate(keys))) for row in value]
        table = el("table", caption, top, el("tbody", rows), class_="plain")
        return el("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
    if isinstance(value, dict):
        pairs = [el("div", el("dt", str(key)), el("dd", _plain(inner))) for key, inner in value.items()]
        return el("dl", pairs, class_="facts")
    return el("pre", _plain(value))


def _dump_cell(value: Any, *, first: bool) -> Html:
    shown = _plain(value)
    return el("th", shown, scope="row") if first else el("td", shown)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value and not any(isinstance(inner, dict | list) for inner in value.values()):
        return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items())
    return "–" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
