"""What the scoring benchmarks score: a random model in all its forms, and a sample of rows of real treebanks.

Everything lies in one work folder and is kept: `checkpoint/` (transformers), `full/` (optimum's full-logits ONNX),
`fp32/` and `int8/` (our bundles, made of that ONNX file), `run/` (our prepare and encode), `rows/` (the sample).
"""

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.models import Size, save_random_model
from evaluator.config import Config, read_config
from evaluator.progress import Reporter
from evaluator.stages.encode import encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.run import read_stage
from evaluator.store.shards import ShardSet
from evaluator.types import Precision

PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")
SHARD_ROWS = 256
"""Small, so that a sample of some hundred rows is read, scored and written in several shards; with fewer rows in one,
batches would hold more padding than those of a real run."""


@dataclass(frozen=True, slots=True)
class Material:
    """The work folder, and how many rows and shards of rows it holds."""

    work: Path
    rows: int
    shards: int

    def row_shards(self) -> ShardSet:
        return ShardSet(Location.of(self.work / "rows"), "rows", schemas.ROWS, "benchmark")

    def table(self) -> pa.Table:
        """All rows, sorted by length."""
        return self.row_shards().read_all(self.shards)


def make_material(work: Path, size: Size, treebanks: Sequence[str], *, n: int, rows: int) -> Material:
    """The material, made now or kept from before: `rows` rows, evenly spaced among all of `n` sentences per treebank.

    No treebanks: the embedded sentences.
    """
    work.mkdir(parents=True, exist_ok=True)
    make_bundles(work, size)
    facts = work / "rows" / "facts.json"
    if not facts.is_file():
        _sample_rows(work, treebanks, n, rows)
    kept = json.loads(facts.read_text())
    return Material(work, int(kept["rows"]), int(kept["shards"]))


def make_bundles(work: Path, size: Size) -> None:
    """Nothing: writes the checkpoint, optimum's export and our bundles, one optimum export for all."""
    from export.build import build_bundle
    from export.convert import export_graph, load_model
    from export.source import find_source

    checkpoint = save_random_model(work / "checkpoint", size)
    full = work / "full"
    if not (full / "tokenizer.json").is_file():
        _say("exporting with optimum")
        export_graph(load_model(find_source(str(checkpoint))), full)
        shutil.copy(checkpoint / "config.json", full)
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(checkpoint / name, full)
    for precision in PRECISIONS:
        if not (work / precision / "bundle.json").is_file():
            # int8 of random weights need not reach the floor that protects results: here only its speed is asked for.
            build_bundle(full, work / precision, name=f"random-{size}-{precision}", precision=precision,
                         force=True, say=lambda step, p=precision: _say(f"{p}: {step}"))  # fmt: skip


def config_of(work: Path, treebanks: Sequence[str], n: int) -> Config:
    """The settings of the run whose rows are sampled: the paper's conditions, with and without +L."""
    overlay = {
        "treebanks": list(treebanks) or ["demo"],
        "models": [str(work / "fp32")],
        "sample": {"n": n},
        "out": str(work / "run"),
    }
    return read_config(None, overlay)


def _sample_rows(work: Path, treebanks: Sequence[str], n: int, rows: int) -> None:
    _say("preparing and encoding")
    config = config_of(work, treebanks, n)
    run = prepare(config, Reporter())
    model = open_models(config.models)[0]
    encode(run, model, spacing=config.spacing, shard_rows=2048, reporter=Reporter())
    encoded = run.rows(model.bundle.tokenizer_fingerprint)
    table = encoded.read_all(int((read_stage(encoded) or {})["shards"]))
    chosen = np.unique(np.linspace(0, table.num_rows - 1, min(rows, table.num_rows)).round().astype(int))
    table = table.take(pa.array(chosen)).combine_chunks()
    shards = -(-table.num_rows // SHARD_ROWS)
    material = Material(work, table.num_rows, shards)
    for shard in range(shards):
        material.row_shards().write(shard, table.slice(shard * SHARD_ROWS, SHARD_ROWS))
    (work / "rows" / "facts.json").write_text(json.dumps({"rows": table.num_rows, "shards": shards}))


_BEGAN = time.perf_counter()


def _say(step: str) -> None:
    print(f"{time.perf_counter() - _BEGAN:7.1f} s  {step}", file=sys.stderr, flush=True)
