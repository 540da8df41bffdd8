"""What the data call a class, as the model's own classes."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from evaluator.errors import DatasetError
from evaluator.score.bundle import Bundle
from evaluator.types import Float64s
from evaluator.wos.settings import WosConfig


def is_regression(bundle: Bundle) -> bool:
    """Whether the model predicts a number: it has one logit."""
    return len(bundle.labels) == 1


def golds_of(examples: pa.Table, bundle: Bundle, config: WosConfig, names: Sequence[str]) -> Float64s:
    """The class of each example as the index of a logit, or the number to be predicted; float64 (examples,).

    Labels are matched by name, whatever their case; where none is a name of the model, numbers are indices. Numbers of
    a hub data set are first given its `names`, if the model knows all of those. Errors: DatasetError with `path:line`.
    """
    labels, sources = examples["label"].to_pylist(), examples["source"].to_pylist()
    if is_regression(bundle):
        return np.array([_number(label, where) for label, where in zip(labels, sources, strict=True)])
    known = {name.casefold(): i for i, name in enumerate(bundle.labels)}
    if names and all(n.casefold() in known for n in names):
        labels = [names[int(label)] if label.isdecimal() and int(label) < len(names) else label for label in labels]
    labels = [config.labels.get(label, label) for label in labels]
    by_name = any(label.casefold() in known for label in labels)
    found = []
    for label, where in zip(labels, sources, strict=True):
        index = known.get(label.casefold()) if by_name else _index(label)
        if index is None or not 0 <= index < len(bundle.labels):
            said = f"labels = {{ {label!r} = {bundle.labels[0]!r} }}"
            raise DatasetError(
                f"label {label!r} is none of {bundle.name}'s classes {', '.join(bundle.labels)}",
                where=where,
                hint=f"say which it is in a task's .toml: {said}",
            )
        found.append(index)
    return np.array(found, dtype=np.float64)


def _index(label: str) -> int | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return int(value) if value.is_integer() else None


def _number(label: str, where: str) -> float:
    try:
        value = float(label)
    except ValueError as error:
        raise DatasetError(
            f"label {label!r} is no number", where=where, hint="the model predicts a number: it has one logit"
        ) from error
    if not np.isfinite(value):
        raise DatasetError(f"label {label!r} is not finite", where=where)
    return value
