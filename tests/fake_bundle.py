"""A model bundle without a model: seeded random weights behind the real tokenizers and the real masked-head interface.

The answer at a mask depends on its two neighbours and on the mean of its row, so it depends on order, and not on
padding. Options make the graph fail in the ways in which workers fail: NaN, a process that dies, one that hangs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from evaluator.score.bundle import MODEL_FILE, TOKENIZER_FILE, Bundle, stamp_file, write_bundle

FakeTokenizer = Literal["wordpiece", "unigram", "bytelevel"]
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = (
    *(chr(c) for c in range(0x21, 0x7F)),
    *(chr(c) for c in range(0xC0, 0x180)),
    *(chr(c) for c in range(0x370, 0x460)),
)
OPSET = 17
FOREVER = 1 << 60


def make_fake_bundle(
    folder: Path,
    *,
    name: str = "fake",
    vocab: Sequence[str] = (),
    tokenizer: FakeTokenizer = "wordpiece",
    seed: int = 0,
    width: int = 8,
    max_pieces: int = 512,
    top_k: int = 51,
    work: int = 0,
    nan_on: int | None = None,
    die_on: int | None = None,
    hang_on: int | None = None,
) -> Bundle:
    """The bundle written to `folder`.

    `vocab`: whole words known beside single letters. `work`: extra 128 × 128 products per batch, to take time.
    Rows that show piece `nan_on` get NaN; piece `die_on` kills the process (SIGFPE); piece `hang_on` never ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cutter = fake_tokenizer(tokenizer, vocab)
    cutter.save(str(folder / TOKENIZER_FILE))
    size = cutter.get_vocab_size()
    graph = fake_graph(size, seed, width, min(top_k, size), work=work, nan_on=nan_on, die_on=die_on, hang_on=hang_on)
    onnx.save(graph, folder / MODEL_FILE)
    bundle = Bundle(
        name=name,
        source=f"fake/{name}",
        architecture="fake",
        vocab_size=size,
        max_pieces=max_pieces,
        mask_id=cutter.token_to_id("[MASK]"),
        pad_id=cutter.token_to_id("[PAD]"),
        unk_id=None if tokenizer == "bytelevel" else cutter.token_to_id("[UNK]"),
        top_k=min(top_k, size),
        opset=OPSET,
        files={file: stamp_file(folder / file) for file in (MODEL_FILE, TOKENIZER_FILE)},
    )
    write_bundle(folder, bundle)
    return bundle


def fake_tokenizer(kind: FakeTokenizer, words: Sequence[str]) -> Tokenizer:
    """A tokenizer of the given kind that knows single letters of a few scripts, and `words`."""
    if kind == "wordpiece":
        pieces = dict.fromkeys([*SPECIALS, *LETTERS, *(f"##{c}" for c in LETTERS), *words])
        cutter = Tokenizer(
            models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]", max_input_chars_per_word=100)
        )
        cutter.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        cutter.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        cutter.decoder = decoders.WordPiece()
    elif kind == "unigram":
        pieces = dict.fromkeys([*SPECIALS, "▁", *LETTERS, *(f"▁{c}" for c in LETTERS), *(f"▁{w}" for w in words)])
        scored = [(p, -2.0 if p[1:] in words else -5.0) for p in pieces]
        cutter = Tokenizer(models.Unigram(scored, unk_id=1, byte_fallback=False))
        cutter.pre_tokenizer = pre_tokenizers.Metaspace()
        cutter.decoder = decoders.Metaspace()
    else:
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        cutter = Tokenizer(models.BPE({p: i for i, p in enumerate([*SPECIALS, *letters])}, []))
        cutter.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        cutter.decoder = decoders.ByteLevel()
    cutter.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    ids = {s: cutter.token_to_id(s) for s in SPECIALS}
    cutter.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    return cutter


def fake_graph(
    vocab_size: int,
    seed: int,
    width: int,
    top_k: int,
    *,
    work: int = 0,
    nan_on: int | None = None,
    die_on: int | None = None,
    hang_on: int | None = None,
) -> onnx.ModelProto:
    """The graph: gather, neighbours and mean mixed, gather at the masks, project, log-softmax, top-k, gold."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {  # type: ignore[type-arg]  # any number
        "table": rng.standard_normal((vocab_size, width), dtype=np.float32),
        "project": 2 * rng.standard_normal((width, vocab_size), dtype=np.float32),
        **{m: rng.standard_normal((width, width), dtype=np.float32) for m in ("of_left", "of_right", "of_mean")},
        "zero": np.array(0, np.float32),
        "zeros1": np.array([0], np.int64),
        "ones1": np.array([1], np.int64),
        "last_axis": np.array([2], np.int64),
        "row_axis": np.array([1], np.int64),
        "minus1": np.array([-1], np.int64),
        "pad_left": np.array([0, 1, 0, 0, 0, 0], np.int64),
        "pad_right": np.array([0, 0, 0, 0, 1, 0], np.int64),
        "huge": np.array([np.iinfo(np.int64).max], np.int64),
        "flat": np.array([-1, width], np.int64),
        "k": np.array([top_k], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["seen", "last_axis"], ["seen3"]),
        node("Gather", ["table", "input_ids"], ["looked_up"]),
        node("Mul", ["looked_up", "seen3"], ["x"]),
        node("Pad", ["x", "pad_left"], ["x_left"]),
        node("Slice", ["x_left", "zeros1", "minus1", "row_axis"], ["left"]),
        node("Pad", ["x", "pad_right"], ["x_right"]),
        node("Slice", ["x_right", "ones1", "huge", "row_axis"], ["right"]),
        node("ReduceSum", ["x", "row_axis"], ["total"], keepdims=1),
        node("ReduceSum", ["seen3", "row_axis"], ["count"], keepdims=1),
        node("Div", ["total", "count"], ["mean"]),
        node("MatMul", ["left", "of_left"], ["from_left"]),
        node("MatMul", ["right", "of_right"], ["from_right"]),
        node("MatMul", ["mean", "of_mean"], ["from_mean"]),
        node("Add", ["from_left", "from_right"], ["neighbours"]),
        node("Add", ["neighbours", "from_mean"], ["mixed"]),
        node("Tanh", ["mixed"], ["state0"]),
    ]
    state = "state0"
    for option, piece in (("nan", nan_on), ("die", die_on), ("hang", hang_on)):
        if piece is not None:
            weights[f"{option}_piece"] = np.array(piece, np.int64)
    if nan_on is not None:
        weights["nan"] = np.array(np.nan, np.float32)
        nodes += [
            node("Equal", ["input_ids", "nan_piece"], ["is_nan"]),
            node("Cast", ["is_nan"], ["is_nan_f"], to=TensorProto.FLOAT),
            node("ReduceMax", ["is_nan_f"], ["row_nan"], axes=[1], keepdims=1),
            node("Unsqueeze", ["row_nan", "last_axis"], ["row_nan3"]),
            node("Cast", ["row_nan3"], ["row_nan_b"], to=TensorProto.BOOL),
            node("Where", ["row_nan_b", "nan", "zero"], ["nan_or_zero"]),
            node("Add", [state, "nan_or_zero"], ["state_nan"]),
        ]
        state = "state_nan"
    if die_on is not None:  # the smallest integer over −1 overflows: SIGFPE, which no handler of the runtime catches
        weights |= {
            "smallest": np.array(np.iinfo(np.int64).min, np.int64),
            "plus_one": np.array(1, np.int64),
            "minus_one": np.array(-1, np.int64),
            "seven": np.array(7, np.int64),
        }
        nodes += [
            node("Equal", ["input_ids", "die_piece"], ["is_die"]),
            node("Where", ["is_die", "minus_one", "plus_one"], ["divisor"]),
            node("Div", ["smallest", "divisor"], ["quotient"]),
            node("Equal", ["quotient", "seven"], ["never"]),
            node("Cast", ["never"], ["never_f"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["never_f", "last_axis"], ["never3"]),
            node("Add", [state, "never3"], ["state_die"]),
        ]
        state = "state_die"
    if work or hang_on is not None:
        nodes += _labour(weights, rng, work, state, hang=hang_on is not None)
        state = "state_work"
    nodes += [
        node("Reshape", [state, "flat"], ["states"]),
        node("Gather", ["states", "mask_pos"], ["at_masks"]),
        node("MatMul", ["at_masks", "project"], ["logits"]),
        node("LogSoftmax", ["logits"], ["logp"], axis=-1),
        node("TopK", ["logp", "k"], ["topk_logp", "topk_ids"], axis=-1, largest=1, sorted=1),
        node("Gather", ["logp", "gold_row"], ["gold_logps"]),
        node("Unsqueeze", ["gold_id", "row_axis"], ["gold_column"]),
        node("GatherElements", ["gold_logps", "gold_column"], ["gold_logp2"], axis=1),
        node("Squeeze", ["gold_logp2", "row_axis"], ["gold_logp"]),
        node("Greater", ["gold_logps", "gold_logp2"], ["better"]),
        node("Cast", ["better"], ["better_i"], to=TensorProto.INT64),
        node("ReduceSum", ["better_i", "row_axis"], ["gold_rank"], keepdims=0),
    ]

    def value(name: str, kind: int, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    integer, real = TensorProto.INT64, TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "fake_masked_head",
        [
            value("input_ids", integer, "B", "L"),
            value("attention_mask", integer, "B", "L"),
            value("mask_pos", integer, "M"),
            value("gold_row", integer, "Q"),
            value("gold_id", integer, "Q"),
        ],
        [
            value("topk_ids", integer, "M", top_k),
            value("topk_logp", real, "M", top_k),
            value("gold_logp", real, "Q"),
            value("gold_rank", integer, "Q"),
        ],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def _labour(
    weights: dict[str, np.ndarray], rng: np.random.Generator, work: int, state: str, *, hang: bool
) -> list[onnx.NodeProto]:  # type: ignore[type-arg]  # any number
    """Nodes that multiply a matrix `work` times, or for ever when the hang piece is shown, and add a zero of it."""
    node = helper.make_node
    side = 128
    weights |= {
        "matrix": rng.standard_normal((side, side), dtype=np.float32) / np.float32(side),
        "start": np.ones((side, side), np.float32),
        "rounds": np.array(work, np.int64),
        "forever": np.array(FOREVER, np.int64),
        "go": np.array(True),
        "cap": np.array(1e30, np.float32),
    }
    square = helper.make_tensor_value_info("m_in", TensorProto.FLOAT, [side, side])
    body = helper.make_graph(
        [node("MatMul", ["m_in", "matrix"], ["m_out"]), node("Identity", ["go_in"], ["go_out"])],
        "product",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            square,
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("m_out", TensorProto.FLOAT, [side, side]),
        ],
    )
    count = "rounds"
    nodes: list[onnx.NodeProto] = []
    if hang:
        nodes += [
            node("Equal", ["input_ids", "hang_piece"], ["is_hang"]),
            node("Cast", ["is_hang"], ["is_hang_i"], to=TensorProto.INT64),
            node("ReduceMax", ["is_hang_i"], ["any_hang"], keepdims=0),
            node("Mul", ["any_hang", "forever"], ["extra"]),
            node("Add", ["rounds", "extra"], ["all_rounds"]),
        ]
        count = "all_rounds"
    return [
        *nodes,
        node("Loop", [count, "go", "start"], ["product"], body=body),
        node("ReduceMax", ["product"], ["largest"], keepdims=0),
        node("Greater", ["largest", "cap"], ["overflowed"]),
        node("Cast", ["overflowed"], ["overflowed_f"], to=TensorProto.FLOAT),
        node("Add", [state, "overflowed_f"], ["state_work"]),
    ]
