"""The whole flow: a task and classifiers in, the run folder with its report out. What an earlier run left is used."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from evaluator.progress import Reporter
from evaluator.stages.encode import ModelFolder, open_models
from evaluator.stages.finished import Finished
from evaluator.stages.manifest import versions
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from evaluator.store.run import TextRun, read_stage
from evaluator.store.shards import parquet_bytes
from evaluator.wos.inputs import score_items
from evaluator.wos.labels import golds_of
from evaluator.wos.measures import kept_rows, measure_rows
from evaluator.wos.outcomes import outcome_table, said_of
from evaluator.wos.prepare import prepare
from evaluator.wos.published import published_of, source
from evaluator.wos.report import render
from evaluator.wos.select import select
from evaluator.wos.settings import WosConfig, require_models
from evaluator.wos.table import TaskData

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one model came to."""

    rows: list[dict[str, Any]]
    kept: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    outcomes: pa.Table
    facts: dict[str, Any]


def run_wos(config: WosConfig, reporter: Reporter | None = None) -> Finished:
    """The result of shuffling a task's inputs under every model of the config, written with its report to `out`.

    Errors: UserError for a task, model or folder that cannot be used, another run at work in it included.
    """
    require_models(config)
    with run_lock(Location.of(config.out)):
        return _run(config, reporter or Reporter())


def _run(config: WosConfig, reporter: Reporter) -> Finished:
    models = open_models(config.models, "text-classification")
    run, task = prepare(config, reporter)
    measured = [_measure(run, task, model, config, reporter) for model in models]
    with reporter.stage("report", 1, "report") as meter:
        document = document_of(run, task, models, measured, config)
        outcomes = pa.concat_tables([m.outcomes for m in measured])
        run.run.location.write("report/outcomes.parquet", parquet_bytes(outcomes))
        for name, content in render(document):
            run.run.location.write(f"report/{name}", content)
        meter.advance()
    return Finished(document, str(run.run.location))


def _measure(run: TextRun, task: TaskData, model: ModelFolder, config: WosConfig, reporter: Reporter) -> _Measured:
    began = perf_counter()
    prepared = read_stage(run.items()) or {}
    shards = int(prepared["shards"])
    examples, items = run.examples().read_all(shards).combine_chunks(), run.items().read_all(shards).combine_chunks()
    gold = golds_of(examples, model.bundle, config, task.label_names)
    facts, links, logits = score_items(run, model, config.scoring_config(), shards, reporter)
    said = said_of(model.bundle, items, links, logits, gold)
    selection = select(said, examples, config.seed)
    return _Measured(
        rows=measure_rows(said, selection, examples, config),
        kept=kept_rows(said, selection, config.orders, config.statistics.confidence),
        steps=selection.steps,
        outcomes=outcome_table(said, items, links, examples, selection.dev_r),
        facts={**facts, "wall_s": round(perf_counter() - began, 3)},
    )


def document_of(
    run: TextRun, task: TaskData, models: Sequence[ModelFolder], measured: Sequence[_Measured], config: WosConfig
) -> dict[str, Any]:
    """The report document: `rows` of figures, `kept` by class, `steps` of selection; items = scored + skipped."""
    prepared = read_stage(run.items()) or {}
    status: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for m in measured:
        status.update(m.outcomes["status"].to_pylist())
        reasons.update(reason for reason in m.outcomes["reason"].to_pylist() if reason)
    outcomes = sum(m.outcomes.num_rows for m in measured)
    if sum(status.values()) != outcomes or sum(reasons.values()) != status["skipped"] + status["failed"]:
        raise AssertionError("items vanished")
    published = config.published or (task.name if config.glue else "")
    return {
        "schema": SCHEMA,
        "kind": "wos",
        "run_id": run.run.fingerprint,
        "task": task.name,
        "changed": config.changed,
        "nouns": prepared["nouns"],
        "models": [m.bundle.name for m in models],
        "rows": [row for m in measured for row in m.rows],
        "kept": [row for m in measured for row in m.kept],
        "steps": [row for m in measured for row in m.steps],
        "published": {"task": published, "source": source(), "tables": published_of(published)} if published else None,
        "counts": {
            "examples": int(prepared["examples"]),
            "items": int(prepared["rows"]),
            "outcomes": outcomes,
            "scored": status["scored"],
            "failed": status["failed"],
            "skipped": dict(sorted(reasons.items())),
            "excluded": prepared["reasons"],
            "unique_rows": {m.bundle.name: int(f.facts["rows"]) for m, f in zip(models, measured, strict=True)},
        },
        "problems": [f"{status['failed']} inputs failed"] if status["failed"] else [],
        "manifest": _manifest(task, models, measured, config),
    }


def _manifest(
    task: TaskData, models: Sequence[ModelFolder], measured: Sequence[_Measured], config: WosConfig
) -> dict[str, Any]:
    """What was measured with what. Holds no path beyond file names."""
    settings = config.model_dump(mode="json", exclude={"out", "ray", "engine", "scoring", "models"})
    settings |= {"data": Path(config.data).name, "tags": Path(config.tags).name}
    flags = "" if config.glue and not config.texts else f" --columns {','.join((*config.columns, config.label))}"
    flags += f" --change {config.changed}" if len(config.columns) > 1 else ""
    flags += "".join(f" --model {m.bundle.name}" for m in models)
    return {
        "versions": versions(),
        "command": f"morphorder wos run {Path(config.data).name}{flags} --draws {config.draws} --out RUN",
        "config": settings | {"change": config.changed, "texts": list(config.columns)},
        "data_sha256": task.sha256,
        "engine": config.engine,
        "models": [
            {
                "name": m.bundle.name,
                "source": m.bundle.source,
                "revision": m.bundle.revision,
                "precision": m.bundle.precision,
                "fingerprint": m.bundle.fingerprint,
                "labels": list(m.bundle.labels),
                "parameters": m.bundle.parameters,
                "parity": m.bundle.parity,
                "provider": f.facts["provider"],
                "wall_s": f.facts["wall_s"],
            }
            for m, f in zip(models, measured, strict=True)
        ],
    }
