"""Fused attention is taken only where it answers as the plain graph does; the plain graph is its twin."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from evaluator.score.bundle import Bundle
from export import build, fusion
from export.build import build_bundle
from export.fusion import FUSED
from export.graph import load_graph
from export.session import Session

Checkpoint = Callable[[str], Path]
Built = Callable[[str], tuple[Path, Bundle]]


def feeds(vocab: int, mask: int, pad: int) -> dict[str, np.ndarray]:
    """Five rows of unequal length, one nearly all padding."""
    rng = np.random.default_rng(0)
    ids = rng.integers(5, vocab, (5, 17))
    ids[:, 1] = mask
    attention = np.ones_like(ids)
    for row, length in enumerate((17, 9, 3, 12, 2)):
        ids[row, length:], attention[row, length:] = pad, 0
    return {
        "input_ids": ids,
        "attention_mask": attention,
        "token_type_ids": np.zeros_like(ids),
        "mask_pos": np.arange(5) * 17 + 1,
        "gold_row": np.arange(5),
        "gold_id": rng.integers(5, vocab, 5),
    }


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_fused_is_plain(
    kind: str, checkpoint: Checkpoint, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, bundle = built(kind)
    assert bundle.parity["fused"]
    operators = Counter(node.op_type for node in load_graph(folder / "model.onnx").graph.node)
    layers = json.loads((checkpoint(kind) / "config.json").read_text())["num_hidden_layers"]
    assert sum(operators[name] for name in FUSED) == layers  # the last one, behind the head's gather, too
    assert not operators["SkipLayerNormalization"] and operators["LayerNormalization"] >= 2 * layers
    monkeypatch.setattr(build, "fuse_attention", lambda model: False)
    plain = build_bundle(checkpoint(kind), tmp_path / "plain")
    assert not plain.parity["fused"]
    given = feeds(bundle.vocab_size, bundle.mask_id, bundle.pad_id)
    a, b = (Session(place / "model.onnx").run(given) for place in (folder, tmp_path / "plain"))
    np.testing.assert_allclose(a["topk_logp"], b["topk_logp"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(a["gold_logp"], b["gold_logp"], rtol=0, atol=1e-5)


def test_weights_that_the_optimizer_does_not_see_come_back(
    checkpoint: Checkpoint, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, bundle = built("bert")
    monkeypatch.setattr(fusion, "ASIDE_BYTES", 0)
    build_bundle(checkpoint("bert"), tmp_path / "aside")
    given = feeds(bundle.vocab_size, bundle.mask_id, bundle.pad_id)
    a, b = (Session(place / "model.onnx").run(given) for place in (folder, tmp_path / "aside"))
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


def test_a_fusion_that_answers_otherwise_is_not_kept(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: ModelProto) -> bool:
        for tensor in model.graph.initializer:
            if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2:
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.5), tensor.name))
        return True

    monkeypatch.setattr(build, "fuse_attention", wrong)
    bundle = build_bundle(checkpoint("bert"), tmp_path / "out")
    assert not bundle.parity["fused"]
    assert bundle.parity["max_abs_dlogp_nats"] <= 1e-4
