"""U1, U3 to U8 on real runs: the embedded sentences, hostile ones, and any run folders that MORPHORDER_RUNS names.

Colons stand between the folders.
"""

import csv
import io
import json
import os
import re
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import evaluator
from evaluator.frames import Report, load_report
from evaluator.report.document import report_schema
from evaluator.report.palette import stylesheet_variables
from tests.report.test_formats import EVIL
from tests.report.test_page import HTML, SVG, each, ids, strict, text_of

NAMED = [place for place in os.environ.get("MORPHORDER_RUNS", "").split(":") if place]


@dataclass(frozen=True)
class Made:
    """A report on disk, its page parsed, and its outcomes by model and item."""

    folder: Path
    report: Report
    tree: ET.Element
    rows: dict[tuple[int, str], dict[str, Any]]


@pytest.fixture(scope="module", params=["embedded", "hostile", *NAMED])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = Path(str(request.param))
    if request.param in ("embedded", "hostile"):
        folder = tmp_path_factory.mktemp("runs") / "run"
        settings: dict[str, Any] = {"models": ["wordpiece"], "statistics": {"resamples": 100}, "sample": {"n": 8}}
        if request.param == "hostile":
            path = folder.with_name("en_hostile-ud-test.conllu")
            path.write_text(hostile_treebank(), encoding="utf-8")
            settings |= {"treebanks": [str(path)], "sample": {"n": len(HOSTILE)}}
        evaluator.run(conditions=["orig", "head", "full"], seeds=[0], out=str(folder), **settings)
    report = load_report(folder)
    rows = {(row["item_id"], row["model"]): row for row in report.outcomes.to_pylist()}
    return Made(folder / "report", report, strict((folder / "report/report.html").read_bytes()), rows)


C1 = dict.fromkeys(range(0x7F, 0xA0), "\ufffd")
"""Controls without a picture of their own, and what stands for them."""
TAGS = frozenset(
    {
        "a", "article", "b", "bdi", "body", "caption", "circle", "code", "dd", "desc", "details", "div", "dl", "dt",
        "figcaption", "figure", "form", "g", "h1", "h2", "h3", "head", "header", "html", "li", "line", "main", "meta",
        "nav", "p", "path", "pre", "rect", "rt", "ruby", "script", "section", "small", "span", "strong", "style",
        "summary", "sup", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
    }
)  # fmt: skip
"""All elements of a report."""
HOSTILE = (*(word for word in EVIL if not set(word) & set("\t\x00\ud800")), "\x1b[31m", "\u0085", "rm -rf ~")
"""Words that a treebank can hold and a format can trip over."""


def hostile_treebank() -> str:
    """A sentence for each hostile word, which stands in it as a noun, as a verb's lemma and in `sent_id`."""
    lines = []
    for number, word in enumerate(HOSTILE):
        lines += [f"# sent_id = {number}{word.replace(' ', '')}", "# text = unlike the tokens"]
        words = (("The", "the", "DET"), (word, word, "NOUN"), ("saw", word, "VERB"), ("old", "old", "ADJ"),
                 ("houses", "house", "NOUN"), (".", ".", "PUNCT"))  # fmt: skip
        heads = ((2, "det"), (3, "nsubj"), (0, "root"), (5, "amod"), (3, "obj"), (3, "punct"))
        for i, ((form, lemma, upos), (head, deprel)) in enumerate(zip(words, heads, strict=True), 1):
            lines.append(f"{i}\t{form}\t{lemma}\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_")
        lines.append("")
    return "\n".join([*lines, ""])


def test_u1_loads_nothing_and_stays_small(made: Made) -> None:
    page = (made.folder / "report.html").read_bytes()
    assert len(page) <= 1_500_000
    assert not re.search(rb"@import|url\((?!#)", page)
    for element in made.tree.iter():
        assert not {"src", "style"} & set(element.attrib)
        href = next((value for name, value in element.attrib.items() if name.endswith("href")), "")
        if href.startswith("#"):
            assert href[1:] in ids(made.tree), href
        elif href:
            assert element.tag == HTML + "a" and (made.folder / href).is_file(), href
    policies = [m.attrib["content"] for m in each(made.tree, "meta") if m.attrib.get("http-equiv")]
    assert policies and policies[0].startswith("default-src 'none'")


def test_u3_exact_tables_are_the_report(made: Made) -> None:
    jsonschema.Draft202012Validator(report_schema()).validate(made.report.document)
    text = (made.folder / "tables/cells-exact.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    cells = made.report.document["cells"]
    assert [row["top1"] for row in rows] == ["" if c["top1"] is None else repr(c["top1"]) for c in cells]


def test_cells_are_parquet_too(made: Made) -> None:
    table = pq.read_table(made.folder / "cells.parquet")
    assert table["top1"].to_pylist() == [cell["top1"] for cell in made.report.document["cells"]]
    assert {"S_lo", "S_hi", "I_range_lo"} <= set(table.column_names)


def test_u4_reads_without_its_script(made: Made) -> None:
    captions = " ".join(text_of(caption) for caption in each(made.tree, "caption"))
    assert all(part in captions for part in ("A@1", "S: share", "I: overlap"))
    many = len({cell["treebank"] for cell in made.report.document["cells"]}) > 12
    wanted = {"f9-languages-t", "f9-drop-t"} if many else {"f1-accuracy-t", "f2-drop-t", "f6-upos-t", "f6-length-t"}
    assert wanted <= set(ids(made.tree))
    assert len(list(each(made.tree, "article"))) == 50


def strong(text: str) -> str:
    """Direction of the majority of strong characters, another way."""
    kinds = [unicodedata.bidirectional(c) for c in text.replace("⟨mask⟩", "")]
    return "rtl" if sum(k in ("R", "AL") for k in kinds) > kinds.count("L") else "ltr"


def test_u5_lines_are_what_the_model_read(made: Made) -> None:
    models = list(dict.fromkeys(cell["model"] for cell in made.report.document["cells"]))
    languages = set()
    for article in each(made.tree, "article"):
        _, item, model = article.attrib["id"].split("-")
        row = made.rows[int(item, 16), models[int(model)]]
        before, after = (p for p in each(article, "p") if p.attrib.get("class") == "line")
        assert text_of(after) == re.sub(r"[\x00-\x1f]", lambda c: chr(0x2400 + ord(c[0])), row["text"]).translate(C1)
        for line in (before, after):
            assert line.attrib["dir"] == strong(text_of(line)) and line.attrib["lang"]
        languages.add((row["language"], after.attrib["lang"], after.attrib["dir"]))
    for language, tag, direction in languages:
        assert tag.split("-")[0] == language and (language != "zh" or tag in ("zh-Hans", "zh-Hant"))
        assert language not in ("ar", "he", "fa") or direction == "rtl"


def test_u6_no_word_breaks_a_format(made: Made) -> None:
    assert {e.tag.rpartition("}")[2] for e in made.tree.iter() if isinstance(e.tag, str)} <= TAGS
    assert len(list(each(made.tree, "script"))) == 2  # the document, and what works on it
    for path in made.folder.rglob("*"):
        if path.suffix == ".svg":
            ET.fromstring(path.read_bytes())
        elif path.suffix == ".json":
            json.loads(path.read_bytes())
        elif path.suffix == ".csv":
            rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
            assert len({len(row) for row in rows}) == 1, path
        elif path.suffix in (".md", ".tex"):
            written = path.read_text(encoding="utf-8")
            assert not set("\x1b\u202e\u2028\u0085") & set(written), path
            assert not re.search(r"(?<!\\\\)<(b|script|!--)", written), path


def test_u7_the_page_has_the_stylesheet_that_was_checked(made: Made) -> None:
    (style,) = each(made.tree, "style")
    sheet = resources.files("evaluator.report").joinpath("style.css").read_text(encoding="utf-8")
    assert text_of(style) == stylesheet_variables() + sheet


def test_u7_no_status_by_colour_alone(made: Made) -> None:
    for element in made.tree.iter():
        if {"yes", "no"} & set(element.attrib.get("class", "").split()):
            said = text_of(element)
            assert said[0] in "✓✗" and len(said.split()) > 1, said


def test_u8_is_one_accessible_document(made: Made) -> None:
    assert len(list(each(made.tree, "h1"))) == 1 and made.tree.attrib["lang"] == "en"
    assert len(ids(made.tree)) == len(set(ids(made.tree)))
    assert all(table.find(HTML + "caption") is not None for table in each(made.tree, "table"))
    assert all("scope" in th.attrib for th in each(made.tree, "th"))
    assert all(int(e.attrib.get("tabindex", "0")) <= 0 for e in made.tree.iter())
    assert all(drawing.find(SVG + "title") is not None for drawing in made.tree.iter(SVG + "svg"))
