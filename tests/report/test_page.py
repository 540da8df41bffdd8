"""U1, U4, U5, U6, U8: the page loads nothing, reads without its script, shows texts exactly and stays one document."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import html5lib
import pytest

from evaluator.report import render_report
from evaluator.report.examples import outcome_of
from evaluator.report.lines import direction
from tests.report.synthetic import Run, make_run

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def strict(page: bytes) -> ET.Element:
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), strict=True)
    tree: ET.Element = parser.parse(page.decode("utf-8"))
    return tree


@pytest.fixture(scope="module")
def tree(files: dict[str, bytes]) -> ET.Element:
    return strict(files["report.html"])


def each(tree: ET.Element, tag: str) -> Iterator[ET.Element]:
    return tree.iter(HTML + tag)


def text_of(element: ET.Element) -> str:
    """The element's text without ruby annotations: what a reader copies."""
    return (element.text or "") + "".join(
        ("" if child.tag == HTML + "rt" else text_of(child)) + (child.tail or "") for child in element
    )


def ids(tree: ET.Element) -> list[str]:
    return [element.attrib["id"] for element in tree.iter() if "id" in element.attrib]


def test_the_page_loads_nothing(files: dict[str, bytes], tree: ET.Element) -> None:
    for element in tree.iter():
        assert "src" not in element.attrib and "style" not in element.attrib
        assert not [name for name in element.attrib if name.startswith("on")]
        href = next((value for name, value in element.attrib.items() if name.endswith("href")), "")
        assert element.tag == HTML + "a" or not href
        if href and not href.startswith("#"):
            assert href in files or href in ("outcomes.parquet", "cells.parquet"), href
        if href.startswith("#"):
            assert href[1:] in ids(tree), href
    assert not re.search(rb"@import|url\((?!#)", files["report.html"])
    policy = next(m.attrib["content"] for m in each(tree, "meta") if m.attrib.get("http-equiv"))
    script = re.findall(rb"<script>(.*?)</script>", files["report.html"], re.DOTALL)[0]
    assert len(script) <= 10_000 and b"innerHTML" not in script and b"fetch(" not in script
    assert policy.startswith("default-src 'none'; ")
    assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy


def test_the_page_is_one_accessible_document(tree: ET.Element) -> None:
    assert len(list(each(tree, "h1"))) == 1
    assert tree.attrib["lang"] == "en"
    assert len(ids(tree)) == len(set(ids(tree)))
    assert all(table.find(HTML + "caption") is not None for table in each(tree, "table"))
    assert all("scope" in th.attrib for th in each(tree, "th"))
    assert all(int(e.attrib.get("tabindex", "0")) <= 0 for e in tree.iter())
    drawings = list(tree.iter(SVG + "svg"))
    assert drawings and all(d.find(SVG + "title") is not None and d.attrib["role"] == "img" for d in drawings)


def test_it_reads_without_its_script(files: dict[str, bytes]) -> None:
    bare = re.sub(r"<script[^>]*>.*?</script>", "", files["report.html"].decode(), flags=re.DOTALL)
    tree = strict(bare.encode())
    captions = " ".join("".join(caption.itertext()) for caption in each(tree, "caption"))
    parts = ("A@1", "S: share", "I: overlap", "Paired comparisons: models", "in the group of each of its features")
    assert all(part in captions for part in parts)
    drawn = ("f1-accuracy", "f2-drop", "f5-draws", "f6-upos", "f6-feats", "f6-length", "f7-dose", "f8-logp")
    assert {f"{name}-t" for name in drawn} <= set(ids(tree))
    assert len(list(each(tree, "article"))) == 50


def test_each_line_is_the_text_the_model_saw(run: Run, tree: ET.Element) -> None:
    rows = {row["item_id"]: row for row in run.outcomes.to_pylist()}
    origins = {(r["base_id"], r["lemma"]): r["text"] for r in rows.values() if r["condition"] == "orig"}
    languages = set()
    for article in each(tree, "article"):
        row = rows[int(article.attrib["id"].split("-")[1], 16)]
        languages.add(row["language"])
        before, after = [p for p in each(article, "p") if "line" in p.attrib["class"]]
        alone = row["condition"] == "orig"
        assert text_of(after) == row["text"]
        assert text_of(before) == origins[row["base_id"], row["lemma"] and not alone]
        for line in (before, after):
            assert line.attrib["dir"] == direction(row["text"]) == ("rtl" if row["language"] in ("ar", "he") else "ltr")
            assert line.attrib["lang"] == {"zh": "zh-Hans"}.get(row["language"], row["language"])
            tokens = [e for e in line.iter() if "tok" in e.attrib.get("class", "").split()]
            assert [int(e.attrib["data-i"].rstrip("ab")) - 1 for e in tokens] == (
                row["order"] if line is after else sorted(row["order"])
            )
            assert sum("mask" in e.attrib["class"].split() for e in tokens) == 1
    assert {"ar", "he", "zh", "ja", "hi", "de", "ru"} == languages


def spelt(line: dict[str, Any], words: list[str]) -> str:
    """The text of a packed line."""
    words = line.get("w", words)
    gaps = ["" if gap == "0" else gap for gap in line["s"]]
    order = line.get("u", range(len(words)))
    return "".join(gap + words[unit] for gap, unit in zip(gaps, order, strict=False)) + gaps[-1]


def test_the_embedded_examples_match_the_cards(tree: ET.Element, run: Run) -> None:
    data = json.loads("".join(next(s for s in each(tree, "script") if s.attrib.get("id") == "data").itertext()))
    cards = [article.attrib["id"] for article in each(tree, "article")]
    assert [example["id"] for example in data[:50]] == cards
    rows = {(r["model"], r["item_id"]): r for r in run.outcomes.to_pylist()}
    for example in data:
        row = rows[example["m"], int(example["id"].split("-")[1], 16)]
        assert spelt(example["b"], example["w"]) == row["text"]
        assert spelt(example["a"], example["w"]) in {r["text"] for r in rows.values() if r["base_id"] == row["base_id"]}
        assert example["h"][0] == -1 and len(example["h"]) == len(example["e"]) == row["n_units"]
        assert example["o"] in ("kept", "gained") if row["correct1"] else example["o"] in ("lost", "missed")
        gold = [column["g"] for column in example["q"] if column["h"] == example["c"]]
        assert len(gold) == 1
    assert outcome_of(True, False) == "lost" and outcome_of(False, True) == "gained"


def test_evil_tokens_change_nothing_but_text(evil_files: dict[str, bytes], evil_run: Run) -> None:
    tree = strict(evil_files["report.html"])
    assert len(list(each(tree, "script"))) == 2 and len(list(each(tree, "h1"))) == 1
    assert len(ids(tree)) == len(set(ids(tree)))
    known = {"b", "bdi", "ruby", "rt", "span", "svg", "desc"}
    assert {e.tag.split("}")[1] for article in each(tree, "article") for e in article.iter()} <= known | {
        "article", "header", "h3", "a", "strong", "dl", "dt", "dd", "p", "div", "table", "caption", "thead", "tbody",
        "tr", "th", "td", "small",
    }  # fmt: skip
    rows = {row["item_id"]: row for row in evil_run.outcomes.to_pylist()}
    for article in each(tree, "article"):
        row = rows[int(article.attrib["id"].split("-")[1], 16)]
        after = [p for p in each(article, "p") if "line" in p.attrib["class"]][1]
        pictured = row["text"].replace("\x00\x1b", "␀␛")
        assert text_of(after) == pictured
    for name, content in evil_files.items():
        assert name.isascii() and re.fullmatch(r"[\w./-]+", name)
        if name.endswith(".svg"):
            ET.fromstring(content)


def test_without_text_no_word_of_a_sentence_is_in_any_file(run: Run) -> None:
    written = dict(render_report(run.report, run.outcomes, text=False, sentences=run.sentences))
    whole = b"".join(written.values())
    for word in ("Garten", "учительница", "图书馆", "المكتبة"):
        assert word.encode() not in whole
    assert len(list(each(strict(written["report.html"]), "article"))) == 50


def test_a_report_without_anything_still_renders() -> None:
    empty = make_run(("de",), ("m",), ("orig",), items=2)
    report = {
        **empty.report,
        "cells": [],
        "breakdowns": {},
        "draws": [],
        "doses": [],
        "comparisons": [],
        "manifest": {},
        "counts": {},
    }
    written = dict(render_report(report, empty.outcomes.slice(0, 0)))
    strict(written["report.html"])
    dict(render_report(empty.report, empty.outcomes))


def test_missing_values_say_why(run: Run) -> None:
    gone = dict.fromkeys(("top1", "top1_ci", "S", "S_ci", "I", "I_ci", "D", "D_ci", "top5", "top5_ci"))
    none = gone | {"reason": "orig_zero"}
    cells = [{**cell, **none} if cell["treebank"] == "de_pud" else cell for cell in run.report["cells"]]
    written = dict(render_report({**run.report, "cells": cells}, run.outcomes))
    for name in ("report.html", "report.md"):
        assert "A(orig) = 0, so a share of it is undefined" in written[name].decode()
    assert ",,," in written["tables/headline.csv"].decode()
    assert ">.000<" not in re.sub(r"(?s)^.*?<tbody>|</tr>.*$", "", written["report.html"].decode())


def test_a_big_report_stays_small() -> None:
    conditions = ("orig", "noun_swap", "partial", "head", "ngram3", "ngram2", "ngram1", "full")
    big = make_run(("de", "ru", "zh", "ar", "hi", "ja"), conditions=conditions, items=24, draws=1)
    page = dict(render_report(big.report, big.outcomes, sentences=big.sentences))["report.html"]
    assert len(page) <= 1_500_000
