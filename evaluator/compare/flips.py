"""The items that one side alone got right: counted by language, condition and part of speech; some shown."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.compare.match import A, B, Matched
from evaluator.reduce.cells import Row
from evaluator.reduce.grid import coded, numbers
from evaluator.report.curves import mixed
from evaluator.report.document import condition_label, dose
from evaluator.types import Bools, Int64s

MAX_EXAMPLES = 60
GROUPS = ("treebank", "condition", "upos")
SHOWN = (
    "item_id", "treebank", "language", "sent_id", "sentence", "condition", "lemma", "seed", "draw", "upos", "order",
    "target", "text", "gold",
)  # fmt: skip
ANSWERED = ("pred", "pred_logp", "place", "gold", "gold_ranks", "gold_logp", "reason")


def flipped(matched: Matched) -> tuple[Bools, Bools]:
    """(A ✓ B ✗, A ✗ B ✓), each over the rows of a half: complete cases only, as in the cells."""
    halves = [matched.half(side) for side in (A, B)]
    complete = numbers(halves[0], "complete")
    right = [numbers(half, "correct1") & complete for half in halves]
    return np.asarray(right[0] & ~right[1]), np.asarray(~right[0] & right[1])


def flip_counts(matched: Matched) -> dict[str, list[Row]]:
    """Rows `group`, `n`, `only_a`, `only_b` by treebank, condition (with +L) and UPOS; `n` pairs of items."""
    half = matched.half(A)
    complete = numbers(half, "complete")
    flips = flipped(matched)
    return {name: _counted(_labels(half, name), complete, flips, name) for name in GROUPS}


def _labels(half: pa.Table, name: str) -> tuple[Int64s, list[Any]]:
    column = coded(half, name)
    if name != "condition":
        return column.codes.astype(np.int64), list(column.names)
    lemma = numbers(half, "lemma").astype(np.int64)
    return column.codes.astype(np.int64) * 2 + lemma, [(c, spelt) for c in column.names for spelt in (False, True)]


def _counted(labels: tuple[Int64s, list[Any]], complete: Bools, flips: tuple[Bools, Bools], name: str) -> list[Row]:
    codes, names = labels
    n, only_a, only_b = (np.bincount(codes[rows], minlength=len(names)).tolist() for rows in (complete, *flips))
    rows = [
        {"group": group, "n": n[i], "only_a": only_a[i], "only_b": only_b[i]} for i, group in enumerate(names) if n[i]
    ]
    if name == "condition":
        rows.sort(key=lambda row: (row["group"][1], dose(row["group"][0])))
        return [{**row, "group": condition_label(*row["group"])} for row in rows]
    return sorted(rows, key=lambda row: (-row["n"], row["group"])) if name == "upos" else rows


def flip_examples(matched: Matched, limit: int = MAX_EXAMPLES) -> list[Row]:
    """Flipped items, in turns from every treebank × condition × ±L × direction, by hash of the item within each.

    `side` is who alone was right; `a` and `b` hold either side's answers. The choice does not depend on row order.
    """
    halves = {side: matched.half(side) for side in (A, B)}
    only_a, only_b = flipped(matched)
    rows = np.flatnonzero(only_a | only_b)
    if not len(rows):
        return []
    half = halves[A].take(pa.array(rows))
    address = mixed(half["item_id"].to_numpy(), salt=2)
    stratum = list(
        zip(
            half["treebank"].to_pylist(),
            half["condition"].to_pylist(),
            half["lemma"].to_pylist(),
            only_a[rows].tolist(),
            strict=True,
        )
    )
    turns: dict[Any, int] = {}
    ranked = []
    for i in np.argsort(address, kind="stable").tolist():
        turn = turns[stratum[i]] = turns.get(stratum[i], -1) + 1
        ranked.append((turn, int(address[i]), i))
    chosen = pa.array([int(rows[i]) for _, _, i in sorted(ranked)[:limit]])
    shown = halves[A].select([name for name in SHOWN if name in halves[A].column_names]).take(chosen).to_pylist()
    answers = {side: _answers(halves[side].take(chosen)) for side in (A, B)}
    sides = [A if flag else B for flag in only_a[chosen.to_numpy()].tolist()]
    return [
        {**row, "item_id": f"{row['item_id']:016x}", "side": side, "a": a, "b": b}
        for row, side, a, b in zip(shown, sides, answers[A], answers[B], strict=True)
    ]


def _answers(rows: pa.Table) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = rows.select([name for name in ANSWERED if name in rows.column_names]).to_pylist()
    return found
