"""Matrix products in eight bits: weights quantised here, per column and asymmetric, activations by the graph itself.

The quantiser of onnxruntime does the same column by column in Python, and needs some sixteen times the weights' memory:
18 GiB for a model of 270 million parameters, where this needs its weights twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from export.fusion import DOMAIN
from export.graph import GraphIndex, attribute_ints, prune
from export.masked_head import PREFIX

LEVELS = 255
LOWEST = -128
"""Weights are signed: the products of unsigned activations with signed weights are what processors have instructions
for, 2.5 times as fast here as those of unsigned with unsigned (benchmarks/RESULTS.md)."""
BLOCK = 8192
"""Columns quantised at a time: bounds the copies in float64."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A weight in eight bits: value = (weight - zero) · scale, each column with its own scale and zero."""

    weight: npt.NDArray[np.int8]  # (inner, columns)
    scale: npt.NDArray[np.float32]  # (columns,)
    zero: npt.NDArray[np.int8]  # (columns,)


def quantise_columns(weight: npt.NDArray[np.float32]) -> Columns:
    """The weight (inner, columns), each column's range, zero included, in 256 levels."""
    inner, columns = weight.shape
    made = Columns(np.empty((inner, columns), np.int8), np.empty(columns, np.float32), np.empty(columns, np.int8))
    for first in range(0, columns, BLOCK):
        block = slice(first, first + BLOCK)
        values = np.asarray(weight[:, block], dtype=np.float32)
        low, high = np.minimum(values.min(axis=0), 0), np.maximum(values.max(axis=0), 0)
        scale = np.where(high > low, (high - low) / LEVELS, 1).astype(np.float32)
        zero = np.clip(np.rint(-low / scale), 0, LEVELS) + LOWEST
        made.weight[:, block] = np.clip(np.rint(values / scale) + zero, LOWEST, LOWEST + LEVELS)
        made.scale[block], made.zero[block] = scale, zero
    return made


def quantise_products(model: ModelProto, *, projection: bool, contractions: bool = True) -> None:
    """Nothing: puts, in place, every product with a stored weight into eight bits.

    The vocabulary's and those that give fewer columns than they are given only if asked for.
    """
    index = GraphIndex(model)
    nodes: list[NodeProto] = []
    activations: dict[str, list[str]] = {}
    weights: dict[str, list[str]] = {}
    for node in index.graph.node:
        if not _is_quantised(index, node, projection, contractions):
            nodes.append(node)
            continue
        given, table = node.input[0], node.input[1]
        if given not in activations:
            activations[given] = [f"{PREFIX}int8/{given}/{part}" for part in ("values", "scale", "zero")]
            nodes.append(helper.make_node("DynamicQuantizeLinear", [given], activations[given]))
        flipped = node.op_type == "Gemm" and bool((attribute_ints(node, "transB") or [0])[0])
        key = f"{table}{'/transposed' * flipped}"
        if key not in weights:
            weights[key] = [f"{PREFIX}int8/{key}/{part}" for part in ("values", "scale", "zero")]
            model.graph.initializer.extend(_stored(index, table, flipped, weights[key]))
        (values, scale, zero), (stored, stored_scale, stored_zero) = activations[given], weights[key]
        inputs = [values, stored, scale, stored_scale, zero, stored_zero, *node.input[2:]]
        nodes.append(helper.make_node("MatMulIntegerToFloat", inputs, list(node.output), node.name, domain=DOMAIN))
    kept = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    if all(entry.domain != DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    prune(model)


def _is_quantised(index: GraphIndex, node: NodeProto, projection: bool, contractions: bool) -> bool:
    if node.op_type == "Gemm":
        return projection and f"{PREFIX}projected" in node.output
    if node.op_type != "MatMul" or index.constant_rank(node.input[1]) != 2 or index.is_constant(node.input[0]):
        return False
    weight = index.constant(node.input[1])
    assert weight is not None
    inner, columns = weight.shape
    return contractions or inner <= columns


def _stored(index: GraphIndex, table: str, flipped: bool, names: list[str]) -> Iterator[TensorProto]:
    array = index.constant(table)
    assert array is not None
    columns = quantise_columns((array.T if flipped else array).astype(np.float32, copy=False))
    for name, part in zip(names, (columns.weight, columns.scale, columns.zero), strict=True):
        yield numpy_helper.from_array(np.ascontiguousarray(part), name)
