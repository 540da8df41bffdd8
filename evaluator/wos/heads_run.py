"""Heads of pair classifiers, from task to report: who joins alike words, what shuffling changes, what silence costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.config import Config
from evaluator.errors import ConfigError
from evaluator.progress import Reporter
from evaluator.reduce.shares import share
from evaluator.score.attend import LINKS_PER_HEAD
from evaluator.stages.encode import ModelFolder, open_models
from evaluator.stages.finished import Finished
from evaluator.stages.manifest import versions
from evaluator.stages.score import score_shards
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from evaluator.store.run import TextRun, read_stage, write_stage
from evaluator.types import Bools, Float32s, Int64s
from evaluator.wos.heads import (
    Attended,
    Head,
    attended_of,
    kept_share,
    likeness,
    pairs_of,
    place_of,
    ranked,
    winner,
)
from evaluator.wos.heads_report import render
from evaluator.wos.inputs import encode_items, logits_of
from evaluator.wos.labels import golds_of
from evaluator.wos.outcomes import Said, said_of
from evaluator.wos.prepare import prepare
from evaluator.wos.select import Selection, select
from evaluator.wos.settings import WosConfig, require_models
from evaluator.wos.silence import Silence, silences
from evaluator.wos.table import TaskData

SCHEMA = 1
ORDER = "ngram1"


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step needs to know."""

    run: TextRun
    model: ModelFolder
    config: Config
    shards: int
    from_side: int
    reporter: Reporter


def run_heads(
    config: WosConfig,
    counts: Sequence[int] = (1, 3, 5, 9),
    chosen: Sequence[Head] = (),
    reporter: Reporter | None = None,
) -> Finished:
    """The heads of every model of the config, bundles of kind `attention`, on a task of pairs; written to `out`.

    `counts`: how many heads are silenced, those that win most and as many by lot; `chosen`: heads of one's own choice.
    Errors: UserError for a task, model or folder that cannot be used.
    """
    require_models(config, "make one with: morphorder export MODEL --task attention")
    if len(config.columns) != 2:
        raise ConfigError("heads join the words of two texts", where="--columns", hint="name two texts and a label")
    narrowed = config.model_copy(update={"orders": (ORDER,), "draws": 1, "both": False})
    with run_lock(Location.of(config.out)):
        return _run(narrowed, counts, chosen, reporter or Reporter())


def _run(config: WosConfig, counts: Sequence[int], chosen: Sequence[Head], reporter: Reporter) -> Finished:
    models = open_models(config.models, "attention")
    for model in models:
        if any(layer >= model.bundle.layers or head >= model.bundle.heads for layer, head in chosen):
            raise ConfigError(
                f"{model.bundle.name} has {model.bundle.layers} layers of {model.bundle.heads} heads",
                where="--heads",
                hint="count both from 0: 0.7,1.9",
            )
    run, task = prepare(config, reporter)
    prepared = read_stage(run.items()) or {}
    from_side = config.columns.index(config.changed)
    found = [
        _of_model(
            _Work(run, model, config.scoring_config(), int(prepared["shards"]), from_side, reporter),
            task, config, counts, chosen,
        )
        for model in models
    ]  # fmt: skip
    failed = sum(f.pop("failed") for f in found)
    document = {
        "schema": SCHEMA,
        "kind": "wos-heads",
        "run_id": run.run.fingerprint,
        "task": task.name,
        "changed": config.changed,
        "models": found,
        "problems": [f"{failed} inputs failed"] if failed else [],
        "manifest": {
            "versions": versions(),
            "data_sha256": task.sha256,
            "config": {"change": config.changed, "texts": list(config.columns), "seed": config.seed},
            "models": [
                {"name": m.bundle.name, "source": m.bundle.source, "fingerprint": m.bundle.fingerprint,
                 "parity": m.bundle.parity}
                for m in models
            ],
        },
    }  # fmt: skip
    for name, content in render(document):
        run.run.location.write(f"report/{name}", content)
    return Finished(document, str(run.run.location))


def _of_model(
    work: _Work, task: TaskData, config: WosConfig, counts: Sequence[int], chosen: Sequence[Head]
) -> dict[str, Any]:
    """What the report says of one model."""
    bundle = work.model.bundle
    examples = work.run.examples().read_all(work.shards).combine_chunks()
    items = work.run.items().read_all(work.shards).combine_chunks()
    gold = golds_of(examples, bundle, config, task.label_names)
    encode_items(
        work.run, work.model, work.shards, shard_rows=work.config.scoring.shard_rows, reporter=work.reporter, words=True
    )
    links = work.run.links(bundle.tokenizer_fingerprint).read_all(work.shards)
    answers = _scored(work, bundle.tokenizer_fingerprint, Silence("none", ()))
    said = said_of(bundle, items, links, logits_of(answers, len(bundle.labels)), gold)
    selection = select(said, examples, config.seed)
    attended = attended_of(answers, bundle.layers * bundle.heads, LINKS_PER_HEAD)
    row = np.asarray(links["row"].fill_null(-1).to_numpy(), dtype=np.int64)
    won = _Won.of(said, selection, attended, row, items, work.from_side)
    order = ranked(won.before, bundle.layers * bundle.heads)
    quiet = silences(
        [head for head, _ in order], counts, bundle.layers, bundle.heads, config.seed, chosen
    )  # fmt: skip
    return {
        "model": bundle.name,
        "layers": bundle.layers,
        "heads": bundle.heads,
        "n": int(selection.dev_r.sum()),
        "steps": selection.steps,
        "winners": won.rows(bundle.heads, [*bundle.labels]),
        "same_winner": won.same(),
        "links_kept": float(won.kept.mean()) if len(won.kept) else None,
        "likeness": float(won.likeness.mean()) if len(won.likeness) else None,
        "silenced": _silenced_rows(work, said, selection, row, quiet, config.statistics.confidence),
        "failed": int(said.failed.sum()),
    }


@dataclass(frozen=True, slots=True)
class _Won:
    """Per example of dev-r: the winning head unshuffled and shuffled, its class, its links' likeness, those kept."""

    before: Int64s
    after: Int64s
    gold: Int64s
    likeness: np.ndarray[tuple[int], np.dtype[np.float64]]
    kept: np.ndarray[tuple[int], np.dtype[np.float64]]

    @classmethod
    def of(
        cls, said: Said, selection: Selection, attended: Attended, row: Int64s, items: pa.Table, side: int
    ) -> "_Won":
        """The winners of every example of dev-r."""
        columns = (items["text"].to_pylist(), items["other"].to_pylist())
        both = [said.of(name) for name in ("orig", ORDER)]
        both = [at[selection.dev_r[said.example[at]]] for at in both]
        before, after, alike, kept = [], [], [], []
        for orig, shuffled in zip(*both, strict=True):
            texts = [[columns[s][i].split() for s in (side, 1 - side)] for i in (orig, shuffled)]
            scores = [likeness(attended, row[i], *t) for i, t in zip((orig, shuffled), texts, strict=True)]
            first = winner(scores[0])
            before.append(first)
            after.append(winner(scores[1]))
            alike.append(float(scores[0].max()))
            joined = [pairs_of(attended, row[i], first, *t) for i, t in zip((orig, shuffled), texts, strict=True)]
            kept.append(kept_share(*joined))
        of = said.gold[said.example[both[0]]].astype(np.int64)
        return cls(np.array(before, np.int64), np.array(after, np.int64), of, np.array(alike), np.array(kept))

    def same(self) -> float | None:
        """Share of examples with the same winner before and after."""
        return float((self.before == self.after).mean()) if len(self.before) else None

    def rows(self, per_layer: int, labels: Sequence[str]) -> list[dict[str, Any]]:
        """Every head that wins before or after: how often, by class before."""
        found = []
        for head in sorted({*self.before.tolist(), *self.after.tolist()}, key=lambda h: (-(self.before == h).sum(), h)):
            layer, number = place_of(head, per_layer)
            own: Bools = self.before == head
            by_label = {label: int((own & (self.gold == i)).sum()) for i, label in enumerate(labels)}
            counts = {"before": int(own.sum()), "after": int((self.after == head).sum())}
            found.append({"layer": layer, "head": number, **counts, "by_label": by_label})
        return found


def _scored(work: _Work, rows: str, silence: Silence) -> pa.Table:
    """The answers to all rows of a set, some heads silenced."""
    bundle = work.model.bundle
    side = f"from {work.from_side}" if work.from_side else ""
    scored = work.run.attended(rows, bundle.fingerprint, f"{silence.mark}{side}")
    facts = score_shards(
        work.run.word_rows(rows), scored, work.model, work.config, work.reporter,
        silenced=silence.heads, from_side=work.from_side,
    )  # fmt: skip
    return scored.read_all(int(facts["shards"]))


def _silenced_rows(
    work: _Work, said: Said, selection: Selection, row: Int64s, quiet: Sequence[Silence], confidence: float
) -> list[dict[str, Any]]:
    """Accuracy on dev-r, unshuffled, under every silence."""
    orig = said.of("orig")
    orig = orig[selection.dev_r[said.example[orig]]]
    wanted, place = np.unique(row[orig], return_inverse=True)
    rows = _subset(work, wanted)
    found = []
    for silence in quiet:
        logits: Float32s = logits_of(_scored(work, rows, silence), len(said.bundle.labels))[place] if len(orig) else (
            np.zeros((0, len(said.bundle.labels)), np.float32)
        )  # fmt: skip
        hits, known = logits.argmax(axis=1) == said.gold[said.example[orig]], np.isfinite(logits).all(axis=1)
        figures = share(hits, np.asarray(known), said.example[orig], confidence)
        heads = [list(head) for head in silence.heads]
        found.append({"silenced": silence.name, "heads": heads, "n": figures["n"], "accuracy": figures["value"],
                      "accuracy_ci": figures["ci"]})  # fmt: skip
    return found


def _subset(work: _Work, wanted: Int64s) -> str:
    """The name of a set of rows of its own: those of dev-r unshuffled, numbered anew."""
    bundle = work.model.bundle
    name = f"{bundle.tokenizer_fingerprint}-{bundle.fingerprint}"
    rows = work.run.word_rows(name)
    size = work.config.scoring.shard_rows
    done = read_stage(rows)
    if done is not None and done["rows"] == len(wanted) and rows.are_done(done["shards"]):
        return name
    whole = work.run.word_rows(bundle.tokenizer_fingerprint)
    table = whole.read_all(int((read_stage(whole) or {})["shards"])).combine_chunks().take(pa.array(wanted))
    table = table.set_column(0, table.schema.field(0), pa.array(np.arange(len(wanted)), pa.int64()))
    shards = -(-len(wanted) // size)
    for shard in range(shards):
        rows.write(shard, table.slice(shard * size, size))
    write_stage(rows, {"shards": shards, "rows": len(wanted), "shard_rows": size})
    return name
