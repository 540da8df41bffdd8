"""What Prometheus finds at a node that scores: scraped from a real head while a job runs on it."""

import re
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from tests.cluster.heads import Head, morphorder
from tests.cluster.small import write_treebank
from tests.fake_bundle import fake_tokenizer, make_fake_bundle

LINE = re.compile(r"^ray_morphorder_(\w+?)(?:_total)?\{[^}]*\} ([0-9.e+-]+)$", re.MULTILINE)
NAMES = {"rows", "pieces", "padded_pieces", "failed_rows", "busy_seconds", "queued_shards"}


def _scraped(port: int) -> dict[str, float]:
    """Our metrics at a node's port, summed over its processes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found: dict[str, float] = {}
    for name, value in LINE.findall(text):
        found[name] = found.get(name, 0.0) + float(value)
    return found


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_rates_padding_queue_and_failures_are_there_while_it_runs(head: Head, tmp_path: Path) -> None:
    red = fake_tokenizer("wordpiece", ["red"]).token_to_id("red")
    make_fake_bundle(tmp_path / "model", vocab=["red"], nan_on=red, work=20_000)
    config = tmp_path / "config.toml"
    config.write_text(
        f'treebanks = ["{write_treebank(tmp_path).name}"]\nmodels = ["model"]\nout = "{tmp_path}/run"\n'
        "seeds = [0, 1, 2]\nstatistics = {resamples = 100}\nscoring = {shard_rows = 4, threads = 1}\n"
        "ray = {max_actors = 1}\n"
    )
    sent = morphorder("submit", str(config), "--address", head.jobs, "--no-wait", home=tmp_path)
    assert sent.returncode == 0, sent.stderr
    seen: list[dict[str, float]] = []
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len([s for s in seen if s.keys() >= NAMES]) < 3:
        time.sleep(1.5)
        seen.append(_scraped(head.metrics_port))
    morphorder("submit", "stop", sent.stdout.strip(), "--address", head.jobs, home=tmp_path)
    whole = [s for s in seen if s.keys() >= NAMES]
    assert len(whole) == 3, seen[-1:]
    first, last = whole[0], whole[-1]
    assert last["rows"] > first["rows"] > 0
    assert last["queued_shards"] < first["queued_shards"]
    assert last["padded_pieces"] >= last["pieces"] > last["rows"]
    assert 0 < last["failed_rows"] < last["rows"]
    assert last["busy_seconds"] > first["busy_seconds"]
