"""The matrix conditions give exactly the orders of the plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.items.conditions import CONDITIONS, changes, order_of
from evaluator.items.orders import BATCHED, changed, orders_of
from evaluator.items.views import rows_of, spell, stack, view
from evaluator.types import Condition, Sentence
from tests.items.made_up import sentences, simple

PLAN: list[tuple[Condition, int]] = [(c, i) for c, rule in CONDITIONS.items() for i in range(1 + rule.random)]


def test_both_tables_name_the_same_conditions_in_the_same_order() -> None:
    assert list(BATCHED) == list(CONDITIONS)


blocks = st.integers(1, 14).flatmap(lambda n: st.lists(sentences(min_units=n, max_units=n), min_size=1, max_size=6))


@settings(deadline=None)
@given(blocks, st.data())
def test_one_call_of_each_condition(block: list[Sentence], data: st.DataObject) -> None:
    """Lots of few values, so that ties are frequent, and the largest and smallest ones."""
    n = len(block[0].units)
    lot = st.sampled_from([0, 1, 4, 2**20, 2**63, 2**64 - 5, 2**64 - 1])
    drawn = np.array(data.draw(st.lists(lot, min_size=n * len(block), max_size=n * len(block))), np.uint64)
    drawn = drawn.reshape(len(block), n)
    views = [view(s, lemma=False) for s in block]
    for condition, rule in CONDITIONS.items():
        orders, possible = BATCHED[condition](stack(views), drawn)
        for i, v in enumerate(views):
            plain = rule.order(v, 0, drawn[i])
            assert bool(possible[i]) == (plain is not None), condition
            if plain is not None:
                assert orders[i].tolist() == plain.tolist(), condition


@settings(max_examples=80, deadline=None)
@given(blocks, st.integers(0, 2**64 - 1), st.booleans(), st.sampled_from([PLAN, *([pair] for pair in PLAN)]))
def test_with_retries_and_draws(
    block: list[Sentence], key: int, lemma: bool, plan: list[tuple[Condition, int]]
) -> None:
    views = [view(s, lemma=lemma) for s in block]
    spellings = [spell([v.forms for v in views])]
    if lemma:
        spellings.append(spell([v.lemmas or () for v in views]))
    rows = np.array([*range(len(block)), 0])  # a sentence twice, under another key
    keys = np.array([(key + i) % 2**64 for i in range(len(rows))], np.uint64)
    orders, failed = orders_of(stack(views), spellings, rows, keys, plan)
    for i, row in enumerate(rows):
        plain = [order_of(views[row], 0, int(keys[i]), c, draw) for c, draw in plan]
        first = next((place for place, found in enumerate(plain) if found is None), -1)
        assert failed[i] == first
        if first < 0:
            assert [o.tolist() for o in orders[i]] == [p.tolist() for p in plain if p is not None]


@settings(deadline=None)
@given(blocks, st.data())
def test_changed(block: list[Sentence], data: st.DataObject) -> None:
    n = len(block[0].units)
    texts = [tuple(data.draw(st.sampled_from(["", "a", "aa", "ab", "b"])) for _ in range(n)) for _ in block]
    orders = np.array([data.draw(st.permutations(range(n))) for _ in block])
    found = changed(spell(texts), np.arange(len(block)), orders)
    assert found.tolist() == [changes(text, order) for text, order in zip(texts, orders, strict=True)]


def test_rows_may_repeat_and_be_empty() -> None:
    block = stack([view(simple("a b c"), lemma=False)])
    assert rows_of(block, np.array([0, 0])).heads.shape == (2, 3)
    orders, failed = orders_of(block, [], np.zeros(0, np.int64), np.zeros(0, np.uint64), PLAN)
    assert orders.shape == (0, len(PLAN), 3)
    assert not len(failed)


@pytest.mark.parametrize("n", [1, 2, 1200])
def test_lengths_at_the_edges(n: int) -> None:
    heads = [-1, *range(n - 1)]
    v = view(simple(" ".join(f"w{i}/NOUN/dep" for i in range(n)), heads), lemma=False)
    orders, failed = orders_of(
        stack([v]), [spell([v.forms])], np.zeros(1, np.int64), np.array([5], np.uint64), [("head_all", 0)]
    )
    assert (failed[0] < 0) == (n > 1)
    if n > 1:
        assert orders[0, 0].tolist() == order_of(v, 0, 5, "head_all").tolist()  # type: ignore[union-attr]
