"""The wheel holds what the embedded default needs, and the import arrows point down."""

import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

from tests.conftest import ROOT


def test_wheel_holds_models_sentences_and_styles(tmp_path: Path) -> None:
    source = tmp_path / "source"  # setuptools builds beside its sources and would take up what an older build left
    for package in ("evaluator", "export", "cluster"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source / file)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("morphorder-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for language in ("de", "en", "es", "fr", "ru", "tr", "zh"):
        assert f"evaluator/demo/sentences/{language}.conllu" in names
    for model in ("wordpiece", "unigram"):
        for file in ("model.onnx", "tokenizer.json", "bundle.json", "README.md"):
            assert f"evaluator/demo/models/{model}/{file}" in names
    for package in ("evaluator", "export", "cluster"):
        assert f"{package}/py.typed" in names
    for file in ("report/style.css", "report/page.js", "treebank/licences.toml", "cloze/languages/de.toml"):
        assert f"evaluator/{file}" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_bundled_models_are_small() -> None:
    for folder in (ROOT / "evaluator" / "demo" / "models").iterdir():
        assert (folder / "model.onnx").stat().st_size <= 18_000_000


def test_base_install_needs_neither_torch_nor_ray() -> None:
    code = (
        "import sys, evaluator, evaluator.cli, evaluator.stages.run\n"
        "heavy = {'torch', 'transformers', 'optimum', 'ray', 'pandas', 'onnxruntime', 'altair', 'scipy.stats'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_engines_and_commands_load() -> None:
    for group in ("morphorder.engines", "morphorder.commands", "morphorder.blocks"):
        for entry in entry_points(group=group):
            assert entry.load() is not None
