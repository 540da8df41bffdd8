"""Items and a tokenizer in; distinct model inputs, sorted by length, and the links to them out."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.config import BUNDLED_MODELS
from evaluator.encode.pieces import UnitPieces, cut_units
from evaluator.encode.rows import Slots, encode_slots, slots_of
from evaluator.encode.tokenizer import PieceCutter
from evaluator.encode.unique import batch_of, unique_rows
from evaluator.errors import BundleError, StoreError
from evaluator.items.build import sentences_of
from evaluator.progress import Reporter
from evaluator.score.bundle import TOKENIZER_FILE, Bundle, read_bundle
from evaluator.score.fetch import local_bundle
from evaluator.stages.prepare import demo_folder
from evaluator.store.run import RunFolder, read_stage, write_stage
from evaluator.types import ModelKind, Sentence, Spacing

COMMANDS: dict[ModelKind, str] = {
    "fill-mask": "morphorder run",
    "text-classification": "morphorder wos run",
    "attention": "morphorder wos heads",
}
"""What each kind of bundle is for."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A bundle and the folder it was read from."""

    folder: Path
    bundle: Bundle
    place: str = ""
    """What names it on other machines, if not the folder: a URI."""


def open_models(names: tuple[str, ...], kind: ModelKind = "fill-mask") -> list[ModelFolder]:
    """The bundles a config names. Errors: BundleError when one is missing, altered, of another kind or named twice."""
    models = []
    for name in names:
        folder = demo_folder() / "models" / name if name in BUNDLED_MODELS else local_bundle(name)
        models.append(ModelFolder(folder, read_bundle(folder), place=name if "://" in name else ""))
        if models[-1].bundle.kind != kind:
            raise BundleError(
                f"a bundle of kind {models[-1].bundle.kind}, expected {kind}",
                where=str(folder),
                hint=f"use it with {COMMANDS[models[-1].bundle.kind]}, or export the model with --task {kind}",
            )
    labels = [m.bundle.name for m in models]
    if repeated := next((n for n in labels if labels.count(n) > 1), None):
        raise BundleError(f"two models are called {repeated!r}", where="models", hint="export one with another --name")
    return models


def open_cutter(model: ModelFolder) -> PieceCutter:
    """The model's tokenizer. Errors: BundleError when it can produce ids that the model does not have."""
    path = model.folder / TOKENIZER_FILE
    cutter = PieceCutter(path.read_bytes(), mask_id=model.bundle.mask_id, where=str(path))
    if cutter.vocabulary_size() > model.bundle.vocab_size:
        raise BundleError(
            f"tokenizer has {cutter.vocabulary_size()} pieces, the model {model.bundle.vocab_size}",
            where=str(path),
            hint="the tokenizer belongs to another model: export again from one folder",
        )
    return cutter


def encode(
    run: RunFolder, model: ModelFolder, *, spacing: Spacing, shard_rows: int, reporter: Reporter
) -> dict[str, Any]:
    """The facts of the finished encode stage: `shards`, `rows`, and how often cuts equal those of whole texts."""
    rows_set = run.rows(model.bundle.tokenizer_fingerprint)
    links = run.links(model.bundle.tokenizer_fingerprint)
    prepared = read_stage(run.items())
    if prepared is None:
        raise StoreError("its items are not finished", where=str(run.location), hint="run: morphorder prepare")
    if (
        (done := read_stage(rows_set)) is not None
        and rows_set.are_done(done["shards"])
        and links.are_done(prepared["shards"])
    ):
        return done
    cutter = open_cutter(model)
    shards = int(prepared["shards"])
    sentences = sentences_of(run.sentences().read_all(shards))
    units = cut_units(sentences, cutter, unknown_id=model.bundle.unk_id)
    batches = []
    with reporter.stage(f"encode {model.bundle.name}", int(prepared["rows"]), "items") as meter:
        for shard in range(shards):
            items = run.items().read(shard)
            inputs = encode_slots(slots_of(items), units, cutter, limit=model.bundle.max_pieces, spacing=spacing)
            batches.append(batch_of(items["item_id"].to_numpy(), inputs))
            meter.advance(items.num_rows)
    unique = unique_rows(batches)
    for shard, table in enumerate(unique.links):
        links.write(shard, table)
    row_shards = -(-unique.count // shard_rows)
    for shard in range(row_shards):
        last = min((shard + 1) * shard_rows, unique.count)
        rows_set.write(shard, unique.shard(shard * shard_rows, last, cutter.mask_id))
    facts = {
        "shards": row_shards,
        "rows": unique.count,
        "shard_rows": shard_rows,
        "whole_text_equal": whole_text_agreement(sentences, units, cutter, spacing),
    }
    write_stage(rows_set, facts)
    return facts


def whole_text_agreement(
    sentences: list[Sentence], units: UnitPieces, cutter: PieceCutter, spacing: Spacing
) -> dict[str, float]:
    """Per treebank, the share of sentences whose unit-by-unit cut equals cutting the whole text at once."""
    sizes = np.array([len(s.units) for s in sentences], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    slots = Slots(
        offsets=offsets,
        order=np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], sizes),
        sentence=np.arange(len(sentences)),
        target=np.full(len(sentences), -1),
        lemma=np.zeros(len(sentences), dtype=np.bool_),
    )
    inputs = encode_slots(slots, units, cutter, limit=1 << 30, spacing=spacing)
    whole = cutter.cut_texts([s.text for s in sentences])
    equal: Counter[str] = Counter()
    total: Counter[str] = Counter(s.treebank for s in sentences)
    before, after = len(cutter.prefix), len(cutter.suffix)
    for i, sentence in enumerate(sentences):
        ours = inputs.ids[inputs.offsets[i] + before : inputs.offsets[i + 1] - after]
        equal[sentence.treebank] += ours.tolist() == whole[i]
    return {name: equal[name] / total[name] for name in sorted(total)}
