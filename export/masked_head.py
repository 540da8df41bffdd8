"""The masked head: one generic edit that makes a fill-mask graph answer at mask positions only.

The graph ends `MatMul(hidden, table) -> Add(bias) -> logits`. Everything before it that works row by row (the head's
transform, the last layer's feed-forward) is moved behind a gather at `mask_pos`; the projection reads the embedding
table itself; log-softmax, top-k, gold score and gold rank stay in the graph. No value of width V leaves it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import uses_external_data

from evaluator.errors import BundleError
from export.graph import GraphIndex, attribute_ints, opset_of, prune

Depth = Literal["deep", "shallow"]
MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("topk_ids", "topk_logp", "gold_logp", "gold_rank")
PREFIX = "morphorder/"
ELEMENTWISE = frozenset(
    {
        "Abs", "Add", "BiasGelu", "Cast", "Clip", "Div", "Elu", "Erf", "Exp", "FastGelu", "Gelu", "Identity",
        "LeakyRelu", "Max", "Min", "Mul", "Neg", "Pow", "QuickGelu", "Reciprocal", "Relu", "Sigmoid", "Softplus",
        "Sqrt", "Sub", "Tanh",
    }
)  # fmt: skip
MINIMUM_OPSET = 13
"""ReduceSum and Unsqueeze take their axes as an input since 13."""


@dataclass(frozen=True, slots=True)
class MaskedHead:
    """What the edit found: size of the vocabulary, k, whether the table is the embedding's, and where rows are cut."""

    vocab_size: int
    top_k: int
    tied: bool
    cut: tuple[str, ...]
    inputs: tuple[str, ...]
    fused: bool = False
    """Whether attention is an operator of the runtime."""


@dataclass(frozen=True, slots=True)
class _Projection:
    hidden: str
    table: str
    """Initializer or value of shape (V, H) when `transposed`, else (H, V)."""
    transposed: bool
    bias: str | None
    vocab_size: int
    tied: bool
    nodes: frozenset[int]


def add_masked_head(model: ModelProto, k: int, *, depth: Depth = "deep") -> MaskedHead:
    """What was found while giving `model`, in place, the masked head of `evaluator.score.bundle`.

    `deep` gathers as early as rows stay independent, `shallow` just before the projection: same numbers, more work.
    Errors: BundleError when the graph is no fill-mask graph with plain logits.
    """
    if opset_of(model) < MINIMUM_OPSET:
        raise BundleError(
            f"the graph uses opset {opset_of(model)}, at least {MINIMUM_OPSET} is needed",
            hint="export it with --opset 18",
        )
    index = GraphIndex(model)
    projection = _find_projection(index, _logits_of(model))
    inputs = tuple(value.name for value in model.graph.input if value.name in MODEL_INPUTS)
    cone = _row_wise_cone(index, projection) if depth == "deep" else frozenset()
    top_k = min(k, projection.vocab_size)
    cut = _rewrite(model, index, projection, cone, top_k)
    prune(model)
    return MaskedHead(projection.vocab_size, top_k, projection.tied, cut, inputs)


def keep_table_mapped(path: Path) -> None:
    """Nothing: has the runtime read the vocabulary's table in the file beside the graph, and not pack a copy of it.

    Packing what an encoder multiplies with is worth a tenth of the speed; packing the table, most of the memory, is
    worth nothing. What is declared an input too could be given another value, so it stays where it is mapped, and the
    workers of a machine share it.
    """
    model = onnx.load_model(str(path), load_external_data=False)
    table = next(node.input[1] for node in model.graph.node if f"{PREFIX}projected" in node.output)
    for tensor in model.graph.initializer:
        if tensor.name == table and uses_external_data(tensor):
            model.graph.input.append(helper.make_tensor_value_info(table, tensor.data_type, list(tensor.dims)))
    path.write_bytes(model.SerializeToString(deterministic=True))


def _logits_of(model: ModelProto) -> str:
    """Name of the logits output, when it is the output of a fill-mask graph."""
    names = [output.name for output in model.graph.output]
    if "logits" not in names:
        raise BundleError(
            f"the graph's outputs are {', '.join(names)}, not logits: it was exported for another task",
            hint="export it with: optimum-cli export onnx --task fill-mask",
        )
    return "logits"


def _find_projection(index: GraphIndex, logits: str) -> _Projection:
    """The vocabulary projection that makes `logits`."""
    value = index.through_identity(logits, ("Cast",))
    nodes = set()
    bias = None
    node = index.node_of(value)
    if node is not None and node.op_type == "Add":
        constants = [v for v in node.input if index.constant_rank(v) == 1]
        others = [v for v in node.input if v not in constants]
        if len(constants) == 1 and len(others) == 1:
            bias = constants[0]
            nodes.add(index.producer[value])
            value = index.through_identity(others[0])
            node = index.node_of(value)
    if node is None or node.op_type != "MatMul" or index.constant_rank(node.input[1]) != 2:
        found = "nothing" if node is None else node.op_type
        raise BundleError(
            f"the graph does not end in a vocabulary projection (MatMul, then Add): found {found}",
            hint="export it again with optimum for the task fill-mask, in fp32 and without --optimize",
        )
    nodes.add(index.producer[value])
    return _resolve_table(index, node, bias, frozenset(nodes))


def _resolve_table(index: GraphIndex, node: NodeProto, bias: str | None, nodes: frozenset[int]) -> _Projection:
    """The projection with the one stored copy of its table: the embedding's, where the two are equal."""
    weight = node.input[1]
    width, vocab_size = _shape_of_constant(index, weight)
    if bias is not None and _shape_of_constant(index, bias) != (vocab_size,):
        raise BundleError(f"the bias of the last layer does not have the vocabulary's size {vocab_size}")
    embeddings = _embedding_tables(index)
    direct = index.through_identity(weight)
    maker = index.node_of(direct)
    if maker is not None and maker.op_type == "Transpose":
        table = index.through_identity(maker.input[0])
        return _Projection(node.input[0], table, True, bias, vocab_size, table in embeddings, nodes)
    value = index.constant(weight)
    for table in embeddings:
        if tuple(index.initializers[table].dims) != (vocab_size, width) or value is None:
            continue
        if np.array_equal(numpy_helper.to_array(index.initializers[table]).T, value):
            return _Projection(node.input[0], table, True, bias, vocab_size, True, nodes)
    return _Projection(node.input[0], direct, False, bias, vocab_size, False, nodes)


def _shape_of_constant(index: GraphIndex, value: str) -> tuple[int, ...]:
    array = index.constant(value)
    return () if array is None else array.shape


def _embedding_tables(index: GraphIndex) -> list[str]:
    """Initializers gathered by `input_ids`."""
    tables = []
    for node in index.graph.node:
        if node.op_type == "Gather" and index.through_identity(node.input[1], ("Cast",)) == "input_ids":
            table = index.through_identity(node.input[0])
            if table in index.initializers:
                tables.append(table)
    return tables


def _row_wise_cone(index: GraphIndex, projection: _Projection) -> frozenset[int]:
    """Nodes before the projection that treat each row alone and whose results nothing else reads."""
    outputs = {output.name for output in index.graph.output}
    cone: set[int] = set()
    behind = set(projection.nodes)
    for i in reversed(range(len(index.graph.node))):
        node = index.graph.node[i]
        readers = [reader for output in node.output for reader in index.consumers.get(output, [])]
        if (
            readers
            and all(reader in cone or reader in behind for reader in readers)
            and not outputs.intersection(node.output)
            and _is_row_wise(index, node)
        ):
            cone.add(i)
    return frozenset(cone)


def _is_row_wise(index: GraphIndex, node: NodeProto) -> bool:
    """Whether a node maps each row [D] of its [B, L, D] inputs on its own, by rules that also hold for [M, D]."""
    ranks = [index.constant_rank(value) for value in node.input if value]
    varying = ranks.count(None)
    if varying == 0:
        return False
    if node.op_type == "MatMul":
        return ranks == [None, 2]
    if node.op_type in ELEMENTWISE:
        return all(rank is None or rank <= 1 for rank in ranks)
    if node.op_type == "LayerNormalization":
        return varying == 1 and ranks[0] is None and attribute_ints(node, "axis") in (None, [-1])
    if node.op_type == "ReduceMean":
        axes = attribute_ints(node, "axes")
        if axes is None and len(node.input) > 1:
            array = index.constant(node.input[1])
            axes = None if array is None else [int(axis) for axis in np.ravel(array)]
        return axes == [-1] and attribute_ints(node, "keepdims") in (None, [1])
    return False


def _rewrite(
    model: ModelProto, index: GraphIndex, projection: _Projection, cone: frozenset[int], k: int
) -> tuple[str, ...]:
    """Names of the values gathered, after replacing the graph's end, inputs and outputs."""
    nodes = list(model.graph.node)
    made = {output for i in cone for output in nodes[i].output}
    frontier: list[str] = []
    readers = [nodes[i] for i in sorted(cone)]
    for node in readers:
        for value in node.input:
            if value and value not in made and value not in frontier and not index.is_constant(value):
                frontier.append(value)
    hidden = projection.hidden
    if hidden not in made:
        frontier, readers = [hidden], []
    rows = {value: f"{PREFIX}rows/{value}" for value in frontier}
    for node in readers:
        for i, value in enumerate(node.input):
            node.input[i] = rows.get(value, value)
    before = [node for i, node in enumerate(nodes) if i not in cone and i not in projection.nodes]
    head = _head_nodes(projection, rows.get(hidden, hidden), k)
    gathers = [helper.make_node("GatherND", [value, f"{PREFIX}where"], [row]) for value, row in rows.items()]
    constants = [
        numpy_helper.from_array(np.array(array, dtype=np.int64), PREFIX + name)
        for name, array in (("one", 1), ("first", [0]), ("last", [-1]), ("k", [k]))
    ]
    arranged = [NodeProto.FromString(n.SerializeToString()) for n in before + _where_nodes() + gathers + readers + head]
    del model.graph.node[:]
    model.graph.node.extend(arranged)
    model.graph.initializer.extend(constants)
    _declare(model, k)
    return tuple(frontier)


def _where_nodes() -> list[NodeProto]:
    """Nodes that turn the flat `mask_pos` into (batch, position) pairs int64 [M, 2]."""
    p = PREFIX
    return [
        helper.make_node("Shape", ["input_ids"], [f"{p}shape"]),
        helper.make_node("Gather", [f"{p}shape", f"{p}one"], [f"{p}length"]),
        helper.make_node("Div", ["mask_pos", f"{p}length"], [f"{p}batch"]),
        helper.make_node("Mod", ["mask_pos", f"{p}length"], [f"{p}position"]),
        helper.make_node("Unsqueeze", [f"{p}batch", f"{p}last"], [f"{p}batch_column"]),
        helper.make_node("Unsqueeze", [f"{p}position", f"{p}last"], [f"{p}position_column"]),
        helper.make_node("Concat", [f"{p}batch_column", f"{p}position_column"], [f"{p}where"], axis=1),
    ]


def _head_nodes(projection: _Projection, rows: str, k: int) -> list[NodeProto]:
    """Projection, log-softmax, top-k, gold score and rank; all after the projection in fp32."""
    p = PREFIX
    table = [rows, projection.table, *([projection.bias] if projection.bias else [])]
    gold = [
        helper.make_node("Unsqueeze", ["gold_row", f"{p}last"], [f"{p}gold_row_column"]),
        helper.make_node("Unsqueeze", ["gold_id", f"{p}last"], [f"{p}gold_id_column"]),
        helper.make_node("Concat", [f"{p}gold_row_column", f"{p}gold_id_column"], [f"{p}gold_where"], axis=1),
        helper.make_node("GatherND", [f"{p}logits", f"{p}gold_where"], [f"{p}gold_logit"]),
        helper.make_node("GatherND", [f"{p}lse", f"{p}gold_row_column"], [f"{p}gold_lse_column"]),
        helper.make_node("Squeeze", [f"{p}gold_lse_column", f"{p}last"], [f"{p}gold_lse"]),
        helper.make_node("Sub", [f"{p}gold_logit", f"{p}gold_lse"], ["gold_logp"]),
        helper.make_node("GatherND", [f"{p}logits", f"{p}gold_row_column"], [f"{p}gold_logits"]),
        helper.make_node("Unsqueeze", [f"{p}gold_logit", f"{p}last"], [f"{p}gold_logit_column"]),
        helper.make_node("Greater", [f"{p}gold_logits", f"{p}gold_logit_column"], [f"{p}better"]),
        # float32 counts exactly up to 2^24 pieces, and its sum is vectorised where int64's is not.
        helper.make_node("Cast", [f"{p}better"], [f"{p}better_ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", [f"{p}better_ones", f"{p}last"], [f"{p}better_count"], keepdims=0),
        helper.make_node("Cast", [f"{p}better_count"], ["gold_rank"], to=TensorProto.INT64),
    ]
    return [
        helper.make_node("Gemm", table, [f"{p}projected"], name=f"{p}projection", transB=int(projection.transposed)),
        helper.make_node("Cast", [f"{p}projected"], [f"{p}logits"], to=TensorProto.FLOAT),
        helper.make_node("TopK", [f"{p}logits", f"{p}k"], [f"{p}top_logits", "topk_ids"], axis=-1, largest=1, sorted=1),
        # ReduceLogSumExp overflows where a provider does not take the maximum out first: spelled out, with the maximum
        # that TopK has found already.
        helper.make_node("Gather", [f"{p}top_logits", f"{p}first"], [f"{p}max"], axis=1),
        helper.make_node("Sub", [f"{p}logits", f"{p}max"], [f"{p}shifted"]),
        helper.make_node("Exp", [f"{p}shifted"], [f"{p}exponentials"]),
        helper.make_node("ReduceSum", [f"{p}exponentials", f"{p}last"], [f"{p}mass"], keepdims=1),
        helper.make_node("Log", [f"{p}mass"], [f"{p}log_mass"]),
        helper.make_node("Add", [f"{p}log_mass", f"{p}max"], [f"{p}lse"]),
        helper.make_node("Sub", [f"{p}top_logits", f"{p}lse"], ["topk_logp"]),
        *gold,
    ]


def _declare(model: ModelProto, k: int) -> None:
    """Nothing: sets the graph's inputs and outputs to those of the bundle contract."""
    graph = model.graph
    kept = [value.name for value in graph.input if value.name in MODEL_INPUTS]
    int64, float32 = TensorProto.INT64, TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, int64, ["batch", "length"]) for name in kept]
    inputs.append(helper.make_tensor_value_info("mask_pos", int64, ["masks"]))
    inputs += [helper.make_tensor_value_info(name, int64, ["golds"]) for name in ("gold_row", "gold_id")]
    outputs = [
        helper.make_tensor_value_info("topk_ids", int64, ["masks", k]),
        helper.make_tensor_value_info("topk_logp", float32, ["masks", k]),
        helper.make_tensor_value_info("gold_logp", float32, ["golds"]),
        helper.make_tensor_value_info("gold_rank", int64, ["golds"]),
    ]
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.output[:]
    graph.output.extend(outputs)
