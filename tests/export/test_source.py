"""What the user may name: model ids online and offline, folders, files; and what is refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
from safetensors.torch import load_file

from evaluator.errors import BundleError
from export import source
from export.build import build_bundle
from export.source import find_source

COMMIT = "3f076fdb1ab68d5b2880cb87a0886f315b8146f8"


@pytest.fixture
def hub(checkpoint: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """A hub that serves a tiny XLM-R from a cache-like folder; returns the calls made."""
    calls: list[dict[str, object]] = []
    snapshot = tmp_path / "models--xlm-roberta-base" / "snapshots" / COMMIT
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(checkpoint("xlm-roberta"))

    def download(model_id: str, **options: object) -> str:
        calls.append({"model_id": model_id, **options})
        return str(snapshot)

    monkeypatch.setattr(source, "snapshot_download", download)
    return calls


def test_model_id_is_downloaded_and_its_commit_recorded(hub: list[dict[str, object]], tmp_path: Path) -> None:
    bundle = build_bundle("xlm-roberta-base", tmp_path / "out", revision="main")
    assert (bundle.source, bundle.name, bundle.revision) == ("xlm-roberta-base", "xlm-roberta-base", COMMIT)
    assert hub[0]["model_id"] == "xlm-roberta-base" and hub[0]["revision"] == "main"
    patterns = hub[0]["allow_patterns"]
    assert isinstance(patterns, list) and not [p for p in patterns if p.endswith((".bin", ".py", ".h5"))]


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (LocalEntryNotFoundError("no network"), "the hub cannot be reached .*hf download bert-base-multilingual-cased"),
        (OSError("name resolution"), "the hub cannot be reached"),
        ("gone", "no such model on the hub"),
        ("gated", "the model is gated .*hf auth login"),
    ],
)
def test_hub_failures_are_one_line_with_a_remedy(
    failure: Exception | str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def download(model_id: str, **_: object) -> str:
        if isinstance(failure, Exception):
            raise failure
        kind = GatedRepoError if failure == "gated" else RepositoryNotFoundError
        error = kind.__new__(kind)
        error.args = ("401",)
        raise error

    monkeypatch.setattr(source, "snapshot_download", download)
    with pytest.raises(BundleError, match=says) as caught:
        build_bundle("bert-base-multilingual-cased", tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "config-only").mkdir()
    (tmp_path / "config-only/config.json").write_text("{}")
    (tmp_path / "bad-json").mkdir()
    (tmp_path / "bad-json/config.json").write_text("{")
    (tmp_path / "bad-json/model.safetensors").write_bytes(b"")
    for given, says in (
        (tmp_path / "absent", "no such file or folder"),
        (tmp_path / "notes.txt", "not an ONNX file"),
        (tmp_path / "empty", "no config.json"),
        (tmp_path / "config-only", "no weights"),
        (tmp_path / "bad-json", "not JSON"),
    ):
        with pytest.raises(BundleError, match=says):
            find_source(str(given))


def test_several_graphs_need_a_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(BundleError, match=r"several ONNX files: a\.onnx, b\.onnx"):
        find_source(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"x")
    assert find_source(str(tmp_path)).graph == tmp_path / "model.onnx"


def test_pickle_is_loaded_only_when_asked(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    folder.mkdir()
    for path in checkpoint("bert").iterdir():
        if path.suffix == ".json":
            (folder / path.name).write_bytes(path.read_bytes())
    torch.save(load_file(checkpoint("bert") / "model.safetensors"), folder / "pytorch_model.bin")
    with pytest.raises(BundleError, match=r"only there as pickle.*--allow-pickle"):
        build_bundle(folder, tmp_path / "out")
    assert build_bundle(folder, tmp_path / "out", allow_pickle=True).architecture == "bert"


def test_code_of_a_model_is_not_run(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "own-code"
    folder.mkdir()
    for path in checkpoint("bert").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForMaskedLM": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(BundleError, match=r"brings its own code .*--trust-remote-code"):
        build_bundle(folder, tmp_path / "out")
    assert not (tmp_path / "ran").exists()
