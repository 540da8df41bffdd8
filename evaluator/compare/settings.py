"""What was set, installed or read differently between runs: changed keys only."""

from collections.abc import Mapping, Sequence
from typing import Any

COMPARED = ("config", "versions", "engine", "models", "treebanks")
"""Parts of a manifest that can explain a difference."""
BY_NAME = ("models", "treebanks")
SKIPPED = ("config.models", "config.treebanks")
"""Named by `models` and `treebanks` with what is in them."""


def changed(manifests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`{"key": "config.sample.n", "values": [400, 1000]}` per key that is not the same in all manifests, by key.

    Models and treebanks are told apart by name; what a run lacks is null.
    """
    flat = [dict(_flat(_comparable(manifest), "")) for manifest in manifests]
    keys = dict.fromkeys(key for one in flat for key in one if not key.startswith(SKIPPED))
    rows = [{"key": key, "values": [one.get(key) for one in flat]} for key in sorted(keys)]
    return [row for row in rows if any(value != row["values"][0] for value in row["values"])]


def _comparable(manifest: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: manifest.get(name) for name in COMPARED if manifest.get(name) is not None}
    for name in BY_NAME:
        kept[name] = {str(part.get("name")): _described(part) for part in kept.get(name) or []}
    return kept


def _described(part: Mapping[str, Any]) -> dict[str, Any]:
    """A model or treebank without its name and without what is a result, not a setting."""
    results = ("name", "whole_text_equal", "unique_rows", "parity", "issues")
    return {key: value for key, value in part.items() if key not in results}


def _flat(value: Any, prefix: str) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        return [pair for key in value for pair in _flat(value[key], f"{prefix}.{key}" if prefix else str(key))]
    return [(prefix, value)]
