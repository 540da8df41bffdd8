"""The model bundle: a folder `model.onnx` (+ external data), `tokenizer.json`, `bundle.json`, written by `export`.

Graph inputs: `input_ids`, `attention_mask` (and `token_type_ids` if the model wants it) int64 [B, L]; `mask_pos`
int64 [M], flat index into B*L; `gold_row`, `gold_id` int64 [Q], a row of M and a piece. Graph outputs: `topk_ids` int64
[M, k], `topk_logp` float32 [M, k], best first, ties by smaller id where the runtime allows; `gold_logp` float32 [Q];
`gold_rank` int64 [Q], pieces strictly better.

A bundle of kind `text-classification` has the first three inputs and one output, `logits` float32 [B, labels]. One of
kind `attention` has also the input `head_mask` float32 [layers, heads], 0 for a head that is to say nothing, and the
output `attention` float32 [B, layers, heads, L, L], from the piece of the fourth axis to that of the fifth.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.errors import BundleError
from evaluator.types import ModelKind, Precision

BUNDLE_SCHEMA = 1
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
BUNDLE_FILE = "bundle.json"


class FileStamp(BaseModel):
    """Size in bytes and SHA-256 of one file of a bundle."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    size: int
    sha256: str


class Bundle(BaseModel):
    """What `bundle.json` says of a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = BUNDLE_SCHEMA
    kind: ModelKind = "fill-mask"
    labels: tuple[str, ...] = ()
    """What each logit of a classifier stands for, in order; one label alone is a number to be predicted."""
    name: str
    """Short name shown in reports, for instance `xlm-roberta-base`."""
    source: str
    """Model id or folder name it was exported from; never a path of the exporting machine."""
    revision: str = ""
    architecture: str
    """Hugging Face model type: bert, xlm-roberta, …"""
    vocab_size: int = Field(gt=0)
    max_pieces: int = Field(gt=0)
    """Usable length in pieces, specials included."""
    mask_id: int = Field(ge=-1)
    """-1: a classifier whose tokenizer has no mask."""
    pad_id: int = Field(ge=0)
    unk_id: int | None = None
    """Id of the unknown piece; None where the vocabulary has none (byte-level)."""
    top_k: int = Field(gt=0)
    """k of the graph's top-k, at most the vocabulary size; 1 for a classifier."""
    layers: int = Field(default=0, ge=0)
    heads: int = Field(default=0, ge=0)
    """Layers and heads per layer of a bundle of kind `attention`; else 0."""
    precision: Precision = "fp32"
    opset: int
    parameters: int = 0
    files: dict[str, FileStamp]
    parity: dict[str, Any] = Field(default_factory=dict)
    """Measured agreement with transformers (fp32) or with the fp32 bundle (fp16, int8)."""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change whenever the graph, the weights or the tokenizer do."""
        parts = [f"{name}:{stamp.sha256}" for name, stamp in sorted(self.files.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def tokenizer_fingerprint(self) -> str:
        """16 hex digits of all that decides an encoding: the tokenizer file, the usable length, mask and unknown."""
        decides = f"{self.files[TOKENIZER_FILE].sha256}:{self.max_pieces}:{self.mask_id}:{self.unk_id}"
        return hashlib.sha256(decides.encode()).hexdigest()[:16]


def model_id(source: str, name: str) -> str:
    """The id under which others know a model: its id on the Hub, or `local/` and its name here."""
    if re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        return source
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.")
    return f"local/{slug or 'model'}"


def stamp_file(path: Path) -> FileStamp:
    """Size and SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return FileStamp(size=path.stat().st_size, sha256=digest.hexdigest())


def read_bundle(folder: Path, *, verify: bool = True) -> Bundle:
    """The bundle in `folder`, each file's size and hash checked unless `verify` is False.

    Errors: BundleError naming the file that is missing, altered or not understood.
    """
    manifest = folder / BUNDLE_FILE
    if not manifest.is_file():
        raise BundleError(
            "not a model bundle: it has no bundle.json",
            where=str(folder),
            hint="make one with: morphorder export MODEL --out FOLDER",
        )
    try:
        bundle = Bundle.model_validate_json(manifest.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise BundleError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=str(manifest)) from error
    if bundle.schema_version != BUNDLE_SCHEMA:
        raise BundleError(f"bundle schema {bundle.schema_version}, expected {BUNDLE_SCHEMA}", where=str(manifest))
    _check_facts(bundle, manifest)
    for name, stamp in bundle.files.items():
        path = folder / name
        if Path(name).name != name:
            raise BundleError(f"file name {name!r} leaves the bundle folder", where=str(manifest))
        if not path.is_file():
            raise BundleError("file of the bundle is missing", where=str(path), hint="copy the whole folder again")
        if path.stat().st_size != stamp.size or (verify and stamp_file(path).sha256 != stamp.sha256):
            raise BundleError("file differs from what bundle.json promises", where=str(path), hint="export it again")
    return bundle


def _check_facts(bundle: Bundle, manifest: Path) -> None:
    """Nothing. Errors: BundleError for what `bundle.json` says that cannot be."""
    for role, piece in (("mask_id", bundle.mask_id), ("pad_id", bundle.pad_id), ("unk_id", bundle.unk_id or 0)):
        if piece >= bundle.vocab_size:
            raise BundleError(f"{role} {piece} is outside the vocabulary of {bundle.vocab_size}", where=str(manifest))
    if (bundle.kind != "fill-mask") != bool(bundle.labels):
        raise BundleError(f"kind {bundle.kind} with {len(bundle.labels)} labels", where=str(manifest))
    if (bundle.kind == "attention") != bool(bundle.layers * bundle.heads):
        raise BundleError(f"kind {bundle.kind} with {bundle.layers} layers", where=str(manifest))
    if bundle.kind == "fill-mask" and bundle.mask_id < 0:
        raise BundleError("mask_id: none, and a masked language model needs one", where=str(manifest))
    if bundle.top_k > bundle.vocab_size:
        raise BundleError(f"top_k {bundle.top_k} is more than the vocabulary", where=str(manifest))
    for name in (MODEL_FILE, TOKENIZER_FILE):
        if name not in bundle.files:
            raise BundleError(f"does not list {name}", where=str(manifest))


def write_bundle(folder: Path, bundle: Bundle) -> None:
    """Writes `bundle.json`, last, so that a folder without it is an unfinished export."""
    text = json.dumps(bundle.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    temporary = folder / f".{BUNDLE_FILE}.tmp"
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(folder / BUNDLE_FILE)
