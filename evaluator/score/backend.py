"""The one door to onnxruntime: a session over a bundle's graph, on the device that was asked for and no other."""

import importlib
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from evaluator.errors import BundleError, MorphorderError, UserError
from evaluator.score.bundle import MODEL_FILE, Bundle
from evaluator.score.external import external_locations
from evaluator.types import Float32s, Int64s

Provider = Literal["cpu", "cuda"]
PROVIDERS: dict[Provider, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
PROVIDER_OPTIONS: dict[Provider, dict[str, str]] = {
    "cpu": {},
    # The device is the one that was assigned: whoever assigns it shows this process no other. fp32 means fp32.
    "cuda": {"device_id": "0", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "0"},
}
UNWANTED: dict[Provider, set[str]] = {
    # Its fused sum and normalisation take five times as long on a CPU as the two apart (benchmarks/RESULTS.md).
    "cpu": {"SkipLayerNormFusion"},
    "cuda": set(),
}
"""The runtime's own optimizations that are not asked for."""
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "mask_pos", "gold_row", "gold_id"})
CPU_FACTS = Path("/proc/cpuinfo")
OUTPUTS = ("topk_ids", "topk_logp", "gold_logp", "gold_rank")
Feeds = dict[str, Int64s | Float32s]
"""Arrays by the name of the input."""
TEXT_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


@dataclass(frozen=True, slots=True)
class Answers:
    """What the graph says of one batch."""

    topk_ids: Int64s  # (masks, k)
    topk_logp: Float32s  # (masks, k)
    gold_logp: Float32s  # (golds,)
    gold_rank: Int64s  # (golds,)


class _Opened:
    """A graph loaded on the provider that was asked for and no other, with explicit threads. Not picklable."""

    def __init__(self, folder: Path, bundle: Bundle, *, provider: Provider = "cpu", threads: int = 0) -> None:
        ort = _onnxruntime()
        wanted = PROVIDERS[provider]
        if bundle.precision == "int8" and provider == "cpu" and saturates_int8():
            raise UserError(
                "this processor has no VNNI: its 8-bit products saturate, and int8 would not answer as was measured",
                where=bundle.name,
                hint="use the fp32 bundle of this model",
            )
        if wanted not in ort.get_available_providers():
            raise UserError(
                f"onnxruntime here has no {wanted}",
                where=bundle.name,
                hint="pip install 'morphorder[gpu]' in an environment without onnxruntime, or use --provider cpu",
            )
        if provider == "cuda" and hasattr(ort, "preload_dlls"):
            ort.preload_dlls()  # finds the CUDA libraries that came as wheels, whatever was imported before
        if strays := external_locations(folder / MODEL_FILE) - set(bundle.files):
            raise BundleError(
                f"the graph keeps weights in {min(strays)!r}, which is no file of the bundle",
                where=str(folder / MODEL_FILE),
                hint="export the model again; do not use a graph that reaches outside its folder",
            )
        try:
            self._session = ort.InferenceSession(
                str(folder / MODEL_FILE),
                _session_options(ort, threads),
                providers=[(wanted, PROVIDER_OPTIONS[provider])],
                disabled_optimizers=UNWANTED[provider],
            )
        except Exception as error:  # onnxruntime raises many unrelated types for a bad graph
            raise BundleError(f"onnxruntime cannot load the graph: {_first_line(error)}", where=str(folder)) from error
        self.provider = str(self._session.get_providers()[0])
        if self.provider != wanted:
            raise UserError(
                f"asked for {wanted}, got {self.provider}", where=bundle.name, hint="see: morphorder doctor"
            )
        self._inputs = {i.name for i in self._session.get_inputs()}
        self._outputs = {o.name for o in self._session.get_outputs()}
        self._name = bundle.name
        self.pieces_run = 0
        """Pieces given to the model so far, padding included."""

    def _answer(self, outputs: Sequence[str], feeds: Feeds) -> list[Any]:
        """These outputs for what of `feeds` the graph takes. Errors: MorphorderError for a fault inside the graph."""
        self.pieces_run += feeds["input_ids"].size
        try:
            return self._run(outputs, {name: array for name, array in feeds.items() if name in self._inputs})
        except Exception as error:  # onnxruntime raises many unrelated types for a fault inside the graph
            raise MorphorderError(f"the graph failed: {_first_line(error)}", where=self._name) from error

    def _run(self, outputs: Sequence[str], feeds: Feeds) -> list[Any]:
        return list(self._session.run(list(outputs), feeds))


class Session(_Opened):
    """A masked language model as a session with a masked head."""

    def __init__(self, folder: Path, bundle: Bundle, *, provider: Provider = "cpu", threads: int = 0) -> None:
        super().__init__(folder, bundle, provider=provider, threads=threads)
        self._device = provider if provider == "cuda" else ""
        missing = {"input_ids", "attention_mask", "mask_pos", "gold_row", "gold_id"} - self._inputs
        if extra := (self._inputs - INPUTS) | missing | (set(OUTPUTS) - self._outputs):
            raise BundleError(
                f"graph inputs or outputs are not those of a masked head: {', '.join(sorted(extra))}",
                where=str(folder / MODEL_FILE),
                hint="export the model again",
            )

    def run(self, ids: Int64s, attention: Int64s, mask_pos: Int64s, gold_row: Int64s, gold_id: Int64s) -> Answers:
        """The graph's answers. ids, attention: (rows, length); the others flat, as in `bundle`."""
        return Answers(*self._answer(OUTPUTS, _feeds(ids, attention, mask_pos, gold_row, gold_id)))

    def run_plainly(
        self, ids: Int64s, attention: Int64s, mask_pos: Int64s, gold_row: Int64s, gold_id: Int64s
    ) -> Answers:
        """The same without binding: the plain twin that checks compare `run` with on a GPU."""
        feeds = _feeds(ids, attention, mask_pos, gold_row, gold_id)
        return Answers(*super()._run(OUTPUTS, {name: array for name, array in feeds.items() if name in self._inputs}))

    def _run(self, outputs: Sequence[str], feeds: Feeds) -> list[Any]:
        return self._run_bound(outputs, feeds, self._device) if self._device else super()._run(outputs, feeds)

    def _run_bound(self, outputs: Sequence[str], feeds: Feeds, device: str) -> list[Any]:
        """The outputs in order, all bound to the device: it waits once, for the small answers, and not per output."""
        binding = self._session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(array))
        for name in outputs:
            binding.bind_output(name, device)
        self._session.run_with_iobinding(binding)
        return list(binding.copy_outputs_to_cpu())


def _feeds(ids: Int64s, attention: Int64s, mask_pos: Int64s, gold_row: Int64s, gold_id: Int64s) -> Feeds:
    """All that a masked head may take; of the types a piece can have there is one."""
    return {
        "input_ids": ids,
        "attention_mask": attention,
        "token_type_ids": np.zeros_like(ids),
        "mask_pos": mask_pos,
        "gold_row": gold_row,
        "gold_id": gold_id,
    }


class TextSession(_Opened):
    """A classifier as a session: whole inputs in, one row of logits each out."""

    def __init__(self, folder: Path, bundle: Bundle, *, provider: Provider = "cpu", threads: int = 0) -> None:
        super().__init__(folder, bundle, provider=provider, threads=threads)
        self._labels = len(bundle.labels)
        missing = {"input_ids", "attention_mask"} - self._inputs
        if extra := (self._inputs - TEXT_INPUTS) | missing | ({"logits"} - self._outputs):
            raise BundleError(
                f"graph inputs or outputs are not those of a classifier: {', '.join(sorted(extra))}",
                where=str(folder / MODEL_FILE),
                hint="export the model again",
            )

    def run(self, ids: Int64s, attention: Int64s, types: Int64s) -> Float32s:
        """The logits (rows, labels) of a batch; ids, attention and types are (rows, length)."""
        feeds: Feeds = {"input_ids": ids, "attention_mask": attention, "token_type_ids": types}
        logits: Float32s = self._answer(["logits"], feeds)[0]
        if logits.shape != (len(ids), self._labels):
            raise BundleError(
                f"the graph answers {logits.shape} for {len(ids)} inputs, bundle.json names {self._labels} labels",
                where=self._name,
                hint="export the model again",
            )
        return logits


class AttentionSession(_Opened):
    """A classifier that also says how its heads attend, heads silenced by an input."""

    def __init__(self, folder: Path, bundle: Bundle, *, provider: Provider = "cpu", threads: int = 0) -> None:
        super().__init__(folder, bundle, provider=provider, threads=threads)
        missing = {"input_ids", "attention_mask", "head_mask"} - self._inputs
        if missing or not {"logits", "attention"} <= self._outputs:
            raise BundleError(
                f"graph inputs or outputs are not those of attention: {', '.join(sorted(missing)) or 'outputs'}",
                where=str(folder / MODEL_FILE),
                hint="export the model again with --task attention",
            )

    def run(self, ids: Int64s, attention: Int64s, types: Int64s, head_mask: Float32s) -> tuple[Float32s, Float32s]:
        """Logits (rows, labels) and attention (rows, layers, heads, length, length); `head_mask` is (layers, heads)."""
        feeds: Feeds = {"input_ids": ids, "attention_mask": attention, "token_type_ids": types, "head_mask": head_mask}
        logits, weights = self._answer(["logits", "attention"], feeds)
        return logits, weights


def _session_options(ort: ModuleType, threads: int) -> Any:
    """Options of a session on `threads` threads, 0 for every CPU this process may use."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or usable_cpus()
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # lengths vary: a plan per shape is memory that is never used again
    options.log_severity_level = 3
    if threads:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def usable_cpus() -> int:
    """How many CPUs this process may use: the affinity mask, not the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def saturates_int8() -> bool:
    """Whether 8-bit products are added in 16 bits here, as x86 processors without VNNI do; False where unknown."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return False
    try:
        flags = CPU_FACTS.read_text()
    except OSError:
        return False
    return not {"avx512_vnni", "avx_vnni"} & set(flags.split())


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
