"""The page in a real browser: its script builds the same cards as Python does, and draws tree and order when asked."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import html5lib
import pytest

from tests.report.test_page import HTML, SVG, each

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
AGAIN = "document.getElementById('filters').onchange();"
UNFOLD = "for (const d of document.querySelectorAll('.ex details')) d.ontoggle && d.ontoggle();"


def after(page: bytes, script: str, folder: Path) -> ET.Element:
    """The document once the page's own script and then this one have run; without the policy, which forbids it."""
    bare = re.sub(rb'<meta http-equiv="Content-Security-Policy"[^>]*>', b"", page)
    file = folder / "page.html"
    file.write_bytes(bare.replace(b"</body>", f"<script>{script}</script></body>".encode()))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'user'}"]
    done = subprocess.run(
        [str(CHROMIUM), *flags, "--dump-dom", file.as_uri()], capture_output=True, check=True, timeout=120
    )
    tree: ET.Element = html5lib.parse(done.stdout.decode("utf-8"), treebuilder="etree")
    return tree


def content(element: ET.Element) -> Iterator[object]:
    """The element as nested values, what the script alone adds left out, texts of neighbouring nodes joined."""
    yield element.tag, sorted(element.attrib.items()), element.text or ""
    for child in element:
        summary = child.find(HTML + "summary")
        if summary is not None and summary.text == "tree and order":
            continue
        yield list(content(child))
        yield child.tail or ""


@pytest.mark.parametrize("made", ["files", "evil_files"])
def test_the_script_builds_the_cards_that_python_built(
    made: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    page = request.getfixturevalue(made)["report.html"]
    before = html5lib.parse(page.decode("utf-8"), treebuilder="etree")
    rebuilt = after(page, AGAIN, tmp_path)
    ours, theirs = (list(each(tree, "article")) for tree in (before, rebuilt))
    assert len(ours) == len(theirs) == 50
    for one, other in zip(ours, theirs, strict=True):
        assert list(content(one)) == list(content(other))


def test_tree_and_order_are_drawn_when_opened(files: dict[str, bytes], tmp_path: Path) -> None:
    tree = after(files["report.html"], UNFOLD, tmp_path)
    for article in each(tree, "article"):
        drawing = next(article.iter(SVG + "svg"))
        units = len([e for e in next(p for p in each(article, "p") if p.attrib["class"] == "line").iter()
                     if "tok" in e.attrib.get("class", "").split()])  # fmt: skip
        assert len(list(drawing.iter(SVG + "line"))) == units
        assert len(list(drawing.iter(SVG + "text"))) == 2 * units
        assert len(list(drawing.iter(SVG + "path"))) == units - 1
        told = next(drawing.iter(SVG + "title")).text or ""
        assert told.count(" of 1)") == units - 1 and told.count(", ") >= units - 1
        directions = {t.attrib["direction"] for t in drawing.iter(SVG + "text")}
        assert directions == {next(each(article, "p")).attrib["dir"]}
