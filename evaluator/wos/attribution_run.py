"""Word attribution from task to report: what each word is worth before and after a shuffle, through the same engine.

Two runs lie in the folder: `base/`, every example unshuffled and shuffled once, from which dev-r is chosen; and one per
model, its samples: copies of the chosen texts that lack some words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.errors import ConfigError
from evaluator.items.randomness import address, mix
from evaluator.progress import Reporter
from evaluator.reduce.shares import share
from evaluator.stages.encode import ModelFolder, open_models
from evaluator.stages.finished import Finished
from evaluator.stages.manifest import versions
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from evaluator.store.run import RunFolder, TextRun, fingerprint, read_stage, write_stage
from evaluator.types import Float64s, Int64s
from evaluator.wos.attribution import (
    Words,
    rank_agreement,
    samples_of,
    top_share,
    top_word,
    word_weights,
)
from evaluator.wos.attribution_report import render
from evaluator.wos.inputs import score_items
from evaluator.wos.labels import golds_of, is_regression
from evaluator.wos.lexicon import Polarity
from evaluator.wos.nouns import NounRule
from evaluator.wos.outcomes import said_of
from evaluator.wos.prepare import example_of, prepare
from evaluator.wos.select import select
from evaluator.wos.settings import TextCondition, WosConfig, require_models
from evaluator.wos.shuffle import shuffle
from evaluator.wos.table import TaskData
from evaluator.wos.words import is_punctuation

SCHEMA = 1
ATTRIBUTION_VERSION = 1
ORDER: TextCondition = "ngram1"
NO_NOUNS = NounRule(lambda word, is_first: "X", "")
ORDERS = ("orig", ORDER)
EXAMPLES_PER_SHARD = 20


@dataclass(frozen=True, slots=True)
class Explained:
    """One example: its words with their shuffle, what stands beside it, and the address of its samples."""

    example: int
    gold: int
    words: Words
    other: str | None
    key: np.uint64


def run_attribution(
    config: WosConfig, *, samples: int = 1000, n: int = 100, lexicon: Mapping[str, Polarity] | None = None,
    reporter: Reporter | None = None,
) -> Finished:  # fmt: skip
    """Word weights of up to `n` examples of dev-r under every model of the config, `samples` inputs each, before and
    after one shuffle of single words; written to `out`. Errors: UserError for what cannot be used.
    """
    require_models(config)
    with run_lock(Location.of(config.out)):
        return _run(config, samples, n, lexicon or {}, reporter or Reporter())


def _run(config: WosConfig, samples: int, n: int, lexicon: Mapping[str, Polarity], reporter: Reporter) -> Finished:
    models = open_models(config.models, "text-classification")
    if numbers := [m.bundle.name for m in models if is_regression(m.bundle)]:
        raise ConfigError(f"{numbers[0]} predicts a number, and no class", where="--model", hint="give a classifier")
    update = {"orders": (ORDER,), "draws": 1, "both": False, "out": str(Location.of(config.out) / "base")}
    base = config.model_copy(update=update)
    run, task = prepare(base, reporter)
    found = [_of_model(run, task, model, base, config.out, samples, n, lexicon, reporter) for model in models]
    failed = sum(f.pop("failed") for f in found)
    document = {
        "schema": SCHEMA,
        "kind": "wos-attribution",
        "run_id": fingerprint(run.run.fingerprint, samples, n),
        "task": task.name,
        "changed": config.changed,
        "samples": samples,
        "models": found,
        "problems": [f"{failed} inputs failed"] if failed else [],
        "manifest": {
            "versions": versions(),
            "data_sha256": task.sha256,
            "config": {"change": config.changed, "texts": list(config.columns), "seed": config.seed, "n": n},
            "models": [
                {"name": m.bundle.name, "source": m.bundle.source, "fingerprint": m.bundle.fingerprint} for m in models
            ],
        },
    }
    out = Location.of(config.out)
    for name, content in render(document):
        out.write(f"report/{name}", content)
    return Finished(document, str(out))


def _of_model(
    run: TextRun, task: TaskData, model: ModelFolder, config: WosConfig, out: str, samples: int, n: int,
    lexicon: Mapping[str, Polarity], reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """What the report says of one model."""
    chosen, steps = _chosen(run, task, model, config, n, reporter)
    mark = fingerprint(ATTRIBUTION_VERSION, run.run.fingerprint, model.bundle.fingerprint, samples, n)
    place = Location.of(out) / f"samples-{model.bundle.name}"
    sampled = TextRun(RunFolder.create(place, mark, {"kind": "wos-samples", "samples": samples, "n": n}))
    shards = _write_items(sampled, chosen, samples, config)
    _, links, logits = score_items(sampled, model, config.scoring_config(), shards, reporter)
    probability, failed = _probabilities(links, logits, chosen, samples)
    rows = []
    for i, one in enumerate(chosen):
        if np.isfinite(probability[i]).all():
            rows.append(_row(one, probability[i], samples, model.bundle.labels, lexicon))
    confidence = config.statistics.confidence
    return {
        "model": model.bundle.name,
        "labels": list(model.bundle.labels),
        "steps": steps,
        "n": len(rows),
        "examples": rows,
        "rank_agreement": _spread([r["rank_agreement"] for r in rows]),
        "top_same": _share([r["top_same"] for r in rows], confidence),
        "top_share": {order: _spread([r["top_share"][order] for r in rows]) for order in ORDERS},
        "polarity": _polarity(rows, model.bundle.labels, confidence) if lexicon else [],
        "failed": failed,
    }


def _chosen(
    run: TextRun, task: TaskData, model: ModelFolder, config: WosConfig, n: int, reporter: Reporter
) -> tuple[list[Explained], list[dict[str, Any]]]:
    """Up to `n` examples of dev-r, by lot, with their shuffles; and what each step of the selection left."""
    shards = int((read_stage(run.items()) or {})["shards"])
    examples, items = run.examples().read_all(shards).combine_chunks(), run.items().read_all(shards).combine_chunks()
    gold = golds_of(examples, model.bundle, config, task.label_names)
    _, links, logits = score_items(run, model, config.scoring_config(), shards, reporter)
    said = said_of(model.bundle, items, links, logits, gold)
    selection = select(said, examples, config.seed)
    keys = examples["key"].to_numpy()
    members = np.flatnonzero(selection.dev_r)
    members = np.sort(members[np.argsort(mix(keys[members], address("attribution", config.seed)), kind="stable")][:n])
    explained = []
    for e in members.tolist():
        example = example_of(task.rows[e], config, NO_NOUNS)
        order = shuffle([example.units], keys[[e]], [(ORDER, 0)])[0].orders[0]
        explained.append(Explained(e, int(gold[e]), Words.of(example.units, order.tolist()), example.other, keys[e]))
    return explained, selection.steps


def _write_items(run: TextRun, chosen: Sequence[Explained], samples: int, config: WosConfig) -> int:
    """The number of shards of items: every sample of every example in both orders."""
    items = run.items()
    shards = max(1, -(-len(chosen) // EXAMPLES_PER_SHARD))
    done = read_stage(items)
    if done is not None and items.are_done(shards):
        return shards
    first = config.columns.index(config.changed) == 0
    for shard in range(shards):
        columns: list[list[Any]] = [[] for _ in schemas.TEXT_ITEMS]
        begin = shard * EXAMPLES_PER_SHARD
        for number, one in enumerate(chosen[begin : begin + EXAMPLES_PER_SHARD], begin):
            kept = samples_of(one.key, len(one.words.at), samples)
            for o, order in enumerate(ORDERS):
                for s, text in enumerate(one.words.texts(kept, shuffled=order == ORDER)):
                    pair = (text, one.other) if first or one.other is None else (one.other, text)
                    identity = (number * len(ORDERS) + o) * samples + s
                    for column, value in zip(columns, (identity, one.example, order, False, s, *pair), strict=True):
                        column.append(value)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schemas.TEXT_ITEMS, strict=True)]
        items.write(shard, pa.table(arrays, schema=schemas.TEXT_ITEMS))
    write_stage(items, {"shards": shards, "rows": len(chosen) * len(ORDERS) * samples})
    return shards


def _probabilities(links: pa.Table, logits: Any, chosen: Sequence[Explained], samples: int) -> tuple[Float64s, int]:
    """(examples, orders, samples) probability of the gold class, NaN where unknown; and how many inputs failed."""
    row: Int64s = np.asarray(links["row"].fill_null(-1).to_numpy(), dtype=np.int64)
    own = np.full((len(row), logits.shape[1]), np.nan)
    own[row >= 0] = logits[row[row >= 0]]
    failed = int((~np.isfinite(own).all(axis=1) & (row >= 0)).sum())
    exponentials = np.exp(own - own.max(axis=1, keepdims=True, initial=-np.inf))
    gold = np.repeat([one.gold for one in chosen], len(ORDERS) * samples).astype(np.int64)
    found = exponentials[np.arange(len(row)), gold] / exponentials.sum(axis=1)
    return found.reshape(len(chosen), len(ORDERS), samples), failed


def _row(
    one: Explained, probability: Float64s, samples: int, labels: Sequence[str], lexicon: Mapping[str, Polarity]
) -> dict[str, Any]:
    """What one example came to; weights are in the order of the words before the shuffle, for both orders."""
    kept = samples_of(one.key, len(one.words.at), samples)
    weights = [word_weights(kept, p) for p in probability]
    tops = [top_word(w) for w in weights]
    forms = one.words.forms
    return {
        "example": one.example,
        "label": labels[one.gold],
        "words": list(forms),
        "weights": {order: w.tolist() for order, w in zip(ORDERS, weights, strict=True)},
        "top": {order: forms[t] for order, t in zip(ORDERS, tops, strict=True)},
        "top_same": forms[tops[0]] == forms[tops[1]],
        "top_share": {order: top_share(w) for order, w in zip(ORDERS, weights, strict=True)},
        "rank_agreement": rank_agreement(*weights),
        "polarity": lexicon.get(_bare(forms[tops[0]])),
    }


def _bare(word: str) -> str:
    start, end = 0, len(word)
    while start < end and is_punctuation(word[start]):
        start += 1
    while end > start and is_punctuation(word[end - 1]):
        end -= 1
    return word[start:end].casefold()


def _spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Median and quartiles of those that are known, and how many they are."""
    known = [v for v in values if v is not None]
    quartiles = [float(q) for q in np.quantile(known, [0.25, 0.5, 0.75])] if known else None
    return {"n": len(known), "median": quartiles[1] if quartiles else None,
            "quartiles": [quartiles[0], quartiles[2]] if quartiles else None}  # fmt: skip


def _share(hits: Sequence[bool], confidence: float) -> dict[str, Any]:
    array = np.array(hits, dtype=np.bool_)
    return share(array, np.ones_like(array), np.arange(len(array)), confidence)


def _polarity(rows: Sequence[Mapping[str, Any]], labels: Sequence[str], confidence: float) -> list[dict[str, Any]]:
    """Per polarity of the top word unshuffled, and per class: P(class | polarity), of the words that the list knows."""
    found = []
    for polarity in ("positive", "negative"):
        own = [r for r in rows if r["polarity"] == polarity]
        for label in labels:
            figures = _share([r["label"] == label for r in own], confidence)
            found.append({"polarity": polarity, "label": label, "n": len(own), "share": figures["value"],
                          "share_ci": figures["ci"]})  # fmt: skip
    return found
