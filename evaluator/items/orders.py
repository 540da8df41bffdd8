"""The conditions over many sentences of one length at once: the same orders as `conditions.py`, as matrix operations.

Each function takes a `Block` and lots (rows, units) and returns orders (rows, units) with a mask of the rows where the
condition can be met. Equality with the plain functions is a property test (`tests/items/test_orders.py`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from evaluator.items.conditions import ATTEMPTS, CONDITIONS, changes, order_keys
from evaluator.items.randomness import lots, mix
from evaluator.items.views import Block, Spelling, rows_of
from evaluator.types import Bools, Condition, Int16s, Int64s, UInt64s

_LAST = np.iinfo(np.int64).max  # larger than any ticket: a unit that takes no part is sorted behind those that do
_CHUNK = 1024  # rows drawn together: Philox's temporaries stay in the cache


def _identity(shape: tuple[int, ...]) -> Int64s:
    """Orders that change nothing."""
    return np.tile(np.arange(shape[1], dtype=np.int64), (shape[0], 1))


def _tickets(drawn: UInt64s) -> Int64s:
    """The 62 bits of each lot that decide."""
    return (drawn >> np.uint64(2)).view(np.int64)


def _ranked(keys: Int64s) -> Int64s:
    """Units of each row by key, ties by position."""
    return np.argsort(keys, axis=1, kind="stable")


def _swapped(shape: tuple[int, ...], a: Int64s, b: Int64s) -> Int64s:
    """The identity with units a and b of each row swapped."""
    orders, rows = _identity(shape), np.arange(shape[0])
    orders[rows, a], orders[rows, b] = b, a
    return orders


def _orig(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    return _identity(drawn.shape), np.ones(len(drawn), bool)


def _full(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    return _ranked(_tickets(drawn)), np.ones(len(drawn), bool)


def _partial(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    slots = _ranked(np.where(block.content, 0, 1))
    shown = _ranked(np.where(block.content, _tickets(drawn), _LAST))
    orders = np.empty_like(shown)
    np.put_along_axis(orders, slots, shown, axis=1)
    possible: Bools = block.content.sum(axis=1) >= 2
    return orders, possible


def _head(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    dependent = np.where(block.pairs, _tickets(drawn), _LAST).argmin(axis=1)
    possible: Bools = np.asarray(block.pairs.any(axis=1))
    head = np.where(possible, block.heads[np.arange(len(drawn)), dependent], dependent)
    return _swapped(drawn.shape, dependent, head), possible


def _head_all(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    """Rounds: an edge whose rank is the smallest at both of its ends is taken. Gives exactly the greedy matching."""
    rows, n = drawn.shape
    ranks = np.empty((rows, n), np.int64)
    np.put_along_axis(ranks, _ranked(np.where(block.edges, _tickets(drawn), _LAST)), np.arange(n)[None, :], axis=1)
    rank = ranks.ravel()
    offset = np.repeat(np.arange(rows, dtype=np.int64) * n, n)
    dependents = np.flatnonzero(block.edges)
    heads = block.heads.ravel()[dependents] + offset[dependents]
    partner = np.arange(rows * n, dtype=np.int64)
    free = np.ones(rows * n, bool)
    while len(dependents):
        best = np.full(rows * n, n, np.int64)
        best[dependents] = rank[dependents]
        np.minimum.at(best, heads, rank[dependents])
        taken = (rank[dependents] == best[dependents]) & (rank[dependents] == best[heads])
        a, b = dependents[taken], heads[taken]
        partner[a], partner[b] = b, a
        free[a] = free[b] = False
        left = free[dependents] & free[heads]
        dependents, heads = dependents[left], heads[left]
    possible: Bools = np.asarray(block.edges.any(axis=1))
    return (partner - offset).reshape(rows, n), possible


def _ngram(size: int) -> Callable[[Block, UInt64s], tuple[Int64s, Bools]]:
    def orders(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
        n = drawn.shape[1]
        body = n - block.final
        tickets = _tickets(drawn)[:, np.arange(n) // size]  # the block's lot: equal keys keep its units together
        return _ranked(np.where(np.arange(n) < body[:, None], tickets, _LAST)), body > size

    return orders


def _noun_swap(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    chosen = _ranked(np.where(block.nouns, _tickets(drawn), _LAST))
    possible: Bools = block.nouns.sum(axis=1) >= 2
    return _swapped(drawn.shape, chosen[:, 0], chosen[:, min(1, drawn.shape[1] - 1)]), possible


def _reverse(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    return _identity(drawn.shape)[:, ::-1], np.ones(len(drawn), bool)


def _window3(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    steps = (drawn >> np.uint64(16)).view(np.int64)
    return _ranked((np.arange(drawn.shape[1], dtype=np.int64) << 46) + steps), np.ones(len(drawn), bool)


def _subtree_sizes(parents: Int64s) -> Int64s:
    """Units in each unit's subtree, itself included; `parents` are flat indices, a root its own parent."""
    sizes = np.zeros(len(parents), np.int64)
    at = np.arange(len(parents))
    while len(at):  # one round per level of the deepest tree
        sizes += np.bincount(at, minlength=len(parents))
        up = parents[at]
        at = up[up != at]
    return sizes


def _subtree(block: Block, drawn: UInt64s) -> tuple[Int64s, Bools]:
    """A unit's slot is the sum, up its chain of heads, of what each stands behind; sums by pointer doubling."""
    orders = _identity(drawn.shape)
    trees = np.flatnonzero(block.tree)
    rows, n = len(trees), drawn.shape[1]
    if not rows:
        return orders, block.tree
    heads, units = block.heads[trees], np.arange(n)
    offset = (np.arange(rows, dtype=np.int64) * n)[:, None]
    parents = (np.where(heads < 0, units, heads) + offset).ravel()
    root = (heads < 0).ravel()
    sizes = _subtree_sizes(parents).reshape(rows, n)
    n_children = np.bincount(parents[~root], minlength=rows * n).reshape(rows, n)
    n_left = np.bincount(parents[((units < heads) & (heads >= 0)).ravel()], minlength=rows * n).reshape(rows, n)
    first = 1 + np.cumsum(n_children, axis=1) - n_children  # where a head's children begin in `sequence`; the root is 0
    by_lot = _ranked(_tickets(drawn)[trees])
    sequence = np.take_along_axis(by_lot, _ranked(np.take_along_axis(heads, by_lot, axis=1)), axis=1)
    before = np.zeros((rows, n + 1), np.int64)
    np.cumsum(np.take_along_axis(sizes, sequence, axis=1), axis=1, out=before[:, 1:])
    left = np.take_along_axis(before, first + n_left, axis=1) - np.take_along_axis(before, first, axis=1)
    head = np.maximum(np.take_along_axis(heads, sequence, axis=1), 0)
    begin = np.take_along_axis(first, head, axis=1)
    behind = before[:, :-1] - np.take_along_axis(before, begin, axis=1)
    behind += units - begin >= np.take_along_axis(n_left, head, axis=1)
    behind[:, 0] = 0
    start = np.empty((rows, n), np.int64)
    np.put_along_axis(start, sequence, behind, axis=1)
    flat = start.ravel()
    while not root[parents].all():
        flat, parents = flat + flat[parents], parents[parents]
    shown = np.empty((rows, n), np.int64)
    np.put_along_axis(shown, flat.reshape(rows, n) + left, np.tile(units, (rows, 1)), axis=1)
    orders[trees] = shown
    return orders, block.tree


BATCHED: dict[Condition, Callable[[Block, UInt64s], tuple[Int64s, Bools]]] = {
    "orig": _orig,
    "full": _full,
    "partial": _partial,
    "head": _head,
    "head_all": _head_all,
    "ngram1": _ngram(1),
    "ngram2": _ngram(2),
    "ngram3": _ngram(3),
    "noun_swap": _noun_swap,
    "reverse": _reverse,
    "window3": _window3,
    "subtree": _subtree,
}
"""(block, lots (rows, units) uint64) -> orders (rows, units) int64, possible (rows,)."""


def changed(spelling: Spelling, rows: Int64s, orders: Int64s) -> Bools:
    """Whether each order changes its sentence's text, spaces aside (`conditions.changes`, row by row).

    At the first slot with another spelling, another first character settles it; else the texts are compared.
    """
    ids = spelling.ids[rows]
    moved = np.take_along_axis(ids, orders, axis=1) != ids
    slot = moved.argmax(axis=1)
    result: Bools = moved.any(axis=1)
    here = spelling.initials[rows, slot]
    there = spelling.initials[rows, orders[np.arange(len(rows)), slot]]
    for i in np.flatnonzero(result & ((here == there) | (here < 0) | (there < 0))):
        result[i] = changes(spelling.texts[rows[i]], orders[i])
    return result


def _drawn_orders(
    block: Block, spellings: Sequence[Spelling], rows: Int64s, keys: UInt64s, condition: Condition
) -> tuple[Int64s, Bools]:
    """Orders that change every spelling, (rows, units), and where there is one."""
    n = block.heads.shape[1]
    orders = _identity((len(rows), n))
    done = np.zeros(len(rows), bool)
    open_ = np.arange(len(rows))
    random = CONDITIONS[condition].random
    for attempt in range(ATTEMPTS if random else 1):
        drawn = lots(mix(keys[open_], attempt), n) if random else np.zeros((len(open_), n), np.uint64)
        found, possible = BATCHED[condition](rows_of(block, rows[open_]), drawn)
        good = possible.copy()
        if condition != "orig":
            for spelling in spellings:
                good &= changed(spelling, rows[open_], found)
        orders[open_[good]] = found[good]
        done[open_[good]] = True
        open_ = open_[possible & ~good]
        if not len(open_):
            break
    return orders, done


def orders_of(
    block: Block,
    spellings: Sequence[Spelling],
    rows: Int64s,
    base_keys: UInt64s,
    plan: Sequence[tuple[Condition, int]],
) -> tuple[Int16s, Int64s]:
    """Orders (base items, plan, units) int16 and, per base item, the place in the plan that failed first, or -1.

    Base item i is row `rows[i]` of the block with key `base_keys[i]`; the plan lists (condition, draw). An order
    changes the text in each of `spellings`. Once a base item has failed its orders are void.
    """
    result = np.zeros((len(rows), len(plan), block.heads.shape[1]), np.int16)
    failed = np.full(len(rows), -1, np.int64)
    for begin in range(0, len(rows), _CHUNK):
        chunk = np.arange(begin, min(begin + _CHUNK, len(rows)))
        for place, (condition, draw) in enumerate(plan):
            if not len(chunk):
                break
            keys = order_keys(base_keys[chunk], condition, draw)
            orders, done = _drawn_orders(block, spellings, rows[chunk], keys, condition)
            result[chunk[done], place] = orders[done]
            failed[chunk[~done]] = place
            chunk = chunk[done]
    return result, failed
