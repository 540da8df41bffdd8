"""Memory of scoring: `python -m benchmarks.memory [--json]`.

Peak of one worker over rows of ordinary and of 500 different lengths, in two passes: a runtime that keeps something
for every new shape grows between them. Two workers at once: what both hold together (their proportional shares), and
how much of one is shared. Bars: peak ≤ weights + 1 GiB, no growth after the first pass.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import machine_facts, peak_rss_mib
from benchmarks.material import Material, make_material
from benchmarks.ways import scorer_of
from evaluator.score.bundle import read_bundle
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

LENGTHS = 500
PASSES = 2
ALLOWED_MIB = 1024


def main() -> int:
    """Runs the benchmark and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("toy", "base"), default="toy")
    parser.add_argument("--precision", choices=("fp32", "int8"), default="fp32")
    parser.add_argument("--treebank", nargs="*", default=[], help="CoNLL-U files or UD folders")
    parser.add_argument("--n", type=int, default=40, help="sentences drawn per treebank")
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--lengths", type=int, default=LENGTHS, help="rows of 3, 4, 5, … pieces")
    parser.add_argument("--work", type=Path, help="folder that keeps the model between runs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", choices=("alone", "paired"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return _work(given)
    with contextlib.ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_material(work, given.size, given.treebank, n=given.n, rows=given.rows)
        alone = _wait(_start("alone", work, given))
        pair = [_start("paired", work, given) for _ in range(2)]
        both = _finish_together(pair)
        files = read_bundle(work / given.precision, verify=False).files
        weights = sum(s.size for name, s in files.items() if name.startswith("model.onnx")) / 2**20
    document = {
        "benchmark": "memory",
        "size": given.size,
        "precision": given.precision,
        "machine": machine_facts(),
        "weights_mib": round(weights, 1),
        **alone,
        "allowed_mib": round(weights + ALLOWED_MIB, 1),
        "two_workers": {
            "together_mib": round(sum(w["pss_mib"] for w in both), 1),
            "each_rss_mib": [w["rss_mib"] for w in both],
            "shared_each_mib": [w["shared_mib"] for w in both],
        },
    }
    if given.json:
        print(json.dumps(document))
    else:
        for name, value in document.items():
            print(f"{name:16} {value}")
    return 0 if alone["peak_rss_mib"] <= document["allowed_mib"] else 1


def _work(given: argparse.Namespace) -> int:
    facts = json.loads((given.work / "rows" / "facts.json").read_text())
    material = Material(given.work, facts["rows"], facts["shards"])
    scored = ShardSet(Location.of(given.work / "scored" / "memory"), "part", schemas.SCORED, "benchmark")
    before = peak_rss_mib()
    scorer = scorer_of(material, given.precision, scored, threads=0 if given.worker == "alone" else 1)
    loaded = peak_rss_mib()
    many = _many_lengths(material.table(), given.lengths)
    passes = []
    for _ in range(PASSES if given.worker == "alone" else 1):
        for shard in range(material.shards):
            scorer.compute(shard, scorer.read(shard))
        for first in range(0, many.num_rows, 50):
            scorer.compute(0, many.slice(first, 50))
        passes.append(peak_rss_mib())
    figures: dict[str, Any] = {
        "before_mib": before,
        "loaded_mib": loaded,
        "peak_mib_after_each_pass": passes,
        "peak_rss_mib": passes[-1],
    }
    if given.worker == "paired":
        print("ready", flush=True)
        sys.stdin.readline()  # both are measured while both live
        figures = _shares()
    print(json.dumps(figures), flush=True)
    if given.worker == "paired":
        sys.stdin.readline()
    return 0


def _many_lengths(table: pa.Table, lengths: int) -> pa.Table:
    """Rows of 3, 4, 5, … pieces with a mask each, their pieces those of real rows."""
    pool = table["ids"].combine_chunks().flatten().to_numpy()
    mask = int(table["ids"][0].as_py()[table["mask_pos"][0].as_py()[0]])
    rows = []
    for i in range(lengths):
        ids = np.resize(pool, i + 3).copy()
        ids[ids == mask] = ids[0]
        ids[1] = mask
        rows.append({"row": i, "ids": ids, "mask_pos": [1], "golds": [[int(ids[2])]]})
    return pa.Table.from_pylist(rows, schema=schemas.ROWS)


def _shares() -> dict[str, float]:
    """Resident, proportional and shared memory of this process now; Linux only."""
    kib = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        kib[name] = int(value.split()[0])
    shared = kib["Shared_Clean"] + kib["Shared_Dirty"]
    return {name: round(value / 1024, 1) for name, value in
            (("rss_mib", kib["Rss"]), ("pss_mib", kib["Pss"]), ("shared_mib", shared))}  # fmt: skip


def _start(worker: str, work: Path, given: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.memory", "--worker", worker, "--work", str(work)]
    command += ["--precision", given.precision, "--lengths", str(given.lengths if worker == "alone" else 5)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _wait(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    answer: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return answer


def _finish_together(pair: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    for process in pair:
        assert process.stdout is not None
        process.stdout.readline()
    answers = []
    for process in pair:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
    for process in pair:
        process.communicate("\n")
    return answers


if __name__ == "__main__":
    sys.exit(main())
