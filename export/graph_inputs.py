"""The inputs of a fill-mask graph, brought to the bundle's: int64 ids and masks, positions computed inside."""

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from evaluator.errors import BundleError
from export.masked_head import MODEL_INPUTS, PREFIX

REQUIRED = ("input_ids", "attention_mask")


def settle_inputs(model: ModelProto, *, pad_id: int, positions_after_pad: bool) -> None:
    """Nothing: makes, in place, the model's inputs int64 and computes `position_ids` in the graph where it wants them.

    `positions_after_pad`: positions count from `pad_id + 1` over pieces that are not padding (RoBERTa kinds).
    Errors: BundleError for a missing or unknown input.
    """
    names = [value.name for value in model.graph.input]
    for name in REQUIRED:
        if name not in names:
            raise BundleError(
                f"the graph has no input {name}: its inputs are {', '.join(names)}",
                hint="export it with: optimum-cli export onnx --task fill-mask",
            )
    unknown = sorted(set(names) - {*MODEL_INPUTS, "position_ids"})
    if unknown:
        raise BundleError(
            f"the graph wants inputs nobody can give: {', '.join(unknown)}",
            hint="export it with: optimum-cli export onnx --task fill-mask",
        )
    before: list[NodeProto] = []
    for value in model.graph.input:
        kind = value.type.tensor_type.elem_type
        if value.name == "position_ids":
            _rename_reads(model, "position_ids", f"{PREFIX}positions_{kind}")
            before += _position_nodes(model, pad_id, positions_after_pad)
            before.append(
                helper.make_node("Cast", [f"{PREFIX}positions"], [f"{PREFIX}positions_{kind}"], to=kind)
            )  # fmt: skip
        elif kind != TensorProto.INT64:
            _rename_reads(model, value.name, f"{PREFIX}{value.name}")
            before.append(helper.make_node("Cast", [value.name], [f"{PREFIX}{value.name}"], to=kind))
    nodes = [*before, *(NodeProto.FromString(node.SerializeToString()) for node in model.graph.node)]
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in names if n in MODEL_INPUTS
    ]
    if before:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    del model.graph.input[:]
    model.graph.input.extend(inputs)


def _rename_reads(model: ModelProto, old: str, new: str) -> None:
    for node in model.graph.node:
        for i, value in enumerate(node.input):
            if value == old:
                node.input[i] = new


def _position_nodes(model: ModelProto, pad_id: int, positions_after_pad: bool) -> list[NodeProto]:
    """Nodes that make `positions` int64 [B, L] from `input_ids`."""
    p = PREFIX
    constants = {"pad_id": pad_id, "axis": 1, "minus_one": -1}
    model.graph.initializer.extend(
        numpy_helper.from_array(np.array(number, dtype=np.int64), p + name) for name, number in constants.items()
    )
    if not positions_after_pad:
        # Ones, summed along the length, less one: 0, 1, 2, … in every row.
        return [
            helper.make_node("Equal", ["input_ids", "input_ids"], [f"{p}always"]),
            helper.make_node("Cast", [f"{p}always"], [f"{p}ones"], to=TensorProto.INT64),
            helper.make_node("CumSum", [f"{p}ones", f"{p}axis"], [f"{p}counts"]),
            helper.make_node("Add", [f"{p}counts", f"{p}minus_one"], [f"{p}positions"]),
        ]
    return [
        helper.make_node("Equal", ["input_ids", f"{p}pad_id"], [f"{p}is_pad"]),
        helper.make_node("Not", [f"{p}is_pad"], [f"{p}is_piece"]),
        helper.make_node("Cast", [f"{p}is_piece"], [f"{p}ones"], to=TensorProto.INT64),
        helper.make_node("CumSum", [f"{p}ones", f"{p}axis"], [f"{p}counts"]),
        helper.make_node("Mul", [f"{p}counts", f"{p}ones"], [f"{p}piece_counts"]),
        helper.make_node("Add", [f"{p}piece_counts", f"{p}pad_id"], [f"{p}positions"]),
    ]
