"""The one door to onnxruntime: a session over a bundle's graph, on the device that was asked for and no other."""

import importlib
import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np

from evaluator.errors import BundleError, MorphorderError, UserError
from evaluator.score.bundle import MODEL_FILE, Bundle
from evaluator.types import Float32s, Int64s

Provider = Literal["cpu", "cuda"]
PROVIDERS: dict[Provider, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "mask_pos", "gold_row", "gold_id"})
OUTPUTS = ("topk_ids", "topk_logp", "gold_logp", "gold_rank")


@dataclass(frozen=True, slots=True)
class Answers:
    """What the graph says of one batch."""

    topk_ids: Int64s  # (masks, k)
    topk_logp: Float32s  # (masks, k)
    gold_logp: Float32s  # (golds,)
    gold_rank: Int64s  # (golds,)


class Session:
    """An onnxruntime session with explicit provider and threads. Not picklable: made where it is used."""

    def __init__(self, folder: Path, bundle: Bundle, *, provider: Provider = "cpu", threads: int = 0) -> None:
        ort = _onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads or usable_cpus()
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # lengths vary: a plan per shape is memory that is never used again
        options.log_severity_level = 3
        if threads:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        wanted = PROVIDERS[provider]
        if wanted not in ort.get_available_providers():
            raise UserError(
                f"onnxruntime here has no {wanted}",
                where=bundle.name,
                hint="pip install 'morphorder[gpu]' in an environment without onnxruntime, or use --provider cpu",
            )
        try:
            self._session = ort.InferenceSession(str(folder / MODEL_FILE), options, providers=[wanted])
        except Exception as error:  # onnxruntime raises many unrelated types for a bad graph
            raise BundleError(f"onnxruntime cannot load the graph: {_first_line(error)}", where=str(folder)) from error
        self.provider = str(self._session.get_providers()[0])
        if self.provider != wanted:
            raise UserError(
                f"asked for {wanted}, got {self.provider}", where=bundle.name, hint="see: morphorder doctor"
            )
        self._name = bundle.name
        self._inputs = {i.name for i in self._session.get_inputs()}
        missing = {"input_ids", "attention_mask", "mask_pos", "gold_row", "gold_id"} - self._inputs
        if extra := (self._inputs - INPUTS) | missing | (set(OUTPUTS) - {o.name for o in self._session.get_outputs()}):
            raise BundleError(
                f"graph inputs or outputs are not those of a masked head: {', '.join(sorted(extra))}",
                where=str(folder / MODEL_FILE),
                hint="export the model again",
            )

    def run(self, ids: Int64s, attention: Int64s, mask_pos: Int64s, gold_row: Int64s, gold_id: Int64s) -> Answers:
        """The graph's answers. ids, attention: (rows, length); the others flat, as in `bundle`."""
        feeds = {
            "input_ids": ids,
            "attention_mask": attention,
            "mask_pos": mask_pos,
            "gold_row": gold_row,
            "gold_id": gold_id,
        }
        if "token_type_ids" in self._inputs:
            feeds["token_type_ids"] = np.zeros_like(ids)
        try:
            return Answers(*self._session.run(list(OUTPUTS), feeds))
        except Exception as error:  # onnxruntime raises many unrelated types for a fault inside the graph
            raise MorphorderError(f"the graph failed: {_first_line(error)}", where=self._name) from error


def usable_cpus() -> int:
    """How many CPUs this process may use: the affinity mask, not the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed() -> dict[str, str]:
    """The onnxruntime distributions installed, by name, with their versions."""
    found = {}
    for name in ("onnxruntime", "onnxruntime-gpu"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def providers() -> list[str]:
    """The execution providers of the installed onnxruntime."""
    return list(_onnxruntime().get_available_providers())


def _onnxruntime() -> ModuleType:
    """onnxruntime itself. Errors: UserError when none or both of its distributions are installed."""
    have = installed()
    if len(have) == 2:
        raise UserError(
            "onnxruntime and onnxruntime-gpu are both installed and overwrite each other",
            hint="pip uninstall -y onnxruntime onnxruntime-gpu && pip install 'morphorder[cpu]' (or [gpu])",
        )
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise UserError(
            "no onnxruntime is installed", hint="pip install 'morphorder[cpu]', or 'morphorder[gpu]' on a GPU machine"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300]
