"""What README shows works as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.config import read_config
from tests.conftest import ROOT

GROUPS = ("cloze", "wos")
"""Commands that have commands of their own."""
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    """Every `morphorder` command in shell blocks, continued lines joined."""
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.split("#")[0].split("&&")]
    return [shlex.split(part) for part in parts if part.startswith("morphorder ")]


def test_there_are_examples() -> None:
    assert len(blocks("python")) >= 1
    assert len(blocks("toml")) >= 1
    assert len(commands()) >= 4


@pytest.mark.parametrize("command", commands(), ids=lambda c: " ".join(c)[:60])
def test_commands_take_the_flags_shown(command: list[str]) -> None:
    flags = [word for word in command if word.startswith("--")]
    path = command[1:3] if command[1] in GROUPS else command[1:2]
    shown = subprocess.run(
        [sys.executable, "-m", "evaluator", *path, "--help"], capture_output=True, text=True, check=True
    ).stdout
    missing = [flag for flag in flags if flag not in shown]
    assert not missing, f"{' '.join(path)} --help does not know {missing}"


@pytest.mark.parametrize("block", blocks("toml"))
def test_settings_are_settings(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block, encoding="utf-8")
    config = read_config(file)
    assert config.conditions[0] == "orig"


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
