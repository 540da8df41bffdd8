"""Paired log-probability curves and paired rows, read from `outcomes` by columns: no Python object per outcome."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.report.document import dose
from evaluator.types import Bools, UInt64s

MAX_ROWS = 200_000
"""Outcomes read into pairs; beyond it a fixed hash sample of base items stands for the rest."""
SHARES = np.round(np.concatenate([[0.01], np.arange(0.04, 0.97, 0.04), [0.99]]), 2)


@dataclass(frozen=True, slots=True)
class Curve:
    """Quantiles of Δ log p(gold) against the original order in one (model, treebank, condition), word forms."""

    model: str
    treebank: str
    condition: str
    n: int
    values: tuple[float, ...]
    shares: tuple[float, ...]


def mixed(keys: UInt64s, salt: int = 0) -> UInt64s:
    """A well-mixed 64-bit hash of each key (splitmix64's finalizer): a fixed, order-free random address."""
    with np.errstate(over="ignore"):
        z = keys.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed_keys: UInt64s = z ^ (z >> np.uint64(31))
        return mixed_keys


def sampled(outcomes: pa.Table, max_rows: int = MAX_ROWS) -> pa.Table:
    """The scored outcomes of a fixed hash sample of base items, all of them when ≤ `max_rows`, sorted by their address.

    Whole base items are kept or dropped, so pairs stay pairs; the sort makes the result independent of row order.
    """
    scored: Bools = pc.equal(outcomes["status"], "scored").to_numpy(zero_copy_only=False)
    if outcomes.num_rows > max_rows:
        share = max_rows / outcomes.num_rows
        addresses = mixed(outcomes["base_id"].to_numpy())
        scored = scored & (addresses < np.uint64(int(share * (2**64 - 1))))
    kept = outcomes.filter(pa.array(scored))
    return kept.sort_by(
        [("model", "ascending"), ("treebank", "ascending"), ("item_id", "ascending"), ("base_id", "ascending")]
    )


def log_probability_curves(sample: pa.Table) -> list[Curve]:
    """One curve per (model, treebank, condition ≠ orig) with ≥ 20 pairs: first draw, word forms, complete cases."""
    wanted = pc.and_(
        pc.invert(sample["lemma"]), pc.and_(sample["complete"], pc.equal(sample["draw"], _first_draw(sample)))
    )
    rows = sample.filter(wanted).select(["model", "treebank", "condition", "base_id", "gold_logp"])
    rows = rows.filter(pc.is_valid(rows["gold_logp"]))
    base = rows.filter(pc.equal(rows["condition"], "orig")).drop_columns(["condition"])
    pairs = rows.filter(pc.not_equal(rows["condition"], "orig")).join(
        base, keys=["model", "treebank", "base_id"], right_suffix="_orig", join_type="inner", use_threads=False
    )
    if not pairs.num_rows:
        return []
    delta = pairs["gold_logp"].to_numpy() - pairs["gold_logp_orig"].to_numpy()
    keys = list(zip(*(pairs[name].to_pylist() for name in ("model", "treebank", "condition")), strict=True))
    places: dict[tuple[str, str, str], list[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    curves = []
    for key in sorted(places, key=lambda k: (k[0], k[1], dose(k[2]))):
        values = delta[places[key]]
        values = values[np.isfinite(values)]
        if len(values) >= 20:
            quantiles = np.round(np.quantile(np.sort(values), SHARES), 3)
            curves.append(Curve(*key, len(values), tuple(map(float, quantiles)), tuple(map(float, SHARES))))
    return curves


def _first_draw(sample: pa.Table) -> int:
    """Lowest draw number in the table (0 when empty)."""
    lowest = pc.min(sample["draw"]).as_py()
    return 0 if lowest is None else int(lowest)
