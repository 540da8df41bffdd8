"""Which heads are silenced: the ones that win most often, as many drawn by lot, the first layers, or all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.items.randomness import address, lots
from evaluator.wos.heads import Head, place_of


@dataclass(frozen=True, slots=True)
class Silence:
    """A set of heads that say nothing, and what it is called."""

    name: str
    heads: tuple[Head, ...]

    @property
    def mark(self) -> str:
        """What tells it from others in a run folder."""
        return " ".join(f"{layer}.{head}" for layer, head in self.heads)


def silences(
    order: Sequence[int], counts: Sequence[int], layers: int, per_layer: int, seed: int, chosen: Sequence[Head] = ()
) -> list[Silence]:
    """For each count the heads first in `order`, and as many by lot; those `chosen` by the user; first layers; all.

    Nothing is asked for more heads than won, or than there are.
    """
    total = layers * per_layer
    drawn = np.lexsort((np.arange(total), lots(np.array([address("silence", seed)], dtype=np.uint64), total)[0]))
    found = [Silence("none", ())]
    for count in counts:
        if count <= len(order):
            found.append(Silence(f"{count} that win most", _places(order[:count], per_layer)))
        if count <= total:
            found.append(Silence(f"{count} by lot", _places(drawn[:count].tolist(), per_layer)))
    if chosen:
        found.append(Silence("chosen", tuple(sorted(chosen))))
    quarter = max(1, layers // 4)
    found.append(
        Silence(
            f"first {quarter} layers" if quarter > 1 else "first layer", _places(range(quarter * per_layer), per_layer)
        )
    )
    found.append(Silence("all", _places(range(total), per_layer)))
    return found


def _places(heads: Sequence[int], per_layer: int) -> tuple[Head, ...]:
    return tuple(sorted(place_of(int(head), per_layer) for head in heads))
