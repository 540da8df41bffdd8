"""Orders of inputs, addressed by what they say: the orders of `evaluator.items`, drawn for texts of any task."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.items.orders import orders_of
from evaluator.items.randomness import address, mix
from evaluator.items.views import spell, stack, view
from evaluator.treebank.text import gaps, traits_of
from evaluator.types import Condition, Int16s, Sentence, UInt64s, Unit

Plan = Sequence[tuple[Condition, int]]
"""(condition, draw), as they are wanted."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The orders of one input, (plan, units), and the first condition that cannot change it, if there is one."""

    orders: Int16s
    unmet: Condition | None


def key_of(text: str, other: str | None) -> int:
    """The address of an input for every random decision: what it says, and what stands beside it."""
    return address("text", text) if other is None else address("text", text, other)


def seeded(keys: Sequence[int], seed: int) -> UInt64s:
    """The addresses under one seed."""
    return mix(np.array(keys, dtype=np.uint64), address("wos", seed))


def shuffle(inputs: Sequence[tuple[Unit, ...]], keys: UInt64s, plan: Plan) -> list[Shuffled]:
    """The orders of each input under the plan, none of which gives back its text. Inputs have two units at least."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for i, units in enumerate(inputs):
        by_length[len(units)].append(i)
    found: list[Shuffled | None] = [None] * len(inputs)
    for members in by_length.values():
        views = [view(_sentence(inputs[i]), lemma=False) for i in members]
        forms = [spell([v.forms for v in views])]
        rows = np.arange(len(members))
        orders, failed = orders_of(stack(views), forms, rows, keys[members], plan)
        for i, order, place in zip(members, orders, failed.tolist(), strict=True):
            found[i] = Shuffled(order, None if place < 0 else plan[place][0])
    return [s for s in found if s is not None]


def texts_of(units: Sequence[Unit], orders: Int16s) -> list[str]:
    """The text of the units in each order, (orders, units): the gaps of `evaluator.treebank.text`, traits read once."""
    traits = traits_of(units)
    forms = [unit.form for unit in units]
    texts = []
    for order in orders.tolist():
        gaps_before = gaps(traits, order)
        texts.append("".join([f" {forms[u]}" if gap else forms[u] for u, gap in zip(order, gaps_before, strict=True)]))
    return texts


def _sentence(units: tuple[Unit, ...]) -> Sentence:
    return Sentence("", "", "", "", units, "", False, 0)
