"""The settings beside a report make the same run again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.config import Config, demo_config, read_config
from evaluator.errors import ConfigError
from evaluator.progress import Reporter
from evaluator.report.settings import settings_toml
from evaluator.stages.encode import open_models
from evaluator.stages.manifest import portable_settings
from evaluator.stages.report import report
from evaluator.stages.run import run_all
from evaluator.store.run import STAGE_FILE, RunFolder

GetBundle = Callable[..., str]


def test_run_toml_makes_the_same_items(treebanks: tuple[str, ...], bundle: GetBundle, tmp_path: Path) -> None:
    model = bundle()
    asked = {
        "treebanks": list(treebanks),
        "models": [model],
        "conditions": ["orig", "full", "head"],
        "sample": {"n": 3},
        "statistics": {"resamples": 100},
        "out": str(tmp_path / "first"),
    }
    first = run_all(Config.model_validate(asked)).document
    assert first["manifest"]["command"] == "morphorder run run.toml"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for place in (*treebanks, model):
        copy = shutil.copytree if Path(place).is_dir() else shutil.copy
        copy(place, elsewhere / Path(place).name)
    shutil.copy(tmp_path / "first/report/run.toml", elsewhere)
    again = run_all(read_config(elsewhere / "run.toml", {"out": str(tmp_path / "second")})).document
    assert again["run_id"] == first["run_id"]
    assert again["manifest"]["config_fingerprint"] == first["manifest"]["config_fingerprint"]
    assert again["cells"] == first["cells"]


def test_a_run_continued_elsewhere_names_every_provider(config: Callable[..., Config]) -> None:
    settings = config()
    first = run_all(settings).document["manifest"]["models"][0]
    assert first["provider"] == "CPUExecutionProvider"
    run = RunFolder.open(settings.out)
    model = open_models(settings.models)[0]
    scored = run.scored(model.bundle.tokenizer_fingerprint, model.bundle.fingerprint, settings.k)
    assert scored.made_by(1) == "CPUExecutionProvider on local" and scored.made_by(99) == ""
    scored.write(1, scored.read(1), made_by="CUDAExecutionProvider on node1 GPU 0")
    scored.location.delete(STAGE_FILE)
    again = run_all(settings).document
    assert again["manifest"]["models"][0]["provider"] == "CPUExecutionProvider, CUDAExecutionProvider"
    assert "CPUExecutionProvider, CUDAExecutionProvider" in {check["detail"] for check in again["health"]}


def test_the_embedded_default_survives_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(settings_toml(portable_settings(demo_config())))
    assert read_config(tmp_path / "run.toml").item_settings() == demo_config().item_settings()


def test_a_table_about_the_languages_is_read_with_the_report(config: Callable[..., Config], tmp_path: Path) -> None:
    settings = config(lemma=False)
    run_all(settings)
    run, models = RunFolder.open(settings.out), open_models(settings.models)
    (tmp_path / "known.csv").write_text("language,speakers\nen,1500\nde,130\n", encoding="utf-8")
    told = report(run, models, settings, Reporter("none"), covariate=tmp_path / "known.csv")
    assert told["covariates"]["numbers"][0]["name"] == "speakers"
    assert (tmp_path / "run/report/tables/languages.csv").read_text("utf-8").startswith("language,covariate_1,n,")
    with pytest.raises(ConfigError, match="cannot be read"):
        report(run, models, settings, Reporter("none"), covariate=tmp_path / "none.csv")
