"""Every benchmark runs at its toy size and says what its bar is about."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


def run(name: str, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(done.stdout)
    assert {"date", "cpu", "cores", "versions"} <= set(said["machine"])
    assert str(ROOT) not in done.stdout
    return said


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder in which the random model is made once."""
    return str(tmp_path_factory.mktemp("benchmark"))


def test_peers_agree_with_torch(work: str) -> None:
    said = run("peers", "--work", work, "--rows", "24", "--n", "3", "--repeats", "1", "--only", "ours", "gathered")
    assert [w["way"] for w in said["ways"]] == ["torch, masked rows gathered", "ours, fp32", "ours, int8"]
    for way in said["ways"]:
        assert way["items_per_s"] > 0
        assert 0 <= way["padding_share"] < 1
        assert way["ours_over_this"] > 0
    assert said["ceiling_items_per_s"] > 0
    assert said["agreement"]["agree"]
    assert said["agreement"]["rows"] == said["rows"]["rows"] == 24


def test_roofline_counts_the_graphs_own_products(work: str) -> None:
    said = run("roofline", "--work", work, "--rows", "24", "--n", "3", "--rounds", "1")
    assert said["achieved_gflop_s"] > 0
    assert said["attainable_gflop_s"] > 0
    assert said["rows"] == 24


def test_memory_of_one_worker_and_of_two(work: str) -> None:
    said = run("memory", "--work", work, "--rows", "24", "--n", "3", "--lengths", "40")
    assert said["peak_rss_mib"] <= said["allowed_mib"]
    assert len(said["two_workers"]["each_rss_mib"]) == 2


def test_encode() -> None:
    said = run("encode", "--repeats", "1")
    assert said["prepare_items_per_cpu_s"] > 0
    assert said["tokenizers"][0]["encode_items_per_cpu_s"] > 0


def test_sweep_scores_distinct_rows_only() -> None:
    said = run("sweep", "--n", "8")
    assert said["rows_are_the_distinct_inputs"]
    for treebank in said["treebanks"]:
        once, drawn = (treebank[w]["items_and_rows_by_condition"] for w in ("once", "drawn"))
        assert drawn["orig"] == once["orig"], "what no draw changes is scored once"
        assert drawn["full"][0] == 10 * once["full"][0]
        assert treebank["cost_of_draws"] < 10


def test_reduce() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reduce", "--outcomes", "20000", "--resamples", "100", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["cells"] > 0


def test_gpu_check_is_a_script_that_a_shell_reads() -> None:
    subprocess.run(["sh", "-n", str(ROOT / "benchmarks" / "gpu_check.sh")], check=True)
