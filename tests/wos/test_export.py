"""Classifiers as bundles: what transformers says one input at a time is what a run says of every item."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest

from evaluator.errors import BundleError
from evaluator.score.backend import TextSession
from evaluator.score.bundle import read_bundle
from evaluator.stages.finished import Finished
from export.build import build_bundle
from export.convert import quiet
from export.sentences import SENTENCES
from tests.export.tiny import save_checkpoint, save_classifier
from tests.wos.brute_force import disagreements
from tests.wos.conftest import write_tsv

Run = Callable[..., Finished]
THREE = ("calm", "glad", "sad")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    save_classifier("bert", folder / "checkpoint", THREE, max_position_embeddings=256)
    build_bundle(folder / "checkpoint", folder / "bundle", name="bert")
    return folder


def test_a_pair_classifier_says_what_transformers_says(bert: Path, run: Run, tmp_path: Path) -> None:
    rows = [[a, b, i % 3] for i, (a, b) in enumerate(pairwise(SENTENCES[:9]))]
    data = write_tsv(tmp_path / "t.tsv", ("a", "b", "label"), rows)
    result = run(data, [bert / "bundle"], texts=("a", "b"), draws=2)
    count, differ, worst = disagreements(Path(result.folder) / "report/outcomes.parquet", bert / "checkpoint", "bert")
    assert count > 60 and differ == 0 and worst < 1e-5


def test_what_the_bundle_says_of_itself(bert: Path) -> None:
    bundle = read_bundle(bert / "bundle")
    assert (bundle.kind, bundle.labels, bundle.top_k) == ("text-classification", THREE, 1)
    parity = bundle.parity
    assert parity["reference"] == "transformers" and parity["max_abs_dlogp_nats"] < 1e-5 and parity["inputs"] > 40
    graph = onnx.load(str(bert / "bundle/model.onnx")).graph
    assert [o.name for o in graph.output] == ["logits"]
    assert {i.name for i in graph.input} == {"input_ids", "attention_mask", "token_type_ids"}


@pytest.mark.parametrize("kind", ["roberta", "distilbert"])
def test_other_families_and_numbers(kind: str, run: Run, tmp_path: Path) -> None:
    checkpoint = save_classifier(kind, tmp_path / "checkpoint", ("value",), max_position_embeddings=256)
    build_bundle(checkpoint, tmp_path / "bundle", name=kind, storage="fp32")
    data = write_tsv(tmp_path / "t.tsv", ("text", "label"), [[s, i] for i, s in enumerate(SENTENCES[:6])])
    result = run(data, [tmp_path / "bundle"], draws=1, statistics={"resamples": 100})
    count, _, worst = disagreements(Path(result.folder) / "report/outcomes.parquet", checkpoint, kind)
    assert count > 20 and worst < 1e-4


def test_an_onnx_export_of_somebody_else(bert: Path, tmp_path: Path) -> None:
    from optimum.exporters.onnx import onnx_export_from_model

    from export.classifier import load_classifier
    from export.source import find_source

    folder = tmp_path / "theirs"
    with quiet():
        onnx_export_from_model(
            load_classifier(find_source(str(bert / "checkpoint"))), folder, task="text-classification", opset=18
        )
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"):
        (folder / file).write_bytes((bert / "checkpoint" / file).read_bytes())
    bundle = build_bundle(folder / "model.onnx", tmp_path / "bundle")
    assert bundle.labels == THREE and bundle.parity["reference"] == "the given ONNX graph"
    ids = np.array([[2, 9, 8, 7, 3]])
    feeds = ids, np.ones_like(ids), np.zeros_like(ids)
    ours = TextSession(tmp_path / "bundle", bundle, threads=1).run(*feeds)
    first = TextSession(bert / "bundle", read_bundle(bert / "bundle"), threads=1).run(*feeds)
    assert np.allclose(ours, first, atol=1e-5)


def test_refusals(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="classifiers are not exported in int8"):
        build_bundle(bert / "checkpoint", tmp_path / "a", precision="int8")
    masked = save_checkpoint("bert", tmp_path / "masked")
    with pytest.raises(BundleError, match=r"4 weights are not in the checkpoint and would be random: bert\.pooler"):
        build_bundle(masked, tmp_path / "b", task="text-classification")
    several = save_classifier("bert", tmp_path / "several", THREE, problem_type="multi_label_classification")
    with pytest.raises(BundleError, match="several classes at once"):
        build_bundle(several, tmp_path / "c")
    described = json.loads((bert / "bundle/bundle.json").read_text("utf-8"))
    described["labels"] = ["one"]
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in (bert / "bundle").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "bundle.json").write_text(json.dumps(described), encoding="utf-8")
    ids = np.array([[2, 9, 3]])
    with pytest.raises(BundleError, match=r"answers \(1, 3\) for 1 inputs, bundle.json names 1 labels"):
        TextSession(broken, read_bundle(broken), threads=1).run(ids, np.ones_like(ids), np.zeros_like(ids))
    described["labels"] = []
    (broken / "bundle.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(BundleError, match="kind text-classification with 0 labels"):
        read_bundle(broken)
