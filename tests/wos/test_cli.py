"""The command end to end: answers on stdout, exit codes, one line for a mistake."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.errors import MorphorderError
from evaluator.wos.cli import app
from tests.commands import answer_of
from tests.conftest import ROOT

call = partial(answer_of, app)


def test_a_file_is_measured(bundles: Callable[..., Path], single: Path, tmp_path: Path) -> None:
    flags = ["--columns", "sentence,label", "--draws", "2", "--threads", "1", "--progress", "none"]
    answer = call("run", str(single), "-m", str(bundles("order")), "--out", str(tmp_path / "run"), *flags)
    assert answer["ok"] and Path(answer["report"]).is_file() and answer["problems"] == []
    assert [r["condition"] for r in answer["rows"]] == ["ngram1", "ngram2", "ngram3", "noun_swap"]
    broken = bundles("order", nan_on="w3", name="broken")
    answer = call("run", str(single), "-m", str(broken), "--out", str(tmp_path / "broken"), *flags, code=1)
    assert not answer["ok"] and answer["problems"]


def test_a_settings_file_and_its_flags(bundles: Callable[..., Path], single: Path, tmp_path: Path) -> None:
    settings = tmp_path / "task.toml"
    settings.write_text(
        f'data = "{single}"\ntexts = ["sentence"]\nmodels = ["{bundles("bag")}"]\norders = ["ngram2"]\ndraws = 9\n',
        encoding="utf-8",
    )
    answer = call("run", str(settings), "--out", str(tmp_path / "run"), "--draws", "1", "--progress", "none")
    assert [(r["condition"], r["draws"]) for r in answer["rows"]] == [("ngram2", 1)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "none.tsv", "-m", "x"], "not a model bundle"),
        (["run", "x.tsv"], "no model"),
        (["run", "x.tsv", "--columns", "label"], "0 texts in 'label'"),
        (["run", "x.tsv", "--progress", "loud"], "no progress style 'loud'"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], said: str) -> None:
    with pytest.raises(MorphorderError, match=said) as caught:
        call(*arguments)
    assert caught.value.exit_code == 2


def test_no_command_has_more_than_ten_flags() -> None:
    for command in ("run", "heads", "attribute"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
        flags = [line for line in shown.splitlines() if line.lstrip("│ *").startswith("--") and "--help" not in line]
        assert 0 < len(flags) <= 10, (command, flags)


def test_wos_needs_neither_torch_nor_datasets() -> None:
    code = (
        "import sys, evaluator.wos.cli; print(sorted({'torch', 'transformers', 'datasets', 'ray'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout.strip() == "[]"
