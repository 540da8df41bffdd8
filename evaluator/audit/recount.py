"""Complete cases and cells computed again from the outcomes: plain means over plain rows, a second way to the numbers.

Nothing here comes from `evaluator.reduce`; definitions are those of the README.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.audit.spans import numbers, whole
from evaluator.types import Bools, Float64s, Int64s

CellKey = tuple[str, str, str, bool]
"""Model, treebank, condition, ±L."""
FEW_HITS, FEW_SHARE = 5, 0.1
ORIG, ORIG_L = ("orig", False), ("orig", True)


@dataclass(frozen=True, slots=True)
class Columns:
    """The outcomes' columns that metrics need, as arrays."""

    model: npt.NDArray[Any]
    treebank: npt.NDArray[Any]
    condition: npt.NDArray[Any]
    lemma: Bools
    draw: Int64s
    base: npt.NDArray[np.uint64]
    sent_id: npt.NDArray[Any]
    scored: Bools
    complete: Bools
    top1: Bools
    top5: Bools
    logp: Float64s
    masks: Int64s

    def rows(self, which: npt.NDArray[Any]) -> "Columns":
        """These rows."""
        return Columns(*(getattr(self, name)[which] for name in Columns.__slots__))


def columns_of(outcomes: pa.Table) -> Columns:
    """The outcomes as arrays."""

    def text(name: str) -> npt.NDArray[Any]:
        return np.array(outcomes[name].to_pylist(), dtype=object)

    return Columns(
        model=text("model"),
        treebank=text("treebank"),
        condition=text("condition"),
        lemma=numbers(outcomes["lemma"]),
        draw=numbers(outcomes["draw"]).astype(np.int64),
        base=numbers(outcomes["base_id"]),
        sent_id=text("sent_id"),
        scored=text("status") == "scored",
        complete=numbers(outcomes["complete"]),
        top1=numbers(outcomes["correct1"]),
        top5=numbers(outcomes["correct5"]),
        logp=_with_nan(outcomes["gold_logp"]),
        masks=numbers(outcomes["n_masks"]).astype(np.int64),
    )


def _with_nan(column: pa.ChunkedArray) -> Float64s:
    return np.asarray(whole(column).to_numpy(zero_copy_only=False), dtype=np.float64)


def complete_cases(columns: Columns) -> Bools:
    """(outcomes,) whether a row's base item was scored in every slot by every model that takes part in its treebank.

    A model without a scored row there, and a (condition, ±L) that no other model scored, take no part.
    """
    complete = np.zeros(len(columns.base), dtype=np.bool_)
    for name in set(columns.treebank.tolist()):
        rows = np.flatnonzero(columns.treebank == name)
        part = columns.rows(rows)
        cell = list(zip(part.condition.tolist(), part.lemma.tolist(), strict=True))
        models = set(part.model[part.scored].tolist())
        cells = {c for c, scored in zip(cell, part.scored.tolist(), strict=True) if scored}
        takes = np.array(
            [m in models and c in cells for m, c in zip(part.model.tolist(), cell, strict=True)], dtype=np.bool_
        )
        slots = {(c, d) for c, d, t in zip(cell, part.draw.tolist(), takes.tolist(), strict=True) if t}
        base, number = np.unique(part.base, return_inverse=True)
        filled = np.bincount(number[takes & part.scored], minlength=len(base))
        complete[rows] = takes & (filled == len(models) * len(slots))[number]
    return complete


def cells_of(columns: Columns) -> Iterator[tuple[CellKey, dict[str, Any]]]:
    """Every cell of the outcomes with what report.json should say of it, intervals aside."""
    for treebank in sorted(set(columns.treebank.tolist())):
        here = columns.rows(columns.treebank == treebank)
        cells = sorted(set(zip(here.condition.tolist(), here.lemma.tolist(), strict=True)))
        for model in sorted(set(here.model.tolist())):
            mine = here.rows((here.model == model) & here.complete)
            parts = {c: mine.rows((mine.condition == c[0]) & (mine.lemma == c[1])) for c in cells}
            filled = {c: part for c, part in parts.items() if len(part.base)}
            for cell in cells:
                yield (model, treebank, *cell), _values(cell, filled)


def taus_of(orders: Sequence[Sequence[int]]) -> Float64s:
    """(orders,) Kendall's tau with the order as written: 1 - 4 · inversions / (n · (n - 1)), by insertion."""
    known: dict[tuple[int, ...], float] = {}
    for order in map(tuple, orders):
        if order in known:
            continue
        before: list[int] = []
        inversions = 0
        for unit in order:
            place = bisect(before, unit)
            inversions += len(before) - place
            before.insert(place, unit)
        pairs = len(order) * (len(order) - 1)
        known[order] = 1 - 4 * inversions / pairs if pairs else 1.0
    return np.array([known[tuple(order)] for order in orders], dtype=np.float64)


def _values(cell: tuple[str, bool], parts: dict[tuple[str, bool], Columns]) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(
        (
            "top1", "top5", "mean_gold_logp", "n_logp", "D", "S", "I", "I_range", "I_range_no_gain", "I_logp", "floor",
            "S_floor", "masks", "masks_changed",
        )
    )  # fmt: skip
    if cell not in parts:
        return found | {"n": 0, "n_items": 0, "n_sentences": 0}
    part = parts[cell]
    known = part.logp[np.isfinite(part.logp)]
    masked = part.masks[part.masks >= 0]
    n = len(np.unique(part.base))
    found |= {
        "n": n,
        "n_items": len(part.base),
        "n_sentences": len(set(part.sent_id.tolist())),
        "top1": float(part.top1.mean()),
        "top5": float(part.top5.mean()),
        "mean_gold_logp": float(known.mean()) if len(known) else None,
        "n_logp": len(known),
        "masks": float(masked.mean()) if len(masked) else None,
    }
    plain = (cell[0], False)
    if cell[1] and plain in parts:
        bases = np.unique(part.base)
        masks, plain_masks = (_by_base(p, p.masks, bases) for p in (part, parts[plain]))
        found["masks_changed"] = float((masks != plain_masks).mean())
    return found | _contrasts(cell, parts, n)


def _contrasts(cell: tuple[str, bool], parts: dict[tuple[str, bool], Columns], n: int) -> dict[str, Any]:
    """D, S, I and the floors, from shares of right answers."""
    if ORIG not in parts:
        return {}
    share = {c: float(part.top1.mean()) for c, part in parts.items()}
    orig = share[ORIG]
    low = [c for c in share if c[0] == cell[0] and _is_low(share[c], share.get(("orig", c[1]), share[c]), n)]
    few = _is_low(orig, orig, n)
    found: dict[str, Any] = {"floor": few or bool(low), "S_floor": few}
    if cell == ORIG:
        return found
    found["D"] = orig - share[cell]
    found["S"] = (orig - share[cell]) / orig if orig > 0 else None
    both = (cell[0], True)
    if not cell[1] and both in share and ORIG_L in share:
        found["I"] = (orig - share[cell]) + (orig - share[ORIG_L]) - (orig - share[both])
        least = orig - share[cell] - share[ORIG_L]
        found["I_range"] = [least, least + 1]
        found["I_range_no_gain"] = [least, orig - max(share[cell], share[ORIG_L])]
        bases = np.unique(parts[cell].base)
        a, b, c, d = (_by_base(parts[x], parts[x].logp, bases) for x in (ORIG, cell, ORIG_L, both))
        contrast = (a - b) + (a - c) - (a - d)
        contrast = contrast[np.isfinite(contrast)]
        found["I_logp"] = float(contrast.mean()) if len(contrast) else None
    return found


def _is_low(share: float, reference: float, n: int) -> bool:
    return share * n < FEW_HITS - 1e-9 or share < FEW_SHARE * reference - 1e-12


def _by_base(part: Columns, values: npt.NDArray[Any], bases: npt.NDArray[np.uint64]) -> Float64s:
    """(base items,) the mean over draws, in the order of `bases`; all NaN when the part holds other base items."""
    found, number = np.unique(part.base, return_inverse=True)
    if not np.array_equal(found, bases):
        return np.full(len(bases), np.nan)
    return np.asarray(np.bincount(number, weights=values) / np.bincount(number))
