"""The conditions, plainly: each is a pure function from a sentence and its lots to an order of its units.

`order[j]` is the unit shown at slot j; None means that the condition cannot be met in this sentence. An order depends
on the sentence and on one lot per unit, nothing else. `orders.py` computes the same orders for many sentences at once;
the functions here say what they are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from evaluator.items.randomness import address, lots, mix
from evaluator.items.views import View
from evaluator.types import Condition, Int64s, UInt64s

ATTEMPTS = 16
"""Draws made for an order that changes the text before the base item is called unperturbable."""


def _by_lot(units: Iterable[int], drawn: UInt64s) -> list[int]:
    """The units, smallest lot first. 62 bits of a lot count, ties by position: `orders.py` needs a larger sentinel."""
    return sorted(units, key=lambda unit: (int(drawn[unit]) >> 2, unit))


def _swapped(n: int, pairs: Iterable[tuple[int, int]]) -> Int64s:
    """The identity with disjoint pairs swapped."""
    order = np.arange(n, dtype=np.int64)
    for a, b in pairs:
        order[a], order[b] = b, a
    return order


def _orig(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """The identity."""
    return np.arange(len(view), dtype=np.int64)


def _full(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """All units permuted, uniformly."""
    return np.array(_by_lot(range(len(view)), drawn), np.int64)


def _partial(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """Content units permuted uniformly among their own slots; every other unit stays."""
    slots = np.flatnonzero(view.content)
    if len(slots) < 2:
        return None
    order = np.arange(len(view), dtype=np.int64)
    order[slots] = _by_lot(slots.tolist(), drawn)
    return order


def _head(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """One head-dependent pair swapped: a core argument with its predicate if there is one, else any but `punct`.

    Pairs whose swap would not show (spelled alike: "the year was a year") are left out before that choice.
    """
    dependents = np.flatnonzero(view.pairs)
    if not len(dependents):
        return None
    dependent = _by_lot(dependents.tolist(), drawn)[0]
    return _swapped(len(view), [(dependent, int(view.heads[dependent]))])


def _head_all(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """A maximal set of disjoint head-dependent pairs swapped at once: greedy, smallest lot of the dependent first."""
    free = [True] * len(view)
    pairs = []
    for dependent in _by_lot(np.flatnonzero(view.edges).tolist(), drawn):
        head = int(view.heads[dependent])
        if free[dependent] and free[head]:
            free[dependent] = free[head] = False
            pairs.append((dependent, head))
    return _swapped(len(view), pairs) if pairs else None


def _ngram(size: int) -> "Rule":
    """Consecutive `size`-unit blocks permuted uniformly (the last may be shorter), final punctuation kept in place.

    Pham et al. 2021, "Out of Order" (arXiv 2012.15180), section 2: blocks from the start of the sentence, the run of
    punctuation that ends it held back, drawn again until the sentence differs.
    """

    def order(view: View, target: int, drawn: UInt64s) -> Int64s | None:
        body = len(view) - view.final
        if body <= size:
            return None
        blocks = _by_lot(range(-(-body // size)), drawn)
        shown = [unit for block in blocks for unit in range(block * size, min((block + 1) * size, body))]
        return np.array([*shown, *range(body, len(view))], np.int64)

    return Rule(order)


def _noun_swap(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """Two nouns swapped: two PROPN if there are two, else two NOUN, else a PROPN and a NOUN.

    After Pham et al. 2021, whose nouns and noun phrases (found by a parser) are here the treebank's own tags. "There
    are two" asks for two that are spelled differently, so that a name said twice does not end the search.
    """
    chosen = _by_lot(np.flatnonzero(view.nouns).tolist(), drawn)[:2]
    return _swapped(len(view), [(chosen[0], chosen[1])]) if len(chosen) == 2 else None


def _reverse(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """The mirror image."""
    return np.arange(len(view), dtype=np.int64)[::-1].copy()


def _window3(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """Units sorted by i + u_i with u_i uniform in [0, 4), so that each moves at most 3 slots.

    Only units up to i + 3 can overtake unit i, and it can overtake none before i - 3. u in steps of 2^-46.
    """
    keys = [(unit << 46) + (int(drawn[unit]) >> 16) for unit in range(len(view))]
    return np.array(sorted(range(len(view)), key=lambda unit: (keys[unit], unit)), np.int64)


def _subtree(view: View, target: int, drawn: UInt64s) -> Int64s | None:
    """The children of each head permuted uniformly, subtrees kept whole, the head in its place among them.

    "In its place": as many children stand left of it as before. A crossing (non-projective) subtree is drawn together.
    """
    if not view.tree:
        return None
    children: list[list[int]] = [[] for _ in range(len(view))]
    root = 0
    for unit, head in enumerate(view.heads.tolist()):
        if head < 0:
            root = unit
        else:
            children[head].append(unit)
    order: list[int] = []
    waiting = [(root, False)]
    while waiting:
        unit, shown = waiting.pop()
        if shown or not children[unit]:
            order.append(unit)
            continue
        left = sum(child < unit for child in children[unit])
        ranked = _by_lot(children[unit], drawn)
        here = [(child, False) for child in ranked]
        here.insert(left, (unit, True))
        waiting.extend(reversed(here))
    return np.array(order, np.int64)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a condition orders a sentence, and whether its order is drawn (has draws) or fixed."""

    order: Callable[[View, int, UInt64s], Int64s | None]
    """(view, target, lots (units,) uint64) -> order (units,) int64, or None. No order depends on the target so far."""
    random: bool = True


CONDITIONS: dict[Condition, Rule] = {
    "orig": Rule(_orig, random=False),
    "full": Rule(_full),
    "partial": Rule(_partial),
    "head": Rule(_head),
    "head_all": Rule(_head_all),
    "ngram1": _ngram(1),
    "ngram2": _ngram(2),
    "ngram3": _ngram(3),
    "noun_swap": Rule(_noun_swap),
    "reverse": Rule(_reverse, random=False),
    "window3": Rule(_window3),
    "subtree": Rule(_subtree),
}
"""Every condition, in the order in which tables list them."""

_CONSTANTS: dict[Condition, int] = {condition: address("condition", condition) for condition in CONDITIONS}


def order_keys(base_keys: UInt64s, condition: Condition, draw: int) -> UInt64s:
    """The address of each base item's order: what is drawn depends on it alone."""
    return mix(mix(base_keys, _CONSTANTS[condition]), draw)


def changes(texts: tuple[str, ...], order: Int64s) -> bool:
    """Whether the order changes the text, spaces aside: equal texts would be equal without their spaces too.

    Stricter than comparing units, because a script without spaces can spell one text from two orders ("A AA", "AA A").
    """
    return "".join(texts[unit] for unit in order.tolist()) != "".join(texts)


def order_of(view: View, target: int, base_key: int, condition: Condition, draw: int = 0) -> Int64s | None:
    """The base item's order under a condition, (units,) int64; None when it is unperturbable.

    Never gives back `orig`'s text, nor its lemmas' text if the view has lemmas: draws again, up to `ATTEMPTS` times.
    """
    rule = CONDITIONS[condition]
    keys = order_keys(np.array([base_key], np.uint64), condition, draw)
    for attempt in range(ATTEMPTS if rule.random else 1):
        order = rule.order(view, target, lots(mix(keys, attempt), len(view))[0])
        if order is None or condition == "orig":
            return order
        if changes(view.forms, order) and (view.lemmas is None or changes(view.lemmas, order)):
            return order
    return None
