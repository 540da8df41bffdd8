"""How close scoring comes to what the machine's matrix products allow: `python -m benchmarks.roofline [--json]`.

Achieved: operations of all matrix products in the bundle's graph, over the wall time of the whole stage (reading rows,
building batches, session, top-k, k-best words, writing). Attainable: the same products alone in onnxruntime at the
shapes of the very batches scored. Both in turns, in one process. Bar at full size: 0.85.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine_facts, peak_rss_mib
from benchmarks.material import Material, make_material
from benchmarks.models import SHAPES
from benchmarks.products import bare_seconds, batches_of, flop, products_of
from benchmarks.ways import scorer_of
from evaluator.executor import overlapped
from evaluator.score.bundle import MODEL_FILE
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

BAR = 0.85


def main() -> int:
    """Runs the benchmark and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("toy", "base"), default="toy")
    parser.add_argument("--treebank", nargs="*", default=[], help="CoNLL-U files or UD folders")
    parser.add_argument("--n", type=int, default=40, help="sentences drawn per treebank")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3, help="turns of attainable and achieved")
    parser.add_argument("--work", type=Path, help="folder that keeps the model between runs")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        material = make_material(work, given.size, given.treebank, n=given.n, rows=given.rows)
        document = {"benchmark": "roofline", "size": given.size, "machine": machine_facts()}
        document |= measure(material, SHAPES[given.size].heads, given.rounds)
    if given.json:
        print(json.dumps(document))
    else:
        for name in ("achieved_gflop_s", "attainable_gflop_s", "ratio", "ratios", "bar", "batches", "gflop"):
            print(f"{name:20} {document[name]}")
    return 0


def measure(material: Material, heads: int, rounds: int) -> dict[str, Any]:
    """Achieved and attainable GFLOP/s in turns, and the median of their ratios."""
    products, free = products_of(material.work / "fp32" / MODEL_FILE)
    batches = batches_of(material)
    operations = sum(flop(batch, products, free) for batch in batches)
    scored = ShardSet(Location.of(material.work / "scored" / "fp32"), "part", schemas.SCORED, "benchmark")
    scorer = scorer_of(material, "fp32", scored)
    list(overlapped(scorer, range(material.shards)))  # the first pass packs weights and grows the arena
    achieved, attainable = [], []
    for _ in range(rounds):
        attainable.append(operations / bare_seconds(batches, products, free, heads) / 1e9)
        began = time.perf_counter()
        list(overlapped(scorer, range(material.shards)))
        achieved.append(operations / (time.perf_counter() - began) / 1e9)
    ratios = [a / b for a, b in zip(achieved, attainable, strict=True)]
    return {
        "achieved_gflop_s": round(median(achieved), 1),
        "attainable_gflop_s": round(median(attainable), 1),
        "ratio": round(median(ratios), 3),
        "ratios": [round(r, 3) for r in ratios],
        "bar": BAR,
        "gflop": round(operations / 1e9, 1),
        "rows": material.rows,
        "batches": len(batches),
        "peak_rss_mib": peak_rss_mib(),
    }


if __name__ == "__main__":
    sys.exit(main())
