"""The synthetic word-order task: each text once as it is and once with one word moved (Pham et al. 2021, section 3.5).

Fine-tuning on it before the task itself makes an encoder heed order; it is built from the task's own texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evaluator.items.conditions import changes
from evaluator.items.randomness import address, lots
from evaluator.wos.shuffle import texts_of
from evaluator.wos.words import units_of

CLASSES = ("moved", "real")
"""Names of its classes: index 1, as in the paper, is the text as it is."""
ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class OrderExample:
    """One text of the task and its class."""

    text: str
    label: int


def order_examples(texts: Iterable[str], seed: int) -> list[OrderExample]:
    """Both versions of every distinct text that moving a word can change, in the order in which the texts come."""
    examples = []
    for text in dict.fromkeys(" ".join(t.split()) for t in texts):
        moved = moved_word(text, seed)
        if moved is not None:
            examples += [OrderExample(text, CLASSES.index("real")), OrderExample(moved, CLASSES.index("moved"))]
    return examples


def moved_word(text: str, seed: int) -> str | None:
    """The text with one word, by lot, put at another place, by lot; None when that never changes it.

    The punctuation that ends the text stays. The lots are addressed by the text and the seed.
    """
    units = units_of(text)
    last = len(units)
    while last and units[last - 1].upos == "PUNCT":
        last -= 1
    if last < 2:
        return None
    forms = tuple("".join(unit.form.split()) for unit in units)
    drawn = lots(np.array([address("moved", seed, text)], dtype=np.uint64), 2 * ATTEMPTS)[0]
    for attempt in range(ATTEMPTS):
        word, place = int(drawn[2 * attempt] % last), int(drawn[2 * attempt + 1] % (last - 1))
        others = [i for i in range(last) if i != word]
        order = np.array([*others[:place], word, *others[place:], *range(last, len(units))], dtype=np.int16)
        if changes(forms, order.astype(np.int64)):
            return texts_of(units, order[None])[0]
    return None
