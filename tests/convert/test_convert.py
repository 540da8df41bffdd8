"""U13: Every Eval Ever's schemas accept the records; the card's YAML parses and every path in it exists."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from evaluator.cli import app
from evaluator.convert.eee import eee_files
from evaluator.convert.hub import CONFIGS, hub_files, hub_licence
from evaluator.errors import ConfigError, StoreError
from evaluator.frames import COLUMNS, load_report
from evaluator.report.document import canonical_json
from evaluator.store.shards import parquet_bytes
from tests.report.synthetic import Run, make_run

VALIDATOR = os.environ.get("MORPHORDER_EEE") or shutil.which("every_eval_ever")


@pytest.fixture(scope="module")
def run() -> Run:
    made = make_run(("de", "zh"), ("mlm-base", "mlm-large"), ("orig", "full"), items=30, draws=1)
    intervals = {"resamples": 200, "confidence": 0.95, "seed": 0}
    return Run({**made.report, "intervals": intervals}, made.outcomes, made.sentences)


@pytest.fixture(scope="module")
def eee(run: Run) -> dict[str, bytes]:
    told = {"retrieved": 1_800_000_000, "organization": "Somewhere", "relationship": "third_party"}
    return dict(eee_files(run.report, run.outcomes, **told))  # type: ignore[arg-type]


@cache
def schema(name: str) -> jsonschema.Draft7Validator:
    folder = os.environ.get("MORPHORDER_EEE_SCHEMAS")
    if not folder:
        pytest.skip("set MORPHORDER_EEE_SCHEMAS to the folder of every-eval-ever's JSON schemas to run this test")
    return jsonschema.Draft7Validator(json.loads((Path(folder) / f"{name}.schema.json").read_text(encoding="utf-8")))


def test_their_schemas_accept_records_and_items(eee: dict[str, bytes]) -> None:
    assert len(eee) == 4
    for name, content in eee.items():
        uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
        assert re.fullmatch(rf"data/morphorder/example/mlm-(?:base|large)/{uuid4}(?:\.json|_samples\.jsonl)", name)
        if name.endswith(".jsonl"):
            for line in content.decode().splitlines()[::7]:
                schema("instance_level_eval").validate(json.loads(line))
        else:
            schema("eval").validate(json.loads(content))


@pytest.mark.skipif(VALIDATOR is None, reason="no every_eval_ever here: set MORPHORDER_EEE to its command")
def test_their_validator_accepts_the_files(eee: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in eee.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    done = subprocess.run([str(VALIDATOR), "validate", *eee], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_records_and_items_belong_together(run: Run, eee: dict[str, bytes]) -> None:
    for name in [name for name in eee if name.endswith(".json")]:
        record = json.loads(eee[name])
        detail = record["detailed_evaluation_results"]
        assert detail["file_path"] == name.removesuffix(".json") + "_samples.jsonl"
        samples = eee[detail["file_path"]]
        assert detail["checksum"] == hashlib.sha256(samples).hexdigest()
        rows = [json.loads(line) for line in samples.decode().splitlines()]
        assert detail["total_rows"] == len(rows) == len({row["sample_id"] for row in rows})
        assert {(row["evaluation_id"], row["model_id"]) for row in rows} == {
            (record["evaluation_id"], record["model_info"]["id"])
        }
        results = {result["evaluation_result_id"]: result for result in record["evaluation_results"]}
        assert len(results) == len(record["evaluation_results"])
        for result in {row["evaluation_result_id"] for row in rows}:
            hits = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == result]
            assert results[result]["score_details"]["score"] == pytest.approx(sum(hits) / len(hits))
            assert results[result]["score_details"]["uncertainty"]["num_samples"] == len(hits)
    cells = [cell for cell in run.report["cells"] if cell["model"] == "mlm-base"]
    scores = sum(cell[key] is not None for cell in cells for key in ("top1", "top5", "S", "I"))
    first = json.loads(next(content for name, content in eee.items() if "mlm-base" in name and name.endswith("json")))
    assert len(first["evaluation_results"]) == scores


def test_without_text_there_are_scores_and_no_items(run: Run) -> None:
    bare = run.outcomes.drop_columns(["text", "gold", "pred"])
    files = dict(eee_files(run.report, bare, retrieved=1, organization="x", relationship="other"))
    assert len(files) == 2 and all(name.endswith(".json") for name in files)
    for content in files.values():
        assert "detailed_evaluation_results" not in json.loads(content)


def test_the_card_names_files_that_are_there(run: Run) -> None:
    files = dict(hub_files(run.report, run.outcomes))
    front: dict[str, Any] = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    assert [config["config_name"] for config in front["configs"]] == list(CONFIGS)
    assert {config["data_files"] for config in front["configs"]} == set(files) - {"README.md"}
    assert [config["config_name"] for config in front["configs"] if config.get("default")] == ["outcomes"]
    assert front["language"] == ["de", "zh"] and front["license"] == "cc-by-sa-3.0"
    assert front["task_categories"] == ["fill-mask"] and front["size_categories"] == ["n<1K"]
    outcomes = pq.ParquetFile(io.BytesIO(files["data/outcomes.parquet"]))
    table = outcomes.read()
    assert table.drop_columns(["sample_hash"]).equals(run.outcomes)
    first = table.slice(0, 1).to_pylist()[0]
    assert first["sample_hash"] == hashlib.sha256((first["text"] + first["gold"]).encode()).hexdigest()
    assert table.schema.field("gold_logp").metadata[b"unit"] == b"nat"
    assert outcomes.metadata.row_group(0).column(0).has_offset_index


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["CC BY-SA 4.0", "CC BY-NC-SA 3.0"], "cc-by-nc-sa-3.0"),
        (["CC BY 4.0", "CC BY-SA 4.0"], "cc-by-sa-4.0"),
        (["CC BY 4.0", "unknown"], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_strictest_licence_counts(licences: list[str], expected: str) -> None:
    assert hub_licence(licences) == expected


def test_the_command_and_the_data_frames(tmp_path: Path, run: Run) -> None:
    (tmp_path / "run" / "report").mkdir(parents=True)
    (tmp_path / "run" / "report" / "report.json").write_bytes(canonical_json(run.report))
    (tmp_path / "run" / "report" / "outcomes.parquet").write_bytes(parquet_bytes(run.outcomes))
    place = str(tmp_path / "run")
    for to in ("eee", "hub"):
        done = CliRunner().invoke(app, ["convert", place, "--to", to, "--json"])
        assert done.exit_code == 0, done.output
        answer = json.loads(done.stdout)
        assert answer["files"] and all((tmp_path / "run" / to / name).is_file() for name in answer["files"])
    assert isinstance(CliRunner().invoke(app, ["convert", place, "--to", "xls"]).exception, ConfigError)
    report = load_report(place)
    for name, described in COLUMNS.items():
        frame = report.frame(name)
        assert len(frame) == report.table(name).num_rows > 0
        unknown = {re.sub(r"_(lo|hi)$", "", column) for column in frame.columns} - set(described)
        assert not unknown, name
    cells = report.frame("cells")
    orig = cells[(cells["condition"] == "orig") & ~cells["lemma"]]
    assert list(orig["top1"]) == [c["top1"] for c in run.report["cells"] if c["condition"] == "orig" and not c["lemma"]]
    older = run.outcomes.drop_columns(["kendall_tau"])
    (tmp_path / "run" / "report" / "outcomes.parquet").write_bytes(parquet_bytes(older))
    with pytest.raises(StoreError, match="another version: outcomes without kendall_tau"):
        load_report(place)
