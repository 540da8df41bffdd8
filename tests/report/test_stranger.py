"""U14: what somebody who never saw the tool asks of the page, and where the answer stands."""

import re
import xml.etree.ElementTree as ET

import pytest

from tests.report.test_page import HTML, each, strict, text_of


@pytest.fixture(scope="module")
def tree(files: dict[str, bytes]) -> ET.Element:
    bare = re.sub(rb"<script[^>]*>.*?</script>", b"", files["report.html"], flags=re.DOTALL)
    return strict(bare)


def part(tree: ET.Element, anchor: str) -> ET.Element:
    return next(element for element in tree.iter() if element.attrib.get("id") == anchor)


def test_the_title_says_what_was_asked(tree: ET.Element) -> None:
    assert text_of(next(each(tree, "h1"))) == "mlm-base, mlm-large · 7 languages"
    assert text_of(next(each(tree, "title"))).startswith("mlm-base, mlm-large · 7 languages")


def test_how_many_items_does_a_number_rest_on(tree: ET.Element) -> None:
    table = next(each(part(tree, "results"), "table"))
    heads = [text_of(th) for th in each(table, "thead")]
    assert "n" in re.split(r"\s*(?=A@1 orig)", heads[0])[0].removeprefix("modellanguage")
    link = next(a for a in each(table, "a") if text_of(a) == "n")
    assert link.attrib["href"] == "#def-n" and text_of(part(tree, "def-n")) == "n"
    assert "over n items each" in text_of(next(each(table, "caption")))


def test_what_kind_of_interval_is_in_the_brackets(tree: ET.Element) -> None:
    caption = text_of(next(each(next(each(part(tree, "results"), "table")), "caption")))
    assert re.search(r"in brackets 95 % intervals: Wilson for A@1, paired bootstrap over sentences", caption)
    definitions = text_of(part(tree, "definitions"))
    assert "Wilson with the effective number of items" in definitions


def test_why_is_a_cell_empty(tree: ET.Element) -> None:
    marked = 0
    for frame in (e for e in each(tree, "div") if e.attrib.get("class") == "scroll"):
        for cell in each(frame, "td"):
            letter = "".join(text_of(sup) for sup in each(cell, "sup"))
            marked += bool(letter)
    notes = [text_of(p) for p in each(part(tree, "results"), "p") if p.attrib.get("class") == "notes"]
    assert marked and any("left" in note or "A_orig" in note or "floor" in note for note in notes)


def test_one_flipped_item_with_what_the_model_read_and_answered(tree: ET.Element) -> None:
    lost = [a for a in each(part(tree, "examples"), "article") if "lost" in a.attrib["class"].split()]
    said = text_of(lost[0])
    assert "✗ wrong; right in the original order" in said
    assert len([p for p in each(lost[0], "p") if p.attrib.get("class") == "line"]) == 2
    answers = next(each(lost[0], "table"))
    assert "✓" in text_of(answers) and "gold" in text_of(answers)


def test_the_command_to_run_it_again(tree: ET.Element, files: dict[str, bytes]) -> None:
    top = next(e for e in each(tree, "header") if e.attrib.get("class") == "top")
    command = next(code for code in each(top, "code") if code.attrib.get("class") == "command")
    assert text_of(command).startswith("morphorder run ")
    assert any(a.attrib["href"] == "run.toml" for a in each(top, "a")) and "run.toml" in files
    assert HTML  # the page parses strictly, scripts removed
