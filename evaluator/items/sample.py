"""Which base items are kept: eligibility with a reason for each refusal, and draws addressed by (seed, sentence).

A *candidate* is an eligible (sentence, seed) with its target. A draw walks candidates in the order of their lots and
keeps the usable ones, so adding a treebank, a seed or a sentence never reshuffles the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.items.randomness import address, mix
from evaluator.types import Bools, Int64s, Sentence, UInt64s

LENGTH_BINS = (10, 15, 20, 30, 40)
"""Lower edges, in units, of every length bin but the first."""
_SAMPLE = address("sample")

Usable = Callable[[Int64s], Bools]
"""Says of candidates (by index) whether every condition can be met."""


@dataclass(frozen=True, slots=True)
class Bundles:
    """Candidates that are kept or dropped together; bundle b holds `members[offsets[b]:offsets[b + 1]]`."""

    members: Int64s
    offsets: Int64s
    groups: Int64s  # (bundles,): each group gets its own n
    lots: UInt64s  # (bundles,): smallest first


def ineligible(sentence: Sentence, *, min_units: int, max_units: int, lemma: bool, has_target: bool) -> str | None:
    """Why a sentence cannot be used whatever the seed, or None.

    `withheld`: a treebank distributed without its text writes every form as `_`.
    """
    units = sentence.units
    if units and all(unit.form == "_" for unit in units):
        return "withheld"
    if len(units) < min_units:
        return "too_short"
    if len(units) > max_units:
        return "too_long"
    if lemma and any(unit.lemma is None or not unit.lemma.strip() for unit in units):
        return "lemma_missing"
    return None if has_target else "no_target"


def sample_lots(base_keys: UInt64s) -> UInt64s:
    """The place of each base item in its treebank's draw: uniform, addressed by (seed, sentence)."""
    return mix(base_keys, _SAMPLE)


def single_bundles(groups: Int64s, lots: UInt64s) -> Bundles:
    """Each candidate on its own."""
    return Bundles(np.arange(len(groups)), np.arange(len(groups) + 1), groups, lots)


def aligned_bundles(treebanks: Int64s, n_treebanks: int, seeds: Int64s, sent_ids: Sequence[str]) -> Bundles:
    """The candidates of one (seed, sent_id) in every treebank; ids that some treebank lacks are left out."""
    found: dict[tuple[int, str], list[int]] = {}
    for i, (seed, sent_id) in enumerate(zip(seeds.tolist(), sent_ids, strict=True)):
        found.setdefault((seed, sent_id), []).append(i)
    whole = {key: rows for key, rows in found.items() if len({int(treebanks[i]) for i in rows}) == n_treebanks}
    return Bundles(
        np.array([i for rows in whole.values() for i in rows], np.int64),
        np.cumsum([0, *map(len, whole.values())], dtype=np.int64),
        np.array([seed for seed, _ in whole], np.int64),
        np.array([address("aligned", seed, sent_id) for seed, sent_id in whole], np.uint64),
    )


def draw(bundles: Bundles, n: int | None, usable: Usable) -> Int64s:
    """The candidates of the first n wholly usable bundles of each group (all for None), in no particular order.

    Works in rounds: as many bundles as are still wanted are judged together, then replaced where they were unusable.
    """
    order = np.lexsort((bundles.lots, bundles.groups))
    _, begins = np.unique(bundles.groups[order], return_index=True)
    waiting = np.split(order, begins[1:])
    wanted = [len(group) if n is None else n for group in waiting]
    kept: list[Int64s] = []
    while True:
        tried = [group[:count] for group, count in zip(waiting, wanted, strict=True)]
        waiting = [group[count:] for group, count in zip(waiting, wanted, strict=True)]
        if not sum(map(len, tried)):
            return np.concatenate([np.zeros(0, np.int64), *kept])
        flat = np.concatenate(tried)
        sizes = bundles.offsets[flat + 1] - bundles.offsets[flat]
        edges = np.concatenate([[0], np.cumsum(sizes)])
        at = np.arange(edges[-1]) - np.repeat(edges[:-1], sizes) + np.repeat(bundles.offsets[flat], sizes)
        good = np.logical_and.reduceat(usable(bundles.members[at]), edges[:-1])
        kept.append(bundles.members[at][np.repeat(good, sizes)])
        judged = np.split(good, np.cumsum([len(group) for group in tried])[:-1])
        wanted = [count - int(ok.sum()) for count, ok in zip(wanted, judged, strict=True)]


def length_bins(lengths: Int64s) -> Int64s:
    """The length bin of each sentence, counted from 0."""
    bins: Int64s = np.searchsorted(np.array(LENGTH_BINS), lengths, side="right")
    return bins


def quotas(counts: Int64s, n: int | None) -> Int64s:
    """How many to draw of each stratum (strata,), given the usable (treebanks, strata).

    What the poorest treebank has of each stratum; if that is more than n, n shared out in proportion (largest
    remainders, ties to the first stratum).
    """
    most: Int64s = counts.min(axis=0)
    total = int(most.sum())
    if n is None or n >= total:
        return most
    share = most * n
    whole: Int64s = share // total
    rest = np.argsort(-(share % total), kind="stable")[: n - int(whole.sum())]
    whole[rest] += 1
    return whole


def draw_balanced(
    treebanks: Int64s, n_treebanks: int, seeds: Int64s, strata: Int64s, lots: UInt64s, n: int | None, usable: Usable
) -> Int64s:
    """Candidates drawn so that, for every seed, each stratum is equally frequent in all treebanks."""
    good = np.flatnonzero(usable(np.arange(len(seeds))))
    n_strata = int(strata.max(initial=-1)) + 1
    kept: list[Int64s] = []
    for seed in np.unique(seeds):
        mine = good[seeds[good] == seed]
        counts = np.zeros((n_treebanks, n_strata), np.int64)
        np.add.at(counts, (treebanks[mine], strata[mine]), 1)
        quota = quotas(counts, n)
        mine = mine[np.lexsort((lots[mine], strata[mine], treebanks[mine]))]
        cell = treebanks[mine] * n_strata + strata[mine]
        _, begins, sizes = np.unique(cell, return_index=True, return_counts=True)
        kept.append(mine[np.arange(len(mine)) - np.repeat(begins, sizes) < quota[strata[mine]]])
    return np.concatenate([np.zeros(0, np.int64), *kept])
