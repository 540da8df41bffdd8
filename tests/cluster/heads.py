"""Head nodes with a job server, each with ports and a folder of its own: a test process may have a Ray beside them.

A job looks for its cluster in a file in Ray's folder, where the last Ray that was started has left its address.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

RAY = Path(sys.executable).with_name("ray")
MORPHORDER = [sys.executable, "-c", "from evaluator.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Head:
    """A head node that is up."""

    jobs: str
    """Address of its job server."""
    metrics_port: int


@contextmanager
def head_node(folder: Path, *, token: str = "") -> Iterator[Head]:
    """A head of two CPUs until the block ends, its log in `folder`; with `token`, one that asks for it."""
    jobs_port, agent_port, metrics_port = free_ports(3)
    options = [
        "--port=0",
        f"--dashboard-port={jobs_port}",
        f"--dashboard-agent-listen-port={agent_port}",  # its default port may be taken, and the agent takes the jobs
        f"--metrics-export-port={metrics_port}",
        "--num-cpus=2",
        "--disable-usage-stats",
        "--block",
    ]
    place = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # sockets lie in it: a pytest folder is too long a name
    environment = {
        **os.environ,
        **auth(token),
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # a job runs the head's `python`
        "RAY_TMPDIR": place,
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",  # a head told to end waits 30 s for its jobs
        "RAY_metrics_report_interval_ms": "1000",
    }
    log = folder / "log"
    with log.open("wb") as file:
        node = subprocess.Popen([RAY, "start", "--head", *options], stdout=file, stderr=file, env=environment)
    try:
        head = Head(f"http://127.0.0.1:{jobs_port}", metrics_port)
        deadline = time.monotonic() + 120
        # The job server answers before the node can take a job.
        while not (b"Ray runtime started" in log.read_bytes() and _answers(f"http://127.0.0.1:{agent_port}/")):
            assert node.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield head
    finally:
        node.terminate()
        try:
            node.wait(60)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
        shutil.rmtree(place, ignore_errors=True)


def auth(token: str) -> dict[str, str]:
    """Environment of one who has this token, or none."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}


def morphorder(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, run to its end in `home`, as a user would who has nothing but that folder."""
    variables = {**os.environ, "RAY_AUTH_MODE": "disabled", "HOME": str(home), **environment}
    variables.pop("RAY_ADDRESS", None)
    command = [*MORPHORDER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, cwd=home, check=False, timeout=300)


def free_ports(count: int) -> list[int]:
    """Ports that nobody has now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets]


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
