"""Other precisions than fp32, each behind a measured agreement with the fp32 graph.

`storage fp16`: weights rounded to fp16 and stored so, computed in fp32. `fp16`: trunk and projection compute in fp16,
softmax and ranks in fp32. `int8`: dynamic quantisation of matrix products, per channel.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.transformers.float16 import convert_float_to_float16

from evaluator.errors import BundleError
from export.graph import all_tensors, load_graph, save_graph
from export.masked_head import PREFIX
from export.quantise import quantise_products

STORE_FROM = 256
"""Smaller tensors stay in fp32: they weigh nothing."""
HALF_LIMIT = 65504.0
MEANS_INFINITY = 1e30
HALF_INFINITY = 30000.0
"""exp(-30000) is 0 in any precision, and 30000 leaves room for scores below fp16's 65504."""


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
    _declare_fused(model)
    kept = [node.name for node in model.graph.node if _keeps_fp32(node)] + _before_weights(model)
    named = work / "named.onnx"
    save_graph(model, named)
    half = convert_float_to_float16(str(named), keep_io_types=True, node_block_list=kept)
    target = work / "fp16.onnx"
    save_graph(half, target)
    yield "fp16 trunk and projection", target


def _declare_fused(model: ModelProto) -> None:
    """Nothing: declares, in place, what the runtime's own operators make; shape inference does not know them."""
    known = {value.name for value in model.graph.value_info}
    made = (output for node in model.graph.node if node.domain for output in node.output if output)
    model.graph.value_info.extend(
        helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in made if output not in known
    )


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


INT8_FORMS = (
    ("int8 with int8 projection", True, True),
    ("int8 with fp32 projection", False, True),
    ("int8 with fp32 projection and contractions", False, False),
)


def to_int8(path: Path, work: Path) -> Iterator[tuple[str, Path]]:
    """Dynamically quantised forms of the masked graph, fastest first.

    In fp32 stay the vocabulary projection, then also the products that contract, the second of each feed-forward: what
    they are given has the widest range. Weights are signed: the fast instructions want that, and where a processor
    lacks them and would saturate, the backend refuses int8.
    """
    for i, (label, projection, contractions) in enumerate(INT8_FORMS):
        model = load_graph(path)
        quantise_products(model, projection=projection, contractions=contractions)
        target = work / f"int8_{i}.onnx"
        save_graph(model, target)
        yield label, target
