"""The files in cluster/ that other programs read: checked against their own schemas, or run dry."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
yaml = pytest.importorskip("yaml", reason="needs PyYAML, which ray[default] brings")

CLUSTER = Path(__file__).parents[2] / "cluster"


@pytest.mark.filterwarnings("ignore")
def test_cloud_yaml_follows_rays_schema() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load((CLUSTER / "cloud.yaml").read_text())
    validate_config(prepare_config(config))
    workers = config["available_node_types"][next(n for n in config["available_node_types"] if n != "head")]
    assert config["max_workers"] == workers["max_workers"]


def test_rayjob_asks_for_what_the_engine_needs() -> None:
    job = yaml.safe_load((CLUSTER / "rayjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]
    assert spec["entrypoint"].startswith("python -m cluster.main ")
    groups = [spec["rayClusterSpec"]["headGroupSpec"], *spec["rayClusterSpec"]["workerGroupSpecs"]]
    for group in groups:
        for container in group["template"]["spec"]["containers"]:
            _quantities(container["resources"])
    worker = groups[1]
    assert worker["minReplicas"] <= worker["replicas"] <= worker["maxReplicas"]
    limits = worker["template"]["spec"]["containers"][0]["resources"]
    assert limits["limits"]["nvidia.com/gpu"] == limits["requests"]["nvidia.com/gpu"], "Kubernetes wants them equal"


def _quantities(resources: dict[str, Any]) -> None:
    assert all(isinstance(q, str) for part in resources.values() for q in part.values()), "quantities are strings"


def test_versions_agree() -> None:
    import ray

    for name in ("rayjob.yaml", "Containerfile"):
        text = (CLUSTER / name).read_text()
        assert ray.__version__.rpartition(".")[0] in text, f"{name} names another Ray than is tested"


BOTH_STARTED = 'until [ "$(grep -c "ray start" "$LOG")" -ge 2 ]; do sleep 0.05; done'
"""The script starts head and workers in the background, and the run waits for them."""
FAKES = {
    "scontrol": 'printf "node1\\nnode2\\n"',
    "srun": 'echo "srun $*" >> "$LOG"; case "$*" in *hostname*) echo 10.0.0.1;; esac',
    "ray": 'echo "ray $*" >> "$LOG"',
    "python": BOTH_STARTED + '; echo "python $* at $RAY_ADDRESS with $RAY_AUTH_MODE ${#RAY_AUTH_TOKEN}" >> "$LOG"',
}


def test_slurm_script_starts_a_head_workers_and_the_run(tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    for name, body in FAKES.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "LOG": str(tmp_path / "log"),
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_GPUS_ON_NODE": "4",
    }
    command = ["bash", str(CLUSTER / "slurm.sh"), "config.toml", "--n", "5"]
    subprocess.run(command, check=True, env=environment, timeout=60)
    log = (tmp_path / "log").read_text()
    assert "ray start --head --node-ip-address=10.0.0.1 --port=6379 --num-cpus=16 --num-gpus=4 --block" in log
    assert "--exclude=node1 ray start --address=10.0.0.1:6379" in log
    assert "python -m cluster.main config.toml --n 5 at 10.0.0.1:6379 with token 64" in log
