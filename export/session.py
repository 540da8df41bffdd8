"""ONNX Runtime for the gates of an export: one CPU session with explicit threads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from evaluator.errors import BundleError
from export.graph import first_line

Feeds = Mapping[str, npt.NDArray[Any]]
# onnxruntime's own tree: every failure of loading or running derives from one of these.
RUNTIME_ERRORS = tuple(
    {
        getattr(ort.capi.onnxruntime_pybind11_state, name)
        for name in ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented", "RuntimeException")
    }
)


class Session:
    """A loaded graph with its declared inputs."""

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        # The runtime counts the host's cores, not those this process may use, unless told.
        options.intra_op_num_threads = threads or min(4, len(os.sched_getaffinity(0)))
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.disable_prepacking", "1")  # no second copy of the weights
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except RUNTIME_ERRORS as error:
            raise BundleError(f"onnxruntime cannot load the graph: {first_line(error)}", where=path.name) from error
        self.inputs = tuple(value.name for value in self._session.get_inputs())
        self.outputs = tuple(value.name for value in self._session.get_outputs())

    def run(self, feeds: Feeds) -> dict[str, npt.NDArray[np.generic]]:
        """Outputs by name. Errors: BundleError with the runtime's first line."""
        try:
            values = self._session.run(None, {name: feeds[name] for name in self.inputs})
        except RUNTIME_ERRORS as error:
            shape = feeds["input_ids"].shape
            raise BundleError(
                f"the graph fails on input of shape {shape}: {first_line(error)}",
                hint="batch or length may be frozen in it: export it again with dynamic axes",
            ) from error
        return dict(zip(self.outputs, values, strict=True))
