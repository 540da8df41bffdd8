"""Reading, pruning and writing ONNX graphs: what every step of an export needs to know about one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from evaluator.errors import BundleError

EXTERNAL_ABOVE_BYTES = 100_000_000
"""Weights beyond this go beside the graph: the runtime maps such a file instead of reading it in, and one protobuf
message holds at most 2 GiB."""
CONSTANT_CHAIN = frozenset({"Identity", "Transpose", "Cast"})
"""Operators through which a constant stays a constant of known shape."""


def load_graph(path: Path) -> ModelProto:
    """The model at `path` with its external data read in.

    Errors: BundleError when the file is no ONNX model, or its external data are missing or lie outside its folder.
    """
    try:
        model = onnx.load_model(str(path), load_external_data=False)
    except Exception as error:  # protobuf's own DecodeError is not importable by a stable name
        raise BundleError(
            "not an ONNX model, or a truncated one", where=str(path), hint="export or copy it again"
        ) from error
    if not model.graph.node:
        raise BundleError("the ONNX model holds no graph", where=str(path), hint="export or copy it again")
    folder = path.parent.resolve()
    for tensor in all_tensors(model):
        if uses_external_data(tensor):
            _check_location(tensor, folder, path)
    try:
        load_external_data_for_model(model, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise BundleError(
            f"external data cannot be read: {first_line(error)}", where=str(path), hint="copy the whole folder again"
        ) from error
    return model


def _check_location(tensor: TensorProto, folder: Path, path: Path) -> None:
    """Nothing; raises BundleError unless the tensor's external data are a complete file inside `folder`."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    target = (folder / location).resolve()
    if not location or not target.is_relative_to(folder):
        raise BundleError(
            f"external data at {location!r} leave the model's folder",
            where=str(path),
            hint="keep graph and weights together",
        )
    if not target.is_file():
        raise BundleError(
            f"external data file {location!r} is missing", where=str(path), hint="copy the whole folder again"
        )
    needed = int(entries.get("offset", 0)) + int(entries.get("length", 0))
    if target.stat().st_size < needed:
        raise BundleError(
            f"external data file {location!r} is truncated", where=str(path), hint="copy the whole folder again"
        )


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every initializer and tensor attribute of the main graph."""
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t


def weight_bytes(model: ModelProto) -> int:
    """Bytes of all initializers."""
    return sum(int(np.prod(t.dims)) * onnx.helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
               for t in model.graph.initializer)  # fmt: skip


def count_weights(model: ModelProto) -> int:
    """Numbers in all floating-point initializers."""
    floats = {TensorProto.FLOAT, TensorProto.FLOAT16}
    return sum(int(np.prod(t.dims)) for t in model.graph.initializer if t.data_type in floats)


def save_graph(model: ModelProto, path: Path) -> list[Path]:
    """The files written: the graph, and its external data when the weights pass `EXTERNAL_ABOVE_BYTES`."""
    if weight_bytes(model) <= EXTERNAL_ABOVE_BYTES:
        onnx.save_model(model, str(path))
        return [path]
    location = f"{path.name}.data"
    # convert_attribute False: small constants of nodes must stay in the graph for the runtime to fold them.
    onnx.save_model(model, str(path), save_as_external_data=True, location=location, size_threshold=1024)
    return [path, path.with_name(location)]


def opset_of(model: ModelProto) -> int:
    """Version of the default operator set."""
    return next((int(entry.version) for entry in model.opset_import if entry.domain in {"", "ai.onnx"}), 0)


def first_line(error: BaseException) -> str:
    """First line of an error's message, shortened to 200 characters."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def attribute_ints(node: NodeProto, name: str) -> list[int] | None:
    """An integer or integer-list attribute as a list; None when absent."""
    for attribute in node.attribute:
        if attribute.name == name:
            return list(attribute.ints) if attribute.type == onnx.AttributeProto.INTS else [attribute.i]
    return None


class GraphIndex:
    """Who makes and who uses each value of a graph, and which values are constant."""

    def __init__(self, model: ModelProto) -> None:
        self.graph = model.graph
        self.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.producer = {out: i for i, node in enumerate(model.graph.node) for out in node.output if out}
        self.consumers: dict[str, list[int]] = {}
        for i, node in enumerate(model.graph.node):
            for value in _values_read(node):
                self.consumers.setdefault(value, []).append(i)

    def node_of(self, value: str) -> NodeProto | None:
        """The node that makes `value`; None for inputs and initializers."""
        i = self.producer.get(value)
        return None if i is None else self.graph.node[i]

    def is_constant(self, value: str) -> bool:
        """Whether `value` depends on no input."""
        if value in self.initializers:
            return True
        node = self.node_of(value)
        if node is None:
            return False
        if node.op_type == "Constant":
            return True
        return node.op_type in CONSTANT_CHAIN and all(self.is_constant(v) for v in node.input if v)

    def constant(self, value: str) -> npt.NDArray[np.generic] | None:
        """The array of a constant value; None when it is not constant or not simply so."""
        if value in self.initializers:
            return numpy_helper.to_array(self.initializers[value])
        node = self.node_of(value)
        if node is None or not self.is_constant(value):
            return None
        if node.op_type == "Constant":
            held = onnx.helper.get_attribute_value(node.attribute[0])
            return numpy_helper.to_array(held) if isinstance(held, TensorProto) else np.asarray(held)
        inner = self.constant(node.input[0])
        if inner is not None and node.op_type == "Transpose":
            inner = inner.transpose(attribute_ints(node, "perm"))
        elif inner is not None and node.op_type == "Cast":
            inner = inner.astype(onnx.helper.tensor_dtype_to_np_dtype((attribute_ints(node, "to") or [1])[0]))
        return inner

    def constant_rank(self, value: str) -> int | None:
        """Rank of a constant value without copying it; None when it is not constant."""
        if value in self.initializers:
            return len(self.initializers[value].dims)
        node = self.node_of(value)
        if node is None or not self.is_constant(value):
            return None
        if node.op_type == "Constant":
            array = self.constant(value)
            return None if array is None else array.ndim
        return self.constant_rank(node.input[0])

    def through_identity(self, value: str, also: Iterable[str] = ()) -> str:
        """`value`, or what it copies through Identity nodes (and the operators in `also`)."""
        passing = {"Identity", *also}
        while (node := self.node_of(value)) is not None and node.op_type in passing:
            value = node.input[0]
        return value


def _values_read(node: NodeProto) -> Iterator[str]:
    """Every value a node reads, those its subgraphs capture included."""
    yield from (value for value in node.input if value)
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)
        for graph in graphs:
            for inner in graph.node:
                yield from _values_read(inner)
            yield from (output.name for output in graph.output)


def prune(model: ModelProto) -> None:
    """Nothing: drops, in place, nodes and initializers that no output needs."""
    needed = {output.name for output in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if any(output in needed for output in node.output):
            kept.append(node)
            needed.update(_values_read(node))
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for i in reversed(range(len(model.graph.initializer))):
        if model.graph.initializer[i].name not in needed:
            del model.graph.initializer[i]
    del model.graph.value_info[:]
