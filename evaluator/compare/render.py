"""The comparison's files as (name, bytes): `compare.html`, `.md`, `.tex`, `.json`, and each table as CSV and LaTeX."""

from collections.abc import Iterator, Mapping
from typing import Any

from evaluator.compare.cards import flip_cards
from evaluator.compare.document import headline
from evaluator.compare.tables import (
    GROUP_TITLES,
    LETTERS,
    all_tables,
    contrasts,
    differences,
    flips,
    gate_lines,
    items,
    note_lines,
    settings,
    slim,
)
from evaluator.report.blocks import LONG_TABLE, folded, section
from evaluator.report.document import canonical_json
from evaluator.report.formats import markdown
from evaluator.report.markup import Child, el
from evaluator.report.page import page_script, shell
from evaluator.report.table_formats import table_csv, table_html, table_markdown, table_tex
from evaluator.report.tables import Table
from evaluator.report.words import DEFINITIONS

Document = Mapping[str, Any]
COULD_SEE = (
    "The smallest |Δ| that the test would have found with a chance of 80 % at the level that Holm's procedure had "
    "reached, from the paired interval's width."
)


def render_comparison(
    document: Document, sentences: Mapping[int, Mapping[str, Any]] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yields (file name, bytes). `sentences`, forms and lemmas by the baseline's sentence numbers, mark units."""
    yield "compare.json", canonical_json(document)
    yield "compare.html", _page(document, sentences or {})
    yield "compare.md", markdown_comparison(document)
    found = list(all_tables(document))
    origin = " against ".join(f"{run['letter']} {run['name']} ({run['run_id']})" for run in document["runs"])
    fragments = [table_tex(table, f"{table.name}: {origin}") for table in found]
    yield "compare.tex", b"\n".join(fragments)
    for table, fragment in zip(found, fragments, strict=True):
        yield f"tables/{table.name}.csv", table_csv(table)
        yield f"tables/{table.name}.tex", fragment


def _definitions(document: Document) -> Iterator[tuple[str, str, str]]:
    level = f"{100 * document['intervals']['confidence']:.3g} %"
    for anchor, term, said in DEFINITIONS:
        if anchor == "holm":
            yield anchor, term, "p adjusted over all cells compared here. Verdicts: below .05."
        elif anchor in ("n", "A", "delta", "S", "I", "Ilog", "lemma", "ci", "p", "floor"):
            yield anchor, term, said.replace("{level}", level)
    yield "could", "could have seen", COULD_SEE


def _page(document: Document, sentences: Mapping[int, Mapping[str, Any]]) -> bytes:
    names = " · ".join(f"{run['letter']} {run['name']}" for run in document["runs"])
    files = ("compare.json", "compare.md", "compare.tex")
    links = [part for name in files for part in (", ", el("a", name, href=name))][1:]
    top = el(
        "header",
        el("p", "morphorder · comparison of runs", class_="kicker"),
        el("h1", names),
        el("div", (el("p", line) for line in headline(document)), class_="findings"),
        (
            el("p", line, class_=f"badge {'no' if gate['failed'] else 'yes'}")
            for line, gate in zip(gate_lines(document), document["gates"], strict=True)
        ),
        el("p", LETTERS, class_="soft"),
        el("p", "Beside this page: ", links, class_="soft"),
        class_="top",
    )
    changed, flipped = settings(document), [flips(document, group) for group in GROUP_TITLES]
    parts = [
        section(
            "results",
            "Differences",
            el("div", table_html(slim(differences(document))), class_="fig"),
            _if_any(contrasts(document)),
        ),
        section("flips", "Flipped items", (_if_any(table) for table in flipped), flip_cards(document, sentences)),
        section(
            "comparability",
            "What is compared",
            table_html(slim(items(document))),
            el("ul", (el("li", line) for line in note_lines(document))) if note_lines(document) else None,
            _if_any(changed) or el("p", "No setting, version, model or treebank differs.", class_="soft"),
        ),
        section(
            "definitions",
            "Definitions",
            el(
                "dl",
                [(el("dt", term, id=f"def-{key}"), el("dd", said)) for key, term, said in _definitions(document)],
                class_="defs",
            ),
        ),
    ]
    anchors = (
        ("results", "Differences"),
        ("flips", "Flipped items"),
        ("comparability", "What is compared"),
        ("definitions", "Definitions"),
    )
    contents = el("nav", (el("a", t, href=f"#{a}") for a, t in anchors), class_="contents", aria_label="Contents")
    return shell(f"{names} · morphorder", el("body", top, contents, el("main", parts), page_script()))


def _if_any(table: Table) -> Child:
    if not table.rows:
        return None
    shown = el("div", table_html(slim(table)), class_="fig")
    return folded(f"{table.caption} ({len(table.rows)} rows)", shown) if len(table.rows) > LONG_TABLE else shown


def markdown_comparison(document: Document) -> bytes:
    """`compare.md`: for a pull-request comment or a CI summary."""
    names = " against ".join(f"{run['letter']} {run['name']}" for run in document["runs"])
    parts = [f"# {markdown(names)}", "\n".join(f"- {markdown(line)}" for line in headline(document))]
    if document["gates"]:
        parts.append("\n".join(f"- {markdown(line)}" for line in gate_lines(document)))
    parts.append(markdown(LETTERS))
    shown = [differences(document), contrasts(document), *(flips(document, group) for group in GROUP_TITLES)]
    parts += [table_markdown(slim(table)) for table in (*shown, items(document), settings(document)) if table.rows]
    if note_lines(document):
        parts.append("\n".join(f"- {markdown(line)}" for line in note_lines(document)))
    parts.append(f"Could have seen: {markdown(COULD_SEE)}")
    return ("\n\n".join(part.rstrip("\n") for part in parts) + "\n").encode("utf-8")
