"""Orders of texts: what they keep, that they change, and that nothing but the text and the seed decides them."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.items.conditions import order_of
from evaluator.items.views import view
from evaluator.types import Sentence
from evaluator.wos.order_task import order_examples
from evaluator.wos.shuffle import key_of, seeded, shuffle, texts_of
from evaluator.wos.words import units_of

TEXTS = st.lists(
    st.lists(st.sampled_from(list("abcdefgh")), min_size=4, max_size=12).map(lambda w: " ".join(w) + " !"),
    min_size=1,
    max_size=6,
)
PLAN = [("ngram1", 0), ("ngram2", 0), ("ngram3", 1)]


@given(TEXTS, st.integers(0, 5))
def test_orders_are_those_of_the_plain_conditions(texts: list[str], seed: int) -> None:
    units = [units_of(t) for t in texts]
    keys = seeded([key_of(t, None) for t in texts], seed)
    for own, key, shuffled in zip(units, keys.tolist(), shuffle(units, keys, PLAN), strict=True):
        seen = view(Sentence("", "", "", "", own, "", False, 0), lemma=False)
        plain = [order_of(seen, -1, key, condition, draw) for condition, draw in PLAN]
        first = next((c for (c, _), order in zip(PLAN, plain, strict=True) if order is None), None)
        assert shuffled.unmet == first
        if first is None:
            assert [o.tolist() for o in plain if o is not None] == shuffled.orders.tolist()


@given(TEXTS)
def test_what_a_shuffle_keeps(texts: list[str]) -> None:
    units = [units_of(t) for t in texts]
    keys = seeded([key_of(t, None) for t in texts], 0)
    for text, own, shuffled in zip(texts, units, shuffle(units, keys, PLAN), strict=True):
        if shuffled.unmet:
            continue
        for (condition, _), new in zip(PLAN, texts_of(own, shuffled.orders), strict=True):
            assert new != text and new.endswith(" !") and Counter(new.split()) == Counter(text.split())
            size, body = int(condition[-1]), text.split()[:-1]
            blocks = Counter(tuple(body[i : i + size]) for i in range(0, len(body), size))
            order = shuffled.orders[[c for c, _ in PLAN].index(condition)].tolist()[:-1]
            starts = [i for i in order if i % size == 0]
            assert order == [u for s in starts for u in range(s, min(s + size, len(body)))]
            assert sum(blocks.values()) == len(starts)


def test_a_text_is_shuffled_alike_wherever_it_stands() -> None:
    texts = [f"a b c d e f {w}" for w in "gh"] + ["x y z a b"]
    alone = [shuffle([units_of(t)], seeded([key_of(t, None)], 3), PLAN)[0].orders for t in texts]
    together = shuffle([units_of(t) for t in texts], seeded([key_of(t, None) for t in texts], 3), PLAN)
    assert all(np.array_equal(a, t.orders) for a, t in zip(alone, together, strict=True))
    assert key_of("a", "b") != key_of("b", "a") != key_of("a b", None)


@given(TEXTS, st.integers(0, 3))
def test_the_order_task_moves_one_word(texts: list[str], seed: int) -> None:
    examples = order_examples(texts, seed)
    distinct = list(dict.fromkeys(t for t in texts if len(set(t.split()[:-1])) > 1))
    assert [e.text for e in examples if e.label] == distinct
    for real, moved in zip(examples[::2], examples[1::2], strict=True):
        assert (real.label, moved.label) == (1, 0)
        a, b = real.text.split(), moved.text.split()
        assert a != b and a[-1] == b[-1] == "!"
        ways = [[*a[:i], *a[i + 1 :]] for i in range(len(a) - 1)]
        assert any(b[:j] + b[j + 1 :] in ways for j in range(len(b) - 1))
