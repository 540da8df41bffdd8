"""The same rows scored by every tool people use for this, one process each: `python -m benchmarks.peers [--json]`.

Toy: a small random model and embedded sentences. Full (`--size base --treebank FILE…`): a random model of XLM-R-base's
size with XLM-R's tokenizer. Bars at full size: our fp32 ≥ 9 × the pipeline, ≥ 4 × optimum's full logits, ≥ 2.2 × torch
with gathered rows; int8 ≥ 1.9 × our fp32. Ours and torch must agree on the rows they were timed on. Beside them stands
the ceiling: the matrix products of our graph alone, at the shapes of our batches. Nothing that is exact and in fp32 is
faster on the machine, so that ceiling over a way is the most that any tool could be ahead of it there.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.machine import machine_facts, peak_rss_mib
from benchmarks.material import Material, make_material
from benchmarks.models import SHAPES
from benchmarks.products import bare_seconds, batches_of, products_of
from benchmarks.ways import WAYS
from evaluator.score.batches import FlatRows
from evaluator.score.bundle import MODEL_FILE
from evaluator.score.words import NEAR_TIE_NATS, k_best
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

OURS, INT8 = "ours, fp32", "ours, int8"
REFERENCE = "torch, masked rows gathered"
BARS = {
    "transformers pipeline": 9.0,
    "transformers pipeline, batch_size=32": 9.0,
    "optimum ORTModelForMaskedLM, by length": 4.0,
    REFERENCE: 2.2,
}
"""Our fp32 over a way's items per second."""
INT8_BAR = 1.9
QUICK = (OURS, INT8, REFERENCE, "optimum ORTModelForMaskedLM, by length")
"""Ways repeated for their spread; the slow ones run once, over the same rows."""


def main() -> int:
    """Runs the comparison and prints it; 1 when ours and torch disagree."""
    given = _arguments()
    if given.way:
        return _run_way(given)
    with contextlib.ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        began = time.perf_counter()
        material = make_material(work, given.size, given.treebank, n=given.n, rows=given.rows)
        made_s = time.perf_counter() - began
        ways = [name for name in WAYS if not given.only or any(part in name for part in given.only)]
        results = [_measured(name, work, given) for name in ways]
        agreement = _agreement(material) if {OURS, REFERENCE} <= set(ways) else None
        ceiling = _ceiling(material, SHAPES[given.size].heads)
    document = {
        "benchmark": "peers",
        "size": given.size,
        "machine": machine_facts(),
        "rows": _row_facts(material),
        "material_s": round(made_s, 1),
        "ceiling_items_per_s": round(ceiling, 2),
        "ways": _with_ratios(results, ceiling),
        "agreement": agreement,
    }
    print(json.dumps(document) if given.json else "\n".join(_lines(document)))
    return 0 if agreement is None or agreement["agree"] else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("toy", "base"), default="toy")
    parser.add_argument("--treebank", nargs="*", default=[], help="CoNLL-U files or UD folders")
    parser.add_argument("--n", type=int, default=40, help="sentences drawn per treebank")
    parser.add_argument("--rows", type=int, default=512, help="distinct rows to score")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="ways whose name holds one of these")
    parser.add_argument("--work", type=Path, help="folder that keeps the model between runs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(name: str, work: Path, given: argparse.Namespace) -> dict[str, Any]:
    """What a way came to in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.peers", "--way", name, "--work", str(work)]
    command += ["--repeats", str(given.repeats if name in QUICK or given.size == "toy" else 1)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"way": name, "error": last}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"{name}: {result['items_per_s']} items/s", file=sys.stderr, flush=True)
    return result


def _run_way(given: argparse.Namespace) -> int:
    warnings.filterwarnings("ignore")
    facts = json.loads((given.work / "rows" / "facts.json").read_text())
    material = Material(given.work, facts["rows"], facts["shards"])
    began = time.perf_counter()
    score = WAYS[given.way](material)
    load_s = time.perf_counter() - began
    walls, cpus = [], []
    for _ in range(given.repeats):
        began, began_cpu = time.perf_counter(), time.process_time()
        outcome = score()
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - began_cpu)
    rows = FlatRows.of(material.table())
    pieces = len(rows.ids)
    if outcome.top_ids is not None:
        folder = given.work / "answers"
        folder.mkdir(exist_ok=True)
        np.savez(folder / f"{given.way}.npz", ids=outcome.top_ids, logp=outcome.top_logp, gold=outcome.gold_logp)
    middle = median(walls)
    result = {
        "way": given.way,
        "items_per_s": round(material.rows / middle, 2),
        "items_per_s_range": [round(material.rows / max(walls), 2), round(material.rows / min(walls), 2)],
        "items_per_cpu_s": round(material.rows / median(cpus), 2),
        "pieces_per_s": round(pieces / middle),
        "padding_share": round(1 - pieces / outcome.padded_pieces, 4),
        "peak_rss_mib": peak_rss_mib(),
        "load_s": round(load_s, 1),
        "repeats": given.repeats,
        **outcome.notes,
    }
    print(json.dumps(result))
    return 0


def _ceiling(material: Material, heads: int) -> float:
    """Items per second if our graph were nothing but its matrix products."""
    products, free = products_of(material.work / "fp32" / MODEL_FILE)
    return material.rows / bare_seconds(batches_of(material), products, free, heads)


def _with_ratios(results: list[dict[str, Any]], ceiling: float) -> list[dict[str, Any]]:
    """The results with what ours is over each, by the clock and by processor time (steadier on a busy machine)."""
    ours = next((r for r in results if r["way"] == OURS and "error" not in r), None)
    for result in results:
        if ours is None or "error" in result:
            continue
        result["ours_over_this"] = round(ours["items_per_s"] / result["items_per_s"], 2)
        result["ours_over_this_cpu"] = round(ours["items_per_cpu_s"] / result["items_per_cpu_s"], 2)
        if result["way"] in BARS:
            result["ceiling_over_this"] = round(ceiling / result["items_per_s"], 2)
            result["bar"] = BARS[result["way"]]
        if result["way"] == INT8:
            result["over_ours_fp32"] = round(result["items_per_s"] / ours["items_per_s"], 2)
            result["bar"] = INT8_BAR
    return results


def _agreement(material: Material) -> dict[str, Any]:
    """Whether our answers are torch's: five best words and gold log-probability of every row."""
    answers = np.load(material.work / "answers" / f"{REFERENCE}.npz")
    place = Location.of(material.work / "scored" / "fp32")
    scored = ShardSet(place, "part", schemas.SCORED, "benchmark").read_all(material.shards)
    rows = FlatRows.of(material.table())
    gold = np.array([of_row[0] for of_row in scored["gold_logp"].to_pylist()])
    words = scored["words"].to_pylist()
    scores = scored["word_logp"].to_pylist()
    differ = near = 0
    for i, (ours, of_ours) in enumerate(zip(words, scores, strict=True)):
        masks = slice(rows.mask_offsets[i], rows.mask_offsets[i + 1])
        best, total = k_best(answers["ids"][None, masks], answers["logp"][None, masks], 5)
        if ours != best[0].tolist():
            close = np.abs(np.array(of_ours) - total[0]).max() < NEAR_TIE_NATS
            differ, near = differ + (not close), near + bool(close)
    delta = float(np.abs(gold - answers["gold"]).max())
    return {
        "rows": len(words),
        "top5_words_differ": differ,
        "near_ties": near,
        "max_abs_dgold_logp_nats": delta,
        "agree": differ == 0 and delta < 1e-3,
    }


def _row_facts(material: Material) -> dict[str, Any]:
    rows = FlatRows.of(material.table())
    lengths, masks = np.diff(rows.id_offsets), np.diff(rows.mask_offsets)
    return {
        "rows": material.rows,
        "pieces": [int(lengths.min()), float(np.median(lengths)), int(lengths.max())],
        "masks_per_row": round(float(masks.mean()), 2),
    }


def _lines(document: dict[str, Any]) -> list[str]:
    facts = document["rows"]
    lines = [
        f"{facts['rows']} rows, pieces (least, median, most) {facts['pieces']}, {facts['masks_per_row']} masks each",
        f"{'way':<40}{'items/s':>9}{'range':>16}{'pieces/s':>10}{'padding':>9}{'RSS MiB':>9}"
        f"{'ours ×':>8}{'bar':>6}{'most':>7}",
    ]
    for way in document["ways"]:
        if "error" in way:
            lines.append(f"{way['way']:<40} {way['error']}")
            continue
        low, high = way["items_per_s_range"]
        ratio = way.get("over_ours_fp32", way.get("ours_over_this", ""))
        lines.append(
            f"{way['way']:<40}{way['items_per_s']:>9}{f'{low}-{high}':>16}{way['pieces_per_s']:>10}"
            f"{way['padding_share']:>9.1%}{way['peak_rss_mib']:>9.0f}{ratio:>8}{way.get('bar', ''):>6}"
            f"{way.get('ceiling_over_this', ''):>7}"
        )
    lines.append(
        f"products alone (fp32): {document['ceiling_items_per_s']} items/s, so at most the ratios under 'most'"
    )
    return [*lines, f"agreement with torch: {document['agreement']}"]


if __name__ == "__main__":
    sys.exit(main())
