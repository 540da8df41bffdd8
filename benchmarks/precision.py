"""What a precision costs in accuracy: `python -m benchmarks.precision FP32_BUNDLE OTHER_BUNDLE … [--json]`.

All bundles are one model in several precisions and score the same items. Said per condition: A@1 of each;
the largest difference in points; the share of items whose best word is the same. Bar for int8: under 0.5 points.
"""

import argparse
import json
import sys
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import machine_facts
from evaluator.config import Config, read_config
from evaluator.progress import Reporter
from evaluator.stages.encode import ModelFolder, encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.stages.score import score
from evaluator.store.run import RunFolder, read_stage

BAR_POINTS = 0.5


def main() -> int:
    """Runs the comparison and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", help="bundle folders, the reference first")
    parser.add_argument("--treebank", nargs="*", default=[], help="CoNLL-U files or UD folders")
    parser.add_argument("--n", type=int, default=100, help="sentences drawn per treebank")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        overlay = {"treebanks": given.treebank or ["demo"], "models": given.bundles, "out": f"{folder}/run"}
        config = read_config(None, {**overlay, "sample": {"n": given.n}})
        run = prepare(config, Reporter())
        models = open_models(config.models)
        hits = {m.bundle.name: _hits(run, m, config) for m in models}
    reference, *others = hits.values()
    document = {
        "benchmark": "precision",
        "machine": machine_facts(),
        "bar_points": BAR_POINTS,
        "models": [
            {"model": m.bundle.name, "precision": m.bundle.precision, **_effect(reference, other)}
            for m, other in zip(models[1:], others, strict=True)
        ],
    }
    if given.json:
        print(json.dumps(document))
        return 0
    for facts in document["models"]:
        print(f"{facts['model']}: at most {facts['worst_points']} points, {facts['same_best_word']:.1%} same word")
        for name, values in facts["by_condition"].items():
            print(f"  {name:<14} n={values['n']:<6} A@1 {values['reference']:.4f} → {values['other']:.4f}")
    return 0


def _hits(run: RunFolder, model: ModelFolder, config: Config) -> pa.Table:
    """Per scored item its condition, whether the gold is the best word, and the best word as text."""
    encoded = encode(run, model, spacing=config.spacing, shard_rows=config.scoring.shard_rows, reporter=Reporter())
    score(run, model, config, Reporter())
    tokenizer = model.bundle.tokenizer_fingerprint
    scored = run.scored(tokenizer, model.bundle.fingerprint, config.k).read_all(int(encoded["shards"]))
    shards = int((read_stage(run.items()) or {})["shards"])
    items, links = run.items().read_all(shards), run.links(tokenizer).read_all(shards)
    linked = links["row"].is_valid().to_numpy()
    row = links["row"].to_numpy(zero_copy_only=False)[linked].astype(np.int64)
    gold = links["gold"].to_numpy(zero_copy_only=False)[linked].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(scored["hit"].combine_chunks().value_lengths().to_numpy())])
    hit = scored["hit"].combine_chunks().flatten().to_numpy()[starts[row] + gold] == 1
    words = np.array([str(w[0]) if w else "" for w in scored["words"].to_pylist()])
    kept = items.filter(pa.array(linked))
    names = [
        f"{condition}{'+L' * lemma}"
        for condition, lemma in zip(kept["condition"].to_pylist(), kept["lemma"].to_pylist(), strict=True)
    ]
    return pa.table({"condition": names, "hit": hit, "word": words[row]})


def _effect(reference: pa.Table, other: pa.Table) -> dict[str, Any]:
    """A@1 under both, per condition."""
    conditions = np.array(reference["condition"].to_pylist())
    before, after = reference["hit"].to_numpy(), other["hit"].to_numpy()
    by_condition = {
        name: {
            "n": int((conditions == name).sum()),
            "reference": round(float(before[conditions == name].mean()), 4),
            "other": round(float(after[conditions == name].mean()), 4),
        }
        for name in dict.fromkeys(conditions.tolist())
    }
    points = [100 * abs(v["reference"] - v["other"]) for v in by_condition.values()]
    same = np.array(reference["word"].to_pylist()) == np.array(other["word"].to_pylist())
    return {
        "worst_points": round(max(points), 2),
        "overall_points": round(100 * float(after.mean() - before.mean()), 2),
        "same_best_word": round(float(same.mean()), 4),
        "by_condition": by_condition,
    }


if __name__ == "__main__":
    sys.exit(main())
