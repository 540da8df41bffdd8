"""Does the prompt help? Reconstruction and choice with it against the sentence alone, over the same items."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.cloze.dataset import CELLS
from evaluator.cloze.inputs import STYLES
from evaluator.cloze.outcomes import sentence_ids
from evaluator.reduce.comparisons import adjust, decided
from evaluator.reduce.intervals import percentile_interval, resample, stream
from evaluator.reduce.permutation import sign_flip_p
from evaluator.types import Bools, Float64s, Int64s

MEASURES = ("first", "joint")
"""What is compared: the first answer, and the joint choice among the lemma's forms."""
CONTEXT, PROMPT = 0, 1


def style_tests(
    outcomes: pa.Table, hidden: Sequence[str] = (), *, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> list[dict[str, Any]]:
    """Rows `model`, `group` (all, then the cells), `measure`, `n`, `delta` = prompt − context with `delta_ci`, `p` …

    Items scored in both styles for which the measure is defined. `only_prompt`, `only_context`: items right under one
    style alone. `p`: exact sign-flip test over sentences (McNemar's where a sentence has one item); `p_holm` over all
    rows of a model; interval: paired bootstrap over sentences, as in `reduce.intervals`. `hidden` cells are left out.
    """
    rows: list[dict[str, Any]] = []
    for model in sorted(set(outcomes["model"].to_pylist())):
        own = outcomes.filter(pc.equal(outcomes["model"], model))
        styles = [own.filter(pc.equal(own["style"], style)).sort_by("item") for style in STYLES]
        scored = np.logical_and.reduce([pc.equal(t["status"], "scored").to_numpy() for t in styles])
        sentence, cells = sentence_ids(styles[0]), np.array(styles[0]["cell"].to_pylist(), dtype=object)
        family = []
        for group in ("all", *(cell for cell in CELLS if cell not in hidden)):
            inside: Bools = scored & (cells == group if group != "all" else not set(cells) <= set(hidden))
            for measure in MEASURES:
                known = inside & np.logical_and.reduce([_known(t, measure) for t in styles])
                hits = np.stack([_hits(t, measure)[known] for t in styles], axis=-1)
                found = compare(hits, sentence[known], stream(seed, f"{model}\0{group}"), resamples, confidence)
                family.append({"model": model, "group": group, "measure": measure, "p_holm": None, **found})
        adjust(family)
        rows += [{**row, "decision": decided(row["delta"], row["p_holm"])} for row in family]
    return rows


def compare(
    hits: Int64s, sentence: Int64s, rng: np.random.Generator, resamples: int, confidence: float
) -> dict[str, Any]:
    """`n`, `delta`, `delta_ci`, `only_prompt`, `only_context`, `p` of `hits` (items, 2): context, prompt; 0 or 1."""
    empty: dict[str, Any] = dict.fromkeys(("delta", "delta_ci", "only_prompt", "only_context", "p"))
    if not len(hits):
        return {"n": 0, **empty}
    _, cluster = np.unique(sentence, return_inverse=True)
    sums = np.stack([np.bincount(cluster, weights=column) for column in (np.ones(len(hits)), *hits.T)], axis=-1)
    columns = sums.astype(np.int64)
    difference = hits[:, PROMPT] - hits[:, CONTEXT]
    delta = float(difference.mean())
    return {
        "n": len(hits),
        "delta": delta,
        "delta_ci": _interval(columns, delta, rng, resamples, confidence),
        "only_prompt": int((difference > 0).sum()),
        "only_context": int((difference < 0).sum()),
        "p": sign_flip_p(columns[:, 1 + PROMPT] - columns[:, 1 + CONTEXT])[0],
    }


def _interval(
    columns: Int64s, delta: float, rng: np.random.Generator, resamples: int, confidence: float
) -> list[float] | None:
    """Of the difference of (hits + s·g) / (items + s), g ~ Gamma(½, 1), s items a sentence: see `reduce.intervals`."""
    if len(columns) < 2:
        return None
    drawn = resample(columns, rng, resamples)
    s = columns[:, 0].sum() / len(columns)
    shares: list[Float64s] = [
        (drawn.totals[:, 1 + style] + s * drawn.pseudo[:, style]) / (drawn.totals[:, 0] + s)
        for style in (CONTEXT, PROMPT)
    ]
    found = percentile_interval(shares[PROMPT] - shares[CONTEXT], delta, confidence)
    return list(found) if found else None


def _known(table: pa.Table, measure: str) -> Bools:
    return ~np.asarray(table[measure].combine_chunks().is_null().to_numpy(zero_copy_only=False))


def _hits(table: pa.Table, measure: str) -> Int64s:
    return np.asarray(table[measure].combine_chunks().fill_null(False).to_numpy(zero_copy_only=False)).astype(np.int64)
