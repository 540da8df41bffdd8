"""A command called in this process, for its JSON. Not a test."""

import json
from typing import Any

import typer
from typer.testing import CliRunner

from evaluator.errors import MorphorderError


def answer_of(app: typer.Typer, *arguments: str, code: int = 0) -> Any:
    """What the command prints under `--json`; its exit code must be `code`, and a MorphorderError is raised here."""
    result = CliRunner().invoke(app, [*arguments, "--json"])
    if isinstance(result.exception, MorphorderError):
        raise result.exception
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)
