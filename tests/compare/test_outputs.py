"""The comparison's files hold the document's numbers and nothing leaves the page; the command's exit codes."""

import csv
import io
import json
import re
from pathlib import Path

import html5lib
import pytest
from typer.testing import CliRunner

from evaluator.cli import app
from evaluator.compare.document import Compared, compare_runs
from evaluator.compare.gate import parse_rule
from evaluator.compare.render import render_comparison
from evaluator.errors import ComparisonError, ConfigError, StoreError
from evaluator.report.document import canonical_json
from evaluator.report.formats import number
from evaluator.store.shards import parquet_bytes


@pytest.fixture(scope="session")
def files(baseline: Compared, worse: Compared) -> dict[str, bytes]:
    evil = Compared("c|d </script><b>_%#", worse.report, worse.outcomes)
    document = compare_runs([baseline, evil], rules=[parse_rule("top1[de,orig] < -0.01")])
    return dict(render_comparison(document))


def test_every_output_is_there_and_prints_the_document(files: dict[str, bytes]) -> None:
    assert {"compare.html", "compare.md", "compare.tex", "compare.json"} <= set(files)
    document = json.loads(files["compare.json"])
    cells = document["pairs"][0]["cells"]
    rows = list(csv.DictReader(io.StringIO(files["tables/compare-differences.csv"].decode(), newline="")))
    assert [row["delta"] for row in rows] == [number(cell["delta"], minus="-") for cell in cells]
    for name in ("compare.html", "compare.md", "compare.tex"):
        text = files[name].decode().replace("$-$", "−")
        assert all(number(cell["delta"]) in text for cell in cells), name
        assert all(number(cell["could_see"]) in text for cell in cells if cell["could_see"] is not None), name
        assert "could have seen" in text and ("fail" in text or name == "compare.tex")


def test_the_page_is_sound(files: dict[str, bytes]) -> None:
    page = files["compare.html"].decode()
    root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    assert len(root.findall(".//h1")) == 1 and "</script><b>_%#" in "".join(root.find(".//h1").itertext())
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    links = {node.get("href") for node in root.iter("a")}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {link for link in links if not link.startswith("#")} <= set(files)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page) and "default-src &#x27;none&#x27;" in page
    assert all(table.find("caption") is not None for table in root.iter("table"))
    assert "A ✓ B ✗" in page and 'class="line"' in page


def test_latex_balances(files: dict[str, bytes]) -> None:
    lines = [line for line in files["compare.tex"].decode().splitlines() if not line.startswith("%")]
    bare = re.sub(r"\\[\\{}$&#%_]", "", "\n".join(lines))
    assert bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0
    tables = [name for name in files if name.startswith("tables/") and name.endswith(".csv")]
    assert bare.count(r"\begin{tabular}") == bare.count(r"\end{tabular}") == len(tables)
    assert all(name.replace(".csv", ".tex") in files for name in tables) and "tables/preamble.tex" in files


def folder(path: Path, run: Compared) -> str:
    (path / "report").mkdir(parents=True)
    (path / "report" / "report.json").write_bytes(canonical_json(run.report))
    (path / "report" / "outcomes.parquet").write_bytes(parquet_bytes(run.outcomes))
    return str(path)


def test_the_command(tmp_path: Path, baseline: Compared, worse: Compared) -> None:
    a, b = folder(tmp_path / "a", baseline), folder(tmp_path / "b", worse)
    invoke = CliRunner().invoke
    same = invoke(app, ["compare", a, a, "--json"])
    assert same.exit_code == 0 and json.loads(same.stdout)["ok"]
    out = tmp_path / "out"
    gated = invoke(app, ["compare", a, b, "--fail-if", "top1[de,orig] < -0.01", "--out", str(out)])
    assert gated.exit_code == 1 and "✗ failed: top1[de,orig] < -0.01" in gated.stdout
    assert (out / "compare.html").exists() and (out / "tables" / "compare-differences.csv").exists()
    assert not json.loads(invoke(app, ["compare", a, b, "--fail-if", "top1[de,orig] < -0.01", "--json"]).stdout)["ok"]
    assert isinstance(invoke(app, ["compare", a, b, "--fail-if", "nonsense"]).exception, ConfigError)
    assert isinstance(invoke(app, ["compare", a]).exception, ConfigError)
    assert isinstance(invoke(app, ["compare", a, str(tmp_path / "none")]).exception, StoreError)
    none = Compared("none", baseline.report, baseline.outcomes.slice(0, 4))
    few = folder(tmp_path / "few", none)
    assert isinstance(invoke(app, ["compare", a, few]).exception, ComparisonError)
