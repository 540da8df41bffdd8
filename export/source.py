"""What the user named, model id, folder or ONNX file, as one folder on this machine."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from transformers import CONFIG_MAPPING

from evaluator.errors import BundleError
from export.graph import first_line

MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
WANTED = (
    "config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "*.model", "bpe.codes",
)  # fmt: skip
PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint or ONNX export that lies on this machine."""

    kind: Literal["checkpoint", "onnx"]
    label: str
    """Model id, or folder name; never a path."""
    revision: str
    folder: Path
    graph: Path | None
    """The ONNX file, when `kind` is onnx."""
    config: dict[str, Any]
    pickled: bool = False
    """Whether the weights are only there as pickle."""


def find_source(
    source: str, *, revision: str | None = None, trust_remote_code: bool = False, allow_pickle: bool = False
) -> Source:
    """The model that `source` names; a model id is downloaded, or found in the local cache.

    Errors: BundleError, one line, when it cannot be found, reached or safely loaded.
    """
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix != ".onnx":
            raise BundleError(
                "not an ONNX file", where=source, hint="give a model id, a checkpoint's folder, or a .onnx file"
            )
        return _onnx_source(path)
    if path.is_dir():
        return _folder_source(path, path.resolve().name, revision or "", trust_remote_code, allow_pickle)
    if not MODEL_ID.fullmatch(source):
        raise BundleError("no such file or folder", where=source, hint="give a model id, a folder, or a .onnx file")
    folder = _download(source, revision, WANTED)
    if allow_pickle and not list(folder.glob("*.safetensors")):
        folder = _download(source, revision, (*WANTED, *PICKLED))
    # The cache keeps a snapshot in a folder named for its commit: the revision, whatever branch was asked for.
    return _folder_source(folder, source, folder.name, trust_remote_code, allow_pickle)


def _download(model_id: str, revision: str | None, wanted: tuple[str, ...]) -> Path:
    """The folder of a downloaded snapshot."""
    try:
        return Path(snapshot_download(model_id, revision=revision, allow_patterns=list(wanted)))
    except GatedRepoError as error:
        raise BundleError("the model is gated", where=model_id, hint="accept its terms, then: hf auth login") from error
    except RevisionNotFoundError as error:
        raise BundleError(f"no revision {revision!r}", where=model_id, hint="leave --revision out for main") from error
    except RepositoryNotFoundError as error:
        raise BundleError(
            "no such model on the hub, nor a folder of that name here", where=model_id, hint="check the spelling"
        ) from error
    except HFValidationError as error:
        raise BundleError(f"not a model id: {first_line(error)}", where=model_id) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, OSError) as error:
        raise BundleError(
            "neither a folder here, nor in the local cache, and the hub cannot be reached",
            where=model_id,
            hint=f"where there is a network: hf download {model_id} --local-dir FOLDER, then give that folder",
        ) from error


def _folder_source(folder: Path, label: str, revision: str, trust_remote_code: bool, allow_pickle: bool) -> Source:
    """The checkpoint in a folder, else its one ONNX file."""
    safetensors = sorted(folder.glob("*.safetensors"))
    pickled = sorted(folder.glob("pytorch_model*.bin"))
    graphs = sorted(folder.glob("*.onnx"))
    if not (folder / "config.json").is_file():
        raise BundleError(
            "no config.json in the folder",
            where=str(folder),
            hint="give the folder that save_pretrained or optimum wrote",
        )
    if safetensors or (pickled and allow_pickle):
        config = read_config(folder)
        if "auto_map" in config and config.get("model_type") not in CONFIG_MAPPING and not trust_remote_code:
            raise BundleError(
                "the model brings its own code", where=label, hint="read it, then pass --trust-remote-code"
            )
        return Source("checkpoint", label, revision, folder, None, config, not safetensors)
    if len(graphs) > 1:
        graphs = [graph for graph in graphs if graph.name == "model.onnx"] or graphs
    if len(graphs) == 1:
        return _onnx_source(graphs[0], label, revision)
    if graphs:
        names = ", ".join(graph.name for graph in graphs)
        raise BundleError(f"several ONNX files: {names}", where=str(folder), hint="name the one you want")
    if pickled:
        raise BundleError(
            "the weights are only there as pickle, which can run any code when loaded",
            where=label,
            hint="convert them to safetensors, or pass --allow-pickle if you trust them",
        )
    raise BundleError("no weights (*.safetensors or *.onnx)", where=str(folder), hint="download the whole model")


def _onnx_source(graph: Path, label: str = "", revision: str = "") -> Source:
    folder = graph.parent
    if not (folder / "config.json").is_file():
        raise BundleError(
            "no config.json beside the ONNX file",
            where=str(graph),
            hint="keep the folder as optimum-cli wrote it, tokenizer and config included",
        )
    return Source("onnx", label or folder.resolve().name, revision, folder, graph, read_config(folder))


def read_config(folder: Path) -> dict[str, Any]:
    """The model's config.json."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise BundleError(f"not JSON: {first_line(error)}", where=str(path), hint="copy the file again") from error
    if not isinstance(config, dict):
        raise BundleError("not a JSON object", where=str(path), hint="copy the file again")
    return config
