"""What decides a run's items, and nothing else."""

from dataclasses import dataclass
from typing import Literal

from evaluator.errors import ConfigError
from evaluator.items.conditions import CONDITIONS
from evaluator.items.subset import SubsetRow
from evaluator.types import CONTENT_UPOS, Condition

MAX_UNITS = 32767
"""Orders are int16."""


@dataclass(frozen=True, slots=True)
class ItemSettings:
    """How items are made.

    A target depends on its seed and `upos` alone, an order on its seed, draw and condition. `lemma` has a say only
    where an order would leave the lemmas' text as it was.
    """

    seeds: tuple[int, ...] = (0,)
    draws: int = 1
    """Orders per random condition and base item."""
    conditions: tuple[Condition, ...] = tuple(CONDITIONS)
    """`orig` is always among them; kept in table order."""
    lemma: bool = True
    """Whether every item also comes as its +L twin."""
    n: int | None = None
    """Base items per treebank and seed; None: all."""
    min_units: int = 5
    max_units: int = 50
    upos: tuple[str, ...] = CONTENT_UPOS
    balance: tuple[Literal["upos", "length"], ...] = ()
    align: Literal["", "sent_id"] = ""
    subset: tuple[SubsetRow, ...] | None = None
    """Exactly these base items; sampling, length limits and seeds are theirs then."""

    def __post_init__(self) -> None:
        """Puts conditions in table order with `orig`; raises ConfigError for settings that cannot be used."""
        unknown = sorted(set(self.conditions) - set(CONDITIONS))
        if unknown:
            raise ConfigError(f"unknown condition {', '.join(unknown)}", hint=f"there are: {', '.join(CONDITIONS)}")
        ordered = tuple(c for c in CONDITIONS if c == "orig" or c in self.conditions)
        object.__setattr__(self, "conditions", ordered)
        checks = (
            (len(set(self.seeds)) == len(self.seeds) > 0, f"seeds must be distinct and at least one, not {self.seeds}"),
            (all(-(2**31) <= seed < 2**31 for seed in self.seeds), f"seeds must fit in 32 bits, not {self.seeds}"),
            (1 <= self.draws <= 32767, f"draws must be 1 to 32767, not {self.draws}"),
            (self.n is None or self.n >= 1, f"n must be at least 1, not {self.n}"),
            (1 <= self.min_units <= self.max_units, "min_units must be at least 1 and at most max_units"),
            (self.max_units <= MAX_UNITS, f"max_units must be at most {MAX_UNITS}, not {self.max_units}"),
            (bool(self.upos), "upos must name at least one part of speech"),
            (set(self.balance) <= {"upos", "length"}, f"balance may hold upos and length, not {self.balance}"),
            (self.align in {"", "sent_id"}, f"align may be sent_id, not {self.align}"),
            (not (self.balance and self.align), "balance and align cannot be combined: align fixes the sentences"),
            (
                self.subset is None or not (self.balance or self.align or self.n),
                "a subset already says which items there are: leave out n, balance and align",
            ),
        )
        for good, message in checks:
            if not good:
                raise ConfigError(message)

    def plan(self) -> tuple[tuple[Condition, int], ...]:
        """The (condition, draw) pairs of every base item; a fixed condition has draw 0 alone."""
        return tuple((c, i) for c in self.conditions for i in range(self.draws if CONDITIONS[c].random else 1))
