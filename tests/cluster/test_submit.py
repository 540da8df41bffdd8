"""`morphorder submit` against a real head node: sent, followed, brought back; and its errors, one line each."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
pytest.importorskip("onnx", reason="needs onnx to make a model")

from cluster.submit import _shown
from tests.cluster.heads import MORPHORDER, RAY, Head, auth, head_node, morphorder
from tests.cluster.small import write_treebank
from tests.fake_bundle import make_fake_bundle


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
def test_sent_followed_and_brought_back(head: Head, config: Path, tmp_path: Path) -> None:
    done = morphorder("submit", str(config), "--address", head.jobs, "--out", "back", home=tmp_path)
    assert done.returncode == 0, done.stderr
    job = done.stdout.splitlines()[0]
    assert re.search(r"sending \d+\.\d MiB", done.stderr)
    assert "score fake: " in done.stderr
    for name in ("report.json", "report.html", "tables"):
        assert (tmp_path / "back" / name).exists(), name
    assert (tmp_path / "back" / "report.json").read_bytes() == (tmp_path / "there/report/report.json").read_bytes()
    assert morphorder("submit", "status", job, "--address", head.jobs, home=tmp_path).stdout == "SUCCEEDED\n"
    logs = morphorder("submit", "logs", job, "--address", head.jobs, home=tmp_path).stdout
    assert "report: " in logs
    assert "morphorder-report:" not in logs


@pytest.mark.ray
def test_no_wait_prints_an_id_that_can_be_stopped(head: Head, config: Path, tmp_path: Path) -> None:
    sent = morphorder("submit", str(config), "--address", head.jobs, "--no-wait", home=tmp_path)
    assert sent.returncode == 0, sent.stderr
    job = sent.stdout.strip()
    stopped = morphorder("submit", "stop", job, "--address", head.jobs, home=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stdout.strip() in ("stopped", "was not running")


@pytest.mark.ray
def test_unknown_job_and_deaf_head_are_one_line(head: Head, tmp_path: Path) -> None:
    unknown = morphorder("submit", "status", "raysubmit_none", "--address", head.jobs, home=tmp_path)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1), unknown.stderr
    deaf = morphorder("submit", "status", "x", "--address", "http://127.0.0.1:9", home=tmp_path)
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


@pytest.mark.ray
def test_token_is_asked_for_in_a_line(config: Path, tmp_path: Path) -> None:
    token = "0123456789abcdef" * 4
    (tmp_path / "head").mkdir()
    with head_node(tmp_path / "head", token=token) as head:
        send = ("submit", str(config), "--address", head.jobs, "--no-wait")
        for wrong in ("", token[::-1]):
            refused = morphorder(*send, home=tmp_path, **auth(wrong))
            last = refused.stderr.splitlines()[-1]
            assert refused.returncode == 2, refused.stderr
            assert "the cluster wants a token, or another one" in last
            assert "RAY_AUTH_TOKEN" in last
            assert token[::-1] not in refused.stderr
        sent = morphorder(*send, home=tmp_path, **auth(token))
        assert sent.returncode == 0, sent.stderr


@pytest.mark.ray
def test_plain_ray_job_submit_runs_the_same(head: Head, config: Path, tmp_path: Path) -> None:
    entry = ["morphorder", "run", config.name, "--engine", "ray"]
    command = [str(RAY), "job", "submit", "--address", head.jobs, "--working-dir", str(tmp_path), "--", *entry]
    environment = {**os.environ, **auth("")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "there" / "report" / "report.json").exists()


HIDDEN = 'mount -t tmpfs none "$0" && exec "$@"'


@pytest.mark.ray
def test_laptop_has_neither_models_nor_treebanks(head: Head, config: Path, tmp_path: Path) -> None:
    """They lie on the cluster, by absolute path: in the laptop's view of the disk that folder is empty."""
    there = tmp_path / "cluster"
    laptop = tmp_path / "laptop"
    for folder in (there, laptop):
        folder.mkdir()
    for name in ("model", "xx_small-ud-test.conllu"):
        (tmp_path / name).rename(there / name)
    text = config.read_text().replace('["xx_', f'["{there}/xx_').replace('["model"]', f'["{there}/model"]')
    (laptop / "config.toml").write_text(text)
    hide = ["unshare", "--mount", "sh", "-c", HIDDEN, str(there)]
    if os.geteuid() or subprocess.run([*hide, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount over a folder")
    command = [*hide, *MORPHORDER, "submit", "config.toml", "--address", head.jobs, "--out", "back"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=laptop, env={**os.environ, **auth("")}
    )
    assert done.returncode == 0, done.stderr
    assert f"not here, so taken to be the cluster's: {there}/model" in done.stderr
    assert (laptop / "back" / "report.json").read_bytes() == (tmp_path / "there/report/report.json").read_bytes()


def test_log_is_shown_in_whole_lines_without_the_report() -> None:
    assert _shown("a\nmorphorder-report:AAAA\nb\nhalf a li") == "a\nb\n"
