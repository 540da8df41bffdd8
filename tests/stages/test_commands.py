"""The commands as a shell meets them: exit codes, one line per mistake, JSON alone on stdout."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaluator import cli
from evaluator.errors import StoreError
from evaluator.show import item_lines
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from tests.reduce.synthetic import outcome

GetBundle = Callable[..., str]
COMMANDS = ("run", "prepare", "encode", "score", "report", "check", "show", "doctor", "audit")


def morphorder(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from evaluator.cli import main; main()", *args],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, treebanks: tuple[str, ...], bundle: GetBundle
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run of a sound and an all-NaN model, by command, and what the command said."""
    root = tmp_path_factory.mktemp("commands")
    toml = root / "config.toml"
    toml.write_text(
        f'treebanks = ["{treebanks[0]}"]\nmodels = ["{bundle()}", "{bundle("nan", nan_on=2)}"]\n'
        'conditions = ["orig", "full"]\nlemma = false\nstatistics = {resamples = 100}\n'
    )
    said = morphorder("run", str(toml), "--out", str(root / "run"), "--threads", "1", "--progress", "none", "--json")
    return root, said


def test_run_with_something_missing_exits_1_and_says_so(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    root, said = finished
    assert said.returncode == 1, said.stderr
    answer = json.loads(said.stdout)
    assert answer["ok"] is False
    assert {c["model"] for c in answer["cells"] if c["top1"] is not None} == {"alpha"}
    assert Path(answer["report"]) == root / "run" / "report" / "report.json"
    assert Path(answer["report"]).is_file()


def test_run_without_faults_exits_0(finished: tuple[Path, object], bundle: GetBundle) -> None:
    root, _ = finished
    args = ("run", str(root / "config.toml"), "--model", bundle(), "--out", str(root / "sound"), "--progress", "none")
    said = morphorder(*args, "--json", "--threads", "1")
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(said.stdout)["ok"] is True


@pytest.mark.parametrize("command", ["run", "prepare", "encode", "score", "report"])
def test_every_stage_wants_the_run_folder_for_itself(
    command: str, finished: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    folder = str(finished[0] / "run")
    args = (folder,) if command == "report" else (str(finished[0] / "config.toml"), "--out", folder)
    with run_lock(Location.of(folder)):
        refused = CliRunner().invoke(cli.app, [command, *args, "--progress", "none"], standalone_mode=False)
    assert isinstance(refused.exception, StoreError)
    assert f"another run works here: process {os.getpid()} on" in str(refused.exception)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "nothing.toml"), "nothing.toml: no such file"),
        (("run", "--model", "no-such-folder"), "no-such-folder: not a model bundle"),
        (("show", "no-such-run"), "no run here"),
    ],
)
def test_mistakes_exit_2_with_one_line(args: tuple[str, ...], said: str) -> None:
    plain = morphorder(*args)
    assert plain.returncode == 2
    assert plain.stdout == ""
    assert said in plain.stderr
    assert plain.stderr.count("\n") == 1


def test_mistake_as_json_is_alone_on_stdout() -> None:
    said = morphorder("run", "nothing.toml", MORPHORDER_JSON="1")
    assert said.returncode == 2
    error = json.loads(said.stdout)
    assert error["ok"] is False
    assert error["error"]["code"] == "config"
    assert error["error"]["where"] == "nothing.toml"


def in_process(*args: str) -> str:
    """What a command says on stdout, without a new process."""
    result = CliRunner().invoke(cli.app, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str) -> None:
    said = in_process(command, "--help")
    assert "morphorder" in said or command in said
    assert len(said.splitlines()) > 5


def test_help_of_everything() -> None:
    said = in_process("--help")
    assert all(command in said for command in COMMANDS)


@pytest.mark.usefixtures("finished")
def test_show(finished: tuple[Path, object]) -> None:
    run = str(finished[0] / "run")
    said = json.loads(in_process("show", run, "--model", "alpha", "--condition", "full", "--json", "--limit", "3"))
    assert said["ok"]
    assert len(said["items"]) == 3
    assert {(i["model"], i["condition"], i["lemma"]) for i in said["items"]} == {("alpha", "full", False)}
    text = in_process("show", run, "--model", "alpha", "--tokens", "--limit", "1")
    assert "[CLS]" in text
    assert "[MASK]" in text
    failed = in_process("show", run, "--model", "nan", "--limit", "1", "--tokens")
    assert "non_finite" in failed
    wrong, right = (
        json.loads(in_process("show", run, "-m", "alpha", flag, "--json"))["found"] for flag in ("--wrong", "--right")
    )
    assert wrong + right == json.loads(in_process("show", run, "-m", "alpha", "--json"))["found"]


def test_show_finds_by_part_of_speech_ids_and_lot(finished: tuple[Path, object], tmp_path: Path) -> None:
    run = str(finished[0] / "run")

    def shown(*flags: str) -> list[dict[str, Any]]:
        items = json.loads(in_process("show", run, "-m", "alpha", "--json", *flags))["items"]
        return list(items)

    everything = shown("--limit", "100000")
    tag = everything[0]["upos"]
    assert [i["upos"] for i in shown("--upos", tag, "--limit", "100000")] == [tag] * sum(
        i["upos"] == tag for i in everything
    )
    wanted = [everything[k]["item_id"] for k in (1, 5)]
    (tmp_path / "ids").write_text("".join(f"{i}\n\n" for i in wanted))
    assert [i["item_id"] for i in shown("--ids", str(tmp_path / "ids"))] == wanted
    (tmp_path / "ids").write_text("12\nx12\n")
    said = morphorder("show", run, "--ids", str(tmp_path / "ids"))
    assert said.returncode == 2 and f"{tmp_path / 'ids'}:2" in said.stderr
    first, again, other = (shown("--sample", seed, "--limit", "8") for seed in ("1", "1", "2"))
    assert first == again != other
    assert all(item in everything for item in first) and first != everything[:8]


def test_show_writes_markdown(finished: tuple[Path, object]) -> None:
    said = in_process("show", str(finished[0] / "run"), "--limit", "1", "--format", "md")
    assert said.startswith("### ") and "\n- text: " in said and "\n- gold: " in said


def test_show_moves_no_cursor() -> None:
    row = outcome(sent_id="s\x1b[2J", text="a \u202eb ⟨mask⟩", gold="\x1b]0;x\x07", pred=["\x9b31m"])
    lines = item_lines(row)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set("".join(lines))
    assert "⟨U+202E⟩" in "".join(lines)


@pytest.mark.usefixtures("finished")
def test_show_flipped_is_right_in_orig_and_wrong_here(finished: tuple[Path, object]) -> None:
    run = str(finished[0] / "run")
    everything = json.loads(in_process("show", run, "-m", "alpha", "--json", "--limit", "100000"))["items"]
    right = {(i["base_id"], i["lemma"]) for i in everything if i["condition"] == "orig" and i["correct1"]}
    expected = [i["item_id"] for i in everything if not i["correct1"] and (i["base_id"], i["lemma"]) in right]
    shown = json.loads(in_process("show", run, "-m", "alpha", "--flipped", "--json", "--limit", "100000"))["items"]
    assert [i["item_id"] for i in shown] == expected


def test_dry_run_writes_nothing(finished: tuple[Path, object]) -> None:
    root, _ = finished
    out = root / "planned"
    said = json.loads(
        in_process("run", str(root / "config.toml"), "--out", str(out), "--dry-run", "--json", "--progress", "none")
    )
    assert said["ok"]
    assert said["plan"]["items"] == 2 * sum(said["plan"]["base_items"].values()) > 0
    assert [m["model"] for m in said["plan"]["models"]] == ["alpha", "nan"]
    assert said["plan"]["estimate_s"]["all"] > said["plan"]["estimate_s"]["score"] > 0
    assert not out.exists()


def test_run_says_its_plan_before_it_scores(finished: tuple[Path, object], bundle: GetBundle) -> None:
    root, _ = finished
    args = ("run", str(root / "config.toml"), "-m", bundle(), "--out", str(root / "told"), "--threads", "1")
    first = morphorder(*args, "--progress", "lines").stderr.splitlines()
    plan = next(i for i, line in enumerate(first) if "base items in 1 treebanks" in line)
    score = next(i for i, line in enumerate(first) if line.startswith("score alpha:"))
    assert "distinct rows" in first[plan + 1]
    assert any(line.startswith("about ") for line in first[plan:score])
    told = [json.loads(line) for line in morphorder(*args, "--progress", "json").stderr.splitlines()]
    (plan_again,) = [line["plan"] for line in told if "plan" in line]
    assert plan_again["models"][0]["done"] == plan_again["models"][0]["shards"] > 0


def test_plan_of_a_gpu_run_is_made_without_a_gpu(finished: tuple[Path, object], bundle: GetBundle) -> None:
    config = finished[0] / "gpu.toml"
    config.write_text((finished[0] / "config.toml").read_text() + 'scoring = {provider = "cuda"}\n')
    said = in_process("run", str(config), "-m", bundle(), "--dry-run", "--progress", "none")
    assert "distinct rows" in said
    assert "no estimate" in said


def test_doctor_says_all_in_one_object() -> None:
    result = CliRunner().invoke(cli.app, ["doctor", "--json"], catch_exceptions=False)
    said = json.loads(result.stdout)
    assert (said["ok"], said["problems"], result.exit_code) == (True, [], 0)
    assert set(said["rows_per_s"]) == {"wordpiece", "unigram"} and min(said["rows_per_s"].values()) > 0
    assert "CPUExecutionProvider" in said["providers"]
    assert "local" in said["engines"]
