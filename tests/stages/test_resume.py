"""A run that was stopped, damaged or done in pieces comes to what an undisturbed one comes to."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.config import Config
from evaluator.errors import StoreError
from evaluator.progress import Reporter
from evaluator.stages.encode import encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.stages.report import is_complete, report
from evaluator.stages.run import config_of, prepare_timed, run_all
from evaluator.stages.score import score
from evaluator.store.run import RunFolder
from tests.conftest import ROOT

GetConfig = Callable[..., Config]
QUIET = Reporter("none")
pytestmark = pytest.mark.usefixtures("plain_report")


def report_bytes(folder: str | Path) -> str:
    """The report without the times, which alone may differ."""
    document = json.loads(Path(folder, "report", "report.json").read_bytes())
    del document["manifest"]["wall_s"]
    return json.dumps(document, sort_keys=True)


def assert_cells_close(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    """The same cells, in any order, up to the last bits of float32, which depend on the rows of a batch."""

    def name(cell: dict[str, Any]) -> tuple[str, str, str, bool]:
        return cell["model"], cell["treebank"], cell["condition"], cell["lemma"]

    for a, b in zip(sorted(some, key=name), sorted(others, key=name), strict=True):
        assert a.keys() == b.keys()
        for key, value in a.items():
            is_number = isinstance(value, float) or (isinstance(value, list) and None not in value)
            assert b[key] == (pytest.approx(value, abs=1e-4) if is_number else value), key


def test_killed_at_any_write_and_run_again(config: GetConfig, tmp_path: Path) -> None:
    settings = config(lemma=False, scoring={"threads": 1, "shard_rows": 12})
    command = [sys.executable, "-m", "tests.stages.killed", settings.model_dump_json(), str(tmp_path), "3"]
    said = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, encoding="utf-8")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found.pop(0) == {"whole": 0}
    assert found.pop()["killed"] == 0, "the last one was to die at a write that never came"
    assert len(found) >= 5
    assert all(f["killed"] == -signal.SIGKILL and f["again"] == 0 and f["same"] for f in found), found


def test_rerun_changes_nothing(config: GetConfig) -> None:
    folder = run_all(config(), QUIET).folder
    files = {p: p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
    result = run_all(config(), QUIET)
    assert result.complete
    changed = [p.name for p, content in files.items() if p.read_bytes() != content]
    assert set(changed) <= {"times.json", "report.json"}
    assert {p for p in Path(folder).rglob("*") if p.is_file()} == set(files)


def test_stage_by_stage_is_run(config: GetConfig, tmp_path: Path, bundle: Callable[..., str]) -> None:
    models = (bundle(), bundle("beta", "unigram"))
    whole = run_all(config(models=models), QUIET)
    settings = config(models=models, out=str(tmp_path / "staged"))
    folder = prepare_timed(settings, QUIET)
    for model in open_models(settings.models):
        encode(folder, model, spacing=settings.spacing, shard_rows=settings.scoring.shard_rows, reporter=QUIET)
        score(folder, model, settings, QUIET)
    document = report(folder, open_models(settings.models), config_of(folder), QUIET)
    assert is_complete(document)
    assert report_bytes(tmp_path / "staged") == report_bytes(whole.folder)


DAMAGE = {
    "scored shard gone": ("scored/*/part-00001.arrow", None),
    "scored shard truncated": ("scored/*/part-00000.arrow", 0.9),
    "scored shard empty": ("scored/*/part-00002.arrow", 0.0),
    "scored stage gone": ("scored/*/stage.json", None),
    "row shard truncated": ("encoded/*/rows-00001.arrow", 0.7),
    "row shard gone": ("encoded/*/rows-00000.arrow", None),
    "links gone": ("encoded/*/links-00000.arrow", None),
    "items truncated": ("items/part-00000.arrow", 0.5),
    "sentences gone": ("sentences/part-00000.arrow", None),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_file_is_made_again(config: GetConfig, damage: str) -> None:
    before = run_all(config(), QUIET)
    expected = report_bytes(before.folder)
    pattern, kept = DAMAGE[damage]
    (path,) = Path(before.folder).glob(pattern)
    content = path.read_bytes()
    path.unlink()
    if kept is not None:
        path.write_bytes(content[: int(len(content) * kept)])
    again = run_all(config(), QUIET)
    assert again.complete
    assert report_bytes(again.folder) == expected
    if not pattern.endswith("stage.json"):  # which holds times
        assert path.read_bytes() == content


def test_answers_of_other_shards_are_not_taken(config: GetConfig) -> None:
    """Rows encoded again with other boundaries: the answers scored before stand in shards of the same names."""
    before = run_all(config(), QUIET)
    for path in Path(before.folder).glob("encoded/*/*"):
        path.unlink()
    again = run_all(config(scoring={"threads": 1, "shard_rows": 20}), QUIET)
    assert again.complete
    assert_cells_close(before.document["cells"], again.document["cells"])


def test_report_of_a_half_scored_run_says_what_is_missing(config: GetConfig) -> None:
    result = run_all(config(), QUIET)
    next(Path(result.folder).glob("scored/*/part-00001.arrow")).unlink()
    folder = RunFolder.open(result.folder)
    document = report(folder, open_models(config().models), config(), QUIET)
    assert document["counts"]["failed"] > 0
    assert not is_complete(document)


def test_stages_out_of_turn_say_what_to_run(config: GetConfig) -> None:
    settings = config()
    folder = prepare(settings, QUIET)
    (model,) = open_models(settings.models)
    with pytest.raises(StoreError, match="morphorder encode"):
        score(folder, model, settings, QUIET)
    with pytest.raises(StoreError, match="morphorder score"):
        report(folder, [model], settings, QUIET)
    empty = RunFolder.create(str(Path(settings.out).with_name("empty")), "m" * 16, {})
    with pytest.raises(StoreError, match="morphorder prepare"):
        encode(empty, model, spacing="natural", shard_rows=8, reporter=QUIET)


def test_order_of_models_and_shard_size_leave_cells_equal(
    config: GetConfig, bundle: Callable[..., str], tmp_path: Path
) -> None:
    models = (bundle(), bundle("beta", "unigram"))
    documents = [
        run_all(config(models=order, out=str(tmp_path / str(rows)), scoring={"threads": 1, "shard_rows": rows}), QUIET)
        for order, rows in ((models, 8), (models[::-1], 4096))
    ]
    assert_cells_close(*(d.document["cells"] for d in documents))
