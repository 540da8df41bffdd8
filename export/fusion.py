"""Attention and activations as the runtime's own fused operators, where its optimizer finds them.

Products of queries, keys and values stay plain matrix products over all pieces; what lies between them, scaling,
splitting into heads, masking and softmax, becomes one operator per layer, on a GPU a fused kernel. A normalisation with
its residual stays spelled out: on a CPU the runtime's fused operator takes five times as long, and on a GPU the session
fuses the two again by itself.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from onnx import ModelProto, NodeProto, TensorProto, helper
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_by_fusion

from export.graph import weight_bytes

DOMAIN = "com.microsoft"
FUSED = frozenset({"Attention", "MultiHeadAttention"})
ASIDE_BYTES = 1 << 16
MOST_BYTES = 1_900_000_000
"""The optimizer passes its graph through one protobuf message."""


def fuse_attention(model: ModelProto) -> bool:
    """Whether attention was fused, in place, in any layer; shapes of heads are read from the graph.

    The result answers alike only if the optimizer's patterns hold what they look like: parity must be measured anew.
    """
    options = FusionOptions("bert")
    options.use_multi_head_attention = True
    options.enable_embed_layer_norm = False
    with _weights_aside(model), _quiet():
        if weight_bytes(model) > MOST_BYTES:
            return False
        fused = optimize_by_fusion(model, "bert", optimization_options=options).model
        if fused is not model:
            model.CopyFrom(fused)
    if all(entry.domain != DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    _spell_out_normalisation(model)
    return any(node.op_type in FUSED for node in model.graph.node)


@contextmanager
def _weights_aside(model: ModelProto) -> Iterator[None]:
    """Within, the large weights of `model` that are not square are inputs: the optimizer copies its graph repeatedly.

    Attention multiplies with square ones, which it reads; tables and feed-forwards, most of the weights, it does not.
    """
    graph = model.graph
    kept: list[TensorProto] = []
    aside: list[TensorProto] = []
    for tensor in graph.initializer:
        large = len(tensor.raw_data) >= ASIDE_BYTES and len(tensor.dims) == 2 and tensor.dims[0] != tensor.dims[1]
        (aside if large else kept).append(TensorProto.FromString(tensor.SerializeToString()))
    names = {tensor.name for tensor in aside}
    del graph.initializer[:]
    graph.initializer.extend(kept)
    graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in aside)
    try:
        yield
    finally:
        inputs = [value for value in graph.input if value.name not in names]
        del graph.input[:]
        graph.input.extend(inputs)
        graph.initializer.extend(aside)


@contextmanager
def _quiet() -> Iterator[None]:
    """Within, the optimizer says nothing of what it did not find."""
    names = ("", "onnxruntime.transformers", "fusion_base", "fusion_attention")
    before = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _spell_out_normalisation(model: ModelProto) -> None:
    """Nothing: writes each fused sum and normalisation as sums and a LayerNormalization."""
    nodes: list[NodeProto] = []
    for node in model.graph.node:
        nodes += _spelled_out(node) if node.op_type == "SkipLayerNormalization" else [node]
    copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _spelled_out(node: NodeProto) -> list[NodeProto]:
    """(input + bias) + skip, normalised: input, skip, gamma and then, where there are any, beta and bias."""
    value, skip, gamma, beta, bias = (*node.input, "", "")[:5]
    out, p = node.output[0], node.output[0]
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-12)
    sums = []
    if bias:
        sums.append(helper.make_node("Add", [value, bias], [f"{p}/biased"]))
        value = f"{p}/biased"
    sums.append(helper.make_node("Add", [value, skip], [f"{p}/sum"]))
    scale = [gamma, beta] if beta else [gamma]
    return [*sums, helper.make_node("LayerNormalization", [f"{p}/sum", *scale], [out], axis=-1, epsilon=epsilon)]
