"""A checkpoint as a full-logits fill-mask ONNX graph, made by optimum; and transformers' own logits to compare with."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from optimum.exporters.onnx import onnx_export_from_model
from optimum.exporters.tasks import TasksManager
from transformers import AutoModelForMaskedLM

from evaluator.errors import BundleError
from export.graph import first_line
from export.source import Source

OPSET = 18
TESTED = {"torch": "2.13", "transformers": "4.57", "optimum-onnx": "0.1"}
"""Versions tested together: the exporter and the model code it patches move apart between others."""
RECORDED = ("torch", "transformers", "optimum-onnx", "onnx", "onnxruntime", "tokenizers", "numpy")
HALF_LIMIT = 65504.0


def installed_versions() -> dict[str, str]:
    """Versions of the libraries that decide what an export contains."""
    return {name: version(name) for name in RECORDED}


def check_versions() -> None:
    """Nothing. Errors: BundleError when the installed exporter stack is not the one tested."""
    for name, wanted in TESTED.items():
        if not f"{version(name)}.".startswith(f"{wanted}."):
            raise BundleError(
                f"{name} {version(name)} is installed, exports are tested with {wanted}",
                hint="pip install 'morphorder[export]' in a fresh environment, or pass --force",
            )


@dataclass(frozen=True, slots=True)
class HeadKind:
    """The kind of model a checkpoint is loaded as: transformers' class for it, and how messages name it."""

    loader: Any
    model: str
    wanted: str
    head: str


MASKED = HeadKind(
    AutoModelForMaskedLM, "masked language model", "a fill-mask head (…ForMaskedLM)", "masked-language-model head"
)


def load_model(
    source: Source, kind: HeadKind = MASKED, *, trust_remote_code: bool = False, allow_pickle: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """The checkpoint as a model of a kind in fp32, ready to be traced.

    Errors: BundleError when it is no such model, or weights are missing and would be random.
    """
    try:
        with quiet():
            model, loading = kind.loader.from_pretrained(
                str(source.folder),
                output_loading_info=True,
                local_files_only=True,
                trust_remote_code=trust_remote_code,
                use_safetensors=not (source.pickled and allow_pickle),
                dtype=torch.float32,
                **options,
            )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        raise BundleError(
            f"not loadable as a {kind.model}: {first_line(error)}",
            where=source.label,
            hint=f"give a checkpoint with {kind.wanted}",
        ) from error
    missing = sorted(loading["missing_keys"])
    if missing:
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise BundleError(
            f"{len(missing)} weights are not in the checkpoint and would be random: {shown}",
            where=source.label,
            hint=f"its {kind.head} was never trained or not saved; give the checkpoint that has it",
        )
    if hasattr(model.config, "reference_compile"):
        model.config.reference_compile = False  # ModernBERT would compile itself at its first call
    return model.eval()


def round_to_half(model: Any) -> None:
    """Nothing: rounds every weight, in place, to the nearest fp16 value, still held in fp32."""
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
            if not parameter.is_floating_point():
                continue
            if float(parameter.abs().max()) > HALF_LIMIT:
                raise BundleError(f"weight {name} exceeds what fp16 holds", hint="use --storage fp32")
            parameter.copy_(parameter.half().float())


def export_graph(model: Any, folder: Path) -> Path:
    """The full-logits ONNX file that optimum wrote into `folder`."""
    kind = model.config.model_type
    if kind not in TasksManager._SUPPORTED_MODEL_TYPE or "fill-mask" not in (
        TasksManager.get_supported_tasks_for_model_type(kind, "onnx", library_name="transformers")
    ):
        raise BundleError(
            f"optimum does not export {kind} models for fill-mask",
            hint="give a model of a supported kind, or an ONNX file you exported yourself",
        )
    with quiet(), torch.no_grad():
        onnx_export_from_model(model, folder, task="fill-mask", opset=OPSET, do_validation=False, no_post_process=True)
    return folder / "model.onnx"


class TorchLogits:
    """Full logits of transformers in torch fp32: the reference of the parity gate."""

    name = "transformers"

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(
        self, input_ids: npt.NDArray[np.int64], attention_mask: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Logits float32 [B, L, V] of ids and attention, both [B, L]."""
        try:
            with torch.inference_mode():
                output = self._model(
                    input_ids=torch.from_numpy(input_ids), attention_mask=torch.from_numpy(attention_mask)
                )
        except (IndexError, RuntimeError) as error:
            raise BundleError(
                f"transformers itself fails on input of shape {input_ids.shape}: {first_line(error)}",
                hint="check max_position_embeddings and vocab_size in config.json",
            ) from error
        logits: npt.NDArray[np.float32] = output.logits.float().numpy()
        return logits


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing: while it lasts, transformers, optimum and the tracer keep their remarks to themselves.

    Tracing warns of every Python branch on a shape; what it warns of, frozen shapes, is what the shape probe tests.
    """
    names = ("transformers", "optimum", "torch.onnx")
    before = {name: logging.getLogger(name).level for name in names}
    progress = transformers.utils.logging.is_progress_bar_enabled()
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)
            for category in (DeprecationWarning, FutureWarning, UserWarning):
                warnings.filterwarnings("ignore", category=category, module=r"(torch|transformers|optimum)(\..*)?")
            yield
    finally:
        if progress:
            transformers.utils.logging.enable_progress_bar()
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
