"""Attention, bias and normalisation as the runtime's own fused operators, where its optimizer finds them.

Products of queries, keys and values stay plain matrix products over all pieces; what lies between them, scaling,
splitting into heads, masking and softmax, becomes one operator per layer, on a GPU a fused kernel.
"""

import logging

from onnx import ModelProto, helper
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_by_fusion

from export.graph import weight_bytes

MOST_BYTES = 1_900_000_000
"""Its shape inference passes the graph through one protobuf message."""
DOMAIN = "com.microsoft"
FUSED = frozenset({"Attention", "MultiHeadAttention"})


def fuse_attention(model: ModelProto) -> bool:
    """Whether attention was fused, in place, in any layer; shapes of heads are read from the graph.

    The result answers alike only if the optimizer's patterns hold what they look like: parity must be measured anew.
    """
    if weight_bytes(model) > MOST_BYTES:
        return False
    options = FusionOptions("bert")
    options.use_multi_head_attention = True
    options.enable_embed_layer_norm = False
    loggers = [logging.getLogger(name) for name in ("onnxruntime.transformers", "fusion_base", "fusion_attention")]
    before = [logger.level for logger in loggers]
    root = logging.getLogger().level
    try:
        for logger in (*loggers, logging.getLogger()):
            logger.setLevel(logging.ERROR)
        fused = optimize_by_fusion(model, "bert", optimization_options=options).model
    finally:
        logging.getLogger().setLevel(root)
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
    if fused is not model:
        model.CopyFrom(fused)
    if all(entry.domain != DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return any(node.op_type in FUSED for node in model.graph.node)
