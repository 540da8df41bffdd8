"""The window rule."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.encode.window import window_slots


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.data())
def test_window_is_whole_units_around_the_target(lengths: list[int], data: st.DataObject) -> None:
    target = data.draw(st.integers(0, len(lengths) - 1))
    room = data.draw(st.integers(0, 40))
    kept = window_slots(np.array(lengths), target, room)
    if lengths[target] > room:
        assert not kept.any()
        return
    slots = np.flatnonzero(kept)
    assert kept[target]
    assert (np.diff(slots) == 1).all()
    assert sum(lengths[s] for s in slots) <= room
    for edge in (slots[0] - 1, slots[-1] + 1):
        if 0 <= edge < len(lengths):
            assert sum(lengths[s] for s in slots) + lengths[edge] > room


def test_everything_fits() -> None:
    assert window_slots(np.array([1, 2, 3]), 1, 6).all()
    assert window_slots(np.array([1, 2, 3]), 1, 5).tolist() == [True, True, False]
