"""Items to answers: their texts become pieces once per tokenizer, distinct rows are scored by the engine of the run."""

from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.config import Config
from evaluator.encode.texts import unique_texts
from evaluator.encode.tokenizer import TextEncoder
from evaluator.errors import BundleError
from evaluator.progress import Reporter
from evaluator.score.bundle import TOKENIZER_FILE
from evaluator.stages.encode import ModelFolder
from evaluator.stages.score import score_shards
from evaluator.store.run import TextRun, read_stage, write_stage
from evaluator.types import Float32s, Int64s

TEXTS_PER_CALL = 20_000


def encode_items(
    run: TextRun, model: ModelFolder, shards: int, *, shard_rows: int, reporter: Reporter, words: bool = False
) -> None:
    """Writes the distinct rows of all items and the links to them, unless an earlier run left them.

    `words`: as WORD_ROWS, the two texts as the model reads them.
    """
    bundle = model.bundle
    rows, links = (
        (run.word_rows if words else run.rows)(bundle.tokenizer_fingerprint),
        run.links(bundle.tokenizer_fingerprint),
    )
    done = read_stage(rows)
    if done is not None and rows.are_done(done["shards"]) and links.are_done(shards):
        return
    encoder = open_encoder(model)
    items = [run.items().read(shard) for shard in range(shards)]
    parts = []
    with reporter.stage(f"encode {bundle.name}", sum(t.num_rows for t in items), "items") as meter:
        for table in items:
            for begin in range(0, table.num_rows, TEXTS_PER_CALL):
                some = table.slice(begin, TEXTS_PER_CALL)
                parts.append(encoder.encode(some["text"].to_pylist(), some["other"].to_pylist(), words=words))
                meter.advance(some.num_rows)
    unique = unique_texts(parts, bundle.max_pieces)
    first = 0
    for shard, table in enumerate(items):
        links.write(shard, unique.links(table["item_id"], first))
        first += table.num_rows
    row_shards = -(-unique.count // shard_rows)
    for shard in range(row_shards):
        rows.write(shard, unique.shard(shard * shard_rows, min((shard + 1) * shard_rows, unique.count)))
    write_stage(rows, {"shards": row_shards, "rows": unique.count, "shard_rows": shard_rows})


def open_encoder(model: ModelFolder) -> TextEncoder:
    """The model's tokenizer for whole texts. Errors: BundleError when it can give ids that the model does not have."""
    bundle = model.bundle
    path = model.folder / TOKENIZER_FILE
    encoder = TextEncoder(path.read_bytes(), where=str(path))
    if encoder.vocabulary_size() > bundle.vocab_size:
        raise BundleError(
            f"tokenizer has {encoder.vocabulary_size()} pieces, the model {bundle.vocab_size}",
            where=str(path),
            hint="the tokenizer belongs to another model: export again from one folder",
        )
    return encoder


def score_items(
    run: TextRun, model: ModelFolder, config: Config, shards: int, reporter: Reporter
) -> tuple[dict[str, Any], pa.Table, Float32s]:
    """The facts of scoring, the links of all items and the logits of all rows (rows, labels); a failed row is NaN."""
    bundle = model.bundle
    encode_items(run, model, shards, shard_rows=config.scoring.shard_rows, reporter=reporter)
    rows = run.rows(bundle.tokenizer_fingerprint)
    scored = run.logits(bundle.tokenizer_fingerprint, bundle.fingerprint)
    facts = score_shards(rows, scored, model, config, reporter)
    return (
        facts,
        run.links(bundle.tokenizer_fingerprint).read_all(shards),
        logits_of(scored.read_all(int(facts["shards"])), len(bundle.labels)),
    )


def logits_of(answers: pa.Table, labels: int) -> Float32s:
    """The logits (rows, labels) of a LOGITS table; NaN where a row failed."""
    there: Int64s = np.flatnonzero(answers["failed"].is_null().to_numpy())
    logits = np.full((answers.num_rows, labels), np.nan, dtype=np.float32)
    flat = answers["logits"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    logits[there] = flat.reshape(len(there), labels)
    return logits
