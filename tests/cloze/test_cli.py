"""The commands end to end on our own sentences: answers on stdout, exit codes, one line for a mistake."""

from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cloze.cli import app
from evaluator.errors import MorphorderError
from tests.cloze.conftest import DATA
from tests.commands import answer_of
from tests.fake_bundle import make_fake_bundle

call = partial(answer_of, app)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cloze")
    corpus = folder / "corpus.txt"
    corpus.write_text("She walks, they walked. Elle chante et nous chanterons.\n", encoding="utf-8")
    counted = call("count", str(corpus), "--out", str(folder / "counts.tsv"), "--threads", "1")
    assert (counted["ok"], counted["tokens"], counted["markers"]) == (True, 9, 0)
    for language in ("en", "fr"):
        arguments = ["-t", str(DATA / f"{language}.conllu"), "--corpus", str(folder / "counts.tsv"), "--threads", "1"]
        arguments += ["--unimorph", str(DATA / "en.unimorph.tsv")] if language == "en" else []
        # Our treebank is in no list of licences, so the audit has one complaint, and the exit code says so.
        answer = call("build", *arguments, "--out", str(folder / "data"), code=1)
        assert [c["name"] for c in answer["checks"] if c["ok"] is False] == ["every row has a treebank and a licence"]
    return folder


def test_a_built_folder_is_audited_and_run(built: Path, tmp_path: Path) -> None:
    answer = call("audit", f"{built}/data:fr", code=1)
    assert answer["rows"]["test"] == sum(n for split, n in answer["rows"].items() if split.startswith("test_"))
    make_fake_bundle(tmp_path / "bundle")
    out = str(tmp_path / "run")
    arguments = (
        f"{built}/data:en",
        "-m",
        str(tmp_path / "bundle"),
        "--threads",
        "1",
        "--progress",
        "none",
        "--out",
        out,
    )
    answer = call("run", *arguments, code=1)
    assert answer["problems"][0].startswith("audit: every row has a treebank and a licence")
    assert answer["rows"][0]["by"] == "all" and Path(answer["report"]).is_file()
    card = (built / "data/en/README.md").read_text("utf-8")
    assert "config_name: en" in card and "path: test_lemhigh_formlow.parquet" in card


def test_mistakes_are_one_line(built: Path, tmp_path: Path) -> None:
    data = f"{built}/data:en"
    with pytest.raises(MorphorderError, match="no licence filter 'free'"):
        call("build", "-t", "x.conllu", "--corpus", "c.txt", "--out", "o", "--licence", "free")
    with pytest.raises(MorphorderError, match="no decoder 'left'"):
        call("run", data, "--out", str(tmp_path), "--decoder", "left")
    with pytest.raises(MorphorderError, match="no split 'all'"):
        make_fake_bundle(tmp_path / "bundle")
        call("run", data, "--out", str(tmp_path / "r"), "-m", str(tmp_path / "bundle"), "--split", "all")
    with pytest.raises(MorphorderError, match="cannot be read"):
        call("count", str(tmp_path / "none.txt"), "--out", str(tmp_path / "c.tsv"), "--threads", "1")
    (tmp_path / "taken" / "en").mkdir(parents=True)
    (tmp_path / "taken" / "en" / "file").write_text("x", encoding="utf-8")
    with pytest.raises(MorphorderError, match="folder holds other files"):
        call(
            *("build", "-t", str(DATA / "en.conllu"), "--corpus", str(built / "counts.tsv")),
            *("--out", str(tmp_path / "taken"), "--threads", "1"),
        )


def test_no_command_has_more_than_ten_flags() -> None:
    for command in ("build", "audit", "run", "count"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
        flags = [line for line in shown.splitlines() if line.lstrip("│ *").startswith("--") and "--help" not in line]
        assert 0 < len(flags) <= 10, (command, flags)
