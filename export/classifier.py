"""A sequence classifier to a bundle: its logits as they are, exported by optimum; parity with transformers measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from onnx import ModelProto
from optimum.exporters.onnx import onnx_export_from_model
from transformers import AutoModelForSequenceClassification

from evaluator.encode.tokenizer import TextEncoder
from evaluator.errors import BundleError
from evaluator.score.bundle import MODEL_FILE, TOKENIZER_FILE, Bundle, stamp_file
from export.convert import OPSET, HeadKind, installed_versions, load_model, quiet, round_to_half
from export.fusion import fuse_attention
from export.graph import count_weights, first_line, load_graph, opset_of, prune, save_graph
from export.graph_inputs import settle_inputs
from export.parity import log_softmax
from export.precision import round_graph, store_half
from export.sentences import SENTENCES
from export.session import Session
from export.source import Source
from export.tokenizer import TokenizerFacts, bring_tokenizer, check_sizes, positions_after_pad, usable_length

TASK = "text-classification"
TOLERANCE = 1e-4
"""Largest |Δ log p| of a class, in nats, or |Δ| of a predicted number relative to 1 + its size."""
Int64s = npt.NDArray[np.int64]
Logits = Callable[[dict[str, Int64s]], npt.NDArray[np.float32]]
"""`input_ids`, `attention_mask`, `token_type_ids`, all [B, L], to logits [B, labels]."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """Logits to compare with, what they come from, the names of the classes, and the number of weights."""

    logits: Logits
    name: str
    labels: tuple[str, ...]
    parameters: int


def is_classifier(config: dict[str, Any]) -> bool:
    """Whether a checkpoint's config names a sequence classifier."""
    return any(str(a).endswith("ForSequenceClassification") for a in config.get("architectures") or ())


def build_classifier(
    source: Source, ready: Path, work: Path, name: str, *, half: bool, trust_remote_code: bool, allow_pickle: bool,
    say: Callable[[str], None],
) -> Bundle:  # fmt: skip
    """The bundle of a classifier, its files in folder `ready`; `half` stores its weights rounded to fp16.

    Errors: BundleError when it is none, or when graph and reference differ by more than the tolerance.
    """
    say("reading the tokenizer")
    facts = bring_tokenizer(
        source.folder, ready, source.config, trust_remote_code=trust_remote_code, needs_mask=False
    )  # fmt: skip
    length = usable_length(source.folder, source.config, facts.pad_id)
    path, reference = _graph(source, facts, work, half, trust_remote_code, allow_pickle, say)
    encoder = TextEncoder((ready / TOKENIZER_FILE).read_bytes())
    batches = probe_batches(encoder, pad_id=facts.pad_id, longest=length)
    model, worst, fused = _proven(path, source, facts, ready, half, reference, batches, say)
    say("hashing the files")
    return Bundle(
        name=name,
        kind="text-classification",
        labels=reference.labels,
        source=source.label,
        revision=source.revision,
        architecture=str(source.config.get("model_type", "")),
        vocab_size=max(facts.size, int(source.config.get("vocab_size") or 0)),
        max_pieces=length,
        mask_id=facts.mask_id,
        pad_id=facts.pad_id,
        unk_id=facts.unk_id,
        top_k=1,
        opset=opset_of(model),
        parameters=reference.parameters or count_weights(model),
        files={file.name: stamp_file(file) for file in sorted(ready.iterdir())},
        parity={
            "reference": reference.name,
            "max_abs_dlogp_nats": worst,
            "tolerance_nats": TOLERANCE,
            "inputs": sum(len(b["input_ids"]) for b in batches),
            "shapes": [list(b["input_ids"].shape) for b in batches],
            "fused": fused,
            "storage": "fp16" if half else "fp32",
            "tokenizer": {
                "origin": facts.origin,
                "probe_sha256": facts.probe_sha256,
                "slow_disagreements": facts.slow_disagreements,
            },
        },
        versions=installed_versions(),
    )


CLASSIFIER = HeadKind(
    AutoModelForSequenceClassification,
    "sequence classifier",
    "a classification head (…ForSequenceClassification)",
    "classification head",
)


def load_classifier(source: Source, **options: Any) -> Any:
    """The checkpoint as a classifier in fp32; options as of `load_model`.

    Errors: BundleError as there, or when it gives an input several classes at once.
    """
    model = load_model(source, CLASSIFIER, **options)
    if model.config.problem_type == "multi_label_classification":
        raise BundleError(
            "it gives an input several classes at once", where=source.label, hint="give a model of one class per input"
        )
    return model


class TorchClassifier:
    """Logits of transformers in torch fp32: the reference of the parity gate."""

    def __init__(self, model: Any, *, takes_types: bool) -> None:
        self._model = model
        self._takes_types = takes_types

    def __call__(self, feeds: dict[str, Int64s]) -> npt.NDArray[np.float32]:
        """Logits float32 [B, labels]."""
        given = {n: torch.from_numpy(a) for n, a in feeds.items() if n != "token_type_ids" or self._takes_types}
        with torch.inference_mode():
            logits: npt.NDArray[np.float32] = self._model(**given).logits.float().numpy()
        return logits


def _graph(
    source: Source, facts: TokenizerFacts, work: Path, half: bool, trust_remote_code: bool, allow_pickle: bool,
    say: Callable[[str], None],
) -> tuple[Path, _Reference]:  # fmt: skip
    """The graph's file and the reference it must agree with."""
    if source.graph is not None:
        return _given_graph(source, facts, work, half)
    say("loading the checkpoint")
    model = load_classifier(source, trust_remote_code=trust_remote_code, allow_pickle=allow_pickle)
    if half:
        round_to_half(model)
    check_sizes(facts, int(model.config.vocab_size), source.label)
    say("exporting with optimum")
    folder = work / "full"
    try:
        with quiet(), torch.no_grad():
            onnx_export_from_model(model, folder, task=TASK, opset=OPSET, do_validation=False, no_post_process=True)
    except (KeyError, ValueError, NotImplementedError) as error:
        raise BundleError(
            f"optimum does not export it for {TASK}: {first_line(error)}",
            where=source.label,
            hint="give a model of a supported kind, or an ONNX file you exported yourself",
        ) from error
    path = folder / "model.onnx"
    takes_types = "token_type_ids" in Session(path).inputs
    labels = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return path, _Reference(TorchClassifier(model, takes_types=takes_types), "transformers", labels, parameters)


def _given_graph(source: Source, facts: TokenizerFacts, work: Path, half: bool) -> tuple[Path, _Reference]:
    """An ONNX file made elsewhere: it is its own reference."""
    assert source.graph is not None
    graph = load_graph(source.graph)
    _only_logits(graph)
    settle_inputs(graph, pad_id=facts.pad_id, positions_after_pad=positions_after_pad(source.config))
    if half:
        round_graph(graph)
    path = work / "source.onnx"
    save_graph(graph, path)
    session = Session(path)

    def logits(feeds: dict[str, Int64s]) -> npt.NDArray[np.float32]:
        return session.run(feeds)["logits"].astype(np.float32)

    ones = np.ones((1, 3), dtype=np.int64)
    width = logits({"input_ids": ones, "attention_mask": ones, "token_type_ids": ones * 0}).shape[-1]
    named = {int(i): str(label) for i, label in (source.config.get("id2label") or {}).items()}
    labels = tuple(named.get(i, f"LABEL_{i}") for i in range(width))
    return path, _Reference(logits, "the given ONNX graph", labels, 0)


def _only_logits(model: ModelProto) -> None:
    """Nothing: drops every output but `logits`. Errors: BundleError when there is none, one row of classes an input."""
    outputs = {output.name: output for output in model.graph.output}
    if "logits" not in outputs or len(outputs["logits"].type.tensor_type.shape.dim) != 2:
        raise BundleError(
            f"the graph's outputs are {', '.join(outputs)}, not one row of logits an input",
            hint=f"export it with: optimum-cli export onnx --task {TASK}",
        )
    del model.graph.output[:]
    model.graph.output.append(outputs["logits"])
    prune(model)


def _proven(
    path: Path, source: Source, facts: TokenizerFacts, ready: Path, half: bool, reference: _Reference,
    batches: Sequence[dict[str, Int64s]], say: Callable[[str], None],
) -> tuple[ModelProto, float, bool]:  # fmt: skip
    """The graph saved in `ready`, how far it is from the reference, and whether its attention is fused."""
    worst = 0.0
    for fused in (True, False):
        model = load_graph(path)
        _only_logits(model)
        settle_inputs(model, pad_id=facts.pad_id, positions_after_pad=positions_after_pad(source.config))
        if fused and not fuse_attention(model):
            continue
        if half:
            store_half(model)
        for old in ready.glob(f"{MODEL_FILE}*"):
            old.unlink()
        save_graph(model, ready / MODEL_FILE)
        say("comparing with the reference's logits")
        session = Session(ready / MODEL_FILE)
        worst = max(difference(session.run(feeds)["logits"], reference.logits(feeds)) for feeds in batches)
        if worst <= TOLERANCE:
            return model, worst, fused
    raise BundleError(
        f"the exported graph differs from {reference.name}: |Δ log p| up to {worst:.2e} (tolerance {TOLERANCE:.0e}); "
        "no bundle was written",
        hint="report it with the model's name, or export another checkpoint",
    )


def difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> float:
    """Largest |Δ log p| of any class, or of one logit |Δ| / (1 + |value|); infinity where one is not finite."""
    if ours.shape != theirs.shape or not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return float("inf")
    if ours.shape[1] == 1:
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        return float((np.abs(a - b) / (1 + np.abs(b))).max())
    return float(np.abs(log_softmax(ours) - log_softmax(theirs)).max())


def probe_batches(encoder: TextEncoder, *, pad_id: int, longest: int) -> list[dict[str, Int64s]]:
    """The built-in sentences alone and in pairs, padded together, and the shapes that a frozen graph fails on."""
    alone = encoder.encode(SENTENCES, [None] * len(SENTENCES))
    pairs = encoder.encode(SENTENCES[:-1], SENTENCES[1:])
    batches = []
    for pieces in (alone, pairs):
        rows = [
            (pieces.ids[a:b], pieces.types[a:b])
            for a, b in zip(pieces.offsets[:-1], pieces.offsets[1:], strict=True)
            if b - a <= longest
        ]
        batches += [_batch(rows[i : i + 5], pad_id) for i in range(0, len(rows), 5)]
    pool = np.unique(alone.ids[alone.ids != pad_id])
    for count, length in ((1, 3), (5, 2), (1, longest)):
        ids = np.resize(pool, count * length).reshape(count, length)
        batches.append(_batch([(row, np.zeros_like(row)) for row in ids], pad_id))
    return batches


def _batch(rows: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]], pad_id: int) -> dict[str, Int64s]:
    length = max(len(ids) for ids, _ in rows)
    ids = np.full((len(rows), length), pad_id, dtype=np.int64)
    attention, types = np.zeros_like(ids), np.zeros_like(ids)
    for i, (row, kinds) in enumerate(rows):
        ids[i, : len(row)], attention[i, : len(row)], types[i, : len(row)] = row, 1, kinds
    return {"input_ids": ids, "attention_mask": attention, "token_type_ids": types}
