"""The masked graph of every family answers what transformers' full logits say, at mask positions only."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from evaluator.errors import BundleError
from evaluator.score.bundle import Bundle
from export.convert import export_graph, load_model
from export.graph import load_graph
from export.masked_head import add_masked_head
from export.session import Session
from export.source import find_source
from tests.export.tiny import FAMILIES

Built = Callable[[str], tuple[Path, Bundle]]


def _feeds(vocab_size: int, shape: tuple[int, int], pad_id: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, vocab_size, shape)
    attention = np.ones_like(ids)
    for row, length in enumerate(rng.integers(2, shape[1] + 1, shape[0])):
        ids[row, length:], attention[row, length:] = pad_id, 0
    real = np.flatnonzero(attention)
    pos = rng.permutation(real)[: max(1, len(real) // 2)]
    rows = rng.integers(0, len(pos), 2 * len(pos))
    return {
        "input_ids": ids,
        "attention_mask": attention,
        "token_type_ids": np.zeros_like(ids),
        "mask_pos": pos,
        "gold_row": rows,
        "gold_id": rng.integers(0, vocab_size, len(rows)),
    }


@pytest.mark.parametrize("kind", FAMILIES)
def test_agrees_with_torch(kind: str, built: Built, checkpoint: Callable[[str], Path]) -> None:
    folder, bundle = built(kind)
    session = Session(folder / "model.onnx", threads=1)
    model = load_model(find_source(str(checkpoint(kind))))
    for seed, shape in enumerate([(1, 3), (4, 19), (3, 64), (5, 2)]):
        feeds = _feeds(bundle.vocab_size, shape, bundle.pad_id, seed)
        with torch.inference_mode():
            logits = model(
                input_ids=torch.from_numpy(feeds["input_ids"]), attention_mask=torch.from_numpy(feeds["attention_mask"])
            ).logits
        logp = torch.log_softmax(logits.double().reshape(-1, bundle.vocab_size)[feeds["mask_pos"]], -1).numpy()
        out = session.run(feeds)
        assert out["topk_ids"].shape == out["topk_logp"].shape == (len(feeds["mask_pos"]), 10)
        best = np.sort(logp, axis=1)[:, ::-1]
        np.testing.assert_allclose(out["topk_logp"], best[:, :10], atol=1e-4)
        np.testing.assert_allclose(np.take_along_axis(logp, out["topk_ids"], 1), best[:, :10], atol=1e-4)
        gold = logp[feeds["gold_row"], feeds["gold_id"]]
        np.testing.assert_allclose(out["gold_logp"], gold, atol=1e-4)
        rank = (logp[feeds["gold_row"]] > gold[:, None]).sum(1)
        assert np.mean(out["gold_rank"] == rank) > 0.98
        assert np.abs(out["gold_rank"] - rank).max() <= 1


@pytest.mark.parametrize("kind", FAMILIES)
def test_graph_holds_the_table_once_and_returns_nothing_wide(kind: str, built: Built) -> None:
    folder, bundle = built(kind)
    graph = load_graph(folder / "model.onnx").graph
    wide = [t for t in graph.initializer if bundle.vocab_size in t.dims and len(t.dims) == 2]
    assert len(wide) == (1 if bundle.parity["tied"] else 2)
    assert [o.name for o in graph.output] == ["topk_ids", "topk_logp", "gold_logp", "gold_rank"]
    assert {i.type.tensor_type.elem_type for i in graph.input} == {TensorProto.INT64}
    gathered = [n for n in graph.node if n.op_type == "GatherND" and n.output[0].startswith("morphorder/rows/")]
    assert len(gathered) == len(bundle.parity["cut"]) >= 1
    # Gathered before the last layer's feed-forward, not merely before the projection.
    gemm = next(i for i, n in enumerate(graph.node) if n.op_type == "Gemm")
    first = next(i for i, n in enumerate(graph.node) if n in gathered)
    assert sum(n.op_type == "MatMul" for n in graph.node[first:gemm]) >= 2


def test_shallow_and_deep_give_the_same(built: Built, checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    path = export_graph(load_model(find_source(str(checkpoint("bert")))), tmp_path)
    outputs = []
    for depth in ("deep", "shallow"):
        model = load_graph(path)
        found = add_masked_head(model, 10, depth=depth)
        assert (len(found.cut) == 1) == (depth == "shallow")
        onnx.save_model(model, tmp_path / f"{depth}.onnx")
        outputs.append(Session(tmp_path / f"{depth}.onnx", threads=1).run(_feeds(found.vocab_size, (3, 20), 0)))
    np.testing.assert_array_equal(outputs[0]["topk_ids"], outputs[1]["topk_ids"])
    np.testing.assert_array_equal(outputs[0]["gold_rank"], outputs[1]["gold_rank"])
    np.testing.assert_allclose(outputs[0]["gold_logp"], outputs[1]["gold_logp"], atol=1e-5)


def test_batched_equals_one_by_one_and_padding_changes_nothing(built: Built) -> None:
    folder, bundle = built("xlm-roberta")
    session = Session(folder / "model.onnx", threads=1)
    feeds = _feeds(bundle.vocab_size, (4, 17), bundle.pad_id, 3)
    together = session.run(feeds)
    for row in range(4):
        length = int(feeds["attention_mask"][row].sum())
        mine = np.flatnonzero(feeds["mask_pos"] // 17 == row)
        alone = session.run(
            {
                "input_ids": feeds["input_ids"][row : row + 1, :length],
                "attention_mask": feeds["attention_mask"][row : row + 1, :length],
                "mask_pos": feeds["mask_pos"][mine] % 17,
                "gold_row": np.zeros(0, np.int64),
                "gold_id": np.zeros(0, np.int64),
            }
        )
        np.testing.assert_array_equal(alone["topk_ids"], together["topk_ids"][mine])
        np.testing.assert_allclose(alone["topk_logp"], together["topk_logp"][mine], atol=1e-5)


def test_no_masks_is_no_answer(built: Built) -> None:
    folder, _ = built("bert")
    none = np.zeros(0, np.int64)
    ids = np.full((2, 5), 6)
    out = Session(folder / "model.onnx", threads=1).run(
        {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "mask_pos": none,
            "gold_row": none,
            "gold_id": none,
        }
    )
    assert [out[name].shape for name in ("topk_ids", "topk_logp", "gold_logp", "gold_rank")] == [(0, 10)] * 2 + [
        (0,)
    ] * 2


def _flat_model(logits: np.ndarray) -> onnx.ModelProto:
    """A graph whose logits at every position of piece i are row i of a table."""
    width, vocab = logits.shape
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["hidden"]),
        helper.make_node("Identity", ["hidden"], ["same"]),
        helper.make_node("MatMul", ["same", "weight"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["logits"]),
    ]
    weights = {"table": np.eye(width, dtype=np.float32), "weight": logits, "bias": np.zeros(vocab, np.float32)}
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "l"]) for n in ("input_ids", "attention_mask")]
    graph = helper.make_graph(
        nodes,
        "flat",
        ids,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "l", vocab])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_ties_go_to_the_smaller_id_and_rank_counts_only_better(tmp_path: Path) -> None:
    logits = np.array([[0, 3, 1, 3, 3, 1, 0], [5, 5, 5, 5, 5, 5, 5], [-1e4, 2, 1e4, 0, 0, 0, 0]], np.float32)
    model = _flat_model(logits)
    found = add_masked_head(model, 10)
    assert (found.vocab_size, found.top_k, found.tied) == (7, 7, False)
    onnx.save_model(model, tmp_path / "m.onnx")
    ids = np.array([[0, 1, 2]])
    out = Session(tmp_path / "m.onnx", threads=1).run(
        {
            "input_ids": ids,
            "attention_mask": ids,
            "mask_pos": np.arange(3),
            "gold_row": np.array([0, 0, 0, 1, 2, 2]),
            "gold_id": np.array([4, 2, 0, 6, 2, 0]),
        }
    )
    assert out["topk_ids"].tolist() == [[1, 3, 4, 2, 5, 0, 6], list(range(7)), [2, 1, 3, 4, 5, 6, 0]]
    assert out["gold_rank"].tolist() == [0, 3, 5, 0, 0, 6]
    assert np.isfinite(out["gold_logp"]).all()
    np.testing.assert_allclose(out["gold_logp"][3:5], [-np.log(7), 0], atol=1e-6)


@pytest.mark.parametrize(
    ("flaw", "says"),
    [("other_output", "another task"), ("no_projection", "vocabulary projection"), ("old_opset", "opset 11")],
)
def test_refuses_what_it_cannot_edit(flaw: str, says: str) -> None:
    model = _flat_model(np.ones((3, 7), np.float32))
    if flaw == "other_output":
        model.graph.output[0].name = "last_hidden_state"
        model.graph.node[-1].output[0] = "last_hidden_state"
    elif flaw == "no_projection":
        model.graph.node[-2].op_type = "Mul"
    else:
        model.opset_import[0].version = 11
    with pytest.raises(BundleError, match=says) as caught:
        add_masked_head(model, 5)
    assert "\n" not in str(caught.value)
