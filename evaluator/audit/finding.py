"""What a check comes to: how much it looked at, how much of it breaks the rule, and the first that does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaluator.types import Bools

Status = Literal["holds", "violated", "not_checked"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Things looked at, how many of them break the rule, and what the first of these is."""

    checked: int
    bad: int = 0
    first: str = ""


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Why a check could not be made of this run."""

    why: str


Outcome = Tally | NotChecked


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an audit. `name` is stable."""

    name: str
    status: Status
    found: str
    checked: int = 0
    bad: int = 0


def tally(bad: Bools, describe: Callable[[int], str]) -> Tally:
    """The tally of one flag per thing looked at; `describe` says what the thing at an index is."""
    wrong = np.flatnonzero(bad)
    return Tally(len(bad), len(wrong), describe(int(wrong[0])) if len(wrong) else "")


def tally_each(rows: Iterable[tuple[bool, str]]) -> Tally:
    """The tally of (breaks the rule, what it is) pairs."""
    checked, wrong = 0, []
    for is_bad, what in rows:
        checked += 1
        if is_bad:
            wrong.append(what)
    return Tally(checked, len(wrong), wrong[0] if wrong else "")


def total(parts: Iterable[Outcome], *, nothing: str) -> Outcome:
    """The tallies of several models or treebanks as one; `nothing` says why there is none to add."""
    outcomes = list(parts)
    tallies = [t for t in outcomes if isinstance(t, Tally)]
    if not tallies:
        return next((n for n in outcomes if isinstance(n, NotChecked)), NotChecked(nothing))
    first = next((t.first for t in tallies if t.bad), "")
    return Tally(sum(t.checked for t in tallies), sum(t.bad for t in tallies), first)


def finding(name: str, what: str, outcome: Outcome) -> Finding:
    """The line that an outcome makes; `what` names the things looked at, in the plural."""
    if isinstance(outcome, NotChecked):
        return Finding(name, "not_checked", f"not checked: {outcome.why}")
    counted = f"{outcome.checked:,} {what}"
    if not outcome.bad:
        return Finding(name, "holds", counted, outcome.checked)
    return Finding(
        name, "violated", f"{outcome.bad:,} of {counted}; first: {outcome.first}", outcome.checked, outcome.bad
    )
