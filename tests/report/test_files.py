"""U2, U3: equal bytes for equal input in any order of rows; every printed number is the report's; LaTeX is sound."""

import csv
import io
import json
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

from evaluator.reduce.summary import report_data
from evaluator.report import figures, render_report, summary_lines, tables, terminal_table
from evaluator.report.document import DOSE_ORDER, open_document, report_schema, slugs
from evaluator.report.formats import number, p_value
from evaluator.report.render import all_tables
from evaluator.report.settings import settings_toml
from evaluator.report.table_formats import table_csv, table_html, table_markdown, table_tex
from tests.report.synthetic import Run


def test_same_input_same_bytes_in_any_order_of_rows(run: Run, files: dict[str, bytes]) -> None:
    shuffled = run.outcomes.take(pa.array(np.random.default_rng(1).permutation(run.outcomes.num_rows)))
    again = dict(render_report(json.loads(json.dumps(run.report)), shuffled, sentences=run.sentences))
    assert [name for name in files if files[name] != again[name]] == []
    assert list(files) == list(again)


def test_wall_times_are_in_the_manifest_only(run: Run, files: dict[str, bytes]) -> None:
    later = {**run.report, "manifest": {**run.report["manifest"], "wall_s": {"score": 99999.25}}}
    again = dict(render_report(later, run.outcomes, sentences=run.sentences))
    assert {name for name in files if files[name] != again[name]} == {"report.json", "report.html"}
    pages = [f["report.html"].decode().split('<section id="manifest">')[0] for f in (files, again)]
    assert pages[0] == pages[1]


def test_report_json_is_the_document_and_obeys_the_schema(run: Run, files: dict[str, bytes]) -> None:
    assert json.loads(files["report.json"]) == json.loads(json.dumps(run.report))
    jsonschema.Draft202012Validator(report_schema()).validate(run.report)


def test_the_statistics_obey_the_schema_and_render(run: Run) -> None:
    report = report_data(run.outcomes, resamples=100)
    report |= {"schema": 1, "run_id": "r", "health": run.report["health"], "manifest": run.report["manifest"]}
    jsonschema.Draft202012Validator(report_schema()).validate(report)
    written = dict(render_report(report, run.outcomes, sentences=run.sentences))
    assert {"report.html", "tables/headline.tex", "figures/f5-draws.svg"} <= set(written)
    assert len(summary_lines(report, "here")) <= 10


def lookup(report: dict[str, Any]) -> dict[tuple[str, str, str, bool], dict[str, Any]]:
    return {(c["model"], c["treebank"], c["condition"], c["lemma"]): c for c in report["cells"]}


def test_the_paper_table_prints_the_cells(run: Run, files: dict[str, bytes]) -> None:
    cells = lookup(run.report)
    rows = list(csv.DictReader(io.StringIO(files["tables/paper-mlm-base.csv"].decode(), newline="")))
    assert len(rows) == 7 * 2 * 2
    for row in rows:
        metric = row["answers"] if "answers" in row else row["metric"]
        key = "top1" if metric == "top-1" else "top5"
        for condition in ("orig", "partial", "head", "ngram2", "full"):
            cell = cells["mlm-base", f"{row['language']}_pud", condition, row["spelling"] == "+L"]
            assert row[condition] == number(cell[key], minus="-")
            assert row[f"{condition}_lo"] == number(cell[f"{key}_ci"][0], minus="-")


def test_exact_tables_hold_the_report_to_the_last_bit(run: Run, files: dict[str, bytes]) -> None:
    rows = list(csv.DictReader(io.StringIO(files["tables/cells-exact.csv"].decode(), newline="")))
    assert len(rows) == len(run.report["cells"])
    for row, cell in zip(rows, run.report["cells"], strict=True):
        assert row["S"] == ("" if cell["S"] is None else repr(cell["S"]))
        assert row["I_range_lo"] == ("" if cell["I_range"] is None else repr(cell["I_range"][0]))
        assert row["lemma"] == ("true" if cell["lemma"] else "false")


def test_every_format_prints_the_same_numbers(run: Run) -> None:
    document = open_document(run.report)
    for table in all_tables(document, slugs(document.models)):
        expected: list[str] = []
        for row in table.rows:
            for entry, column in zip(row, table.columns, strict=True):
                if isinstance(entry.value, float):
                    expected.append(p_value(entry.value) if column.kind == "p" else number(entry.value))
                expected += [number(end) for end in entry.ci or ()]
        html = re.sub(
            r"<svg.*?</svg>|<sup.*?</sup>|<caption>.*?</caption>|<p .*?</p>", "", table_html(table), flags=re.S
        )
        body = table_markdown(table).split("**", 2)[2]
        tex = table_tex(table, "").decode().replace("$-$", "−").replace(r"\textless{}", "<")
        csv_text = table_csv(table).decode().replace(",-", ",−").replace("\r\n", " ,")
        plain = unescape(re.sub(r"<[^>]*>", " ", html))
        for shown in (plain, body.replace("\\<", "<"), tex, csv_text):
            found = Counter(re.findall(r"(?<![\w.+-])[<−]?\d*\.\d{1,3}(?![\w.])", shown))
            assert not Counter(expected) - found, table.name


def test_latex_has_a_row_per_cell_and_balances(run: Run, files: dict[str, bytes], evil_files: dict[str, bytes]) -> None:
    body = files["tables/cells.tex"].decode()
    assert body.splitlines()[0].startswith("% ")
    assert body.count(r"\\") - 1 == len(run.report["cells"])
    for name, content in [*files.items(), *evil_files.items()]:
        if not name.endswith(".tex") or name == "tables/preamble.tex":
            continue
        written = content.decode()
        lines = [line for line in written.splitlines() if not line.startswith("%")]
        bare = re.sub(r"\\[\\{}$&#%_]", "", "\n".join(lines))
        assert bare.count("{") == bare.count("}"), name
        assert bare.count("$") % 2 == 0 and "#" not in bare and "%" not in bare, name
        columns = len(re.sub(r".*tabular\}\{|\}.*", "", lines[0]))
        rows = [re.sub(r"\\&", "", line) for line in lines if line.endswith(r"\\") or line.endswith(r"\\ \midrule")]
        assert {row.count("&") for row in rows} == {columns - 1}, name
        assert not re.search("[\u0250-\U0010ffff]", "".join(lines)), name


def test_markdown_tables_are_at_most_eight_columns_wide(files: dict[str, bytes], evil_files: dict[str, bytes]) -> None:
    for written in (files["report.md"].decode(), evil_files["report.md"].decode()):
        blocks = [b for b in written.split("\n\n") if b.startswith("|")]
        assert blocks
        for block in blocks:
            widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1 for line in block.splitlines()}
            assert len(widths) == 1 and widths.pop() <= 8, block.splitlines()[0]


def test_csv_files_are_regular(evil_files: dict[str, bytes]) -> None:
    for name, content in evil_files.items():
        if name.endswith(".csv"):
            rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
            assert len({len(row) for row in rows}) == 1, name
            assert not content.startswith(b"\xef\xbb\xbf") and content.endswith(b"\r\n")
    exact = csv.DictReader(io.StringIO(evil_files["tables/cells-exact.csv"].decode(), newline=""))
    assert "</script><b>model|x" in {row["model"] for row in exact}


def test_conditions_are_in_dose_order_everywhere(run: Run, files: dict[str, bytes]) -> None:
    document = open_document(run.report)
    assert document.conditions == ("orig", "partial", "head", "ngram2", "full")
    assert list(document.conditions) == sorted(document.conditions, key=DOSE_ORDER.index)
    spec = json.loads(files["figures/f1-accuracy.vl.json"])
    assert '["orig", "part", "head", "2-gram", "full"]' in json.dumps(spec)
    assert [c.key for c in tables.sensitivity(document).columns[2:]] == [
        "S_partial",
        "S_head",
        "S_ngram2",
        "S_full",
        "S_orig_L",
    ]


@pytest.mark.parametrize(
    "name", ["f1-accuracy", "f2-drop", "f5-draws", "f6-upos", "f6-feats", "f6-masks", "f7-dose", "f8-logp"]
)
def test_figures_carry_their_data_and_description(files: dict[str, bytes], name: str) -> None:
    drawn = files[f"figures/{name}.svg"].decode()
    assert drawn.startswith("<svg ") and "<desc" in drawn and "<title" in drawn and "href" not in drawn
    assert json.loads(files[f"figures/{name}.vl.json"])["data"]["values"]


@pytest.mark.parametrize(("count", "dots"), [(30, 30), (31, 20), (400, 20)])
def test_many_draws_are_drawn_as_quantiles(run: Run, count: int, dots: int) -> None:
    one = next(d for d in run.report["draws"] if d["condition"] == "full" and not d["lemma"])
    drawn = [{**one, "draw": i, "top1": ((7 * i) % count + 0.5) / count} for i in range(count)]
    found = figures.draws(open_document({**run.report, "draws": drawn}))
    assert found is not None
    shown = sorted(row["draw"] for row in found.spec["data"]["values"])
    assert len(shown) == dots and (f"{dots} quantiles" in found.caption) == (count > 30)
    assert shown == pytest.approx([(i + 0.5) / dots for i in range(dots)], abs=1 / count)


def test_the_ending_of_a_run_fits_ten_lines(run: Run) -> None:
    lines = summary_lines(run.report, "runs/a/report/report.html")
    assert len(lines) == 10 and lines[-1] == "report: runs/a/report/report.html"
    assert "7 more" in lines[-3] and "scored" in lines[-2]
    assert terminal_table(run.report).row_count == 14


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(files: dict[str, bytes], evil_files: dict[str, bytes], tmp_path: Path) -> None:
    for side, written in (("plain", files), ("evil", evil_files)):
        folder = tmp_path / side
        (folder / "tables").mkdir(parents=True)
        tables = [name for name in written if name.endswith(".tex")]
        for name in tables:
            (folder / name).write_bytes(written[name])
        inputs = "\n\n".join(f"\\input{{{name}}}" for name in tables if name != "tables/preamble.tex")
        (folder / "all.tex").write_text(
            "\\documentclass{article}\n\\input{tables/preamble}\n\\begin{document}\n" + inputs + "\n\\end{document}\n"
        )
        command = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "all.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (folder / "all.log").read_text(encoding="latin-1")[-2000:]
        log = (folder / "all.log").read_text(encoding="latin-1")
        assert "Missing character" not in log and "undefined" not in log


def test_the_settings_read_back(files: dict[str, bytes], run: Run) -> None:
    assert tomllib.loads(files["run.toml"].decode()) == run.report["manifest"]["config"]
    evil = {
        "a": 'x"\\\n\x7f\u2028',
        "t": [{"p": "ü", "n": None}, {"p": "", "n": 1}],
        "e": [],
        "g": {"k": 0.5, "b": True},
    }
    kept = {**evil, "t": [{"p": "ü"}, {"p": "", "n": 1}]}
    assert tomllib.loads(settings_toml(evil).decode()) == kept
