"""Accuracy by a property of the base item: UPOS, relation, features, number of masks, sentence length.

Many groups are shown at once and their intervals are not adjusted for that: of 20 groups without any difference, one
interval is expected to miss the overall rate. Use them to look, not to claim. A word carries several features, so those
groups overlap; the groups of every other property partition the base items.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.reduce.block import ORIG, ORIG_L, Block, run_starts, sums_by_run
from evaluator.reduce.cells import Row
from evaluator.reduce.grid import Coded
from evaluator.reduce.intervals import effective_size, wilson
from evaluator.treebank.units import features_of
from evaluator.types import Float64s, Int64s

DIMENSIONS = ("upos", "deprel", "feats", "masks", "length")
LENGTH_BINS = (1, 10, 15, 20, 30, 40)
"""First number of units of each bin; the last is open."""
MOST_MASKS = 5
"""Base items with this many masks or more are one group."""

Groups = Mapping[str, Int64s]
"""The base items of each group, ascending."""


def block_breakdowns(block: Block, confidence: float) -> dict[str, list[Row]]:
    """Rows by dimension, `n` counting base items; within (model, condition, ±L) the largest group first.

    `feats` has a group for each `Name=Value` as written (`Gender=Fem,Masc` is one value); a base item is in the groups
    of all features of its masked word, and in none without any.
    `masks` groups by the number of masks of the base item in `orig` with forms, also for +L rows, so that a group holds
    the same base items in every cell; its `masks_changed` is the share of them that +L gives another number of masks.
    """
    hits = {"top1": block.per_cell(block.hit1), "top5": block.per_cell(block.hit5)}
    masks: list[Row] = []
    for m in range(len(block.models)):
        groups = _by_name(_mask_groups(block, m))
        masks += _rows(block, hits, slice(m, m + 1), groups, confidence, _changed(block, m, groups))
    by_base_item = {
        "upos": _by_name(block.upos),
        "deprel": _by_name(block.deprel),
        "feats": _by_feature(block.feats),
        "length": _by_name([length_bin(n) for n in block.n_units.tolist()]),
    }
    rows = {name: _rows(block, hits, slice(None), groups, confidence) for name, groups in by_base_item.items()}
    return rows | {"masks": masks}


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


def _by_name(names: list[str]) -> Groups:
    """One group per distinct name, given each base item's own."""
    distinct, codes = np.unique(np.array(names, dtype=np.str_), return_inverse=True)
    return _groups(distinct.tolist(), codes, np.arange(len(names)))


def _by_feature(feats: Coded) -> Groups:
    """One group per feature, given each base item's FEATS, which are taken apart once per distinct string."""
    of_string = pa.array([features_of(name) for name in feats.names], pa.list_(pa.string()))
    of_item = of_string.take(pa.array(feats.codes))
    features = pc.list_flatten(of_item).dictionary_encode()
    items = pc.list_parent_indices(of_item).to_numpy()
    return _groups(features.dictionary.to_pylist(), features.indices.to_numpy(), items)


def _groups(names: list[str], codes: Int64s, items: Int64s) -> Groups:
    """The groups of memberships (code of the group, base item), which come by base item."""
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    members = np.split(items[np.argsort(codes, kind="stable")], ends)[:-1]
    return dict(zip(names, members, strict=True))


def _changed(block: Block, m: int, groups: Groups) -> dict[str, Row]:
    """Per group, `masks_changed`: the share of base items whose number of masks differs under +L; None without +L."""
    if ORIG not in block.cells or ORIG_L not in block.cells:
        return {name: {"masks_changed": None} for name in groups}
    changed = block.masks[m, block.slots(ORIG)][0] != block.masks[m, block.slots(ORIG_L)][0]
    return {name: {"masks_changed": int(changed[items].sum()) / len(items)} for name, items in groups.items()}


def _rows(
    block: Block,
    hits: dict[str, Int64s],
    models: slice,
    groups: Groups,
    confidence: float,
    extra: dict[str, Row] | None = None,
) -> list[Row]:
    draws = block.draws_per_cell
    found: list[tuple[tuple[int, int, int, str], Row]] = []
    for name, items in groups.items():
        starts = run_starts(block.sentence[items])
        sizes = np.diff(np.append(starts, len(items)))
        tops: dict[str, tuple[Float64s, ...]] = {}
        for label, all_hits in hits.items():
            mine = sums_by_run(all_hits[models][..., items], starts)
            total = mine.sum(axis=-1)
            n_items = np.broadcast_to(len(items) * draws, total.shape)
            effective = effective_size(mine, sizes[None, None, :] * draws[None, :, None])
            tops[label] = (total / n_items, *wilson(total, n_items, effective, confidence))
        for m, model in enumerate(block.models[models]):
            for c, cell in enumerate(block.cells):
                row: Row = {"model": model, "treebank": block.treebank, "language": block.language}
                row |= {"condition": cell.condition, "lemma": cell.lemma, "group": name, "n": len(items)}
                for label, (share, low, high) in tops.items():
                    row |= {label: float(share[m, c]), f"{label}_ci": [float(low[m, c]), float(high[m, c])]}
                found.append(((m, c, -len(items), name), row | (extra or {}).get(name, {})))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]
