"""Data sets of the Hugging Face Hub, through the package `datasets` where it is installed."""

import importlib
from typing import Any

from evaluator.errors import DatasetError


def hub_dataset(
    repository: str, config: str | None, *, split: str | None = None, missing: DatasetError, hint: str = ""
) -> Any:
    """A data set, or one split of it. Errors: `missing` without the package, else DatasetError with the hint."""
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise missing from error
    which = {"split": split} if split else {}
    try:
        return datasets.load_dataset(repository, config, **which)
    except Exception as error:  # the library raises errors of many packages, network ones among them
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        where = f"{repository}:{config or ''}"
        raise DatasetError(f"cannot be loaded: {first[:200]}", where=where, hint=hint) from error
