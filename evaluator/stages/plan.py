"""What a run would do, before it does it, and how long it would take here."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from time import perf_counter
from typing import Any

import pyarrow.compute as pc

from evaluator.config import Config
from evaluator.progress import Reporter
from evaluator.score.probe import Probe, probe_model
from evaluator.stages.encode import ModelFolder, encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.stages.score import settings_of
from evaluator.store.run import read_stage
from evaluator.store.shards import ShardSet

REPORT_BASE_S = 6.0
REPORT_OUTCOME_S = 25e-6
"""Statistics and drawing: once per run, and per item and model, as for the embedded run and seven PUD treebanks."""
STARTUP_S = 2.0
"""Starting Python and importing what a run imports."""

Examine = Callable[[ModelFolder, ShardSet, int], Probe]


def plan_of(config: Config, reporter: Reporter, examine: Examine | None = None) -> dict[str, Any]:
    """Items, distinct rows and shards per model, worked out by preparing and encoding in a temporary folder.

    `examine` is given each model with its encoded rows while they are there.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = perf_counter()
        run = prepare(config.model_copy(update={"out": folder}), reporter)
        prepare_s = perf_counter() - began
        prepared = read_stage(run.items()) or {}
        models: list[dict[str, Any]] = []
        for model in open_models(config.models):
            began = perf_counter()
            facts = encode(run, model, spacing=config.spacing, shard_rows=config.scoring.shard_rows, reporter=reporter)
            encode_s = perf_counter() - began
            rows, shards = run.rows(model.bundle.tokenizer_fingerprint), int(facts["shards"])
            pieces = sum(pc.sum(pc.list_value_length(rows.read(s)["ids"])).as_py() or 0 for s in range(shards))
            planned = {"model": model.bundle.name, "rows": facts["rows"], "shards": shards, "pieces": pieces}
            models.append({**planned, "encode_s": encode_s})
            if examine is not None:
                models[-1]["probe"] = asdict(examine(model, rows, shards))
        return {
            "out": config.out,
            "engine": config.engine,
            "base_items": prepared.get("base_items", {}),
            "excluded": prepared.get("excluded", {}),
            "items": prepared["rows"],
            "prepare_s": prepare_s,
            "models": models,
        }


def estimate_of(config: Config, reporter: Reporter, probe_s: float) -> dict[str, Any]:
    """The plan with `estimate_s`: seconds per stage and in all that the run would take in one process here.

    Preparing and encoding are timed by doing them; scoring by `probe_s` seconds of its own batches, shared between the
    models; the report by its size.
    """

    def examine(model: ModelFolder, rows: ShardSet, shards: int) -> Probe:
        return probe_model(
            model.folder,
            model.bundle,
            rows,
            shards,
            settings_of(config),
            provider=config.scoring.provider,
            threads=config.scoring.threads,
            seconds=probe_s / len(config.models),
        )

    plan = plan_of(config, reporter, examine)
    stages = {
        "start": STARTUP_S,
        "prepare": plan["prepare_s"],
        "encode": sum(m["encode_s"] for m in plan["models"]),
        "score": sum(m["probe"]["load_s"] + m["probe"]["score_s"] for m in plan["models"]),
        "report": REPORT_BASE_S + REPORT_OUTCOME_S * plan["items"] * len(plan["models"]),
    }
    return {**plan, "estimate_s": {**stages, "all": sum(stages.values())}}


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """The plan as a few lines of text."""
    bases = sum(plan["base_items"].values())
    lines = [f"{bases:,} base items in {len(plan['base_items'])} treebanks, {plan['items']:,} items per model"]
    lines += [
        f"{m['model']}: {m['rows']:,} distinct rows, {m['pieces']:,} pieces, {m['shards']} shards"
        for m in plan["models"]
    ]
    return [*lines, *_estimate_lines(plan), f"engine {plan['engine']}, results in {plan['out']}"]


def _estimate_lines(plan: dict[str, Any]) -> list[str]:
    if "estimate_s" not in plan:
        return []
    lines = [
        f"{m['model']}: {m['probe']['rows_per_s']:,.1f} rows a second "
        f"({m['probe']['probed']} of {m['probe']['batches']} batches tried)"
        for m in plan["models"]
    ]
    stages = {name: value for name, value in plan["estimate_s"].items() if name != "all"}
    parts = ", ".join(f"{name} {_duration(seconds)}" for name, seconds in stages.items())
    here = "" if plan["engine"] == "local" else f", in one process; engine {plan['engine']} shares scoring out"
    return [*lines, f"about {_duration(plan['estimate_s']['all'])} here{here}: {parts}"]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
