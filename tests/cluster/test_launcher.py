"""`ray up` and `ray submit` for real: the local provider, over an SSH server on loopback that the test starts."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from tests.cluster.heads import RAY, auth, free_ports
from tests.cluster.small import write_treebank
from tests.fake_bundle import make_fake_bundle

ROOT = Path(__file__).parents[2]
ADDRESS = "127.0.0.2"
"""A loopback address of its own: Ray connects to port 22 and no other."""

SSHD = """
ListenAddress {address}
Port 22
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
SetEnv HOME={folder}/head
"""
PROFILE = """
export PATH={python}:$PATH PYTHONPATH={root}
export RAY_AUTH_MODE=disabled RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0 RAY_TMPDIR={place}
"""
CLUSTER = """
cluster_name: morphorder-test
max_workers: 0
provider: {{type: local, head_ip: {address}, worker_ips: []}}
auth: {{ssh_user: root, ssh_private_key: {folder}/key}}
head_start_ray_commands:
  - >-
    nohup ray start --head --port=0 --dashboard-port={dashboard} --dashboard-agent-listen-port={agent} --num-cpus=2
    --disable-usage-stats --block > ~/log 2>&1 & echo $! > ~/pid
  - for i in $(seq 240); do grep -q "Ray runtime started" ~/log && exit 0; sleep 0.5; done; exit 1
worker_start_ray_commands: []
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    """A cluster's YAML; its head can be reached by SSH, and has `head` in the test's folder for a home."""
    tools = [shutil.which(t, path=f"{os.environ['PATH']}:/usr/sbin") for t in ("sshd", "ssh", "ssh-keygen", "rsync")]
    if os.geteuid() or None in tools:
        pytest.skip("needs root, sshd, ssh and rsync")
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    home = tmp_path / "head"
    home.mkdir()
    (home / ".bashrc").write_text("")
    dashboard, agent = free_ports(2)
    place = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    names = {"address": ADDRESS, "folder": tmp_path, "dashboard": dashboard, "agent": agent}
    (home / ".bash_profile").write_text(PROFILE.format(python=Path(sys.executable).parent, root=ROOT, place=place))
    (tmp_path / "sshd_config").write_text(SSHD.format(**names))
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.format(**names))
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([str(tools[0]), "-D", "-f", tmp_path / "sshd_config", "-E", tmp_path / "sshd.log"])
    try:
        deadline = time.monotonic() + 10
        while server.poll() is None and time.monotonic() < deadline and not _listens():
            time.sleep(0.1)
        if not _listens():
            pytest.skip(f"no SSH server on {ADDRESS}: {(tmp_path / 'sshd.log').read_text()}")
        yield path
    finally:
        if (home / "pid").exists():
            with suppress(ProcessLookupError):
                os.kill(int((home / "pid").read_text()), signal.SIGTERM)
        server.terminate()
        server.wait()
        for left in (Path(tempfile.gettempdir()) / "ray").glob(
            "cluster-morphorder-test.*"
        ):  # the local provider's own notes
            left.unlink()
        shutil.rmtree(place, ignore_errors=True)


def _listens() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((ADDRESS, 22)) == 0


@pytest.mark.ray
def test_ray_up_and_ray_submit_run_a_config(cluster: Path, tmp_path: Path) -> None:
    home = tmp_path / "head"
    write_treebank(home)
    make_fake_bundle(home / "model")
    (home / "config.toml").write_text(
        f'treebanks = ["xx_small-ud-test.conllu"]\nmodels = ["model"]\nout = "{tmp_path}/run"\n'
        "statistics = {resamples = 100}\nscoring = {shard_rows = 64, threads = 1}\n"
    )
    environment = {**os.environ, **auth(""), "HOME": str(tmp_path)}
    for command in (
        ["up", "--yes", "--no-config-cache", str(cluster)],
        ["submit", "--no-config-cache", str(cluster), "cluster/main.py", "--", "~/config.toml"],
    ):
        done = subprocess.run(
            [RAY, *command], capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=ROOT
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "complete: 120 of 120 items scored" in done.stdout
    assert (tmp_path / "run" / "report" / "report.json").exists()
