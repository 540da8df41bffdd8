"""Items per second of the prepare stage, one process, twelve conditions with their +L twins.

python -m benchmarks.prepare UD_English-PUD/en_pud-ud-test.conllu … [--json] [--seeds 1] [--repeats 3]
"""

import argparse
import json
import platform
import time
from pathlib import Path

from evaluator.items.build import ItemSettings, build_items
from evaluator.treebank.read import read_treebank


def main() -> None:
    """Prints the best of some runs."""
    parser = argparse.ArgumentParser(description="items per second of choosing, perturbing and tabulating")
    parser.add_argument("paths", nargs="+", type=Path, help="CoNLL-U files, each its own treebank")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--seeds", type=int, default=1, help="base items per sentence")
    parser.add_argument("--repeats", type=int, default=3, help="runs, of which the best counts")
    options = parser.parse_args()

    begin = time.perf_counter()
    sentences = [
        sentence
        for path in options.paths
        for sentence in read_treebank([path], name=path.stem, language=path.stem[:2]).sentences
    ]
    read_s = time.perf_counter() - begin
    settings = ItemSettings(seeds=tuple(range(options.seeds)))
    walls, cpus = [], []
    for _ in range(options.repeats):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        result = build_items(sentences, settings)
        walls.append(time.perf_counter() - begin)
        cpus.append(time.process_time() - begin_cpu)
    figures = {
        "sentences": len(sentences),
        "items": result.items.num_rows,
        "read_s": round(read_s, 3),
        "build_s": round(min(walls), 3),
        "items_per_s": round(result.items.num_rows / min(walls)),
        "items_per_cpu_s": round(result.items.num_rows / min(cpus)),
        "conditions": len(settings.conditions),
        "machine": f"{platform.machine()} {platform.system()}, Python {platform.python_version()}, 1 process",
    }
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:12} {value}")


if __name__ == "__main__":
    main()
