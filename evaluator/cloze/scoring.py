"""Questions and a model in; the log-probability of every form out, by the same rows, shards and engines as a run.

The parallel pass lives in the run folder itself, the left-to-right steps in its folder `l2r`, which is a run folder of
its own: both are encoded, scored and continued by the stages of the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.cloze.inputs import Question, encode_variants, left_to_right, variants_of
from evaluator.config import Config
from evaluator.encode.rows import NOT_EXPRESSIBLE, REASONS, Inputs
from evaluator.encode.unique import batch_of, unique_rows
from evaluator.progress import Reporter
from evaluator.stages.encode import ModelFolder, open_cutter
from evaluator.stages.score import score
from evaluator.store.run import RunFolder, read_stage, write_stage
from evaluator.types import Bools, Float64s, Int64s

QUESTIONS_PER_BATCH = 256
L2R = "l2r"


@dataclass(frozen=True, slots=True)
class FormScores:
    """What a model says of every variant, in the order of `variants_of`."""

    parallel: Float64s
    """Joint log-probability in nats, all pieces masked; −inf when the form cannot be expressed, NaN without a row."""
    l2r: Float64s | None
    masks: Int64s
    reason: Int64s
    """Index into `evaluator.encode.rows.REASONS`."""
    windowed: Bools
    words: list[list[str] | None]
    """The k best words of the variant's input, spelled, best first; only kept for golds."""
    piece_hit: Int64s
    """1-based place of the form's own pieces among the k best; 0: not there."""
    spelled: list[str | None]
    """The gold's pieces, spelled as the tokenizer does."""


def encode_questions(
    run: RunFolder, model: ModelFolder, questions: Sequence[Question], config: Config, *, l2r: bool, reporter: Reporter
) -> Inputs:
    """The inputs of all variants; their distinct rows, and those of the steps, are written unless they are there."""
    cutter = open_cutter(model)
    parts = []
    with reporter.stage(f"encode {model.bundle.name}", len(questions), "items") as meter:
        for first in range(0, len(questions), QUESTIONS_PER_BATCH):
            some = questions[first : first + QUESTIONS_PER_BATCH]
            parts.append(encode_variants(some, cutter, unknown_id=model.bundle.unk_id, limit=model.bundle.max_pieces))
            meter.advance(len(some))
    inputs = joined(parts)
    _write_rows(run, model, inputs, cutter.mask_id, config.scoring.shard_rows, first_mask_only=False)
    if l2r:
        steps = left_to_right(inputs, cutter.mask_id)
        _write_rows(l2r_run(run), model, steps.inputs, cutter.mask_id, config.scoring.shard_rows, first_mask_only=True)
    return inputs


def l2r_run(run: RunFolder) -> RunFolder:
    """The run folder of the left-to-right steps."""
    return RunFolder(run.location / L2R, run.fingerprint)


def joined(parts: Sequence[Inputs]) -> Inputs:
    """Inputs one after another."""

    def offsets(of: list[Int64s]) -> Int64s:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(o) for o in of]))]).astype(np.int64)

    return Inputs(
        offsets=offsets([p.offsets for p in parts]),
        ids=np.concatenate([p.ids for p in parts]),
        gold_offsets=offsets([p.gold_offsets for p in parts]),
        golds=np.concatenate([p.golds for p in parts]),
        windowed=np.concatenate([p.windowed for p in parts]),
        reason=np.concatenate([p.reason for p in parts]),
    )


def _write_rows(
    run: RunFolder, model: ModelFolder, inputs: Inputs, mask_id: int, shard_rows: int, *, first_mask_only: bool
) -> None:
    rows, links = (of(model.bundle.tokenizer_fingerprint) for of in (run.rows, run.links))
    done = read_stage(rows)
    if done is not None and rows.are_done(done["shards"]) and links.are_done(1):
        return
    unique = unique_rows([batch_of(np.arange(len(inputs.reason), dtype=np.uint64), inputs)])
    links.write(0, unique.links[0])
    shards = -(-unique.count // shard_rows)
    for shard in range(shards):
        last = min((shard + 1) * shard_rows, unique.count)
        rows.write(shard, unique.shard(shard * shard_rows, last, mask_id, first_mask_only=first_mask_only))
    write_stage(rows, {"shards": shards, "rows": unique.count, "shard_rows": shard_rows})


def score_questions(
    run: RunFolder, model: ModelFolder, questions: Sequence[Question], config: Config, *, l2r: bool, reporter: Reporter
) -> FormScores:
    """The scores of all variants of the questions under one model, scored now or found in the run folder."""
    inputs = encode_questions(run, model, questions, config, l2r=l2r, reporter=reporter)
    answers, links = _answers(run, model, config, reporter)
    logp, place = _of_golds(answers, links)
    inexpressible = inputs.reason == NOT_EXPRESSIBLE
    logp[inexpressible] = -np.inf
    place[inexpressible] = 0
    cutter = open_cutter(model)
    variants = variants_of(questions)
    is_gold = variants.form == np.array([q.gold for q in questions], dtype=np.int64)[variants.question]
    words: list[list[str] | None] = [None] * len(variants)
    spelled: list[str | None] = [None] * len(variants)
    row_of = links["row"].to_pylist()
    best = answers["words"]
    for variant in np.flatnonzero(is_gold):
        if row_of[variant] is not None:
            words[variant] = [cutter.word(w) for w in best[row_of[variant]].as_py()]
            span = slice(inputs.gold_offsets[variant], inputs.gold_offsets[variant + 1])
            spelled[variant] = cutter.word(inputs.golds[span].tolist())
    return FormScores(
        logp,
        _l2r_scores(run, model, inputs, logp, config, reporter) if l2r else None,
        np.diff(inputs.gold_offsets),
        inputs.reason.astype(np.int64),
        inputs.windowed,
        words,
        place,
        spelled,
    )


def _answers(run: RunFolder, model: ModelFolder, config: Config, reporter: Reporter) -> tuple[pa.Table, pa.Table]:
    """The scored rows in the order of their numbers, and the links to them."""
    facts = score(run, model, config, reporter)
    bundle = model.bundle
    scored = run.scored(bundle.tokenizer_fingerprint, bundle.fingerprint, config.k).read_all(int(facts["shards"]))
    return scored.combine_chunks(), run.links(bundle.tokenizer_fingerprint).read(0)


def _of_golds(answers: pa.Table, links: pa.Table) -> tuple[Float64s, Int64s]:
    """Log-probability and place of each link's gold; NaN and 0 where it has no row or its row failed."""
    sizes = np.asarray(answers["gold_logp"].combine_chunks().value_lengths(), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    logp = answers["gold_logp"].combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    hit = answers["hit"].combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    row = np.asarray(links["row"].fill_null(-1).to_numpy(), dtype=np.int64)
    gold = np.asarray(links["gold"].fill_null(0).to_numpy(), dtype=np.int64)
    found = np.full(len(row), np.nan)
    place = np.zeros(len(row), dtype=np.int64)
    usable = np.flatnonzero(row >= 0)
    usable = usable[sizes[row[usable]] > 0]
    at = starts[row[usable]] + gold[usable]
    found[usable], place[usable] = logp[at], hit[at]
    return found, place


def _l2r_scores(
    run: RunFolder, model: ModelFolder, inputs: Inputs, parallel: Float64s, config: Config, reporter: Reporter
) -> Float64s:
    """Σ over a variant's steps; the parallel score where there is one piece (they are the same)."""
    masks = np.diff(inputs.gold_offsets)
    asked = np.flatnonzero((masks > 1) & (np.diff(inputs.offsets) > 0) & (inputs.reason == 0))
    scores = parallel.copy()
    if not len(asked):
        return scores
    answers, links = _answers(l2r_run(run), model, config, reporter)
    logp, _ = _of_golds(answers, links)
    scores[asked] = np.add.reduceat(logp, np.cumsum(masks[asked]) - masks[asked])
    return scores


def reason_name(code: int) -> str:
    """The reason of a code of `FormScores.reason`."""
    return REASONS[code]
