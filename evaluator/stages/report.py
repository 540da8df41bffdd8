"""Items, links and scored rows of a run in; outcomes, report.json and everything drawn from it out."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.config import Config
from evaluator.errors import ConfigError, StoreError
from evaluator.frames import flat_table
from evaluator.items.build import sentences_of
from evaluator.progress import Reporter
from evaluator.reduce.complete import mark_complete
from evaluator.reduce.covariates import EXPECTED, add_covariates
from evaluator.reduce.health import health_of
from evaluator.reduce.outcomes import ModelAnswers, item_columns, join_answers
from evaluator.reduce.summary import report_data
from evaluator.report.document import SCHEMA_VERSION
from evaluator.score.bundle import model_id
from evaluator.stages.encode import ModelFolder, open_cutter
from evaluator.stages.joined import joined_blocks, joined_reports
from evaluator.stages.manifest import manifest_of
from evaluator.stages.pieces import pieces_read
from evaluator.stages.score import answers_of
from evaluator.store import schemas
from evaluator.store.run import RunFolder, read_stage
from evaluator.store.shards import parquet_bytes


def outcomes_of(run: RunFolder, models: Sequence[ModelFolder], config: Config, reporter: Reporter) -> pa.Table:
    """The OUTCOMES of every finished model of the run, complete cases marked."""
    prepared = read_stage(run.items())
    if prepared is None:
        raise StoreError("its items are not finished", where=str(run.location), hint="run: morphorder prepare")
    shards = int(prepared["shards"])
    sentences = sentences_of(run.sentences().read_all(shards))
    answers = [a for m in models if (a := _answers(run, m, config)) is not None]
    parts = []
    with reporter.stage("join", shards, "shards") as meter:
        for shard in range(shards):
            items = item_columns(run.items().read(shard), sentences, config.spacing)
            for model, answer in answers:
                links = run.links(model.bundle.tokenizer_fingerprint).read(shard)
                parts.append(join_answers(items, links, answer))
            meter.advance()
    if not parts:
        raise StoreError("no model of this run has been scored", where=str(run.location), hint="run: morphorder score")
    return mark_complete(pa.concat_tables(parts))


def _answers(run: RunFolder, model: ModelFolder, config: Config) -> tuple[ModelFolder, ModelAnswers] | None:
    bundle = model.bundle
    scored = run.scored(bundle.tokenizer_fingerprint, bundle.fingerprint, config.k)
    encoded = read_stage(run.rows(bundle.tokenizer_fingerprint))
    if encoded is None:
        return None
    found = [answers_of(scored, shard, encoded) for shard in range(int(encoded["shards"]))]
    if found and not any(found):
        return None
    rows = run.rows(bundle.tokenizer_fingerprint)
    parts = [answers[0] if answers else _not_scored(rows.read(shard)) for shard, answers in enumerate(found)]
    table = pa.concat_tables(parts) if parts else schemas.SCORED.empty_table()
    return model, ModelAnswers(bundle.name, bundle.precision, table, open_cutter(model))


def _not_scored(rows: pa.Table) -> pa.Table:
    """What stands for a shard that was never finished: every row failed, so that its items are counted as missing."""
    count = rows.num_rows
    columns = {
        "row": rows["row"],
        "near_tie": pa.array([False] * count),
        "failed": pa.array(["not_scored"] * count, pa.string()),
    }
    empty = {f.name: pa.array([[]] * count, f.type) for f in schemas.SCORED if f.name not in columns}
    return pa.table([{**columns, **empty}[name] for name in schemas.SCORED.names], schema=schemas.SCORED)


def report(
    run: RunFolder,
    models: Sequence[ModelFolder],
    config: Config,
    reporter: Reporter,
    *,
    text: bool = True,
    excel: bool = False,
    covariate: Path | None = None,
) -> dict[str, Any]:
    """The report document of the run, written to `report/` with its tables, figures and outcomes.

    Without `text`, sentences and words are left out of all of it; `excel` adds a guarded copy of every CSV;
    `covariate` is a user's table about the languages (`reduce.covariates`).
    """
    from evaluator.report.render import render_report  # the drawing libraries load only when something is drawn

    outcomes = outcomes_of(run, models, config, reporter)
    statistics = config.statistics
    with reporter.stage("statistics", 1, "run") as meter:
        document: dict[str, Any] = report_data(
            outcomes, resamples=statistics.resamples, confidence=statistics.confidence, seed=statistics.seed
        )
        meter.advance()
    manifest = manifest_of(run, models, config)
    document["schema"] = SCHEMA_VERSION
    document["run_id"] = run.fingerprint
    document["counts"]["unique_rows"] = sum(m["unique_rows"] or 0 for m in manifest["models"])
    document["health"] = health_of(outcomes, document, manifest)
    document["manifest"] = manifest
    if covariate is not None:
        document = add_covariates(document, _text_of(covariate), covariate.name)
    joined = joined_reports(run.location)
    for task, reports in joined.items():
        document[task] = list(reports.values())
    sentences = run.sentences().read_all(int((read_stage(run.items()) or {})["shards"]))
    kept = outcomes if text else outcomes.drop_columns(list(schemas.TEXT_COLUMNS))
    run.location.write("report/outcomes.parquet", parquet_bytes(_with_origin(kept, run, models)))
    run.location.write("report/cells.parquet", parquet_bytes(flat_table(document["cells"])))
    with reporter.stage("draw", 1, "report") as meter:
        for name, content in render_report(
            document,
            outcomes,
            text=text,
            sentences=sentences,
            pieces=partial(_pieces, run, models),
            excel=excel,
            joined=list(joined_blocks(joined)),
        ):
            run.location.write(f"report/{name}", content)
        meter.advance()
    return document


def _with_origin(outcomes: pa.Table, run: RunFolder, models: Sequence[ModelFolder]) -> pa.Table:
    """The outcomes, each saying of which run and of which model, wherever it came from, it is."""
    bundles = [model.bundle for model in models]
    names = pa.array([bundle.name for bundle in bundles], pa.string())
    which = pc.index_in(outcomes["model"], names)
    columns = [
        pa.array([run.fingerprint] * outcomes.num_rows, pa.string()),
        pa.array([model_id(bundle.source, bundle.name) for bundle in bundles], pa.string()).take(which),
        pa.array([bundle.revision or None for bundle in bundles], pa.string()).take(which),
    ]
    schema = pa.schema([*schemas.ORIGIN, *outcomes.schema])
    return pa.table([*columns, *outcomes.columns], schema=schema)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path), hint=EXPECTED) from error


def _pieces(run: RunFolder, models: Sequence[ModelFolder], name: str, item_ids: Sequence[int]) -> dict[int, list[str]]:
    model = next((m for m in models if m.bundle.name == name), None)
    return pieces_read(run, model, item_ids) if model else {}


def is_complete(document: dict[str, Any]) -> bool:
    """Whether every item of the run was scored or skipped by rule: nothing failed, no model is missing."""
    counts = document["counts"]
    return not counts.get("failed") and all(m["unique_rows"] is not None for m in document["manifest"]["models"])
