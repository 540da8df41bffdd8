"""`morphorder doctor`: what this machine and installation can do, before a run finds out."""

import json
import os
import platform
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from evaluator.config import BUNDLED_MODELS, read_config
from evaluator.errors import MorphorderError
from evaluator.flags import from_environment, origins, overlay
from evaluator.progress import Reporter
from evaluator.score.backend import Session, installed, providers, usable_cpus
from evaluator.stages.encode import open_models
from evaluator.stages.manifest import versions
from evaluator.stages.plan import estimate_of, plan_lines
from evaluator.store.location import without_secrets

RESPECTED = ("HF_HOME", "HF_HUB_OFFLINE", "RAY_ADDRESS", "OMP_NUM_THREADS", "SOURCE_DATE_EPOCH", "NO_COLOR")


def doctor_command(
    config: Annotated[
        Path | None, typer.Argument(help="Settings in TOML whose run is to be planned and timed.", show_default=False)
    ] = None,
    probe_s: Annotated[float, typer.Option(min=0.1, help="Seconds of scoring to predict from, all models.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Say what works here: versions, providers, threads, engines, and a timed check of the bundled models.

    With CONFIG, also what its run would do and how long it would take on this machine. Every setting is listed with its
    origin: a MORPHORDER_ variable, the file, or the default (`--json`; the text lists those that are no default).

    `morphorder doctor`

    `morphorder doctor config.toml --json`
    """
    settings = origins(config, os.environ)
    facts = {**examine(), "settings": settings}
    if config is not None:
        asked = read_config(config, overlay(from_environment(os.environ)))
        facts["plan"] = estimate_of(asked, Reporter("none" if as_json else "auto"), probe_s)
    if as_json:
        print(json.dumps({"ok": not facts["problems"], **facts}))
    else:
        print("\n".join(_lines(facts)))
    if facts["problems"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Everything doctor says, as one JSON-able object; `problems` is empty when the default run will work."""
    problems: list[str] = []
    speeds: dict[str, Any] = {}
    try:
        available = providers()
        speeds = {m.bundle.name: _speed(m.folder, m.bundle) for m in open_models(BUNDLED_MODELS)}
    except MorphorderError as error:
        available = []
        problems.append(str(error))
    return {
        "versions": versions(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": usable_cpus(),
        "onnxruntime": installed(),
        "providers": available,
        "engines": sorted(e.name for e in entry_points(group="morphorder.engines")),
        "commands": sorted(e.name for e in entry_points(group="morphorder.commands")),
        "environment": {
            name: without_secrets(value)
            for name, value in sorted(os.environ.items())
            if name in RESPECTED or name.startswith("MORPHORDER_")
        },
        "rows_per_s": speeds,
        "problems": problems,
    }


def _speed(folder: Any, bundle: Any) -> float:
    """Rows of 24 pieces with one mask scored in a second by a bundled model, best of three batches of 64."""
    session = Session(folder, bundle)
    ids = np.full((64, 24), (bundle.mask_id + 1) % bundle.vocab_size, dtype=np.int64)  # any piece that is no mask
    ids[:, 5] = bundle.mask_id
    attention = np.ones_like(ids)
    mask_pos, gold = np.arange(64) * 24 + 5, np.arange(64)
    best = float("inf")
    for _ in range(4):
        began = perf_counter()
        session.run(ids, attention, mask_pos, gold, np.full(64, 5))
        best = min(best, perf_counter() - began)
    return round(64 / best, 1)


def _not_default(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in settings if row["origin"] != "default"]


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"{name:<18}{version}" for name, version in facts["versions"].items()]
    lines += [
        f"{'machine':<18}{facts['system']} {facts['machine']}, {facts['cpus']} CPUs for this process",
        f"{'providers':<18}{', '.join(facts['providers']) or 'none'}",
        f"{'engines':<18}{', '.join(facts['engines'])}",
    ]
    lines += [f"{name:<18}{speed:,.0f} rows of 24 pieces a second" for name, speed in facts["rows_per_s"].items()]
    lines += [f"{name:<18}{value} (environment)" for name, value in facts["environment"].items()]
    lines += [f"{row['setting']:<18}{row['value']} ({row['origin']})" for row in _not_default(facts["settings"])]
    lines += plan_lines(facts["plan"]) if "plan" in facts else []
    return lines + ([f"problem: {p}" for p in facts["problems"]] or ["all is well"])
