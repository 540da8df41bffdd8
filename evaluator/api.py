"""The Python side: run a config. What it leaves is opened by `frames.load_report`."""

from pathlib import Path
from typing import Any

from evaluator.config import Config, read_config
from evaluator.progress import ProgressStyle, Reporter
from evaluator.stages.run import RunResult, run_all


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
