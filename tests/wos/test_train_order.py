"""Fine-tuning with and without the word-order task: both classifiers are measured, and nothing is made twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("accelerate", reason="needs accelerate: pip install 'morphorder[export]'")

import torch
import typer
from safetensors.torch import load_file
from typer.testing import CliRunner

from evaluator.errors import ConfigError, MorphorderError
from evaluator.wos.settings import WosConfig
from evaluator.wos.table import Row, TaskData
from export.order_cli import train_order_command
from export.sentences import SENTENCES
from export.train_order import labelled
from tests.export.tiny import save_classifier
from tests.wos.brute_force import Plain
from tests.wos.conftest import write_tsv

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def call(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(train_order_command)
    result = CliRunner().invoke(app, [*arguments, "--json"])
    if isinstance(result.exception, MorphorderError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_both_classifiers_are_tuned_and_measured(tmp_path: Path) -> None:
    start = save_classifier("bert", tmp_path / "start", ("a", "b"), max_position_embeddings=256)
    short = [" ".join(s.split()[:6]) for s in SENTENCES if len(s.split()) > 5]
    train = write_tsv(
        tmp_path / "train.tsv", ("s", "y"), [[s, ("plus", "minus")[i % 2]] for i, s in enumerate(short[:8])]
    )
    rows = [(s, ("plus", "minus")[i % 2]) for i, s in enumerate(short[8:])]
    dev = write_tsv(tmp_path / "dev.tsv", ("s", "y"), rows)
    flags = ["--train", str(train), "--columns", "s,y", "--epochs", "2", "--rate", "0.01", "--threads", "1"]
    arguments = [str(start), str(dev), "--out", str(tmp_path / "out"), "--progress", "none", *flags]
    answer = call(*arguments)
    assert answer["ok"] and {r["model"] for r in answer["rows"]} == {"plain-42", "order-first-42"}
    for name, accuracy in answer["accuracy"].items():
        plain = Plain(tmp_path / "out/checkpoints" / name)
        logits = [plain.logits(text, None) for text, _ in rows]
        right = [plain.model.config.id2label[x.index(max(x))] == y for x, (_, y) in zip(logits, rows, strict=True)]
        assert accuracy == pytest.approx(sum(right) / len(right))
    assert 0 <= answer["order_accuracy"]["42"] <= 1
    weights = [load_file(tmp_path / f"out/checkpoints/{n}-42/model.safetensors") for n in ("plain", "order-first")]
    assert not torch.equal(*(w["bert.encoder.layer.0.attention.self.query.weight"] for w in weights))
    made = {
        p: p.stat().st_mtime_ns
        for p in (tmp_path / "out").rglob("*")
        if p.suffix in (".safetensors", ".onnx", ".arrow")
    }
    assert call(*arguments) == answer
    assert {p: p.stat().st_mtime_ns for p in made} == made


def test_what_is_a_class_and_what_a_number() -> None:
    def task(*labels: str, names: tuple[str, ...] = ()) -> TaskData:
        return TaskData("t", tuple(Row(("x",), label, "") for label in labels), "", names)

    assert labelled(task("no", "yes", "no")).classes == ("no", "yes")
    assert labelled(task("10", "9", "10")).classes == ("9", "10") and labelled(task("10", "9")).labels == [1, 0]
    assert labelled(task("1", "0", names=("neg", "pos"))).classes == ("neg", "pos")
    assert labelled(task("0.5", "1")).classes == () and labelled(task("0.5", "1")).labels == [0.5, 1.0]
    assert labelled(task(*map(str, range(30)))).classes == ()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no rows to train on"):
        call("model", "dev.tsv")
    assert WosConfig(data="cola").glue is not None
