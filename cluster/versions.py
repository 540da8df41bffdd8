"""Versions that must be the same where a run is driven and where it is computed, and how they differ."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("morphorder", "ray", "onnxruntime", "tokenizers", "pyarrow", "numpy")
"""`onnxruntime` stands for whichever of its distributions is installed."""


def versions_here() -> dict[str, str]:
    """Python's minor version and the versions of the packages that a result or a transfer depends on."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for package in PACKAGES:
        candidates = (package, "onnxruntime-gpu") if package == "onnxruntime" else (package,)
        found[package] = next((v for v in map(_installed, candidates) if v), "none")
    return found


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The versions that differ, as "name expected → found", comma-separated; empty when none does."""
    return ", ".join(
        f"{name} {wanted} → {found.get(name, 'none')}" for name, wanted in expected.items() if found.get(name) != wanted
    )


def _installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
