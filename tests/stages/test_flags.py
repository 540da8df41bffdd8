"""Flag over environment over TOML over default, and doctor says which it was."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from evaluator.cli import app
from evaluator.config import Config
from evaluator.errors import ConfigError
from evaluator.flags import PREFIX, from_environment, name_variables, origins, overlay
from tests.stages.test_commands import morphorder


def named(path: Path | None, **environment: str) -> dict[str, tuple[Any, str]]:
    return {row["setting"]: (row["value"], row["origin"]) for row in origins(path, environment)}


def test_every_setting_has_a_value_and_an_origin(tmp_path: Path) -> None:
    toml = tmp_path / "run.toml"
    toml.write_text('out = "there"\nseeds = [0, 1]\n[sample]\nn = 7\nmin_units = 3\n', encoding="utf-8")
    found = named(toml, MORPHORDER_N="9", MORPHORDER_MODEL="a b")
    assert found["sample.n"] == (9, "MORPHORDER_N")
    assert found["models"] == (["a", "b"], "MORPHORDER_MODEL")
    assert found["sample.min_units"] == (3, str(toml)) and found["out"] == ("there", str(toml))
    assert found["draws"] == (1, "default") and found["seeds"] == ([0, 1], str(toml))
    fields = Config.model_fields
    assert {setting.partition(".")[0] for setting in found} == set(fields)
    assert named(None)["seeds"] == ([0, 1, 2, 3, 4], "default")


def test_what_flags_change_is_one_function() -> None:
    assert overlay({"n": 5, "seeds": 2, "threads": 0, "out": "", "model": None, "treebank": []}) == {
        "sample": {"n": 5},
        "seeds": [0, 1],
        "scoring": {"threads": 0},
    }
    with pytest.raises(ConfigError, match="not a number"):
        from_environment({"MORPHORDER_N": "many"})


def test_each_flag_of_each_command_has_a_variable_and_none_means_two_things() -> None:
    command: Any = typer.main.get_command(app)
    name_variables(command)
    seen: dict[str, set[str]] = {}
    for name, inner in command.commands.items():
        for option in inner.params:
            flag = next((opt for opt in getattr(option, "opts", ()) if opt.startswith("--")), None)
            if flag is None or flag == "--help":
                continue
            assert isinstance(option.envvar, str) and option.envvar.startswith(PREFIX), (name, flag)
            seen.setdefault(option.envvar, set()).add(flag)
            if flag == "--out" and name in ("compare", "convert"):
                assert option.envvar == f"MORPHORDER_{name.upper()}_OUT"
    assert all(len(flags) == 1 for flags in seen.values())
    assert {"MORPHORDER_OUT", "MORPHORDER_SHOW_WRONG", "MORPHORDER_COMPARE_FAIL_IF", "MORPHORDER_JSON"} <= set(seen)


def test_doctor_and_commands_obey_the_environment(tmp_path: Path) -> None:
    said = morphorder("doctor", "--json", MORPHORDER_N="3", MORPHORDER_OUT=str(tmp_path))
    settings = {row["setting"]: row for row in json.loads(said.stdout)["settings"]}
    assert settings["sample.n"] == {"setting": "sample.n", "value": 3, "origin": "MORPHORDER_N"}
    assert settings["out"]["origin"] == "MORPHORDER_OUT"
    refused = morphorder("show", "nowhere", MORPHORDER_JSON="1", MORPHORDER_SHOW_LIMIT="x")
    assert refused.returncode == 2 and json.loads(refused.stdout)["error"]["code"] == "usage"
