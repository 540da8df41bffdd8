"""The manifest of a run: what was measured with what, so that somebody else can repeat it."""

import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.config import Config, demo_config
from evaluator.report.settings import SETTINGS_FILE
from evaluator.stages.encode import ModelFolder
from evaluator.stages.score import providers_of
from evaluator.store.run import RunFolder, fingerprint, read_json, read_stage

LIBRARIES = ("morphorder", "numpy", "pyarrow", "tokenizers", "conllu", "scipy", "onnxruntime", "onnxruntime-gpu")
TIMES_FILE = "times.json"


def manifest_of(run: RunFolder, models: Sequence[ModelFolder], config: Config) -> dict[str, Any]:
    """The manifest. Holds no path beyond file names, no user name and no environment value."""
    prepared = read_stage(run.items()) or {}
    settings = portable_settings(config)
    return {
        "versions": versions(),
        "config": settings,
        "config_diff": {
            k: _value(settings, k) for k in config.differences() if k.split(".")[0] in settings and k != "treebanks"
        },
        "config_fingerprint": fingerprint(settings),
        "seeds": list(config.seeds),
        "models": [_model(run, m, config) for m in models],
        "treebanks": prepared.get("treebanks", []),
        "excluded": prepared.get("excluded", {}),
        "base_items": prepared.get("base_items", {}),
        "engine": config.engine,
        "wall_s": read_json(run.location, TIMES_FILE) or {},
        "command": "morphorder run"
        if settings == portable_settings(demo_config())
        else f"morphorder run {SETTINGS_FILE}",
    }


def portable_settings(config: Config) -> dict[str, Any]:
    """The settings that decide the numbers, with file names for paths."""
    settings = config.model_dump(mode="json", exclude={"out", "ray", "engine", "scoring"})
    settings["treebanks"] = [{**t, "path": Path(t["path"]).name} for t in settings["treebanks"]]
    settings["models"] = [Path(m.partition("?")[0]).name for m in settings["models"]]
    settings["sample"]["subset"] = Path(settings["sample"]["subset"]).name
    return settings


def _value(settings: dict[str, Any], key: str) -> Any:
    """The value at `section.key`."""
    found: Any = settings
    for part in key.split("."):
        found = found[part]
    return found


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that can change a number."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _model(run: RunFolder, model: ModelFolder, config: Config) -> dict[str, Any]:
    bundle = model.bundle
    encoded = read_stage(run.rows(bundle.tokenizer_fingerprint)) or {}
    answers = run.scored(bundle.tokenizer_fingerprint, bundle.fingerprint, config.k)
    scored = read_stage(answers) or {}
    return {
        "name": bundle.name,
        "precision": bundle.precision,
        "source": bundle.source,
        "revision": bundle.revision,
        "architecture": bundle.architecture,
        "fingerprint": bundle.fingerprint,
        "parameters": bundle.parameters,
        "max_pieces": bundle.max_pieces,
        "parity": bundle.parity,
        "provider": scored.get("provider")
        or providers_of(answers.made_by(s) for s in range(encoded.get("shards", 0)))
        or None,
        "unique_rows": scored.get("rows"),
        "whole_text_equal": encoded.get("whole_text_equal", {}),
    }
