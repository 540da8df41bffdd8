"""Which items the page shows: in turns from every kind of outcome, and those that surprise.

Strata of model × language × condition × outcome, in each the two largest changes in log p(gold) first, then by hash of
the item; beside them, per model and language, the wrong first answers the model was surest of, and answers too close
to call. Nothing depends on the order of rows.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.report.curves import mixed
from evaluator.report.document import Document
from evaluator.types import Float64s

MAX_EXAMPLES = 2000
LOUDEST = 2
"""Items with the largest changes, which go first in their stratum."""
PER_STRATUM = 60
SURPRISING = 6
"""Confident errors, and near-ties, of one model and language."""

Outcome = Literal["lost", "gained", "kept", "missed"]
Remark = Literal["", "confident error", "near tie"]


@dataclass(frozen=True, slots=True)
class Pair:
    """An item beside its partner in the original order: row numbers, and what is to be said of it."""

    partner: int
    row: int
    remark: Remark


@dataclass(frozen=True, slots=True)
class _Candidate:
    partner: int
    row: int
    address: int
    change: float
    surest: float
    """Log-probability of a wrong first answer; −inf of a right one."""
    is_tie: bool
    stratum: tuple[str, str, str, bool, Outcome]


def outcome_of(right_before: bool, right_after: bool) -> Outcome:
    """The class of an item against its partner in the original order."""
    if right_before:
        return "kept" if right_after else "lost"
    return "gained" if right_after else "missed"


def choose_pairs(document: Document, rows: pa.Table) -> tuple[list[Pair], int]:
    """The pairs to show, in page order, and how many there were to choose from."""
    candidates = list(_candidates(document, rows))
    confident = set(_surprising(candidates, lambda c: c.surest > -np.inf, lambda c: (-c.surest, c.address)))
    ties = set(_surprising(candidates, lambda c: c.is_tie, lambda c: (0.0, c.address)))
    turns = [*_in_turns(candidates), *((0, c) for c in candidates if c.row in confident | ties)]
    turns.sort(key=lambda at: (at[0], at[1].address, at[1].stratum))
    chosen = dict.fromkeys((c.partner, c.row) for _, c in turns)
    close = {c.row for c in candidates if c.is_tie}
    pairs = []
    for partner, row in list(chosen)[:MAX_EXAMPLES]:
        remark: Remark = "near tie" if row in close else "confident error" if row in confident else ""
        pairs.append(Pair(partner, row, remark))
    return pairs, len(candidates)


def _candidates(document: Document, rows: pa.Table) -> Iterator[_Candidate]:
    names = ("model", "treebank", "condition", "lemma", "correct1", "gold_logp", "base_id", "near_tie")
    model, treebank, condition, lemma, right, logp, base, tie = (rows[name].to_pylist() for name in names)
    first = _first(rows["pred_logp"])
    address = mixed(rows["item_id"].to_numpy(), salt=1) if rows.num_rows else np.array([], dtype=np.uint64)
    known = {(m, t) for m, t, _, _ in document.cells}
    origin = {(model[i], base[i], lemma[i]): i for i in range(rows.num_rows) if condition[i] == "orig"}
    for i in range(rows.num_rows):
        plain = condition[i] == "orig"
        if (plain and not lemma[i]) or (model[i], treebank[i]) not in known:
            continue
        partner = origin.get((model[i], base[i], lemma[i] and not plain))
        if partner is None or right[i] is None or right[partner] is None:
            continue
        yield _Candidate(
            partner=partner,
            row=i,
            address=int(address[i]),
            change=abs((logp[i] or 0.0) - (logp[partner] or 0.0)),
            surest=-np.inf if right[i] or np.isnan(first[i]) else float(first[i]),
            is_tie=bool(tie[i]),
            stratum=(model[i], treebank[i], condition[i], lemma[i], outcome_of(right[partner], right[i])),
        )


def _surprising(
    candidates: Iterable[_Candidate],
    wanted: Callable[[_Candidate], bool],
    order: Callable[[_Candidate], tuple[float, int]],
) -> Iterator[int]:
    """Rows of the first `SURPRISING` candidates that are wanted, of each model and language."""
    groups: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in filter(wanted, candidates):
        groups.setdefault(candidate.stratum[:2], []).append(candidate)
    for members in groups.values():
        yield from (candidate.row for candidate in sorted(members, key=order)[:SURPRISING])


def _first(column: pa.ChunkedArray) -> Float64s:
    """The first number of each list; NaN where there is none."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    found = np.full(len(lengths), np.nan)
    values = pc.list_flatten(column).to_numpy().astype(np.float64)
    some = np.flatnonzero(lengths)
    found[some] = values[(np.cumsum(lengths) - lengths)[some]]
    return found


def _in_turns(candidates: Iterable[_Candidate]) -> Iterator[tuple[int, _Candidate]]:
    """(turn, candidate): the k-th of every stratum comes before the next of any."""
    strata: dict[tuple[object, ...], list[_Candidate]] = {}
    for candidate in candidates:
        strata.setdefault(candidate.stratum, []).append(candidate)
    for members in strata.values():
        loudest = sorted(members, key=lambda c: (-c.change, c.address))[:LOUDEST]
        ahead = {c.row for c in loudest}
        rest = sorted((c for c in members if c.row not in ahead), key=lambda c: c.address)[:PER_STRATUM]
        yield from enumerate([*loudest, *rest])
