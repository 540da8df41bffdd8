"""From a model to a finished bundle: convert, give the masked head, store, prove parity, write `bundle.json` last."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from evaluator.errors import BundleError
from evaluator.score.bundle import BUNDLE_FILE, MODEL_FILE, Bundle, stamp_file, write_bundle
from evaluator.types import ModelKind, Precision
from export.agreement import Agreement, measure_agreement
from export.attention import build_attention
from export.classifier import build_classifier, is_classifier
from export.convert import (
    TorchLogits,
    check_versions,
    export_graph,
    installed_versions,
    load_model,
    round_to_half,
)
from export.fusion import fuse_attention
from export.graph import count_weights, load_graph, opset_of, save_graph
from export.graph_inputs import settle_inputs
from export.masked_head import Depth, MaskedHead, add_masked_head, keep_table_mapped
from export.parity import FullLogits, Parity, measure_parity, sentence_batches, shape_batches
from export.precision import round_graph, store_half, to_half, to_int8
from export.session import Session
from export.source import Source, find_source
from export.tokenizer import TokenizerFacts, bring_tokenizer, check_sizes, positions_after_pad, usable_length

Storage = Literal["fp32", "fp16"]
DEFAULT_K = 10
SIZE_FACTOR = 1.1
"""Largest file per byte of distinct weights: a table stored twice passes it in every multilingual model."""
SIZE_ALLOWANCE = 1_000_000
"""Bytes of graph structure that do not grow with the weights."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Reference:
    """Full logits to compare with, what they come from, and the weights they use."""

    logits: FullLogits
    name: str
    parameters: int


def build_bundle(
    source: str | Path,
    out: str | Path,
    *,
    name: str | None = None,
    precision: Precision = "fp32",
    storage: Storage = "fp32",
    k: int = DEFAULT_K,
    revision: str | None = None,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    force: bool = False,
    task: ModelKind | None = None,
    say: Say = lambda _: None,
) -> Bundle:
    """The bundle written to folder `out` from a model id, a checkpoint's folder, or an ONNX file or folder.

    `task` is what the model is exported as; by default a classifier when its config names one, else a masked model.
    `storage="fp16"` rounds the weights to fp16 and stores them so, while the graph computes in fp32: half the size.
    `force` replaces an existing bundle, and accepts untested library versions and an agreement below its floor, never
    a failed parity. `say` is called with each step. The folder appears at once, complete, or not at all.
    Errors: BundleError, one line, for anything that keeps a sound bundle from being made.
    """
    target = Path(out).expanduser()
    _check_target(target, force)
    if storage == "fp16" and precision != "fp32":
        raise BundleError("storage fp16 goes with precision fp32 only", hint=f"leave --storage out for {precision}")
    if not force:
        check_versions()
    say("finding the model")
    found = find_source(str(source), revision=revision, trust_remote_code=trust_remote_code, allow_pickle=allow_pickle)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        ready = work / "bundle"
        ready.mkdir()
        label = name or _short_name(found)
        kind = task or _kind_of(found)
        if kind != "fill-mask":
            bundle = _build_classifier(
                found, ready, work, label, kind, precision, storage, trust_remote_code, allow_pickle, say
            )
        else:
            bundle = _build(found, ready, work, label, precision, storage, k, trust_remote_code,
                            allow_pickle, force, say)  # fmt: skip
        _move_into_place(ready, target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return bundle


def _build(
    source: Source, ready: Path, work: Path, name: str, precision: Precision, storage: Storage, k: int,
    trust_remote_code: bool, allow_pickle: bool, force: bool, say: Say,
) -> Bundle:  # fmt: skip
    """The bundle, all its files in folder `ready`."""
    say("reading the tokenizer")
    facts = bring_tokenizer(source.folder, ready, source.config, trust_remote_code=trust_remote_code)
    length = usable_length(source.folder, source.config, facts.pad_id)
    graph_path, reference = _full_graph(source, facts, work, storage, trust_remote_code, allow_pickle, say)
    batches = [
        *sentence_batches([row[:length] for row in facts.encoded], mask_id=facts.mask_id, pad_id=facts.pad_id),
        *shape_batches(sorted({i for row in facts.encoded for i in row}), mask_id=facts.mask_id, pad_id=facts.pad_id,
                       longest=length),
    ]  # fmt: skip
    say("giving the graph its masked head")
    head, model, parity = _with_masked_head(graph_path, source, facts, ready, k, storage, reference, batches, say)
    figures: dict[str, Any] = {
        "reference": reference.name,
        **parity.figures(),
        "cut": list(head.cut),
        "tied": head.tied,
        "fused": head.fused,
        "storage": storage,
        "tokenizer": {
            "origin": facts.origin,
            "probe_sha256": facts.probe_sha256,
            "slow_disagreements": facts.slow_disagreements,
        },
    }
    parameters, opset = reference.parameters or count_weights(model), opset_of(model)
    del model, reference  # gigabytes, for a large model, that the conversion needs
    if precision != "fp32":
        say(f"converting to {precision} and measuring its agreement with fp32")
        agreement = _convert_precision(ready, work, precision, facts, length, force)
        figures["agreement"] = agreement.figures()
    elif storage == "fp32":
        keep_table_mapped(ready / MODEL_FILE)
    _check_size(ready, parameters, half="fp16" in (storage, precision))
    say("hashing the files")
    files = {path.name: stamp_file(path) for path in sorted(ready.iterdir())}
    bundle = Bundle(
        name=name,
        source=source.label,
        revision=source.revision,
        architecture=str(source.config.get("model_type", "")),
        vocab_size=head.vocab_size,
        max_pieces=length,
        mask_id=facts.mask_id,
        pad_id=facts.pad_id,
        unk_id=facts.unk_id,
        top_k=head.top_k,
        precision=precision,
        opset=opset,
        parameters=parameters,
        files=files,
        parity=figures,
        versions=installed_versions(),
    )
    write_bundle(ready, bundle)
    return bundle


def _kind_of(source: Source) -> ModelKind:
    return "text-classification" if is_classifier(source.config) else "fill-mask"


def _build_classifier(
    source: Source, ready: Path, work: Path, name: str, kind: ModelKind, precision: Precision, storage: Storage,
    trust_remote_code: bool, allow_pickle: bool, say: Say,
) -> Bundle:  # fmt: skip
    """The bundle of a classifier, or of its attention, all its files in folder `ready`."""
    if precision != "fp32":
        raise BundleError(f"classifiers are not exported in {precision}", hint="use fp32; --storage fp16 halves it")
    trust: dict[str, Any] = {"trust_remote_code": trust_remote_code, "allow_pickle": allow_pickle, "say": say}
    if kind == "attention":
        bundle = build_attention(source, ready, name, **trust)
    else:
        bundle = build_classifier(source, ready, work, name, half=storage == "fp16", **trust)
    _check_size(ready, bundle.parameters, half=storage == "fp16")
    write_bundle(ready, bundle)
    return bundle


def _full_graph(
    source: Source, facts: TokenizerFacts, work: Path, storage: Storage, trust_remote_code: bool, allow_pickle: bool,
    say: Say,
) -> tuple[Path, _Reference]:  # fmt: skip
    """The full-logits ONNX file and the reference it must agree with."""
    if source.graph is None:
        say("loading the checkpoint")
        model = load_model(source, trust_remote_code=trust_remote_code, allow_pickle=allow_pickle)
        if storage == "fp16":
            round_to_half(model)
        check_sizes(facts, int(model.config.vocab_size), source.label)
        say("exporting with optimum")
        folder = work / "full"
        path = export_graph(model, folder)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        return path, _Reference(TorchLogits(model), TorchLogits.name, parameters)
    path = source.graph
    graph = load_graph(path)
    if "logits" not in {output.name for output in graph.graph.output}:
        add_masked_head(graph, 1)  # raises the error that names the outputs found
    settle_inputs(graph, pad_id=facts.pad_id, positions_after_pad=positions_after_pad(source.config))
    if storage == "fp16":
        round_graph(graph)
    path = work / "source.onnx"
    save_graph(graph, path)
    session = Session(path)

    def logits(input_ids: npt.NDArray[np.int64], attention_mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        feeds = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": np.zeros_like(input_ids),
        }
        return session.run(feeds)["logits"].astype(np.float32)

    return path, _Reference(logits, "the given ONNX graph", 0)


def _with_masked_head(
    graph_path: Path, source: Source, facts: TokenizerFacts, ready: Path, k: int, storage: Storage,
    reference: _Reference, batches: list[Any], say: Say,
) -> tuple[MaskedHead, ModelProto, Parity]:  # fmt: skip
    """The edited graph, saved as the bundle's model, with what was found and its parity.

    Rows are first gathered as early as the graph seems to allow, and attention fused; should the answers then differ,
    without fusion; at last gathered just before the projection.
    """
    forms: tuple[tuple[Depth, bool], ...] = (("deep", True), ("deep", False), ("shallow", False))
    for depth, fused in forms:
        last = depth == "shallow"
        model = load_graph(graph_path)
        settle_inputs(model, pad_id=facts.pad_id, positions_after_pad=positions_after_pad(source.config))
        if fused and not fuse_attention(model):  # first: its patterns do not reach over the head's gather
            continue
        head = add_masked_head(model, k, depth=depth)
        check_sizes(facts, head.vocab_size, source.label)
        if k < 1 or (k > head.vocab_size and k != DEFAULT_K):
            raise BundleError(
                f"k = {k}, but the vocabulary has {head.vocab_size} pieces", hint="give a smaller --top-k"
            )
        if storage == "fp16":
            store_half(model)
        save_graph(model, ready / MODEL_FILE)
        say("comparing with full logits")
        try:
            parity = measure_parity(Session(ready / MODEL_FILE), reference.logits, batches)
        except BundleError:
            if last:
                raise
            continue
        if parity.passed:
            return replace(head, fused=fused), model, parity
        if last:
            raise parity.refuse(reference.name)
    raise AssertionError("the last form either returns or raises")


def _convert_precision(
    ready: Path, work: Path, precision: Precision, facts: TokenizerFacts, length: int, force: bool
) -> Agreement:
    """How far the converted graph, which replaces the fp32 one in `ready`, agrees with it."""
    reference = Session(ready / MODEL_FILE)
    rows = [row[:length] for row in facts.encoded]
    batches = list(sentence_batches(rows, mask_id=facts.mask_id, pad_id=facts.pad_id, masks=12))
    candidates = to_half(ready / MODEL_FILE, work) if precision == "fp16" else to_int8(ready / MODEL_FILE, work)
    agreement: Agreement | None = None
    for label, path in candidates:
        agreement = measure_agreement(label, precision, reference, Session(path), batches)
        if agreement.acceptable:
            break
    assert agreement is not None
    if not agreement.acceptable and not force:
        raise agreement.refuse()
    for old in ready.glob(f"{MODEL_FILE}*"):
        old.unlink()
    save_graph(load_graph(path), ready / MODEL_FILE)
    return agreement


def _short_name(source: Source) -> str:
    return source.label.rsplit("/", 1)[-1]


def _check_target(target: Path, force: bool) -> None:
    """Nothing. Errors: BundleError when `out` exists and may not be replaced."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / BUNDLE_FILE).is_file():
        raise BundleError("exists and is not a model bundle", where=str(target), hint="give another --out")
    if not force:
        raise BundleError("already holds a bundle", where=str(target), hint="give another --out, or --force")


def _check_size(ready: Path, parameters: int, *, half: bool) -> None:
    """Nothing. Errors: BundleError when the graph's files hold more than its weights once."""
    size = sum(path.stat().st_size for path in ready.glob(f"{MODEL_FILE}*"))
    allowed = int(SIZE_FACTOR * parameters * (2 if half else 4)) + SIZE_ALLOWANCE
    if size > allowed:
        raise BundleError(
            f"the graph takes {size:,} bytes for {parameters:,} weights (at most {allowed:,}): a table is stored twice",
            hint="report it with the model's name",
        )


def _move_into_place(ready: Path, target: Path, work: Path) -> None:
    """Nothing: the finished folder takes the place of `target` by renaming."""
    ready.chmod(0o755)
    if target.exists():
        target.replace(work / "replaced")
    ready.replace(target)
