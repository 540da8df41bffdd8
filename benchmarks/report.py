"""Time and size of a report over many outcomes: `python -m benchmarks.report RUN [--outcomes N] [--json]`.

The outcomes of a finished run, repeated under other ids until there are N (default 10 million); statistics are the
run's own, so this is rendering alone. Bar: 10 s, a page of 5 MB.
"""

import argparse
import json
import sys
import time

import numpy as np
import pyarrow as pa

from benchmarks.reduce import peak_mib
from evaluator.frames import load_report
from evaluator.report import render_report

IDS = ("base_id", "item_id")


def main() -> int:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a run folder with a report")
    parser.add_argument("--outcomes", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report = load_report(given.run)
    outcomes = repeated(report.outcomes, given.outcomes)
    start, cpu = time.perf_counter(), time.process_time()
    files = dict(render_report(report.document, outcomes))
    figures = {
        "outcomes": outcomes.num_rows,
        "render_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu,
        "page_bytes": len(files["report.html"]),
        "all_bytes": sum(map(len, files.values())),
        "peak_rss_mib": peak_mib(),
    }
    print(json.dumps(figures) if given.json else "\n".join(f"{k:16}{v:14,.1f}" for k, v in figures.items()))
    return 0


def repeated(outcomes: pa.Table, wanted: int) -> pa.Table:
    """The outcomes again and again, each time with other ids; texts and orders are shared, not copied."""
    parts = []
    for copy in range(-(-wanted // outcomes.num_rows)):
        part = outcomes
        for name in IDS:
            at = part.column_names.index(name)
            ids = part[name].to_numpy() ^ np.uint64(copy * 0x9E3779B97F4A7C15 % 2**64)
            part = part.set_column(at, part.schema.field(at), pa.array(ids))
        parts.append(part)
    return pa.concat_tables(parts).slice(0, wanted)


if __name__ == "__main__":
    sys.exit(main())
