"""`morphorder export`: exit codes, one-line errors, the last line names the bundle."""

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaluator.score.bundle import read_bundle
from export.cli import app

run = CliRunner().invoke


def test_exports_and_names_the_bundle(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    result = run(app, [str(checkpoint("bert")), "--out", str(tmp_path / "b"), "--storage", "fp16", "--name", "tiny"])
    assert result.exit_code == 0, result.output
    bundle = read_bundle(tmp_path / "b")
    last = result.stdout.strip().rpartition("\n")[2]
    assert last.startswith(f"{tmp_path / 'b'}: bundle tiny") and bundle.fingerprint in last
    assert "parity with transformers" in result.stderr


def test_agreement_is_printed(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    result = run(app, [str(checkpoint("bert")), "--out", str(tmp_path / "b"), "--precision", "fp16"])
    assert result.exit_code == 0, result.output
    assert "agreement of fp16 with fp32: top-1 " in result.stderr


def test_users_mistakes_exit_2_with_one_line(tmp_path: Path) -> None:
    result = run(app, [str(tmp_path / "absent"), "--out", str(tmp_path / "b")])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ") and "no such file or folder" in result.stderr
    assert run(app, ["x", "--out", str(tmp_path / "b"), "--precision", "fp8"]).exit_code == 2


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_torch(name: str, *rest: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **options)

    for module in [name for name in sys.modules if name.startswith("export.") and name != "export.cli"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without_torch)
    result = run(app, ["some/model", "--out", str(tmp_path / "b")])
    assert result.exit_code == 2
    assert "pip install 'morphorder[export]'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_names_at_most_ten_flags() -> None:
    text = run(app, ["--help"]).stdout
    flags = {word.strip(",") for line in text.splitlines() for word in line.split()[:2] if word.startswith("--")}
    assert len(flags - {"--help"}) <= 10 and "--out" in text
