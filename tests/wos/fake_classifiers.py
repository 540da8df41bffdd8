"""Classifiers without weights to learn: what they say follows from the words of a text by rules that tests can repeat.

`bag` counts words, whatever their order; `order` says which of two words comes first; `number` predicts their distance.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import processors

from evaluator.score.bundle import MODEL_FILE, TOKENIZER_FILE, Bundle, stamp_file, write_bundle
from tests.fake_bundle import OPSET, fake_tokenizer

Rule = Literal["bag", "order", "number"]
FILLERS = tuple(f"w{i}" for i in range(20))
WORDS = ("alpha", "beta", *FILLERS)
WEIGHTS = {"alpha": 3, "beta": -2, **{w: i % 5 - 2 for i, w in enumerate(FILLERS)}}
"""Whole numbers, so that a sum is the same in any order."""


def make_classifier(
    folder: Path,
    rule: Rule,
    *,
    name: str = "",
    labels: Sequence[str] = ("no", "yes"),
    max_pieces: int = 64,
    nan_on: str = "",
) -> Bundle:
    """The bundle written to `folder`; rows that show the word `nan_on` get NaN."""
    folder.mkdir(parents=True, exist_ok=True)
    cutter = fake_tokenizer("wordpiece", WORDS)
    specials = [(s, cutter.token_to_id(s)) for s in ("[CLS]", "[SEP]")]
    cutter.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=specials
    )
    cutter.save(str(folder / TOKENIZER_FILE))
    size = cutter.get_vocab_size()
    ids = {w: cutter.token_to_id(w) for w in WORDS}
    onnx.save(_graph(rule, size, ids, len(labels), ids.get(nan_on)), folder / MODEL_FILE)
    bundle = Bundle(
        name=name or rule,
        kind="text-classification",
        labels=tuple(labels),
        source=f"fake/{rule}",
        architecture="fake",
        vocab_size=size,
        max_pieces=max_pieces,
        mask_id=cutter.token_to_id("[MASK]"),
        pad_id=cutter.token_to_id("[PAD]"),
        unk_id=cutter.token_to_id("[UNK]"),
        top_k=1,
        opset=OPSET,
        files={file: stamp_file(folder / file) for file in (MODEL_FILE, TOKENIZER_FILE)},
    )
    write_bundle(folder, bundle)
    return bundle


def score_of(rule: Rule, words: Sequence[str]) -> float:
    """The one number that a rule makes of the words: what the graph computes, the plain way."""
    if rule == "bag":
        return float(sum(WEIGHTS.get(w, 0) for w in words))
    return float(words.index("beta") - words.index("alpha"))


def class_of(rule: Rule, words: Sequence[str], labels: int = 2) -> int:
    """The class a rule gives: of two, whether the number is above 0; of more, the number itself, held in range."""
    score = score_of(rule, words)
    return int(score > 0) if labels == 2 else int(min(max(score, 0), labels - 1))


def _graph(rule: Rule, size: int, ids: dict[str, int], labels: int, nan_on: int | None) -> onnx.ModelProto:
    """Logits (B, labels) = −(score − centre)² for more than two, (0, score) for two, score for one."""
    table = np.zeros((size, 1), np.float32)
    for word, piece in ids.items():
        table[piece] = WEIGHTS[word] if rule == "bag" else {"alpha": -1, "beta": 1}.get(word, 0)
    weights = {
        "table": table,
        "nan": np.full((size, 1), 0, np.float32),
        "axis1": np.array([1], np.int64),
        "axis2": np.array([2], np.int64),
        "one": np.array(1, np.int64),
        "last": np.array(-1, np.int64),
    }
    if nan_on is not None:
        weights["nan"][nan_on] = np.nan
    node = helper.make_node
    nodes = [
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["seen", "axis2"], ["seen3"]),
        node("Gather", ["table", "input_ids"], ["looked_up"]),
        node("Gather", ["nan", "input_ids"], ["maybe_nan"]),
        node("Add", ["looked_up", "maybe_nan"], ["value"]),
        node("Mul", ["value", "seen3"], ["weight"]),
    ]
    summed = "weight"
    if rule != "bag":
        nodes += [
            node("Cast", ["attention_mask"], ["ones"], to=TensorProto.INT64),
            node("CumSum", ["ones", "one"], ["position"]),
            node("Cast", ["position"], ["position_f"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["position_f", "axis2"], ["position3"]),
            node("Mul", ["weight", "position3"], ["placed"]),
        ]
        summed = "placed"
    nodes.append(node("ReduceSum", [summed, "axis1"], ["score"], keepdims=0))
    if labels == 1:
        nodes.append(node("Identity", ["score"], ["logits"]))
    elif labels == 2:
        weights["spread"] = np.array([[0, 1]], np.float32)
        weights["tilt"] = np.array([[0.25, 0]], np.float32)  # a score of 0 is "no"
        nodes += [node("MatMul", ["score", "spread"], ["raw"]), node("Add", ["raw", "tilt"], ["logits"])]
    else:
        weights["centres"] = np.arange(labels, dtype=np.float32)[None]
        nodes += [
            node("Sub", ["score", "centres"], ["off"]),
            node("Mul", ["off", "off"], ["square"]),
            node("Neg", ["square"], ["logits"]),
        ]

    def value(name: str, kind: int, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        nodes,
        "rule",
        [value(n, TensorProto.INT64, "B", "L") for n in ("input_ids", "attention_mask")],
        [value("logits", TensorProto.FLOAT, "B", labels)],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model
