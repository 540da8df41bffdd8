"""The run folder: which shards each stage left there, and the manifests that say a stage is finished."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evaluator.errors import StoreError
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

RUN_FILE = "run.json"
STAGE_FILE = "stage.json"
ENCODING_VERSION = 2
"""Raised whenever the same items and tokenizer would give other rows."""
TEXT_ENCODING_VERSION = 1
"""The same for rows of whole texts."""


def fingerprint(*parts: object) -> str:
    """16 hex digits of any JSON-able values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def json_bytes(value: object) -> bytes:
    """JSON as this package writes it: sorted keys, one space of indent, UTF-8, a final newline.

    A lone surrogate (a path of stray bytes) has no UTF-8; it stays the escape that JSON has for it.
    """
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder and the fingerprint of the items in it."""

    location: Location
    fingerprint: str

    @classmethod
    def open(cls, place: str | Location) -> "RunFolder":
        """The existing run folder at `place`. Errors: StoreError when there is none."""
        location = Location.of(place)
        described = read_json(location, RUN_FILE)
        if described is None:
            raise StoreError(
                f"no run here: it has no {RUN_FILE}",
                where=str(location),
                hint="start one with: morphorder run --out DIR",
            )
        if not isinstance(described.get("fingerprint"), str):
            raise StoreError(
                f"no run here: {RUN_FILE} names no fingerprint",
                where=str(location),
                hint="start one with: morphorder run --out DIR",
            )
        return cls(location, described["fingerprint"])

    @classmethod
    def create(cls, place: str | Location, mark: str, settings: dict[str, Any]) -> "RunFolder":
        """The run folder at `place`, continued if `mark` made it. Errors: StoreError when something else did."""
        location = Location.of(place)
        described = read_json(location, RUN_FILE)
        if described is None:
            if location.names():
                raise StoreError("folder holds other files", where=str(location), hint="choose an empty --out")
            location.write(RUN_FILE, json_bytes({"fingerprint": mark, "settings": settings}))
        elif described.get("fingerprint") != mark:
            changed = sorted(k for k in settings if described.get("settings", {}).get(k) != settings[k])
            what = ", ".join(changed) or "the treebanks"
            raise StoreError(
                f"this run was made with other settings ({what} differ)",
                where=str(location),
                hint="choose another --out, or rerun with the same settings",
            )
        return cls(location, mark)

    def settings(self) -> dict[str, Any]:
        """The settings that made the items, as first written."""
        described = read_json(self.location, RUN_FILE) or {}
        return dict(described.get("settings", {}))

    def sentences(self) -> ShardSet:
        return ShardSet(self.location / "sentences", "part", schemas.SENTENCES, self.fingerprint)

    def items(self) -> ShardSet:
        return ShardSet(self.location / "items", "part", schemas.ITEMS, self.fingerprint)

    def rows(self, tokenizer: str) -> ShardSet:
        mark = fingerprint(self.fingerprint, tokenizer, ENCODING_VERSION)
        return ShardSet(self.location / "encoded" / tokenizer, "rows", schemas.ROWS, mark)

    def links(self, tokenizer: str) -> ShardSet:
        mark = fingerprint(self.fingerprint, tokenizer, ENCODING_VERSION)
        return ShardSet(self.location / "encoded" / tokenizer, "links", schemas.LINKS, mark)

    def scored(self, tokenizer: str, model: str, k: int) -> ShardSet:
        mark = fingerprint(self.fingerprint, tokenizer, ENCODING_VERSION, model, k)
        return ShardSet(self.location / "scored" / model, "part", schemas.SCORED, mark)


@dataclass(frozen=True, slots=True)
class TextRun:
    """What a run over whole texts keeps: examples and items; rows, links and logits by tokenizer and model."""

    run: RunFolder

    def examples(self) -> ShardSet:
        return ShardSet(self.run.location / "examples", "part", schemas.EXAMPLES, self.run.fingerprint)

    def items(self) -> ShardSet:
        return ShardSet(self.run.location / "items", "part", schemas.TEXT_ITEMS, self.run.fingerprint)

    def rows(self, tokenizer: str) -> ShardSet:
        return self._encoded(tokenizer, "rows", schemas.TEXT_ROWS)

    def links(self, tokenizer: str) -> ShardSet:
        return self._encoded(tokenizer, "links", schemas.TEXT_LINKS)

    def word_rows(self, tokenizer: str) -> ShardSet:
        return self._encoded(tokenizer, "rows", schemas.WORD_ROWS)

    def attended(self, rows: str, model: str, silenced: str) -> ShardSet:
        """Answers of a bundle of kind `attention` to a set of word rows; `silenced` names the heads that say nothing."""
        mark = fingerprint(self.run.fingerprint, rows, TEXT_ENCODING_VERSION, model, silenced)
        return ShardSet(self.run.location / "scored" / f"{model}-{mark}", "part", schemas.ATTENDED, mark)

    def _encoded(self, tokenizer: str, prefix: str, schema: pa.Schema) -> ShardSet:
        mark = fingerprint(self.run.fingerprint, tokenizer, TEXT_ENCODING_VERSION)
        return ShardSet(self.run.location / "encoded" / tokenizer, prefix, schema, mark)

    def logits(self, tokenizer: str, model: str) -> ShardSet:
        mark = fingerprint(self.run.fingerprint, tokenizer, TEXT_ENCODING_VERSION, model)
        return ShardSet(self.run.location / "scored" / model, "part", schemas.LOGITS, mark)


def write_stage(shards: ShardSet, facts: dict[str, Any]) -> None:
    """Writes a stage's manifest, last: its presence says that all its shards are there."""
    shards.location.write(STAGE_FILE, json_bytes({"fingerprint": shards.fingerprint, **facts}))


def read_stage(shards: ShardSet) -> dict[str, Any] | None:
    """What a finished stage wrote of itself; None when it is unfinished or something else made it."""
    facts = read_json(shards.location, STAGE_FILE)
    return facts if facts is not None and facts.get("fingerprint") == shards.fingerprint else None


def read_json(location: Location, name: str) -> dict[str, Any] | None:
    """A JSON object of the run folder, or None when the file is not there."""
    if not location.exists(name):
        return None
    try:
        value = json.loads(location.read(name).to_pybytes())
    except ValueError as error:
        raise StoreError(f"not JSON: {error}", where=f"{location}/{name}", hint="delete it and rerun") from error
    if not isinstance(value, dict):
        raise StoreError("not a JSON object", where=f"{location}/{name}", hint="delete it and rerun")
    return value
