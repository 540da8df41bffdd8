"""Time and peak memory of all statistics over synthetic outcomes: `python -m benchmarks.reduce [--json]`.

Default: 10 million outcomes (2 models × 6 treebanks × 12 conditions × ±L) and 1,000 resamples; bar: 60 s, 2 GiB. Peak
memory is the whole process's, the outcomes table included, whose strings are dictionary-encoded as Parquet keeps them.
`cpu_s` is what a busy machine does not lengthen.
"""

import argparse
import json
import resource
import sys
import time
from itertools import product
from typing import get_args

import numpy as np
import pyarrow as pa

from evaluator.reduce.cells import reduce_cells
from evaluator.reduce.complete import mark_complete
from evaluator.reduce.summary import report_data
from evaluator.types import Condition

CONDITIONS: tuple[str, ...] = get_args(Condition)
UPOS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")
DEPRELS = tuple(f"rel{i}" for i in range(30))
FEATS = tuple(
    f"Case=C{i % 7}|Gender=G{i % 3}|Number=N{i % 2}|Person=P{i % 4}|Tense=T{i % 5}|Voice=V{i % 11}" for i in range(400)
)


def main() -> int:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=10_000_000)
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--treebanks", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3, help="base items per sentence")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--cells-only", action="store_true", help="cells without breakdowns, draws, comparisons")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    outcomes = synthetic(given.outcomes, given.models, given.treebanks, given.seeds)
    figures: dict[str, float] = {
        "outcomes": outcomes.num_rows,
        "resamples": given.resamples,
        "table_mib": outcomes.nbytes >> 20,
    }
    figures["rss_before_mib"] = peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    outcomes = mark_complete(outcomes)
    figures["complete_s"] = time.perf_counter() - start
    start = time.perf_counter()
    if given.cells_only:
        rows = len(reduce_cells(outcomes, resamples=given.resamples))
    else:
        rows = len(report_data(outcomes, resamples=given.resamples)["cells"])
    figures |= {
        "reduce_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu,
        "cells": rows,
        "peak_rss_mib": peak_mib(),
    }
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:16}{value:14,.1f}")
    return 0


def peak_mib() -> float:
    """Highest resident memory of this process so far."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def synthetic(outcomes: int, models: int, treebanks: int, seeds: int) -> pa.Table:
    """About that many outcomes in the columns that statistics read, one record batch per (treebank, cell, model)."""
    cells = list(product(CONDITIONS, (False, True)))
    n = max(seeds, outcomes // (models * treebanks * len(cells)) // seeds * seeds)  # base items of a treebank
    batches: list[pa.RecordBatch] = []
    for t in range(treebanks):
        rng = np.random.default_rng(t)
        base = _base_columns(rng, n, seeds, t)
        ease = np.repeat(rng.normal(size=n // seeds), seeds)
        for (condition, lemma), m in product(cells, range(models)):
            place = rng.normal(size=n) - ease + 0.3 * CONDITIONS.index(condition) + 0.4 * lemma + 0.2 * m
            names = {
                "model": f"model-{m}",
                "condition": condition,
                "status": "scored",
                "language": f"l{t}",
                "treebank": f"T{t}",
            }
            columns = base | {name: _constant(value, n) for name, value in names.items()}
            columns |= {
                "reason": pa.DictionaryArray.from_arrays(pa.nulls(n, pa.int32()), pa.array([], pa.string())),
                "lemma": pa.array(np.full(n, lemma)),
                "draw": pa.array(np.zeros(n, np.int16)),
                "n_masks": pa.array(rng.integers(1, 5, size=n).astype(np.int16)),
                "kendall_tau": pa.array(rng.uniform(-1, 1, size=n).astype(np.float32)),
                "gold_logp": pa.array(-np.abs(place) * 3),
                "correct1": pa.array(place < 0),
                "correct5": pa.array(place < 1),
            }
            batches.append(pa.RecordBatch.from_pydict(columns))
    return pa.Table.from_batches(batches)


def _base_columns(rng: np.random.Generator, n: int, seeds: int, t: int) -> dict[str, pa.Array]:
    sent_ids = pa.array([f"treebank{t}-{s:08d}" for s in range(n // seeds)])
    sentence = np.repeat(np.arange(n // seeds, dtype=np.int32), seeds)
    return {
        "sent_id": pa.DictionaryArray.from_arrays(pa.array(sentence), sent_ids),
        "base_id": pa.array(rng.integers(0, 2**63, size=n).astype(np.uint64)),
        "seed": pa.array(np.tile(np.arange(seeds, dtype=np.int32), n // seeds)),
        "upos": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(UPOS), n).astype(np.int32)), pa.array(UPOS)
        ),
        "deprel": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(DEPRELS), n).astype(np.int32)), pa.array(DEPRELS)
        ),
        "feats": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(FEATS), n).astype(np.int32)), pa.array(FEATS)
        ),
        "n_units": pa.array(rng.integers(5, 51, size=n).astype(np.int16)),
    }


def _constant(value: str, n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([value]))


if __name__ == "__main__":
    sys.exit(main())
