"""A cluster of two nodes that loses one: its shards go to the other."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from evaluator.score.bundle import Bundle
from tests.cluster.jobs import answers, local_answers, make_job

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

DRIVER = """
import pickle, sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from cluster.engine import run_ray

job = pickle.loads(Path(sys.argv[1]).read_bytes())
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
ray.init(cluster.address, log_to_driver=False)
shards, removed = [], False
for report in run_ray(job, range(40), {"min_actors": 2, "max_actors": 2}):
    shards.append(report.shard)
    if not removed and not ray.available_resources().get("CPU"):  # a worker on each node
        cluster.remove_node(second, allow_graceful=False)
        removed = True
print(removed, sum(n["Alive"] for n in ray.nodes()), sorted(shards) == list(range(40)))
ray.shutdown()
cluster.shutdown()
"""
"""In a process of its own: this Ray is another one than that of the other tests."""


def test_shards_of_a_removed_node_go_to_the_other(slow: tuple[Path, Bundle], tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *slow, shards=40)
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "job")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "True 1 True", done.stdout + done.stderr
    assert "lost a worker, retry 1 of 2" in done.stderr
    assert answers(job.scored, 40) == local_answers(job, tmp_path / "local", 40)
