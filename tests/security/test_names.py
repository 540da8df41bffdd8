"""Names in settings, bundles and treebanks stay in their folder, and no file from a stranger is run."""

import json
import re
from pathlib import Path

import pytest

from evaluator.errors import BundleError, MorphorderError
from evaluator.score.bundle import BUNDLE_FILE, MODEL_FILE, read_bundle
from evaluator.stages.encode import ModelFolder, open_cutter
from evaluator.store.run import RunFolder
from tests.conftest import ROOT
from tests.fake_bundle import make_fake_bundle

SOURCES = sorted(p for package in ("evaluator", "export", "cluster") for p in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "..", ".", "sub/weights", ""])
def test_file_of_a_bundle_cannot_lie_elsewhere(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    make_fake_bundle(folder)
    (tmp_path / "secret").write_bytes(b"x")
    described = json.loads((folder / BUNDLE_FILE).read_text())
    described["files"][name] = {"size": 1, "sha256": "0" * 64}
    (folder / BUNDLE_FILE).write_text(json.dumps(described))
    with pytest.raises(BundleError, match=r"leaves the bundle folder|is missing"):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["../../out", "a/b", "<script>", "\u202e", "x" * 500, "..", "", "\x00"])
def test_name_of_a_model_is_text_and_no_path(name: str, tmp_path: Path) -> None:
    """A run folder names files after fingerprints, which are hex whatever a bundle calls itself."""
    folder = tmp_path / "bundle"
    make_fake_bundle(folder)
    described = json.loads((folder / BUNDLE_FILE).read_text())
    (folder / BUNDLE_FILE).write_text(json.dumps({**described, "name": name}))
    bundle = read_bundle(folder)
    assert re.fullmatch("[0-9a-f]{16}", bundle.fingerprint)
    assert re.fullmatch("[0-9a-f]{16}", bundle.tokenizer_fingerprint)
    run = RunFolder.create(str(tmp_path / "run"), "a" * 16, {})
    scored = run.scored(bundle.tokenizer_fingerprint, bundle.fingerprint, 5)
    assert Path(scored.location.text).parent == tmp_path / "run" / "scored"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x80\x04\x95pickle", b'{"model": {}}', b"\xff\xfe{"])
def test_tokenizer_that_is_none_is_one_line(content: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    bundle = make_fake_bundle(folder)
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(MorphorderError) as error:
        open_cutter(ModelFolder(folder, bundle))
    assert "\n" not in str(error.value)


def test_lone_surrogate_in_a_vocabulary_is_refused_before_it_is_predicted(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    bundle = make_fake_bundle(folder)
    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    described["model"]["vocab"]["\ud800"] = len(described["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(BundleError, match="not a tokenizer"):
        open_cutter(ModelFolder(folder, bundle))


def test_nothing_here_can_run_what_it_reads() -> None:
    """No module of the packages unpickles, evaluates or imports what a file says; torch loads weights only."""
    forbidden = re.compile(
        r"\bimport (pickle|marshal|shelve|dill|joblib)\b|\bfrom (pickle|marshal|shelve|dill|joblib)\b|"
        r"(?<![.\w])(eval|exec)\(|allow_pickle=True|yaml\.load\(|\btarfile\b|shell=True|os\.system\("
    )
    found = {str(p.relative_to(ROOT)): m[0] for p in SOURCES if (m := forbidden.search(p.read_text(encoding="utf-8")))}
    assert found == {}
    for path in SOURCES:
        for call in re.findall(r"torch\.load\(.*", path.read_text(encoding="utf-8")):
            assert "weights_only=True" in call, f"{path}: {call}"


def test_code_of_a_model_is_trusted_only_by_flag() -> None:
    for path in SOURCES:
        for value in re.findall(r"trust_remote_code\s*=\s*(\w+)", path.read_text(encoding="utf-8")):
            assert value in ("trust_remote_code", "False"), f"{path.name}: trust_remote_code={value}"


def test_runtime_is_given_no_library_of_a_bundle() -> None:
    backend = (ROOT / "evaluator" / "score" / "backend.py").read_text(encoding="utf-8")
    assert "register_custom_ops_library" not in backend
    assert backend.index("external_locations(folder / MODEL_FILE)") < backend.index("ort.InferenceSession(")
    assert MODEL_FILE == "model.onnx", "a .ort file would be read by another loader"
