"""A whole run: prepare, then encode and score each model, then report."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from evaluator.config import Config
from evaluator.errors import MorphorderError, StoreError
from evaluator.progress import Reporter
from evaluator.stages.encode import ModelFolder, encode, open_models
from evaluator.stages.manifest import TIMES_FILE
from evaluator.stages.plan import forecast_of, plan_lines
from evaluator.stages.prepare import prepare
from evaluator.stages.report import is_complete, report
from evaluator.stages.score import score
from evaluator.store.location import Location, without_secrets
from evaluator.store.lock import run_lock
from evaluator.store.run import RunFolder, json_bytes, read_json

CONFIG_FILE = "config.json"


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its report document, its folder, and what failed on the way."""

    document: dict[str, Any]
    folder: str
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.problems and is_complete(self.document)

    @property
    def report_html(self) -> str:
        return f"{self.folder}/report/report.html"


def run_all(config: Config, reporter: Reporter | None = None) -> RunResult:
    """The result of the whole flow. What an earlier run left is used; one model's failure stops no other.

    Errors: UserError for a setting, treebank, model or folder that cannot be used, another run at work in it included.
    """
    with run_lock(Location.of(config.out)):
        return _run_all(config, reporter or Reporter())


def _run_all(config: Config, reporter: Reporter) -> RunResult:
    models = open_models(config.models)
    run = prepare_timed(config, reporter)
    problems: list[str] = []
    encoded = []
    for model in models:
        with _one_of(models, model, problems), _timed(run, f"encode {model.bundle.name}"):
            encode(run, model, spacing=config.spacing, shard_rows=config.scoring.shard_rows, reporter=reporter)
            encoded.append(model)
    if reporter.style != "none":
        plan = forecast_of(run, encoded, config)
        reporter.tell("plan", plan, plan_lines(plan))
    for model in encoded:
        with _one_of(models, model, problems), _timed(run, f"score {model.bundle.name}"):
            score(run, model, config, reporter)
    if len(problems) == len(models):
        raise MorphorderError(f"no model could be scored: {'; '.join(problems)}", where=str(run.location))
    document = report(run, models, config, reporter)
    return RunResult(document, str(run.location), tuple(problems))


@contextmanager
def _one_of(models: Sequence[ModelFolder], model: ModelFolder, problems: list[str]) -> Iterator[None]:
    """Makes a model's failure a problem, unless it is the only model."""
    try:
        yield
    except MorphorderError as error:
        if len(models) == 1:
            raise
        problems.append(f"{model.bundle.name}: {error}")


def prepare_timed(config: Config, reporter: Reporter) -> RunFolder:
    """The prepared run folder, with the time it took noted there."""
    began = perf_counter()
    run = prepare(config, reporter)
    ray = config.ray.model_copy(update={"address": without_secrets(config.ray.address)})
    kept = config.model_copy(update={"out": str(run.location), "ray": ray}).anchored()  # a URI may carry keys
    run.location.write(CONFIG_FILE, json_bytes(kept.model_dump(mode="json")))
    _note(run, "prepare", perf_counter() - began)
    return run


def config_of(run: RunFolder) -> Config:
    """The settings that the run was last started with."""
    settings = read_json(run.location, CONFIG_FILE)
    if settings is None:
        raise StoreError(f"has no {CONFIG_FILE}", where=str(run.location), hint="run: morphorder prepare")
    return Config.model_validate(settings)


@contextmanager
def _timed(run: RunFolder, stage: str) -> Iterator[None]:
    began = perf_counter()
    yield
    _note(run, stage, perf_counter() - began)


def _note(run: RunFolder, stage: str, wall_s: float) -> None:
    """Adds a stage's wall time; the longest of several goes, so that a rerun that found all done changes nothing."""
    times = read_json(run.location, TIMES_FILE) or {}
    if wall_s > times.get(stage, 0.0):
        run.location.write(TIMES_FILE, json_bytes({**times, stage: round(wall_s, 3)}))
