"""What a run would do, before it does it, and how long it would take here."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any

import pyarrow.compute as pc

from evaluator.config import Config
from evaluator.errors import MorphorderError
from evaluator.progress import Reporter
from evaluator.score.probe import Probe, probe_model
from evaluator.stages.encode import ModelFolder, encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.stages.score import settings_of
from evaluator.store.run import RunFolder, read_stage
from evaluator.store.shards import ShardSet

REPORT_BASE_S = 6.0
REPORT_OUTCOME_S = 25e-6
"""Statistics and drawing: once per run, and per item and model, as for the embedded run and seven PUD treebanks."""
FORECAST_PROBE_S = 1.0
STARTUP_S = 2.0
"""Starting Python and importing what a run imports."""

Examine = Callable[[ModelFolder, ShardSet, int], Probe | None]


def plan_of(config: Config, reporter: Reporter, examine: Examine | None = None) -> dict[str, Any]:
    """Items, distinct rows and shards per model, worked out by preparing and encoding in a temporary folder.

    `examine` is given each model with its encoded rows while they are there.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = perf_counter()
        run = prepare(config.model_copy(update={"out": folder}), reporter)
        prepare_s = perf_counter() - began
        models, encode_s = open_models(config.models), []
        for model in models:
            began = perf_counter()
            encode(run, model, spacing=config.spacing, shard_rows=config.scoring.shard_rows, reporter=reporter)
            encode_s.append(perf_counter() - began)
        plan = plan_of_run(run, models, config, examine)
        timed = [{**planned, "encode_s": s} for planned, s in zip(plan["models"], encode_s, strict=True)]
        return {**plan, "out": config.out, "prepare_s": prepare_s, "models": timed}


def plan_of_run(
    run: RunFolder, models: Sequence[ModelFolder], config: Config, examine: Examine | None = None
) -> dict[str, Any]:
    """The same of a run folder in which these models are encoded, and how many of their shards are `done`."""
    prepared = read_stage(run.items()) or {}
    planned: list[dict[str, Any]] = []
    for model in models:
        tokenizer = model.bundle.tokenizer_fingerprint
        rows, scored = run.rows(tokenizer), run.scored(tokenizer, model.bundle.fingerprint, config.k)
        facts = read_stage(rows) or {"rows": 0, "shards": 0}
        shards = int(facts["shards"])
        pieces = sum(pc.sum(pc.list_value_length(rows.read(s)["ids"])).as_py() or 0 for s in range(shards))
        done = sum(scored.is_done(s) for s in range(shards))
        planned.append(
            {"model": model.bundle.name, "rows": facts["rows"], "shards": shards, "pieces": pieces, "done": done}
        )
        if examine is not None and done < shards and (probe := examine(model, rows, shards)) is not None:
            planned[-1]["probe"] = asdict(probe)
    return {
        "out": str(run.location),
        "engine": config.engine,
        "base_items": prepared.get("base_items", {}),
        "excluded": prepared.get("excluded", {}),
        "items": prepared["rows"],
        "models": planned,
    }


def estimate_of(config: Config, reporter: Reporter, probe_s: float) -> dict[str, Any]:
    """The plan with `estimate_s`: seconds per stage and in all that the run would take in one process here.

    Preparing and encoding are timed by doing them; scoring by `probe_s` seconds of its own batches, shared between the
    models; the report by its size. No estimate where a model cannot be run here.
    """

    plan = plan_of(config, reporter, _prober(config, probe_s))
    spent = {"start": STARTUP_S, "prepare": plan["prepare_s"], "encode": sum(m["encode_s"] for m in plan["models"])}
    return _estimated(plan, spent)


def forecast_of(run: RunFolder, models: Sequence[ModelFolder], config: Config) -> dict[str, Any]:
    """The plan of a run that is about to score, with `estimate_s` of what is left, from a second of probing."""
    return _estimated(plan_of_run(run, models, config, _prober(config, FORECAST_PROBE_S)), {})


def _prober(config: Config, seconds: float) -> Examine:
    """Tries each model for its share of the seconds; None where it cannot be run, as beside a cluster's GPUs."""

    def examine(model: ModelFolder, rows: ShardSet, shards: int) -> Probe | None:
        try:
            return probe_model(
                model.folder,
                model.bundle,
                rows,
                shards,
                settings_of(config),
                provider=config.scoring.provider,
                threads=config.scoring.threads,
                seconds=seconds / len(config.models),
            )
        except MorphorderError:
            return None

    return examine


def _estimated(plan: dict[str, Any], spent: dict[str, float]) -> dict[str, Any]:
    """The plan with `estimate_s`: what was spent, scoring the shards that are not done, the report, and all of it.

    Without it where a model with work left could not be tried.
    """
    left = [m for m in plan["models"] if m["done"] < m["shards"]]
    if not all("probe" in m for m in left):
        return plan
    score_s = sum(m["probe"]["load_s"] + m["probe"]["score_s"] * (1 - m["done"] / m["shards"]) for m in left)
    report_s = REPORT_BASE_S + REPORT_OUTCOME_S * plan["items"] * len(plan["models"])
    stages = {**spent, "score": score_s, "report": report_s}
    return {**plan, "estimate_s": {**stages, "all": sum(stages.values())}}


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """The plan as a few lines of text."""
    bases = sum(plan["base_items"].values())
    lines = [f"{bases:,} base items in {len(plan['base_items'])} treebanks, {plan['items']:,} items per model"]
    lines += [
        f"{m['model']}: {m['rows']:,} distinct rows, {m['pieces']:,} pieces, {m['shards']} shards"
        + (f", {m['done']} done" if m["done"] else "")
        for m in plan["models"]
    ]
    return [*lines, *_estimate_lines(plan), f"engine {plan['engine']}, results in {plan['out']}"]


def _estimate_lines(plan: dict[str, Any]) -> list[str]:
    if "estimate_s" not in plan:
        return ["no estimate: the models cannot be run here as the config says"]
    lines = [
        f"{m['model']}: {m['probe']['rows_per_s']:,.1f} rows a second "
        f"({m['probe']['probed']} of {m['probe']['batches']} batches tried)"
        for m in plan["models"]
        if "probe" in m
    ]
    stages = {name: value for name, value in plan["estimate_s"].items() if name != "all"}
    parts = ", ".join(f"{name} {_duration(seconds)}" for name, seconds in stages.items())
    here = "" if plan["engine"] == "local" else f", in one process; engine {plan['engine']} shares scoring out"
    return [*lines, f"about {_duration(plan['estimate_s']['all'])} here{here}: {parts}"]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
