"""Keys in a URI, and what the environment holds, are in nothing that a run writes or says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from typer.testing import CliRunner

from evaluator import cli
from evaluator.config import Config
from evaluator.errors import StoreError
from evaluator.progress import Reporter
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.stages.prepare import demo_folder
from evaluator.stages.run import run_all
from evaluator.store import location
from evaluator.store.location import Location, without_secrets
from tests.fake_bundle import make_fake_bundle

KEY, SECRET = "AKIAEXAMPLE", "wJalrXUtnFEMI"
URI = f"s3://{KEY}:{SECRET}@bucket/run?endpoint_override=host&session={SECRET}"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (URI, "s3://bucket/run"),
        (f"gs://{KEY}@bucket", "gs://bucket"),
        (f"s3://bucket/a@b/run?key={SECRET}", "s3://bucket/a@b/run"),
        ("/data/a?b@c", "/data/a?b@c"),
        ("", ""),
    ],
)
def test_what_is_shown_of_a_place(place: str, shown: str) -> None:
    assert without_secrets(place) == shown


def test_place_shows_no_keys_however_it_is_printed() -> None:
    inside = Location.of(URI) / "items"
    for text in (str(inside), repr(inside), f"{inside}", repr([inside])):
        assert KEY not in text
        assert SECRET not in text
    assert inside.text.startswith(f"s3://{KEY}:{SECRET}@bucket/run/items?"), "workers still reach it"


@pytest.mark.parametrize("uri", [f"nope://{KEY}:{SECRET}@bucket/run", f"s3://bucket/x?{SECRET}={SECRET}&scheme=y"])
def test_error_of_the_file_system_shows_no_keys(uri: str) -> None:
    with pytest.raises(StoreError, match="cannot open") as error:
        Location.of(uri).names()
    assert SECRET not in str(error.value) + repr(error.value)
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None


def test_command_line_error_shows_no_keys() -> None:
    said = CliRunner().invoke(cli.app, ["audit", f"nope://{KEY}:{SECRET}@bucket/run"])
    assert isinstance(said.exception, StoreError)
    assert SECRET not in str(said.exception) + said.output


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every s3:// URI opens: object stores without a network."""
    monkeypatch.setattr(
        location,
        "_file_system",
        lambda uri: (pafs.LocalFileSystem(), str(tmp_path / "s3" / uri.partition("@")[2].partition("?")[0])),
    )
    write = Location.write

    def with_folders(self: Location, name: str, content: bytes) -> None:
        files, root = self._opened()
        files.create_dir(f"{root}/{name}".rpartition("/")[0])
        write(self, name, content)

    monkeypatch.setattr(Location, "write", with_folders)
    yield tmp_path / "s3"


def test_no_file_of_a_run_holds_keys(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", f"hf_{SECRET}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(
        render, "render_report", lambda document, *_, **__: iter([("report.json", canonical_json(document))])
    )
    blocks = (demo_folder() / "sentences" / "en.conllu").read_text(encoding="utf-8").split("\n\n")
    treebank = tmp_path / "private" / "en_mini-ud-test.conllu"
    treebank.parent.mkdir()
    treebank.write_text("\n\n".join(blocks[:6]) + "\n\n", encoding="utf-8")
    make_fake_bundle(tmp_path / "alpha", name="alpha")
    settings = {
        "treebanks": (str(treebank),),
        "models": (str(tmp_path / "alpha"),),
        "conditions": ("orig", "full"),
        "out": URI,
        "ray": {"address": f"ray://{KEY}:{SECRET}@head:10001"},
        "statistics": {"resamples": 100},
    }
    result = run_all(Config.model_validate(settings), Reporter("lines"))
    assert result.complete
    said = capfd.readouterr()
    written = {p: p.read_bytes() for p in elsewhere.rglob("*") if p.is_file()}
    assert {"config.json", "run.json", "report.json"} <= {p.name for p in written}
    for secret in (KEY, SECRET):
        assert not [p.name for p, content in written.items() if secret.encode() in content]
        assert secret not in said.out + said.err + result.folder + repr(result)
    manifest = json.dumps(result.document["manifest"])
    assert str(tmp_path) not in manifest, "nor paths of this machine"
