"""What `morphorder submit` sends: everything needed, nothing else, of known size."""

import io
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
pytest.importorskip("onnx", reason="needs onnx to make a model")

from cluster.main import MARK, print_report, report_in, version_problem
from cluster.package import CONFIG_NAME, make_package
from evaluator.config import Config, read_config
from evaluator.errors import UserError
from evaluator.stages.prepare import find
from tests.fake_bundle import make_fake_bundle

ROOT = Path(__file__).parents[2]
TREEBANK = ROOT / "tests" / "data" / "treebank"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    here = tmp_path / "here"
    make_fake_bundle(here / "model")
    (here / "model" / ".cache").write_text("not sent")
    folder = here / "UD_German-Small"
    folder.mkdir()
    (folder / "de_small-ud-test.conllu").write_text("# text = a\n1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    (folder / "de_small-ud-train.conllu").write_text("not sent")
    (here / ".gitignore").write_text("model\n")
    (here / "config.toml").write_text(
        'treebanks = ["UD_*", "/of/the/cluster/x.conllu"]\nmodels = ["model", "s3://bucket/other"]\nout = "results"\n'
        "[sample]\nn = 3\n[scoring]\nthreads = 2\n"
    )
    return read_config(here / "config.toml")


def test_package_holds_what_the_config_needs_under_relative_paths(config: Config, tmp_path: Path) -> None:
    package = make_package(config, tmp_path / "sent")
    names = {p.relative_to(package.folder).as_posix() for p in package.folder.rglob("*") if p.is_file()}
    assert package.size == sum((package.folder / n).stat().st_size for n in names)
    assert {"models/000/model/model.onnx", "models/000/model/tokenizer.json", "models/000/model/bundle.json"} <= names
    assert "treebanks/000/UD_German-Small/de_small-ud-test.conllu" in names
    assert not [n for n in names if "train.conllu" in n or "__pycache__" in n or "demo/" in n or ".cache" in n]
    assert package.left_out == ("/of/the/cluster/x.conllu", "s3://bucket/other")
    sent = tomllib.loads((package.folder / CONFIG_NAME).read_text())
    assert (sent["engine"], sent["out"], sent["sample"], sent["scoring"]) == (
        "ray",
        "~/morphorder-runs/results",
        {"n": 3},
        {"threads": 2},
    )


def test_items_of_the_package_are_those_of_the_config(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = config.model_copy(update={"treebanks": config.treebanks[:1]})
    package = make_package(here, tmp_path / "sent")
    monkeypatch.chdir(package.folder)
    there = read_config(Path(CONFIG_NAME))
    assert there.item_settings() == here.item_settings()
    assert [(t.name, t.language, t.sha256) for t in find(there)] == [(t.name, t.language, t.sha256) for t in find(here)]


def test_package_works_by_itself(config: Config, tmp_path: Path) -> None:
    package = make_package(config, tmp_path / "sent")
    code = (
        "import cluster, evaluator; from importlib.metadata import entry_points, version;"
        "from evaluator.executor import engine_named; from pathlib import Path;"
        "print(version('morphorder'), engine_named('local').__name__, Path(evaluator.__file__).parent.parent,"
        "*{e.name for e in entry_points(group='morphorder.blocks')})"
    )
    environment = {"PYTHONPATH": str(package.folder), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=package.folder, check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == ["0.1.0", "run_local", str(package.folder), "cloze"]


def test_too_large_a_package_names_its_largest_files(config: Config, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"more than 0\.1 MiB; largest: .*tokenizer\.json 0\.") as caught:
        make_package(config, tmp_path / "sent", limit_bytes=100_000)
    assert "\n" not in str(caught.value)


def test_other_versions_are_one_line(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(config, tmp_path / "sent")
    monkeypatch.chdir(package.folder)
    assert version_problem() == ""
    pins = Path("pins.json")
    pins.write_text(pins.read_text().replace('"python": "3', '"python": "2'))
    assert "the cluster runs Python 3." in (problem := version_problem())
    assert "\n" not in problem
    pins.write_text(pins.read_text().replace('"python": "2', '"python": "3').replace('"pyarrow": "', '"pyarrow": "9'))
    assert "versions differ on the cluster: pyarrow 9" in version_problem()


def test_run_without_a_report_prints_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").write_text(f'out = "{tmp_path}/run"\n')
    print_report([str(tmp_path / "config.toml")])
    assert capsys.readouterr().out == ""
    report = tmp_path / "run" / "report"
    report.mkdir(parents=True)
    (report / "report.json").write_text("{}")
    print_report([str(tmp_path / "config.toml")])
    with zipfile.ZipFile(io.BytesIO(report_in(capsys.readouterr().out))) as archive:
        assert {n: archive.read(n) for n in archive.namelist()} == {"report.json": b"{}"}


def test_report_travels_in_a_log() -> None:
    import base64

    text = base64.b64encode(b"zip" * 1000).decode()
    log = f"a line\n{MARK}{text[:1600]}\nanother\n{MARK}{text[1600:]}\n"
    assert report_in(log) == b"zip" * 1000
    assert report_in("nothing here\n") == b""
