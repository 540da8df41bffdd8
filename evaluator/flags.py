"""Flags and their environment variables: which setting each overlays, and where every value of a run comes from.

Flag over environment over TOML over default. A flag that makes or reads a run is `MORPHORDER_<FLAG>` in every command;
any other is `MORPHORDER_<COMMAND>_<FLAG>`, for the same name can mean another thing there (`compare --out`).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluator.config import Config, read_config, read_toml
from evaluator.errors import ConfigError
from evaluator.store.location import without_secrets

PREFIX = "MORPHORDER_"
SETTINGS = {
    "out": "out",
    "model": "models",
    "treebank": "treebanks",
    "n": "sample.n",
    "seeds": "seeds",
    "engine": "engine",
    "threads": "scoring.threads",
}
"""The setting that each flag of `run` overlays."""
REPEATABLE = ("model", "treebank")
COUNTS = ("n", "seeds", "threads")
EVERYWHERE = ("--json", "--progress", "--threads", "--no-text")
"""Flags that mean the same in every command."""


def overlay(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What the flags that were given change: `{"sample": {"n": 5}}` for `--n 5`; `--seeds 3` is the seeds 0, 1, 2."""
    found: dict[str, Any] = {}
    for flag, setting in SETTINGS.items():
        value = flags.get(flag)
        if value is None or value in ("", []):
            continue
        section, _, key = setting.rpartition(".")
        (found.setdefault(section, {}) if section else found)[key] = list(range(value)) if flag == "seeds" else value
    return found


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The flags of `run` that the environment sets. Errors: ConfigError for a count that is no number."""
    found: dict[str, Any] = {}
    for flag in SETTINGS:
        text = environment.get(variable(flag), "")
        if not text:
            continue
        if flag in COUNTS and not re.fullmatch(r"\d+", text):
            raise ConfigError(f"not a number: {text!r}", where=variable(flag))
        found[flag] = text.split() if flag in REPEATABLE else int(text) if flag in COUNTS else text
    return found


def variable(flag: str) -> str:
    """`MORPHORDER_NO_TEXT` for `--no-text` or `no_text`."""
    return PREFIX + flag.strip("-").replace("-", "_").upper()


def origins(path: Path | None, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every setting that `run` would use: `setting`, `value`, and its `origin`: a variable, the file, `default`."""
    flags = from_environment(environment)
    config = read_config(path, overlay(flags))
    written = set(_flat(read_toml(path))) if path else set()
    named = {SETTINGS[flag]: variable(flag) for flag in flags}
    rows = []
    for setting, value in _items(config):
        is_written = any(setting == key or key.startswith(f"{setting}.") for key in written)
        origin = named.get(setting) or (str(path) if is_written else "default")
        rows.append({"setting": setting, "value": _shown(value), "origin": origin})
    return rows


def _items(config: Config) -> Iterator[tuple[str, Any]]:
    for key, value in config.model_dump(mode="json").items():
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            yield key, value


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{prefix}{key}.")
        else:
            yield prefix + key


def _shown(value: Any) -> Any:
    return without_secrets(value) if isinstance(value, str) else value


def name_variables(command: Any, path: tuple[str, ...] = ()) -> None:
    """Gives every option of a command and its subcommands the variable that it lacks; `--help` does not list those."""
    for option in command.params:
        name = next((opt for opt in getattr(option, "opts", ()) if opt.startswith("--")), None)
        if name is None or option.is_eager or getattr(option, "envvar", None) or not path:
            continue
        option.envvar = variable(name if name in EVERYWHERE else "-".join((*path, name.strip("-"))))
        option.show_envvar = False
    for name, inner in getattr(command, "commands", {}).items():
        name_variables(inner, (*path, name))
