"""Addressed randomness equals numpy's Philox and depends on nothing but its address."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.items.randomness import STREAM, address, lots, mix

words = st.integers(0, 2**64 - 1)


@given(st.lists(words, min_size=1, max_size=5), st.integers(1, 40))
def test_lots_equal_numpys_philox(keys: list[int], count: int) -> None:
    drawn = lots(np.array(keys, np.uint64), count)
    for key, row in zip(keys, drawn, strict=True):
        assert (row == np.random.Philox(key=np.array([key, STREAM], np.uint64)).random_raw(count)).all()


@given(words, st.integers(1, 30), st.integers(1, 30))
def test_a_prefix_does_not_depend_on_the_count(key: int, few: int, many: int) -> None:
    keys = np.array([key], np.uint64)
    shared = min(few, many)
    assert (lots(keys, few)[0, :shared] == lots(keys, many)[0, :shared]).all()


def test_no_keys_no_lots() -> None:
    assert lots(np.zeros(0, np.uint64), 5).shape == (0, 5)


def test_address_keeps_parts_apart() -> None:
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), (1, 23), (12, 3), ("1", 23)]
    assert len({address(*part) for part in parts}) == len(parts)


def test_mix_is_one_to_one_in_the_key_and_spreads_small_parts() -> None:
    keys = np.arange(1000, dtype=np.uint64)
    assert len(np.unique(mix(keys, 7))) == 1000
    assert len({int(mix(keys[:1], part)[0]) for part in range(1000)}) == 1000
