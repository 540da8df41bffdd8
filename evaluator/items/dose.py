"""How much an order changes: the dose that each item carries, so that conditions can be compared at equal doses."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.types import Bools, Int16s, Int64s


@dataclass(frozen=True, slots=True)
class Dose:
    """One value per order."""

    moved: Int16s
    """Units shown at another slot than their own."""
    displacement: npt.NDArray[np.float32]
    """Mean over units of |slot - own slot|, in slots."""
    neighbours_kept: npt.NDArray[np.float32]
    """Share of the pairs (i, i+1) that still stand side by side in that order; 1 for a single unit."""
    target_moved: Bools


def dose(orders: npt.NDArray[np.integer], offsets: Int64s, targets: npt.NDArray[np.integer]) -> Dose:
    """The dose of each of k non-empty orders laid end to end: order i is `orders[offsets[i]:offsets[i + 1]]`."""
    lengths = np.diff(offsets)
    starts = offsets[:-1]
    if not len(lengths):
        empty = np.zeros(0, np.float32)
        return Dose(np.zeros(0, np.int16), empty, empty, np.zeros(0, bool))
    shown = orders.astype(np.int32)
    shift = np.abs(np.arange(offsets[-1]) - np.repeat(starts, lengths) - shown)
    kept = np.zeros(len(shown), bool)
    kept[1:] = shown[1:] - shown[:-1] == 1
    kept[starts] = False
    pairs = np.maximum(lengths - 1, 1)
    n_kept = np.where(lengths > 1, np.add.reduceat(kept, starts, dtype=np.int64), 1)
    return Dose(
        np.add.reduceat(shift != 0, starts, dtype=np.int64).astype(np.int16),
        (np.add.reduceat(shift, starts, dtype=np.int64) / lengths).astype(np.float32),
        (n_kept / pairs).astype(np.float32),
        shown[starts + targets] != targets,
    )


def kendall_tau(orders: npt.NDArray[np.integer], offsets: Int64s) -> npt.NDArray[np.float32]:
    """Kendall's rank correlation of each of k orders with the order as written: 1 as it stands, -1 when reversed.

    tau = 1 - 4 · inversions / (n · (n - 1)); 1 for a single unit. Orders are laid end to end as for `dose`.
    """
    lengths = np.diff(offsets)
    tau = np.ones(len(lengths), np.float32)
    for length in np.unique(lengths[lengths > 1]):
        group = np.flatnonzero(lengths == length)
        shown = orders[offsets[group][:, None] + np.arange(length)]
        inversions = np.zeros(len(group), np.int64)
        for apart in range(1, length):
            inversions += np.count_nonzero(shown[:, :-apart] > shown[:, apart:], axis=1)
        tau[group] = 1 - 4 * inversions / (length * (length - 1))
    return tau
