"""A classifier's second graph, made on demand: logits and the attention of every head; an input silences heads.

transformers' own eager attention is traced, because that is where a head mask acts; optimum's graphs have neither.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from evaluator.encode.tokenizer import TextEncoder
from evaluator.errors import BundleError
from evaluator.score.bundle import MODEL_FILE, TOKENIZER_FILE, Bundle, stamp_file
from export.classifier import TOLERANCE, difference, load_classifier, probe_batches
from export.convert import OPSET, installed_versions, quiet
from export.graph import first_line
from export.session import Session
from export.source import Source
from export.tokenizer import bring_tokenizer, check_sizes, usable_length

Floats = npt.NDArray[np.float32]
ATTENTION_TOLERANCE = 1e-4
"""Largest |Δ| of an attention weight."""


class _Attending(torch.nn.Module):
    """A classifier called with a head mask, its attentions stacked over the layers."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (B, labels) and attention (B, layers, heads, L, L)."""
        output = self.model(**dict(zip(self.names, given, strict=True)), output_attentions=True)
        return output.logits, torch.stack(output.attentions, dim=1)


def build_attention(
    source: Source, ready: Path, name: str, *, trust_remote_code: bool, allow_pickle: bool, say: Callable[[str], None]
) -> Bundle:
    """The bundle of kind `attention` of a classifier's checkpoint, its files in folder `ready`.

    Errors: BundleError when it is none, when its heads cannot be silenced, or when the graph differs from transformers.
    """
    if source.graph is not None:
        raise BundleError(
            "an ONNX file gives no attention", where=source.label, hint="give the checkpoint it was made of"
        )
    say("reading the tokenizer")
    facts = bring_tokenizer(source.folder, ready, source.config, trust_remote_code=trust_remote_code, needs_mask=False)
    length = usable_length(source.folder, source.config, facts.pad_id)
    say("loading the checkpoint")
    model = load_classifier(
        source, trust_remote_code=trust_remote_code, allow_pickle=allow_pickle, attn_implementation="eager"
    )
    check_sizes(facts, int(model.config.vocab_size), source.label)
    known = inspect.signature(model.forward).parameters
    if "head_mask" not in known:
        raise BundleError(
            f"heads of {model.config.model_type} models cannot be silenced", where=source.label,
            hint="give a model of a kind that takes a head mask: bert, roberta, xlm-roberta, distilbert, electra, …",
        )  # fmt: skip
    takes_types = "token_type_ids" in known and getattr(model.config, "type_vocab_size", 0) > 1
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if takes_types else []), "head_mask"]
    wrapped = _Attending(model, names).eval()
    batches = probe_batches(TextEncoder((ready / TOKENIZER_FILE).read_bytes()), pad_id=facts.pad_id, longest=length)
    layers, heads = int(model.config.num_hidden_layers), int(model.config.num_attention_heads)
    say("tracing attention")
    _trace(wrapped, names, batches[0], np.ones((layers, heads), np.float32), ready / MODEL_FILE, source.label)
    say("comparing with transformers")
    worst = _compare(Session(ready / MODEL_FILE), wrapped, names, batches, (layers, heads))
    return Bundle(
        name=name,
        kind="attention",
        labels=tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels)),
        layers=layers,
        heads=heads,
        source=source.label,
        revision=source.revision,
        architecture=str(source.config.get("model_type", "")),
        vocab_size=max(facts.size, int(model.config.vocab_size)),
        max_pieces=length,
        mask_id=facts.mask_id,
        pad_id=facts.pad_id,
        unk_id=facts.unk_id,
        top_k=1,
        opset=OPSET,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        files={file.name: stamp_file(file) for file in sorted(ready.iterdir())},
        parity={"reference": "transformers", "inputs": sum(len(b["input_ids"]) for b in batches), **worst},
        versions=installed_versions(),
    )


def _trace(
    wrapped: _Attending, names: Sequence[str], batch: dict[str, Any], mask: Floats, path: Path, label: str
) -> None:
    """Nothing: writes the graph, batch and length free."""
    axes: dict[str, dict[int, str]] = {name: {0: "batch", 1: "length"} for name in names if name != "head_mask"}
    axes |= {"logits": {0: "batch"}, "attention": {0: "batch", 3: "length", 4: "length"}}
    try:
        with quiet(), torch.no_grad():
            # The tracer that optimum uses too; the newer exporter needs a package of its own.
            warnings.filterwarnings("ignore", "You are using the legacy", DeprecationWarning)
            torch.onnx.export(
                wrapped, _tensors(names, batch, mask), str(path), input_names=list(names),
                output_names=["logits", "attention"], dynamic_axes=axes, opset_version=OPSET, dynamo=False,
            )  # fmt: skip
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        raise BundleError(f"attention cannot be traced: {first_line(error)}", where=label) from error


def _tensors(names: Sequence[str], batch: dict[str, Any], mask: Floats) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(mask if name == "head_mask" else batch[name]) for name in names)


def _compare(
    session: Session,
    wrapped: _Attending,
    names: Sequence[str],
    batches: Sequence[dict[str, Any]],
    shape: tuple[int, int],
) -> dict[str, Any]:
    """How far logits and attention are from transformers', no head silenced and every other one."""
    silenced = (np.arange(shape[0] * shape[1]) % 2).reshape(shape).astype(np.float32)
    of_logits = of_weights = 0.0
    for mask in (np.ones(shape, np.float32), silenced):
        for batch in batches:
            with torch.inference_mode():
                logits, weights = (v.numpy() for v in wrapped(*_tensors(names, batch, mask)))
            ours = session.run({**batch, "head_mask": mask})
            of_logits = max(of_logits, difference(ours["logits"], logits))
            real = batch["attention_mask"].astype(bool)[:, None, None, :, None]
            of_weights = max(of_weights, float((np.abs(ours["attention"] - weights) * real).max()))
    if not (of_logits <= TOLERANCE and of_weights <= ATTENTION_TOLERANCE):
        raise BundleError(
            f"the traced graph differs from transformers: |Δ log p| up to {of_logits:.2e}, attention {of_weights:.2e}; "
            "no bundle was written",
            hint="report it with the model's name",
        )
    return {"max_abs_dlogp_nats": of_logits, "tolerance_nats": TOLERANCE, "max_abs_dattention": of_weights}
