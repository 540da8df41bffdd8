"""`morphorder submit` against a real head node: sent, followed, brought back; and its errors, one line each."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
pytest.importorskip("onnx", reason="needs onnx to make a model")

from cluster.submit import _shown
from tests.cluster.small import write_treebank
from tests.fake_bundle import make_fake_bundle

MORPHORDER = [sys.executable, "-c", "from evaluator.cli import main; main()"]
DASHBOARD = 8279


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a head node's job server: one that is up (MORPHORDER_TEST_HEAD), or one of our own."""
    if "MORPHORDER_TEST_HEAD" in os.environ:
        yield os.environ["MORPHORDER_TEST_HEAD"]
        return
    ray = Path(sys.executable).with_name("ray")
    options = ["--port=0", f"--dashboard-port={DASHBOARD}", "--num-cpus=2", "--disable-usage-stats", "--block"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # a job runs the head's `python`
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PATH": path}
    path_of_log = tmp_path_factory.mktemp("head") / "log"
    with (
        path_of_log.open("wb") as log,
        subprocess.Popen([ray, "start", "--head", *options], stdout=log, stderr=log, env=environment) as node,
    ):
        address = f"http://127.0.0.1:{DASHBOARD}"
        if not _answers(address, 90):
            node.terminate()
            pytest.skip("no head node came up")
        while b"Ray runtime started" not in path_of_log.read_bytes() and node.poll() is None:
            time.sleep(0.2)  # the job server answers before the node can take a job
        yield address
        node.terminate()


def _answers(address: str, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/api/jobs/", timeout=5):
                return True
        except OSError:
            time.sleep(0.5)
    return False


def _morphorder(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "RAY_AUTH_MODE": "disabled", "HOME": str(home), **environment}
    variables.pop("RAY_ADDRESS", None)
    return subprocess.run(
        [*MORPHORDER, *arguments], capture_output=True, text=True, env=variables, cwd=home, check=False, timeout=600
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    make_fake_bundle(tmp_path / "model")
    path = tmp_path / "config.toml"
    path.write_text(
        f'treebanks = ["{write_treebank(tmp_path).name}"]\nmodels = ["model"]\nout = "{tmp_path}/there"\n'
        "statistics = {resamples = 100}\nscoring = {shard_rows = 64, threads = 1}\n"
    )
    return path


@pytest.mark.ray
def test_sent_followed_and_brought_back(head: str, config: Path, tmp_path: Path) -> None:
    done = _morphorder("submit", str(config), "--address", head, "--out", "back", home=tmp_path)
    assert done.returncode == 0, done.stderr
    job = done.stdout.splitlines()[0]
    assert re.search(r"sending \d+\.\d MiB", done.stderr)
    assert "score fake: " in done.stderr
    for name in ("report.json", "report.html", "tables"):
        assert (tmp_path / "back" / name).exists(), name
    assert (tmp_path / "back" / "report.json").read_bytes() == (tmp_path / "there/report/report.json").read_bytes()
    assert _morphorder("submit", "status", job, "--address", head, home=tmp_path).stdout == "SUCCEEDED\n"
    logs = _morphorder("submit", "logs", job, "--address", head, home=tmp_path).stdout
    assert "report: " in logs
    assert "morphorder-report:" not in logs


@pytest.mark.ray
def test_no_wait_prints_an_id_that_can_be_stopped(head: str, config: Path, tmp_path: Path) -> None:
    sent = _morphorder("submit", str(config), "--address", head, "--no-wait", home=tmp_path)
    assert sent.returncode == 0, sent.stderr
    job = sent.stdout.strip()
    stopped = _morphorder("submit", "stop", job, "--address", head, home=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stdout.strip() in ("stopped", "was not running")


@pytest.mark.ray
def test_unknown_job_and_deaf_head_are_one_line(head: str, tmp_path: Path) -> None:
    unknown = _morphorder("submit", "status", "raysubmit_none", "--address", head, home=tmp_path)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1), unknown.stderr
    deaf = _morphorder("submit", "status", "x", "--address", "http://127.0.0.1:9", home=tmp_path)
    assert (deaf.returncode, deaf.stderr.count("\n")) == (2, 1), deaf.stderr
    assert "no Ray head answers" in deaf.stderr


def test_other_ray_is_one_line_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray.job_submission

    from cluster.submit import _client
    from evaluator.errors import UserError

    class Old:
        def __init__(self, address: str) -> None: ...

        def _do_request(self, method: str, path: str) -> "Old":
            return self

        def json(self) -> dict[str, str]:
            return {"ray_version": "2.9.0"}

    monkeypatch.setattr(ray.job_submission, "JobSubmissionClient", Old)
    with pytest.raises(UserError, match=r"the cluster runs Ray 2\.9\.0, this machine .*ray\[data,default\]==2\.9\.0"):
        _client("http://head:8265")


def test_wrong_token_is_one_line_with_the_remedy() -> None:
    from ray.exceptions import AuthenticationError

    from cluster.submit import _one_line_errors
    from evaluator.errors import UserError

    with (
        pytest.raises(UserError, match=r"wants a token, or another one.*RAY_AUTH_TOKEN"),
        _one_line_errors("http://head"),
    ):
        raise AuthenticationError("401")


def test_log_is_shown_in_whole_lines_without_the_report() -> None:
    assert _shown("a\nmorphorder-report:AAAA\nb\nhalf a li") == "a\nb\n"
