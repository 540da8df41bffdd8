"""Accuracy by a property of the base item: UPOS, relation, number of masks, sentence length.

Many groups are shown at once and their intervals are not adjusted for that: of 20 groups without any difference, one
interval is expected to miss the overall rate. Use them to look, not to claim.
"""

import numpy as np

from evaluator.reduce.block import ORIG, ORIG_L, Block, run_starts, sums_by_run
from evaluator.reduce.cells import Row
from evaluator.reduce.intervals import effective_size, wilson
from evaluator.types import Float64s

LENGTH_BINS = (1, 10, 15, 20, 30, 40)
"""First number of units of each bin; the last is open."""
MOST_MASKS = 5
"""Base items with this many masks or more are one group."""


def block_breakdowns(block: Block, confidence: float) -> dict[str, list[Row]]:
    """Rows by dimension, `n` counting base items; within (model, condition, ±L) the largest group first.

    `masks` groups by the number of masks of the base item in `orig` with forms, also for +L rows, so that a group holds
    the same base items in every cell; its `masks_changed` is the share of them that +L gives another number of masks.
    """
    everyone = list(range(len(block.models)))
    masks: list[Row] = []
    for m in everyone:
        groups = _mask_groups(block, m)
        masks += _rows(block, [m], groups, confidence, _changed(block, m, groups))
    return {
        "upos": _rows(block, everyone, block.upos, confidence),
        "deprel": _rows(block, everyone, block.deprel, confidence),
        "masks": masks,
        "length": _rows(block, everyone, [length_bin(n) for n in block.n_units.tolist()], confidence),
    }


def length_bin(n_units: int) -> str:
    """The length bin of a sentence, "10–14" written with a hyphen: "10-14", or "40+"."""
    above = [first for first in LENGTH_BINS if first > n_units]
    first = max(first for first in LENGTH_BINS if first <= max(n_units, LENGTH_BINS[0]))
    return f"{first}-{above[0] - 1}" if above else f"{first}+"


def _mask_groups(block: Block, m: int) -> list[str]:
    if ORIG not in block.cells:
        return ["unknown"] * block.n_base
    counts = block.masks[m, block.slots(ORIG)][0].tolist()
    return ["unknown" if n < 0 else f"{MOST_MASKS}+" if n >= MOST_MASKS else str(n) for n in counts]


def _changed(block: Block, m: int, groups: list[str]) -> dict[str, Row]:
    """Per group, `masks_changed`: the share of base items whose number of masks differs under +L; None without +L."""
    if ORIG not in block.cells or ORIG_L not in block.cells:
        return {name: {"masks_changed": None} for name in groups}
    changed = block.masks[m, block.slots(ORIG)][0] != block.masks[m, block.slots(ORIG_L)][0]
    of_group = {name: changed[np.array([group == name for group in groups])] for name in sorted(set(groups))}
    return {name: {"masks_changed": int(flags.sum()) / len(flags)} for name, flags in of_group.items()}


def _rows(
    block: Block, models: list[int], groups: list[str], confidence: float, extra: dict[str, Row] | None = None
) -> list[Row]:
    names, codes = np.unique(np.array(groups, dtype=np.str_), return_inverse=True)
    if not len(names):
        return []
    order = np.argsort(codes, kind="stable")  # keeps sentences together within a group
    starts = run_starts(codes[order], block.sentence[order])
    sizes = np.diff(np.append(starts, block.n_base))
    group_of_run = codes[order][starts]
    draws = block.draws_per_cell
    hits = [sums_by_run(block.per_cell(h)[models][..., order], starts) for h in (block.hit1, block.hit5)]
    found: list[tuple[tuple[int, int, int, str], Row]] = []
    for g, name in enumerate(names.tolist()):
        runs = group_of_run == g
        n = int(sizes[runs].sum())
        tops: dict[str, tuple[Float64s, ...]] = {}
        for label, all_hits in zip(("top1", "top5"), hits, strict=True):
            mine = all_hits[..., runs]
            total = mine.sum(axis=-1)
            n_items = np.broadcast_to(n * draws, total.shape)
            effective = effective_size(mine, sizes[runs][None, None, :] * draws[None, :, None])
            tops[label] = (total / n_items, *wilson(total, n_items, effective, confidence))
        for i, m in enumerate(models):
            for c, cell in enumerate(block.cells):
                row: Row = {"model": block.models[m], "treebank": block.treebank, "language": block.language}
                row |= {"condition": cell.condition, "lemma": cell.lemma, "group": name, "n": n}
                for label, (share, low, high) in tops.items():
                    row |= {label: float(share[i, c]), f"{label}_ci": [float(low[i, c]), float(high[i, c])]}
                found.append(((m, c, -n, name), row | (extra or {}).get(name, {})))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]
