"""fp16 storage, fp16 and int8: what they keep, what they measure, and the floor that refuses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from evaluator.errors import BundleError
from evaluator.score.bundle import Bundle, read_bundle
from export import precision
from export.agreement import FLOORS, Floor
from export.build import build_bundle
from export.graph import load_graph
from export.session import Session

Checkpoint = Callable[[str], Path]
Built = Callable[[str], tuple[Path, Bundle]]


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "xlm-roberta"])
def test_fp16_storage_halves_the_file_and_computes_in_fp32(
    kind: str, checkpoint: Checkpoint, built: Built, tmp_path: Path
) -> None:
    bundle = build_bundle(checkpoint(kind), tmp_path / "half", storage="fp16")
    plain = built(kind)[1]
    assert bundle.precision == "fp32"
    assert bundle.parity["storage"] == "fp16"
    assert bundle.parity["max_abs_dlogp_nats"] <= 1e-4
    graph = load_graph(tmp_path / "half/model.onnx").graph
    large = [t for t in graph.initializer if np.prod(t.dims) >= 256 and t.data_type == TensorProto.FLOAT]
    assert not large
    saved = plain.files["model.onnx"].size - bundle.files["model.onnx"].size
    assert saved >= 1.6 * bundle.parameters


@pytest.mark.parametrize("kind", ["bert", "modernbert", "deberta-v2", "xlm-roberta"])
def test_fp16_keeps_masks_and_softmax_in_fp32(kind: str, checkpoint: Checkpoint, tmp_path: Path) -> None:
    bundle = build_bundle(checkpoint(kind), tmp_path / "fp16", precision="fp16")
    agreement = bundle.parity["agreement"]
    assert bundle.precision == "fp16"
    assert agreement["non_finite"] == 0
    assert agreement["top1"] >= FLOORS["fp16"].top1
    graph = load_graph(tmp_path / "fp16/model.onnx").graph
    tables = [t.data_type for t in graph.initializer if bundle.vocab_size in t.dims]
    assert set(tables) == {TensorProto.FLOAT16}
    outputs = {output.name: output.type.tensor_type.elem_type for output in graph.output}
    assert outputs["topk_logp"] == outputs["gold_logp"] == TensorProto.FLOAT
    read_bundle(tmp_path / "fp16")


def test_int8_is_measured_and_gated(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FLOORS, "int8", Floor(1.01, 0.85, 0.15))
    with pytest.raises(BundleError, match="int8 agrees too little with fp32: top-1") as caught:
        build_bundle(checkpoint("bert"), tmp_path / "out", precision="int8")
    assert "\n" not in str(caught.value) and not (tmp_path / "out").exists()
    forced = build_bundle(checkpoint("bert"), tmp_path / "out", precision="int8", force=True)
    assert forced.parity["agreement"]["acceptable"] is False
    assert forced.parity["agreement"]["variant"] == "int8 with fp32 projection and contractions"
    graph = load_graph(tmp_path / "out/model.onnx").graph
    assert [n.op_type for n in graph.node if "morphorder/projected" in n.output] == ["Gemm"]
    quantised = [t.dims for t in graph.initializer if t.data_type == TensorProto.INT8 and len(t.dims) == 2]
    assert len(quantised) >= 8 and all(inner <= columns for inner, columns in quantised)


@pytest.mark.parametrize("kind", ["bert", "rembert"])
def test_int8_projection_variants_answer_like_fp32(
    kind: str, built: Built, checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FLOORS, "int8", Floor(0.7, 0.7, 0.5))
    bundle = build_bundle(checkpoint(kind), tmp_path / "out", precision="int8")
    assert bundle.parity["agreement"]["variant"] == "int8 with int8 projection"
    folder, plain = built(kind)
    ids = np.array([[2, 7, plain.mask_id, 9, 3]])
    feeds = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
        "mask_pos": np.array([2]),
        "gold_row": np.zeros(plain.vocab_size, np.int64),
        "gold_id": np.arange(plain.vocab_size),
    }
    work = tmp_path / "work"
    work.mkdir()
    reference = Session(folder / "model.onnx", threads=1).run(feeds)
    products = []
    for _, path in precision.to_int8(folder / "model.onnx", work):
        products.append(sum(n.op_type == "MatMulIntegerToFloat" for n in load_graph(path).graph.node))
        other = Session(path, threads=1).run(feeds)
        assert np.abs(reference["gold_logp"] - other["gold_logp"]).mean() < 0.5
        np.testing.assert_allclose(np.exp(other["gold_logp"]).sum(), 1, atol=1e-4)
    assert products[0] == products[1] + 1 > products[2] + 1
