"""A whole run with `--engine ray` gives the report of `--engine local`; one model's failure stops no other.

One of these tests is in `make test`: the one that shows that Ray works here at all.
"""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from evaluator.config import Config
from evaluator.errors import StoreError
from evaluator.score.bundle import Bundle
from evaluator.stages.run import RunResult, run_all
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import MADE_BY, ShardSet
from tests.cluster.small import write_treebank
from tests.fake_bundle import make_fake_bundle

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("ray_cluster")]


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


@pytest.mark.parametrize("actors", [pytest.param(1, marks=pytest.mark.ray), 2])
def test_report_is_that_of_a_local_run(actors: int, fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    assert _run(tmp_path, "ray", [fake[0]], "ray", min_actors=actors, max_actors=actors).complete
    assert _run(tmp_path, "local", [fake[0]], "local").complete
    assert _told(tmp_path / "ray") == _told(tmp_path / "local")
    marks = {
        pa.ipc.open_file(path).schema.metadata[MADE_BY].decode() for path in (tmp_path / "ray").glob("scored/*/*.arrow")
    }
    assert marks == {f"CPUExecutionProvider on {socket.gethostname()} 1 CPU"}


@pytest.mark.ray
def test_model_that_kills_every_worker_stops_no_other(fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    bad = make_fake_bundle(tmp_path / "bad", name="bad", die_on=fake[1].mask_id)
    result = _run(tmp_path, "run", [tmp_path / "bad", fake[0]], "ray", max_actors=1, max_worker_deaths=1)
    assert not result.complete
    assert [p.partition(":")[0] for p in result.problems] == [bad.name]
    assert {cell["model"] for cell in result.document["cells"] if cell["n"]} == {"fake"}


@pytest.mark.ray
def test_model_that_stands_still_stops_no_other(fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    stuck = make_fake_bundle(tmp_path / "stuck", name="stuck", hang_on=fake[1].mask_id)
    result = _run(tmp_path, "run", [tmp_path / "stuck", fake[0]], "ray", max_actors=1, stall_timeout_s=8)
    assert [p.partition(":")[0] for p in result.problems] == [stuck.name]
    assert "no shard finished for 8 s" in result.problems[0]
    assert {cell["model"] for cell in result.document["cells"] if cell["n"]} == {"fake"}


def _scored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "scored").rglob("*.arrow"))}


@pytest.mark.ray
def test_truncated_and_foreign_shards_are_found_on_resume_and_redone(fake: tuple[Path, Bundle], tmp_path: Path) -> None:
    assert _run(tmp_path, "run", [fake[0]], "ray", max_actors=2).complete
    told, whole = _told(tmp_path / "run"), _scored(tmp_path / "run")
    paths = sorted((tmp_path / "run" / "scored").rglob("*.arrow"))
    assert len(paths) > 2
    paths[0].write_bytes(whole[paths[0].name][:-40])
    foreign = ShardSet(Location.of(paths[1].parent), "part", schemas.SCORED, "another model")
    foreign.write(1, schemas.SCORED.empty_table())
    assert _scored(tmp_path / "run") != whole
    assert _run(tmp_path, "run", [fake[0]], "ray", max_actors=2).complete
    assert _scored(tmp_path / "run") == whole
    assert _told(tmp_path / "run") == told


@pytest.mark.ray
def test_second_driver_in_a_run_folder_is_refused(slow: tuple[Path, Bundle], tmp_path: Path) -> None:
    import ray

    write_treebank(tmp_path)
    settings = (
        f'treebanks = ["xx_small-ud-test.conllu"]\nmodels = ["{slow[0]}"]\nout = "run"\nengine = "ray"\n'
        f'ray = {{address = "{ray.get_runtime_context().gcs_address}", max_actors = 1}}\n'
        "statistics = {resamples = 100}\nscoring = {shard_rows = 16, threads = 1}\n"
    )
    (tmp_path / "config.toml").write_text(settings)
    command = [sys.executable, "-c", "from evaluator.cli import main; main()", "run", "config.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as first:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "run" / "scored").rglob("*.arrow")) and time.monotonic() < deadline:
            time.sleep(0.1)
        with pytest.raises(StoreError, match=f"another run works here: process {first.pid}"):
            _run(tmp_path, "run", [slow[0]], "ray", max_actors=1)
        said = first.communicate(timeout=300)[1]
    assert first.returncode == 0, said
