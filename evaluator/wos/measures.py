"""Word-order sensitivity of a classifier, with intervals over examples and their draws, and what stands beside it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.reduce.intervals import percentile_interval, stream
from evaluator.reduce.shares import balanced_share, share
from evaluator.types import Bools, Float64s, Int64s
from evaluator.wos.outcomes import Said
from evaluator.wos.select import Selection, balanced
from evaluator.wos.settings import WosConfig

REASONS: dict[str, str] = {
    "no_examples": "no example is left: see the sizes of every step",
    "one_class": "only one class is ever right, so chance is certainty",
    "constant": "predictions or labels do not vary, so ranks cannot agree",
    "orig_not_above_chance": "the rank correlation unshuffled is 0 or less, so no share of it can be lost",
}
"""Why a figure is null."""


def word_order_sensitivity(accuracy: float, chance: float) -> float:
    """WOS = (100 − p) / (100 − b), here as shares: (1 − p) / (1 − b).

    p: accuracy on shuffled inputs that are classified correctly unshuffled, b: chance, 1 / k for k balanced classes. 0:
    shuffling changes nothing; 1: what was right is now at chance; above 1: below chance. Pham et al. 2021, equation 1,
    where b = 50.
    """
    return (1 - accuracy) / (1 - chance)


def measure_rows(said: Said, selection: Selection, examples: pa.Table, config: WosConfig) -> list[dict[str, Any]]:
    """One row per order, and per order of both inputs: WOS on dev-r, and the unfiltered figures of the same orders."""
    rows = []
    for both in (False, True) if config.both and examples["other"].null_count < examples.num_rows else (False,):
        for condition in config.orders:
            if both and condition == "noun_swap":
                continue
            items = said.of(condition, both=both)
            there = np.zeros(examples.num_rows, dtype=np.bool_)
            there[said.example[items]] = True
            row = {"model": said.bundle.name, "condition": condition, "both": both, "draws": config.draws}
            if said.regression:
                row |= _correlation(said, items, selection.usable & there, config)
            else:
                chosen = selection.dev_r
                if not bool(there[chosen].all()):
                    chosen = balanced(selection.right & there, said, examples["key"].to_numpy(), config.seed)
                row |= _sensitivity(said, items, chosen, config.statistics.confidence)
                row |= _unfiltered(said, items, selection.usable & there, config.statistics.confidence)
            rows.append(row)
    return rows


def _sensitivity(said: Said, items: Int64s, chosen: Bools, confidence: float) -> dict[str, Any]:
    """Accuracy and WOS on the chosen examples, all their draws; every draw's own accuracy beside it."""
    own = items[chosen[said.example[items]]]
    classes = np.unique(said.gold[chosen])
    row: dict[str, Any] = {"measure": "accuracy", "n": int(chosen.sum()), "classes": len(classes)}
    row |= {"chance": 1 / len(classes) if len(classes) else None, "original": 1.0 if len(own) else None}
    example = said.example[own]
    found = balanced_share(said.correct[own], example, said.gold[example].astype(np.int64), confidence)
    row |= {"shuffled": found["value"], "shuffled_ci": found["ci"], "wos": None, "wos_ci": None}
    row["per_draw"] = _per_draw(said, own)
    if not len(own) or len(classes) < 2:
        return row | {"reason": "one_class" if len(own) else "no_examples"}
    ends = [word_order_sensitivity(p, row["chance"]) for p in reversed(found["ci"])]
    return row | {"wos": word_order_sensitivity(found["value"], row["chance"]), "wos_ci": ends, "reason": None}


def _per_draw(said: Said, own: Int64s) -> list[float]:
    return [float(said.correct[own[said.draw[own] == draw]].mean()) for draw in np.unique(said.draw[own])]


def _unfiltered(said: Said, items: Int64s, usable: Bools, confidence: float) -> dict[str, Any]:
    """Accuracy before and after over all usable examples, right or wrong; `full_majority`: of the largest class."""
    own = items[usable[said.example[items]]]
    orig = said.of("orig")
    orig = orig[usable[said.example[orig]]]
    counts = np.unique(said.gold[usable], return_counts=True)[1]
    found = share(said.correct[own], np.ones(len(own), dtype=np.bool_), said.example[own], confidence)
    return {
        "full_n": int(usable.sum()),
        "full_original": float(said.correct[orig].mean()) if len(orig) else None,
        "full_shuffled": found["value"],
        "full_ci": found["ci"],
        "full_majority": float(counts.max() / counts.sum()) if len(counts) else None,
    }


def _correlation(said: Said, items: Int64s, usable: Bools, config: WosConfig) -> dict[str, Any]:
    """Spearman's ρ with the gold numbers before (ρ₀) and after (ρ, mean over draws); loss (ρ₀ − ρ) / ρ₀, chance 0.

    Intervals: bootstrap over examples, all draws of an example together (they are drawn for each example anew).
    """
    own = items[usable[said.example[items]]]
    orig = said.of("orig")
    orig = orig[usable[said.example[orig]]]
    row: dict[str, Any] = {"measure": "spearman", "n": len(orig), "classes": None, "chance": 0.0}
    row |= dict.fromkeys(("original", "shuffled", "shuffled_ci", "wos", "wos_ci", "reason"))
    row |= {"per_draw": [], "full_n": len(orig), "full_majority": None}
    row |= dict.fromkeys(("full_original", "full_shuffled", "full_ci"))
    if len(orig) < 3:
        return row | {"reason": "no_examples"}
    gold, before = said.gold[said.example[orig]], said.value[orig]
    after = said.value[own].reshape(len(orig), -1).T
    original, shuffled = float(spearman(before[None], gold)[0]), spearman(after, gold)
    if not np.isfinite([original, *shuffled]).all():
        return row | {"reason": "constant"}
    mean = float(shuffled.mean())
    row |= {"original": original, "shuffled": mean, "per_draw": shuffled.tolist()}
    rng = stream(config.statistics.seed, f"{said.bundle.name}:{config.data}")
    resampled = np.empty((config.statistics.resamples, 2))
    for drawn in resampled:
        at = rng.integers(0, len(gold), size=len(gold))
        drawn[:] = spearman(before[None, at], gold[at])[0], spearman(after[:, at], gold[at]).mean()
    ends = percentile_interval(resampled[:, 1], mean, config.statistics.confidence)
    row["shuffled_ci"] = list(ends) if ends else None
    row |= {"full_original": original, "full_shuffled": mean, "full_ci": row["shuffled_ci"]}
    if original <= 0:
        return row | {"reason": "orig_not_above_chance"}
    loss = 1 - mean / original
    positive = resampled[resampled[:, 0] > 0]
    lost = percentile_interval(1 - positive[:, 1] / positive[:, 0], loss, config.statistics.confidence)
    return row | {"wos": loss, "wos_ci": list(lost) if lost else None}


def spearman(values: Float64s, gold: Float64s) -> Float64s:
    """Spearman's rank correlation of each row of `values` (rows, n) with `gold` (n,): Pearson's of mid-ranks."""
    from scipy.stats import rankdata  # half a second to load, and only numbers need it

    a = rankdata(values, axis=1) - (values.shape[1] + 1) / 2
    b = rankdata(gold) - (len(gold) + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Float64s = (a @ b) / np.sqrt((a * a).sum(axis=1) * (b @ b))
    return correlation


def kept_rows(said: Said, selection: Selection, orders: Sequence[str], confidence: float) -> list[dict[str, Any]]:
    """Per order and class, the share of correct predictions that the order leaves as they were; before balancing."""
    rows: list[dict[str, Any]] = []
    if said.regression:
        return rows
    for condition in orders:
        items = said.of(condition)
        items = items[selection.right[said.example[items]]]
        for i, label in enumerate(said.bundle.labels):
            own = items[said.gold[said.example[items]] == i]
            found = share(said.correct[own], np.ones(len(own), dtype=np.bool_), said.example[own], confidence)
            row = {"model": said.bundle.name, "condition": condition, "label": label}
            n = len(np.unique(said.example[own]))
            rows.append(row | {"n": n, "kept": found["value"], "kept_ci": found["ci"]})
    return rows
