"""A whole run with `--engine ray` gives the report of `--engine local`; one model's failure stops no other."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from evaluator.config import Config
from evaluator.score.bundle import Bundle
from evaluator.stages.run import RunResult, run_all
from tests.cluster.small import write_treebank
from tests.fake_bundle import make_fake_bundle

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("ray_cluster")]


def _run(tmp_path: Path, name: str, models: list[Path], engine: str, **ray: Any) -> RunResult:
    settings = {
        "treebanks": [str(write_treebank(tmp_path))],
        "models": [str(m) for m in models],
        "statistics": {"resamples": 100},
        "scoring": {"shard_rows": 16, "threads": 1},
        "ray": ray,
        "engine": engine,
        "out": str(tmp_path / name),
    }
    return run_all(Config.model_validate(settings))


def _told(folder: Path) -> str:
    """report.json without engine and times."""
    document = json.loads((folder / "report" / "report.json").read_bytes())
    for key in ("engine", "wall_s"):
        document["manifest"].pop(key)
    return json.dumps(document)


@pytest.mark.parametrize("actors", [1, 2])
def test_report_is_that_of_a_local_run(actors: int, fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    assert _run(tmp_path, "ray", [fake[0]], "ray", min_actors=actors, max_actors=actors).complete
    assert _run(tmp_path, "local", [fake[0]], "local").complete
    assert _told(tmp_path / "ray") == _told(tmp_path / "local")


def test_model_that_kills_every_worker_stops_no_other(fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    bad = make_fake_bundle(tmp_path / "bad", name="bad", die_on=fake[1].mask_id)
    result = _run(tmp_path, "run", [tmp_path / "bad", fake[0]], "ray", max_actors=1, max_worker_deaths=1)
    assert not result.complete
    assert [p.partition(":")[0] for p in result.problems] == [bad.name]
    assert {cell["model"] for cell in result.document["cells"] if cell["n"]} == {"fake"}
