"""A cluster that grows by a node and loses it again: workers go there, and its shards come back."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from tests.cluster.jobs import answers, local_answers, make_job
from tests.fake_bundle import make_fake_bundle

ROOT = Path(__file__).parents[2]
SHARDS = 40
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("_ray_session")]

DRIVER = """
import pickle, sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from ray._private.state import actors

from cluster.engine import run_ray

job, shards = pickle.loads(Path(sys.argv[1]).read_bytes()), range(int(sys.argv[2]))
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
ray.init(cluster.address, log_to_driver=False)
second, removed, before, both, scored = None, False, 0, 0, []
for report in run_ray(job, shards, {"min_actors": 1, "max_actors": 2}):
    scored.append(report.shard)
    workers = sum(a["State"] == "ALIVE" and "MapWorker" in a["ActorClassName"] for a in actors().values())
    if second is None:
        before = max(before, workers)
        if len(scored) == 4:
            second = cluster.add_node(num_cpus=1)
    elif workers == 2 and not removed:
        both += 1
        if both == 6:  # reports since there are two: both are at work
            cluster.remove_node(second, allow_graceful=False)
            removed = True
print("seen:", before, both, removed, sorted(scored) == list(shards))
ray.shutdown()
cluster.shutdown()
"""
"""In a process of its own: this Ray is another one than that of the other tests."""


def test_pool_grows_onto_a_new_node_and_outlives_its_loss(tmp_path: Path) -> None:
    bundle = make_fake_bundle(tmp_path / "slow", work=4000)
    job = make_job(tmp_path / "run", tmp_path / "slow", bundle, shards=SHARDS)
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "job"), str(SHARDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert "seen: 1 6 True True" in done.stdout.splitlines(), done.stdout + done.stderr
    assert "lost a worker, retry 1 of 2" in done.stderr
    assert answers(job.scored, SHARDS) == local_answers(job, tmp_path / "local", SHARDS)
