"""`report.html`: one file that needs no network, no script to be read, and states by policy that it loads nothing."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from evaluator.report import blocks
from evaluator.report.document import Document
from evaluator.report.examples import Sample
from evaluator.report.joined import Joined
from evaluator.report.markup import Child, Html, el, join
from evaluator.report.palette import stylesheet_variables
from evaluator.report.panels import Figure
from evaluator.report.settings import settings_files
from evaluator.report.words import title

MAX_BYTES = 1_450_000
"""Size the page is kept under by showing fewer examples: what mail and old machines still open at once."""
FILES = ("report.json", "report.md", "outcomes.parquet", "cells.parquet", "tables/cells-exact.csv")
"""Beside every page."""
CONTENTS = (
    ("results", "Results"),
    ("figures", "Figures"),
    ("comparisons", "Comparisons"),
    ("examples", "Examples"),
    ("definitions", "Definitions"),
    ("manifest", "Manifest"),
)


def page(
    document: Document,
    drawn: Sequence[Figure],
    pictures: Mapping[str, bytes],
    sample: Sample,
    slugs: Mapping[str, str],
    *,
    with_text: bool,
    joined: Sequence[Joined] = (),
) -> bytes:
    """The whole page as UTF-8; `pictures` holds each figure's SVG by name, `joined` what other tasks found."""
    compared = blocks.comparison_block(document)
    before = [blocks.health(document), blocks.headline(document, slugs)]
    before += [blocks.figure_block(document, drawn, pictures), *([compared] if compared else [])]
    after = [*map(blocks.joined_block, joined), blocks.definitions(document, joined), blocks.manifest(document)]
    files = [
        "report.json",
        "report.md",
        "outcomes.parquet",
        "cells.parquet",
        "tables/cells-exact.csv",
        *settings_files(document),
    ]
    own = [part for part in CONTENTS if part[0] != "comparisons" or compared]
    at = own.index(("definitions", "Definitions"))
    parts = [*own[:at], *((block.anchor, block.title) for block in joined), *own[at:]]
    links = [el("a", name, href=f"#{anchor}") for anchor, name in parts]

    def whole(examples: Child) -> bytes:
        contents = el("nav", links, class_="contents", aria_label="Contents")
        main = el("main", before, examples, after)
        return shell(
            f"{title(document)} · morphorder", el("body", blocks.head(document, files), contents, main, page_script())
        )

    room = MAX_BYTES - len(whole(None))
    return whole(blocks.example_block(sample, with_text=with_text, room=room))


def shell(title: str, body: Html) -> bytes:
    """A whole page around a `<body>`, with the house's style, script policy and title: for reports of any kind."""
    return join([Html("<!DOCTYPE html>\n"), el("html", _head(title), body, lang="en"), Html("\n")]).encode("utf-8")


def page_script() -> Html:
    """The script that sorts tables and filters examples: the only one that the page's policy lets run."""
    return el("script", Html(_script()))


def _script() -> str:
    """The script without its comments and indentation: what is put into the page, and what its policy allows."""
    lines = (line.strip() for line in _asset("page.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _head(title: str) -> Html:
    script = base64.b64encode(hashlib.sha256(_script().encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{script}'"
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(stylesheet_variables() + _asset("style.css"))),
    )


def _asset(name: str) -> str:
    return resources.files("evaluator.report").joinpath(name).read_text(encoding="utf-8")
