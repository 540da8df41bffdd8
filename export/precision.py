"""Other precisions than fp32, each behind a measured agreement with the fp32 graph.

`storage fp16`: weights rounded to fp16 and stored so, computed in fp32. `fp16`: trunk and projection compute in fp16,
softmax and ranks in fp32. `int8`: dynamic quantisation of matrix products, per channel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, StringStringEntryProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from evaluator.errors import BundleError
from evaluator.types import Precision
from export.graph import (
    EXTERNAL_ABOVE_BYTES,
    GraphIndex,
    all_tensors,
    attribute_ints,
    load_graph,
    prune,
    save_graph,
    weight_bytes,
)
from export.masked_head import PREFIX
from export.parity import Batch
from export.session import Session

STORE_FROM = 256
"""Smaller tensors stay in fp32: they weigh nothing."""
HALF_LIMIT = 65504.0
MEANS_INFINITY = 1e30
HALF_INFINITY = 30000.0
"""exp(-30000) is 0 in any precision, and 30000 leaves room for scores below fp16's 65504."""
MATMUL = f"{PREFIX}matmul"


@dataclass(frozen=True, slots=True)
class Floor:
    """What a converted graph must reach against fp32 to be accepted unforced."""

    top1: float
    top5: float
    mean_abs_dlogp_nats: float


FLOORS: dict[Precision, Floor] = {"fp16": Floor(0.98, 0.97, 0.02), "int8": Floor(0.90, 0.85, 0.15)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement with fp32 on masks of real sentences."""

    label: str
    precision: Precision
    masks: int
    top1: float
    """Share of masks with the same best piece."""
    top5: float
    """Mean share of the five best pieces that both have."""
    mean_abs_dlogp_nats: float
    worst_abs_dlogp_nats: float
    non_finite: int

    @property
    def acceptable(self) -> bool:
        """Whether it reaches the floor of its precision."""
        floor = FLOORS[self.precision]
        return (
            self.non_finite == 0
            and self.top1 >= floor.top1
            and self.top5 >= floor.top5
            and self.mean_abs_dlogp_nats <= floor.mean_abs_dlogp_nats
        )

    def figures(self) -> dict[str, Any]:
        """What `bundle.json` keeps, the floor included."""
        floor = FLOORS[self.precision]
        return {
            "variant": self.label,
            "masks": self.masks,
            "top1": self.top1,
            "top5": self.top5,
            "mean_abs_dlogp_nats": self.mean_abs_dlogp_nats,
            "worst_abs_dlogp_nats": self.worst_abs_dlogp_nats,
            "non_finite": self.non_finite,
            "floor": {"top1": floor.top1, "top5": floor.top5, "mean_abs_dlogp_nats": floor.mean_abs_dlogp_nats},
            "acceptable": self.acceptable,
        }

    def refuse(self) -> BundleError:
        """The error that says how far it falls short."""
        floor = FLOORS[self.precision]
        return BundleError(
            f"{self.precision} agrees too little with fp32: top-1 {self.top1:.3f} (floor {floor.top1}), top-5 "
            f"{self.top5:.3f} (floor {floor.top5}), mean |Δ log p| {self.mean_abs_dlogp_nats:.3f} (at most "
            f"{floor.mean_abs_dlogp_nats}), {self.non_finite} non-finite; no bundle was written",
            hint="use --precision fp32, or --force to keep it with these figures",
        )


def measure_agreement(
    label: str, precision: Precision, reference: Session, other: Session, batches: Sequence[Batch]
) -> Agreement:
    """Agreement of two masked graphs on the same batches; the reference is fp32."""
    same, overlap, deltas = [], [], []
    for batch in batches:
        a, b = reference.run(batch.feeds()), other.run(batch.feeds())
        top = min(5, a["topk_ids"].shape[1])
        same.append(a["topk_ids"][:, 0] == b["topk_ids"][:, 0])
        pairs = a["topk_ids"][:, :top, None] == b["topk_ids"][:, None, :top]
        overlap.append(pairs.any(axis=2).mean(axis=1))
        deltas.append(np.abs(a["gold_logp"].astype(np.float64) - b["gold_logp"].astype(np.float64)))
    delta = np.concatenate(deltas)
    finite = np.isfinite(delta)
    return Agreement(
        label=label,
        precision=precision,
        masks=len(delta),
        top1=float(np.concatenate(same).mean()),
        top5=float(np.concatenate(overlap).mean()),
        mean_abs_dlogp_nats=float(delta[finite].mean()) if finite.any() else float("inf"),
        worst_abs_dlogp_nats=float(delta[finite].max(initial=0.0)),
        non_finite=int((~finite).sum()),
    )


def round_graph(model: ModelProto) -> None:
    """Nothing: rounds every fp32 weight of a graph, in place, to the nearest fp16 value, still held in fp32."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(_half(tensor).astype(np.float32), tensor.name))


def store_half(model: ModelProto) -> None:
    """Nothing: stores, in place, each fp32 weight that fp16 holds exactly as fp16 and a Cast.

    The runtime folds the Cast when it loads the graph, so the arithmetic is fp32 and nothing is paid per call.
    """
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or int(np.prod(tensor.dims)) < STORE_FROM:
            continue
        half = _half(tensor)
        if not np.array_equal(half.astype(np.float32), numpy_helper.to_array(tensor)):
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(half, f"{name}/fp16"))
        casts.append(helper.make_node("Cast", [f"{name}/fp16"], [name], to=TensorProto.FLOAT))
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend([*casts, *nodes])


def _half(tensor: TensorProto) -> np.ndarray[Any, np.dtype[np.float16]]:
    array = numpy_helper.to_array(tensor)
    if float(np.abs(array).max(initial=0.0)) > HALF_LIMIT:
        raise BundleError(f"weight {tensor.name} exceeds what fp16 holds", hint="use fp32")
    return array.astype(np.float16)


def to_half(path: Path, work: Path) -> Iterator[tuple[str, Path]]:
    """The one fp16 form of a masked graph: weights, trunk and projection in fp16, masks, positions and softmax in fp32.

    Rotary angles and mask arithmetic do not fit fp16; they are computed before any weight is met, so every node without
    a weight behind it keeps fp32.
    """
    model = load_graph(path)
    for i, node in enumerate(model.graph.node):
        node.name = node.name or f"{PREFIX}node_{i}"
    _bound_mask_constants(model)
    kept = [node.name for node in model.graph.node if _keeps_fp32(node)] + _before_weights(model)
    named = work / "named.onnx"
    save_graph(model, named)
    half = convert_float_to_float16(str(named), keep_io_types=True, node_block_list=kept)
    target = work / "fp16.onnx"
    save_graph(half, target)
    yield "fp16 trunk and projection", target


def _bound_mask_constants(model: ModelProto) -> None:
    """Nothing: brings, in place, constants that mean "minus infinity" to where fp16 stays finite when scores are added.

    As -inf they make NaN of a row that is masked whole, and DeBERTa masks the rows of padding whole.
    """
    for tensor in all_tensors(model):
        if tensor.data_type != TensorProto.FLOAT or int(np.prod(tensor.dims)) != 1:
            continue
        value = numpy_helper.to_array(tensor)
        if np.isfinite(value).all() and float(np.abs(value).max()) >= MEANS_INFINITY:
            tensor.CopyFrom(numpy_helper.from_array(np.sign(value) * np.float32(HALF_INFINITY), tensor.name))


def _keeps_fp32(node: NodeProto) -> bool:
    """Whether a node belongs to the head behind the projection."""
    outputs = {output.removeprefix(PREFIX) for output in node.output}
    own = any(value.startswith(PREFIX) for value in (*node.input, *node.output))
    return own and "projected" not in outputs and node.op_type not in {"GatherND"}


def _before_weights(model: ModelProto) -> list[str]:
    """Names of the nodes that depend on no weight matrix: mask and position arithmetic."""
    touched = {t.name for t in model.graph.initializer if t.data_type == TensorProto.FLOAT and len(t.dims) == 2}
    names = []
    for node in model.graph.node:
        if touched.intersection(node.input):
            touched.update(node.output)
        else:
            names.append(node.name)
    return names


def to_int8(path: Path, work: Path) -> Iterator[tuple[str, Path]]:
    """Dynamically quantised forms of the masked graph, fastest first: the vocabulary projection in int8, then in fp32.

    Weights are unsigned: signed ones either saturate on processors without VNNI, so that one bundle answers differently
    on two machines, or give up a bit (top-1 agreement of our small model .84 with 7 bits, .93 unsigned with 8).
    """
    for label, split in (("int8 with int8 projection", True), ("int8 with fp32 projection", False)):
        model = load_graph(path)
        _split_projection(model, constant=split)
        # Tells the quantizer that nothing is left to prepare, else it warns through the root logger.
        model.metadata_props.append(StringStringEntryProto(key="onnx.quant.pre_process", value="onnxruntime.quant"))
        plain, target = work / f"plain_{int(split)}.onnx", work / f"int8_{int(split)}.onnx"
        save_graph(model, plain)
        quantize_dynamic(
            plain,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QUInt8,
            use_external_data_format=weight_bytes(model) > EXTERNAL_ABOVE_BYTES,
            extra_options={"MatMulConstBOnly": True},
        )
        if not split:
            quantised = load_graph(target)
            _join_projection(quantised)
            target = work / "int8_fp32_projection.onnx"
            save_graph(quantised, target)
        yield label, target


def _split_projection(model: ModelProto, *, constant: bool) -> None:
    """Nothing: writes the projection, in place, as MatMul and Add.

    The quantizer quantises a MatMul whose table is stored, and would make a Gemm such a one; with `constant` false the
    table is the embedding's behind a Transpose, which it leaves alone.
    """
    index = GraphIndex(model)
    i = index.producer[f"{PREFIX}projected"]
    gemm = model.graph.node[i]
    bias = gemm.input[2] if len(gemm.input) > 2 else None
    product = f"{PREFIX}product" if bias else f"{PREFIX}projected"
    table, nodes = f"{PREFIX}projection_table", []
    transposed = bool((attribute_ints(gemm, "transB") or [0])[0])
    if constant:
        array = numpy_helper.to_array(index.initializers[gemm.input[1]])
        array = np.ascontiguousarray(array.T if transposed else array)
        model.graph.initializer.append(numpy_helper.from_array(array, table))
    elif transposed:
        nodes.append(helper.make_node("Transpose", [gemm.input[1]], [table], perm=[1, 0]))
    else:
        nodes.append(helper.make_node("Identity", [gemm.input[1]], [table]))
    nodes.append(helper.make_node("MatMul", [gemm.input[0], table], [product], name=MATMUL))
    if bias:
        nodes.append(helper.make_node("Add", [product, bias], [f"{PREFIX}projected"]))
    _replace_nodes(model, range(i, i + 1), nodes)


def _join_projection(model: ModelProto) -> None:
    """Nothing: makes, in place, one Gemm on the stored table of what `_split_projection` split."""
    index = GraphIndex(model)
    matmul = next(node for node in model.graph.node if node.name == MATMUL)
    maker = model.graph.node[index.producer[matmul.input[1]]]
    i = index.producer[f"{PREFIX}projected"]
    last = model.graph.node[i]
    bias = [] if last.name == MATMUL else [value for value in last.input if value != matmul.output[0]]
    gemm = helper.make_node(
        "Gemm",
        [matmul.input[0], maker.input[0], *bias],
        [f"{PREFIX}projected"],
        name=f"{PREFIX}projection",
        transB=int(maker.op_type == "Transpose"),
    )
    _replace_nodes(model, range(i, i + 1), [gemm])


def _replace_nodes(model: ModelProto, where: range, nodes: list[NodeProto]) -> None:
    arranged = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    arranged[where.start : where.stop] = nodes
    del model.graph.node[:]
    model.graph.node.extend(arranged)
    prune(model)
