"""What a run would do, before it does it."""

import tempfile
from typing import Any

from evaluator.config import Config
from evaluator.progress import Reporter
from evaluator.stages.encode import encode, open_models
from evaluator.stages.prepare import prepare
from evaluator.store.location import without_secrets
from evaluator.store.run import read_stage


def plan_of(config: Config, reporter: Reporter) -> dict[str, Any]:
    """Items, distinct rows and shards per model, worked out by preparing and encoding in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(config.model_copy(update={"out": folder}), reporter)
        prepared = read_stage(run.items()) or {}
        models = []
        for model in open_models(config.models):
            rows = encode(run, model, spacing=config.spacing, shard_rows=config.scoring.shard_rows, reporter=reporter)
            pieces = sum(
                len(run.rows(model.bundle.tokenizer_fingerprint).read(s)["ids"].combine_chunks().flatten())
                for s in range(int(rows["shards"]))
            )
            models.append(
                {"model": model.bundle.name, "rows": rows["rows"], "shards": rows["shards"], "pieces": pieces}
            )
        return {
            "out": without_secrets(config.out),
            "engine": config.engine,
            "base_items": prepared.get("base_items", {}),
            "excluded": prepared.get("excluded", {}),
            "items": prepared["rows"],
            "models": models,
        }


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """The plan as a few lines of text."""
    bases = sum(plan["base_items"].values())
    lines = [f"{bases:,} base items in {len(plan['base_items'])} treebanks, {plan['items']:,} items per model"]
    lines += [
        f"{m['model']}: {m['rows']:,} distinct rows, {m['pieces']:,} pieces, {m['shards']} shards"
        for m in plan["models"]
    ]
    return [*lines, f"engine {plan['engine']}, results in {plan['out']}"]
