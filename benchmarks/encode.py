"""Items per second and core of preparing and encoding: `python -m benchmarks.encode [--json]`.

All twelve conditions with their +L twins. Toy: embedded sentences and a tokenizer trained on them. Full:
`--treebank UD_English-PUD/en_pud-ud-test.conllu … --tokenizer FOLDER_OR_JSON …`. One process, one thread; rates are per
second of processor time, so that a busy machine does not lower them. Bars: preparing 30,000, encoding 100,000.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # per core means one core; read when `tokenizers` is first called

from tokenizers import Tokenizer

from benchmarks.machine import machine_facts, peak_rss_mib
from evaluator.encode.pieces import cut_units
from evaluator.encode.rows import encode_slots, slots_of
from evaluator.encode.tokenizer import PieceCutter
from evaluator.encode.unique import batch_of, unique_rows
from evaluator.items.build import build_items
from evaluator.items.settings import ItemSettings
from evaluator.stages.prepare import SENTENCES_PER_SHARD, demo_folder
from evaluator.treebank.read import read_treebank
from evaluator.types import Sentence

LIMIT = 512
BARS = {"prepare_items_per_cpu_s": 30_000, "encode_items_per_cpu_s": 100_000}


def main() -> int:
    """Runs the benchmark and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebank", nargs="*", type=Path, default=[], help="CoNLL-U files, each its own treebank")
    parser.add_argument("--tokenizer", nargs="*", type=Path, default=[], help="tokenizer.json files or bundle folders")
    parser.add_argument("--seeds", type=int, default=1, help="base items per sentence")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    files = given.treebank or sorted((demo_folder() / "sentences").glob("*.conllu"))
    sentences = [s for f in files for s in read_treebank([f], name=f.stem, language=f.stem[:2]).sentences]
    settings = ItemSettings(seeds=tuple(range(given.seeds)))
    prepare_s, built = _timed(lambda: build_items(sentences, settings), given.repeats)
    with tempfile.TemporaryDirectory() as folder:
        paths = given.tokenizer or [toy_tokenizer_file(Path(folder))]
        cutters = {path.parent.name if path.is_file() else path.name: cutter_of(path) for path in paths}
    document = {
        "benchmark": "encode",
        "machine": machine_facts(),
        "sentences": len(sentences),
        "items": built.items.num_rows,
        "prepare_items_per_cpu_s": round(built.items.num_rows / prepare_s),
        "bars": BARS,
        "tokenizers": [
            {"tokenizer": name, **_encoding(sentences, built.items, cutter, given.repeats)}
            for name, cutter in cutters.items()
        ],
        "peak_rss_mib": peak_rss_mib(),
    }
    if given.json:
        print(json.dumps(document))
    else:
        print(f"{document['items']:,} items of {len(sentences):,} sentences")
        print(f"prepare: {document['prepare_items_per_cpu_s']:,} items per core and second")
        for facts in document["tokenizers"]:
            print(", ".join(f"{name} {value}" for name, value in facts.items()))
    return 0


def _encoding(sentences: list[Sentence], items: Any, cutter: PieceCutter, repeats: int) -> dict[str, Any]:
    """Rates of encoding all items: the whole stage in memory, and what cutting the spellings once takes of it."""
    cut_s, units = _timed(lambda: cut_units(sentences, cutter, unknown_id=None), repeats)
    sentence = items["sentence"].to_numpy()
    spans = range(0, len(sentences), SENTENCES_PER_SHARD)
    shards = [items.filter((sentence >= first) & (sentence < first + SENTENCES_PER_SHARD)) for first in spans]

    def encode() -> Any:
        batches = [
            batch_of(
                shard["item_id"].to_numpy(),
                encode_slots(slots_of(shard), units, cutter, limit=LIMIT, spacing="natural"),
            )
            for shard in shards
        ]
        unique = unique_rows(batches)
        return unique, unique.shard(0, unique.count, cutter.mask_id)

    encode_s, (unique, _) = _timed(encode, repeats)
    return {
        "encode_items_per_cpu_s": round(items.num_rows / encode_s),
        "with_cutting_items_per_cpu_s": round(items.num_rows / (encode_s + cut_s)),
        "cut_s": round(cut_s, 3),
        "encode_s": round(encode_s, 3),
        "unique_rows": unique.count,
    }


def _timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median processor seconds of some runs, and what the last returned."""
    walls, made = [], None
    for _ in range(repeats):
        began = time.process_time()
        made = work()
        walls.append(time.process_time() - began)
    return median(walls), made


def cutter_of(path: Path) -> PieceCutter:
    content = (path / "tokenizer.json" if path.is_dir() else path).read_bytes()
    tokenizer = Tokenizer.from_str(content.decode())
    mask = next(i for i in map(tokenizer.token_to_id, ("<mask>", "[MASK]")) if i is not None)
    return PieceCutter(content, mask_id=mask, where=str(path))


def toy_tokenizer_file(folder: Path) -> Path:
    from benchmarks.models import toy_tokenizer

    path = folder / "toy" / "tokenizer.json"
    path.parent.mkdir()
    toy_tokenizer().save(str(path))
    return path


if __name__ == "__main__":
    sys.exit(main())
