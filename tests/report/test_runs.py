"""U1, U3 to U8 on real runs: the embedded sentences, and any run folders named in MORPHORDER_RUNS (colons between)."""

import csv
import io
import os
import re
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import evaluator
from evaluator.frames import Report, load_report
from evaluator.report.document import report_schema
from tests.report.test_page import HTML, SVG, each, ids, strict, text_of

NAMED = [place for place in os.environ.get("MORPHORDER_RUNS", "").split(":") if place]


@dataclass(frozen=True)
class Made:
    """A report on disk, its page parsed, and its outcomes by model and item."""

    folder: Path
    report: Report
    tree: ET.Element
    rows: dict[tuple[int, str], dict[str, Any]]


@pytest.fixture(scope="module", params=["embedded", *NAMED])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = Path(str(request.param))
    if request.param == "embedded":
        folder = tmp_path_factory.mktemp("runs") / "demo"
        settings = {"conditions": ["orig", "head", "full"], "models": ["wordpiece"], "statistics": {"resamples": 100}}
        evaluator.run(sample={"n": 8}, seeds=[0], out=str(folder), **settings)
    report = load_report(folder)
    rows = {(row["item_id"], row["model"]): row for row in report.outcomes.to_pylist()}
    return Made(folder / "report", report, strict((folder / "report/report.html").read_bytes()), rows)


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
        assert text_of(after) == row["text"]
        for line in (before, after):
            assert line.attrib["dir"] == strong(text_of(line)) and line.attrib["lang"]
        languages.add((row["language"], after.attrib["lang"], after.attrib["dir"]))
    for language, tag, direction in languages:
        assert tag.split("-")[0] == language and (language != "zh" or tag in ("zh-Hans", "zh-Hant"))
        assert language not in ("ar", "he", "fa") or direction == "rtl"


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
