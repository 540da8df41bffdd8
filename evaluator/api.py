"""The Python side: run a config, load a report as tables."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.config import Config, read_config
from evaluator.errors import StoreError
from evaluator.progress import ProgressStyle, Reporter
from evaluator.stages.run import RunResult, run_all
from evaluator.store.location import Location


def run(config: Config | str | Path | None = None, *, progress: ProgressStyle = "none", **settings: Any) -> RunResult:
    """The result of a whole run: its report document, its folder, and what failed.

    `config`: a `Config`, a TOML file, or nothing for the embedded default; `settings` overlay it, for instance
    `run(treebanks=["UD_German-PUD"], models=["bundles/mbert"], sample={"n": 500}, out="mbert-de")`.
    Errors: UserError for a setting, treebank, model or folder that cannot be used.
    """
    if isinstance(config, Config):
        chosen = config.model_validate({**config.model_dump(), **settings})
    else:
        chosen = read_config(Path(config) if config is not None else None, settings)
    return run_all(chosen, Reporter(progress))


@dataclass(frozen=True, slots=True)
class Report:
    """A finished run: the report document, and its cells and outcomes as Arrow tables."""

    document: dict[str, Any]
    """The content of report.json."""
    cells: pa.Table
    """One row per model, treebank, condition and ±L; accuracies 0–1, intervals as [low, high]."""
    outcomes: pa.Table
    """One row per item and model; see `evaluator.store.schemas.OUTCOMES`."""


def load_report(folder: str | Path) -> Report:
    """The report in a run folder (or in its `report/` folder). `.cells.to_pandas()` gives a data frame.

    Errors: StoreError when there is none.
    """
    location = Location.of(folder)
    if not location.exists("report.json"):
        location = location / "report"
    if not location.exists("report.json"):
        raise StoreError("no report.json here", where=str(folder), hint="morphorder report RUN makes one")
    document = json.loads(location.read("report.json").to_pybytes())
    outcomes = pq.read_table(pa.BufferReader(location.read("outcomes.parquet")))
    return Report(document, pa.Table.from_pylist(document["cells"]), outcomes)
