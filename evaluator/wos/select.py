"""dev-r: the examples that can be shuffled, that the classifier gets right unshuffled, as many of every class.

After Pham et al. 2021, section 2.3.1. What each step leaves is counted, by class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.items.randomness import address, mix
from evaluator.types import Bools, Int64s, UInt64s
from evaluator.wos.outcomes import Said


@dataclass(frozen=True, slots=True)
class Selection:
    """Which examples take part for one model; arrays are (examples,)."""

    usable: Bools
    """Can be shuffled, and every one of its inputs was scored: what unfiltered figures rest on."""
    right: Bools
    """Usable and correctly classified unshuffled; of a regression all that are usable."""
    dev_r: Bools
    """The same number of every class of those, by lot."""
    steps: list[dict[str, Any]]
    """What each step leaves: `step`, `n`, `by_label`."""


def select(said: Said, examples: pa.Table, seed: int) -> Selection:
    """The selection for one model."""
    count = examples.num_rows
    reasons = np.array(examples["reason"].to_pylist(), dtype=object)
    fits = np.ones(count, dtype=np.bool_)
    fits[said.example[~said.scored & ~said.failed]] = False
    sound = np.ones(count, dtype=np.bool_)
    sound[said.example[said.failed]] = False
    steps = [_step("read", np.ones(count, dtype=np.bool_), said)]
    left = np.ones(count, dtype=np.bool_)
    for reason, kept in (
        ("too_short", reasons != "too_short"),
        ("several_sentences", reasons != "several_sentences"),
        ("unchangeable", reasons != "unchangeable"),
        ("too_long", fits),
        ("failed", sound),
    ):
        left = left & kept
        steps.append(_step(f"without {reason}", left, said))
    usable = left
    right = usable.copy()
    if not said.regression:
        right = np.zeros(count, dtype=np.bool_)
        orig = said.of("orig")
        right[said.example[orig]] = said.correct[orig]
        right &= usable
        steps.append(_step("correctly classified", right, said))
    dev_r = right
    if not said.regression:
        dev_r = balanced(right, said, examples["key"].to_numpy(), seed)
        steps.append(_step("balanced: dev-r", dev_r, said))
    return Selection(usable, right, dev_r, steps)


def balanced(members: Bools, said: Said, keys: UInt64s, seed: int) -> Bools:
    """As many members of every class as its rarest one has, those with the smallest lots; ties by example.

    A class without any member is left out, and chance counts the others.
    """
    chosen = np.zeros(len(members), dtype=np.bool_)
    at = np.flatnonzero(members)
    if not len(at):
        return chosen
    lots = mix(keys[at], address("dev-r", seed))
    classes = said.gold[at]
    fewest = int(np.unique(classes, return_counts=True)[1].min())
    for label in np.unique(classes):
        own: Int64s = at[classes == label]
        chosen[own[np.lexsort((own, lots[classes == label]))[:fewest]]] = True
    return chosen


def _step(name: str, members: Bools, said: Said) -> dict[str, Any]:
    labels: Sequence[str] = () if said.regression else said.bundle.labels
    by_label = {label: int((members & (said.gold == i)).sum()) for i, label in enumerate(labels)}
    return {"model": said.bundle.name, "step": name, "n": int(members.sum()), "by_label": by_label}
