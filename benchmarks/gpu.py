"""Three checks of the GPU path on a peers work folder; called by `benchmarks/gpu_check.sh`.

parity: cuda = cpu on awkward shapes, fp32 within 1e-4 nats, fp16 within 0.05. bound: outputs bound to the device =
outputs returned plainly, over mixed shapes in mixed order. speed: items per second of the whole score stage, beside
torch fp16 with gathered rows on the same GPU and rows.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine_facts
from benchmarks.material import Material
from benchmarks.ways import PAD
from evaluator.executor import ScoreJob, ShardScorer, overlapped
from evaluator.score.backend import OUTPUTS, Session
from evaluator.score.batches import FlatRows, pad_batch, plan_batches
from evaluator.score.bundle import read_bundle
from evaluator.score.shard import ScoreSettings
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

SHAPES = ((1, 3), (64, 24), (2, 511), (5, 17), (1, 3), (33, 40), (128, 9))
FP32_NATS = 1e-4
FP16_NATS = 0.05


def main() -> int:
    """Runs the checks and prints one JSON object; 1 when parity or binding fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="work folder of benchmarks.peers, with an fp16 bundle in fp16/")
    given = parser.parse_args()
    facts = json.loads((given.work / "rows" / "facts.json").read_text())
    material = Material(given.work, facts["rows"], facts["shards"])
    settings = ScoreSettings.for_provider("cuda", 5)
    document: dict[str, Any] = {"benchmark": "gpu", "machine": machine_facts(), "gpu": _gpu()}
    for precision, tolerance in (("fp32", FP32_NATS), ("fp16", FP16_NATS)):
        if not (given.work / precision / "bundle.json").is_file():
            continue
        worst, bound = _parity(given.work, precision)
        document[precision] = {
            "max_abs_dlogp_nats": worst,
            "parity": worst <= tolerance,
            "bound_is_unbound": bound,
            "items_per_s": _ours(material, precision, settings),
        }
    document["torch_fp16_items_per_s"] = _torch(material, settings.max_batch_pieces)
    checked = [document[p] for p in ("fp32", "fp16") if p in document]
    document["ok"] = bool(checked) and all(c["parity"] and c["bound_is_unbound"] for c in checked)
    print(json.dumps(document))
    return 0 if document["ok"] else 1


def _feeds(rows: int, length: int, vocab: int, mask: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(rows * 1000 + length)
    ids = rng.integers(5, vocab - 5, (rows, length))
    ids[:, 1] = mask
    attention = np.ones_like(ids)
    attention[rows // 2, length // 2 + 1 :] = 0
    return ids, attention, np.arange(rows) * length + 1, np.arange(rows), rng.integers(5, vocab - 5, rows)


def _parity(work: Path, precision: str) -> tuple[float, bool]:
    """Largest |Δ log p| of golds against fp32 on the CPU; whether binding changes nothing."""
    reference = read_bundle(work / "fp32")
    bundle = read_bundle(work / precision)
    cpu = Session(work / "fp32", reference)
    gpu = Session(work / precision, bundle, provider="cuda")
    worst, same = 0.0, True
    for rows, length in SHAPES:
        feeds = _feeds(rows, length, bundle.vocab_size, bundle.mask_id)
        expected, got = cpu.run(*feeds), gpu.run(*feeds)
        worst = max(worst, float(np.abs(expected.gold_logp - got.gold_logp).max()))
        plain = gpu.run_plainly(*feeds)
        same &= all(np.array_equal(getattr(got, name), getattr(plain, name)) for name in OUTPUTS)
    return worst, same


def _ours(material: Material, precision: str, settings: ScoreSettings) -> float:
    place = Location.of(material.work / "scored" / f"gpu-{precision}")
    job = ScoreJob(
        bundle=str(material.work / precision),
        rows=material.row_shards(),
        scored=ShardSet(place, "part", schemas.SCORED, "benchmark"),
        settings=settings,
        provider="cuda",
        threads=0,
    )
    scorer = ShardScorer(job)
    return _rate(material.rows, lambda: list(overlapped(scorer, range(material.shards))))


def _torch(material: Material, batch_pieces: int) -> float:
    """Items per second of torch in fp16: batches by length, masked rows gathered before the head, top 10."""
    import torch
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(material.work / "checkpoint", dtype=torch.float16).eval().cuda()
    rows = FlatRows.of(material.table())
    lengths, masks = np.diff(rows.id_offsets), np.diff(rows.mask_offsets)

    def score() -> None:
        with torch.inference_mode():
            for first, last in plan_batches(lengths, masks, max_batch_pieces=batch_pieces, max_batch_masks=2048):
                ids, attention, at = (torch.from_numpy(a).cuda() for a in pad_batch(rows, first, last, PAD))
                hidden = model.roberta(input_ids=ids, attention_mask=attention).last_hidden_state
                logp = torch.log_softmax(model.lm_head(hidden.flatten(0, 1)[at]).float(), dim=-1)
                logp.topk(10).indices.cpu()

    return _rate(material.rows, score)


def _rate(rows: int, work: Any, repeats: int = 3) -> float:
    work()
    began = time.perf_counter()
    for _ in range(repeats):
        work()
    return round(repeats * rows / (time.perf_counter() - began), 1)


def _gpu() -> str:
    import torch

    return str(torch.cuda.get_device_name(0))


if __name__ == "__main__":
    sys.exit(main())
