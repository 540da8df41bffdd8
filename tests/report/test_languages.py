"""F9: past twelve treebanks a row each; a user's table about the languages sorts and explains them."""

import json
import re
from typing import Any

import jsonschema
import pytest

from evaluator.errors import ConfigError
from evaluator.reduce.covariates import add_covariates, correlations, read_covariates
from evaluator.report import render_report
from evaluator.report.document import open_document, report_schema
from evaluator.report.tables import in_order, languages
from tests.report.synthetic import Run, make_run
from tests.report.test_page import strict

TABLE = "language,family,speakers\nde,Germanic,130\nru,Slavic,255\nzh,Sinitic,1300\n"


@pytest.fixture(scope="module")
def many() -> Run:
    """Three languages under fifteen names."""
    made = make_run(("de", "ru", "zh"), ("a", "b"), ("orig", "full"), items=6, draws=1)
    parts = ("cells", "comparisons", "draws", "doses")
    report: dict[str, Any] = {**made.report, "breakdowns": {by: [] for by in made.report["breakdowns"]}}
    for name in parts:
        report[name] = [
            {**row, "treebank": f"{row['treebank']}_{copy}"} for copy in range(5) for row in made.report[name]
        ]
    return Run(report, made.outcomes, made.sentences)


def test_past_twelve_treebanks_no_panel_is_drawn_for_each(many: Run) -> None:
    written = dict(render_report(many.report, many.outcomes))
    drawn = {name for name in written if name.endswith(".svg")}
    assert drawn == {"figures/f9-languages.svg", "figures/f9-drop.svg"}
    spec = json.loads(written["figures/f9-languages.vl.json"])
    assert len({row["place"] for row in spec["data"]["values"]}) == 15
    assert {row["condition"] for row in spec["data"]["values"]} == {"orig", "full"}
    strict(written["report.html"])
    assert "With 15 treebanks" in written["report.html"].decode()
    assert written["tables/languages.csv"].count(b"\r\n") == 16


def test_treebanks_are_sorted_by_group_then_accuracy(many: Run) -> None:
    document = open_document(add_covariates(many.report, TABLE, "x.csv"))
    order = in_order(document)
    assert [name[:2] for name in order] == ["de"] * 5 + ["zh"] * 5 + ["ru"] * 5
    plain = in_order(open_document(many.report))
    means = [
        sum(
            c["top1"] for c in many.report["cells"] if (c["treebank"], c["condition"], c["lemma"]) == (t, "orig", False)
        )
        for t in plain
    ]
    assert means == sorted(means, reverse=True)
    assert [c.label for c in languages(document).columns[:4]] == ["language", "family", "speakers", "n"]


def test_a_covariate_is_drawn_and_kept_in_the_report(run: Run) -> None:
    report = add_covariates(run.report, TABLE, "x.csv")
    jsonschema.Draft202012Validator(report_schema()).validate(report)
    written = dict(render_report(report, run.outcomes))
    rows = json.loads(written["figures/f9-covariate-1.vl.json"])["data"]["values"]
    assert {(row["label"], row["x"]) for row in rows} == {("de", 130.0), ("ru", 255.0), ("zh", 1300.0)}
    page = re.sub(r"\s+", " ", written["report.html"].decode())
    assert "Accuracy against speakers" in page and "not in the file of covariates" in page
    strict(written["report.html"])


def ranks(values: list[float]) -> list[float]:
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def test_rho_is_the_correlation_of_ranks(run: Run) -> None:
    """By hand: Pearson's r of mean ranks."""
    values = {name: float(i * i % 5) for i, name in enumerate(sorted({c["treebank"] for c in run.report["cells"]}))}
    for row in correlations(run.report["cells"], values):
        cells = [c for c in run.report["cells"] if (c["model"], c["condition"]) == (row["model"], row["condition"])]
        cells = [c for c in cells if not c["lemma"]]
        x, y = ranks([values[c["treebank"]] for c in cells]), ranks([c["top1"] for c in cells])
        middle = (len(x) + 1) / 2
        dx, dy = [a - middle for a in x], [b - middle for b in y]
        norm = (sum(a * a for a in dx) * sum(b * b for b in dy)) ** 0.5
        assert row["n"] == len(cells) == 7
        assert row["rho"] == pytest.approx(sum(a * b for a, b in zip(dx, dy, strict=True)) / norm)
    assert correlations(run.report["cells"], {"de_pud": 1.0, "ru_pud": 2.0})[0]["rho"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no such columns"),
        ("name,x\nde,1\n", "no such columns"),
        ("language,x\nde,1,2\n", "3 fields"),
        ("language,x\nfi,1\n", "names no language"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_covariates(text, {"de_pud": "de"}, "x.csv")


def test_tabs_boms_blank_lines_and_gaps_are_read() -> None:
    found = read_covariates("\ufefftreebank\tx\ty\n\nde_pud\t1.5\t\n", {"de_pud": "de"}, "x.tsv")
    assert found == {"numbers": [{"name": "x", "values": {"de_pud": 1.5}}], "groups": None}
