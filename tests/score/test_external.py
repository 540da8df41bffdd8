"""A graph cannot make the runtime open a file outside its bundle, however it is nested."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from evaluator.errors import BundleError
from evaluator.score.backend import Session
from evaluator.score.bundle import MODEL_FILE, read_bundle, stamp_file, write_bundle
from evaluator.score.external import _MESSAGES, external_locations
from tests.fake_bundle import make_fake_bundle

PROTOS = {
    "model": "ModelProto", "training": "TrainingInfoProto", "graph": "GraphProto", "function": "FunctionProto",
    "node": "NodeProto", "attribute": "AttributeProto", "sparse": "SparseTensorProto", "tensor": "TensorProto",
    "entry": "StringStringEntryProto",
}  # fmt: skip


def outside(location: str) -> TensorProto:
    """A tensor whose bytes lie at `location`."""
    tensor = numpy_helper.from_array(np.zeros((2, 2), np.float32), "w")
    set_external_data(tensor, location)
    tensor.ClearField("raw_data")
    return tensor


def in_place(kind: str, tensor: TensorProto) -> onnx.ModelProto:
    """A model that holds the tensor in one of the places where a model can."""
    node = helper.make_node("Constant", [], ["c"], value=tensor)
    inner = helper.make_graph([], "inner", [], [], [tensor])
    holding = helper.make_graph([helper.make_node("If", ["x"], ["y"], then_branch=inner)], "g", [], [])
    sparse = onnx.SparseTensorProto(values=tensor)
    model = helper.make_model(helper.make_graph([], "g", [], []))
    if kind == "initializer":
        model.graph.initializer.append(tensor)
    elif kind == "attribute":
        model.graph.node.append(node)
    elif kind == "subgraph":
        model.graph.CopyFrom(holding)
    elif kind == "subgraph of a subgraph":
        model.graph.node.append(helper.make_node("Loop", ["x"], ["y"], body=holding))
    elif kind == "sparse":
        model.graph.sparse_initializer.append(sparse)
    elif kind == "list attribute":
        model.graph.node.append(helper.make_node("Any", [], ["c"], several=[tensor, tensor]))
    elif kind == "function":
        model.functions.append(helper.make_function("d", "f", [], ["c"], [node], []))
    else:
        model.training_info.append(onnx.TrainingInfoProto(algorithm=inner))
    return model


PLACES = ("initializer", "attribute", "subgraph", "subgraph of a subgraph", "sparse", "list attribute", "function",
          "training")  # fmt: skip


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("location", ["../../secret", "/etc/passwd", "*/_ORT_MEM_ADDR_/*", "w.data"])
def test_names_are_found_wherever_a_tensor_may_be(kind: str, location: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(in_place(kind, outside(location)).SerializeToString())
    assert external_locations(path) == {location}


def test_every_way_to_a_tensor_is_walked() -> None:
    """Against the description of the format that the `onnx` package carries."""
    known = {proto: name for name, proto in PROTOS.items()}
    for name, proto in PROTOS.items():
        fields = getattr(onnx, proto).DESCRIPTOR.fields if name != "entry" else ()
        leads = {
            f.number: known[f.message_type.name]
            for f in fields
            if f.message_type and f.message_type.name in known and (known[f.message_type.name] != "entry")
        }
        if name == "tensor":
            leads = {f.number: "entry" for f in fields if f.name == "external_data"}
        assert _MESSAGES.get(name, {}) == leads, name


def test_graph_without_external_data_has_none(tmp_path: Path) -> None:
    make_fake_bundle(tmp_path / "fake")
    assert external_locations(tmp_path / "fake" / MODEL_FILE) == set()


@pytest.mark.parametrize("content", [b"", b"no graph", b"\x3a", b"\x3a\x7f", b"\x3b\x3c", b"\xff" * 40, b"\x00\x00"])
def test_what_is_no_graph_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(BundleError, match="cannot load the graph"):
        external_locations(tmp_path / "model.onnx")


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    content = b""
    for i in range(403):  # from within: attribute.g, node.attribute, graph.node, and around all model.graph
        field = b"\x3a" if i == 402 else (b"\x32", b"\x2a", b"\x0a")[i % 3]
        size, length = len(content), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        content = field + length + bytes([size]) + content
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(BundleError, match="cannot load the graph"):
        external_locations(tmp_path / "model.onnx")


@pytest.mark.parametrize("location", ["../secret", "{folder}/secret", "other.data"])
def test_bundle_whose_graph_reaches_outside_is_refused(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    made = make_fake_bundle(folder)
    model = onnx.load(folder / MODEL_FILE)
    tensor = next(t for t in model.graph.initializer if t.name == "table")
    (tmp_path / "secret").write_bytes(tensor.raw_data)
    (folder / "other.data").write_bytes(tensor.raw_data)
    set_external_data(tensor, location.format(folder=tmp_path))
    tensor.ClearField("raw_data")
    (folder / MODEL_FILE).write_bytes(model.SerializeToString())
    files = {**made.files, MODEL_FILE: stamp_file(folder / MODEL_FILE)}
    write_bundle(folder, made.model_copy(update={"files": files}))
    with pytest.raises(BundleError, match="no file of the bundle") as error:
        Session(folder, read_bundle(folder))
    assert error.value.hint


def test_bundle_with_external_data_of_its_own_loads(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    made = make_fake_bundle(folder)
    model = onnx.load(folder / MODEL_FILE)
    onnx.save_model(model, folder / MODEL_FILE, save_as_external_data=True, location="w.data", size_threshold=1024)
    assert external_locations(folder / MODEL_FILE) == {"w.data"}
    files = {**made.files, **{name: stamp_file(folder / name) for name in (MODEL_FILE, "w.data")}}
    write_bundle(folder, made.model_copy(update={"files": files}))
    Session(folder, read_bundle(folder))
    (folder / "w.data").write_bytes(b"")
    with pytest.raises(BundleError, match="differs"):
        read_bundle(folder)
