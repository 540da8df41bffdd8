"""The window rule: what of a sentence too long for a model is shown to it."""

import numpy as np

from evaluator.types import Bools, Int64s


def window_slots(lengths: Int64s, target: int, room: int) -> Bools:
    """Which slots are kept: the target, and whole units around it, one to the left and one to the right in turn.

    A side stops at the sentence's end or at its first unit that does not fit; the other side then goes on alone.
    `lengths` are pieces per slot, `room` the pieces that fit. When the target alone does not fit, nothing is kept.
    """
    kept = np.zeros(len(lengths), dtype=np.bool_)
    left = int(lengths[target])
    if left > room:
        return kept
    kept[target] = True
    room -= left
    ends = [target - 1, target + 1]
    open_sides = [True, True]
    side = 0
    while any(open_sides):
        slot = ends[side]
        if not (0 <= slot < len(lengths) and lengths[slot] <= room):
            open_sides[side] = False
        if open_sides[side]:
            kept[slot] = True
            room -= int(lengths[slot])
            ends[side] += -1 if side == 0 else 1
        side = 1 - side
    return kept
