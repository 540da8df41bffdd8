"""The ways to score masked sentences that are compared: each gets the same rows and says when it starts and ends.

A way loads what it needs and returns the function to time; ours reads its rows from disk and writes its answers there
within that time, the others keep theirs in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.material import Material
from evaluator.executor import ScoreJob, ShardScorer, overlapped
from evaluator.score.backend import usable_cpus
from evaluator.score.batches import FlatRows, pad_batch, plan_batches
from evaluator.score.shard import ScoreSettings
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet

KEPT = 10
"""Pieces kept per mask, as our graphs keep."""
FULL_LOGITS_PIECES = 1024
"""Largest batch of a way that makes logits of every piece: at 250,002 pieces of vocabulary already 1 GB."""
GATHERED_PIECES = 1024
MASKS = 256
PAD = 1
"""Padding of both random models."""


@dataclass(slots=True)
class Outcome:
    """What a way made: pieces it computed with padding, and its answers where they can be compared."""

    padded_pieces: int
    top_ids: npt.NDArray[np.int64] | None = None  # (masks, kept)
    top_logp: npt.NDArray[np.float32] | None = None
    gold_logp: npt.NDArray[np.float64] | None = None  # (rows) of the first gold, summed over its masks
    notes: dict[str, Any] = field(default_factory=dict)


Way = Callable[[Material], Callable[[], Outcome]]
"""Loads, and returns what is timed."""


def first_golds(rows: FlatRows) -> npt.NDArray[np.int64]:
    """(masks) the piece that the first gold of each row has at each mask."""
    first = rows.golds_of_row[:-1]
    sizes = rows.gold_offsets[first + 1] - rows.gold_offsets[first]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    golds: npt.NDArray[np.int64] = rows.gold_ids[np.repeat(rows.gold_offsets[first], sizes) + within]
    return golds


def texts_of(material: Material, tokenizer: Any, *, filled: bool) -> list[str]:
    """Each row as the text that tools which cut text themselves are given: masks as they are, or the gold in place."""
    rows = FlatRows.of(material.table())
    golds, texts = first_golds(rows), []
    for i in range(len(rows.row)):
        ids = rows.ids[rows.id_offsets[i] : rows.id_offsets[i + 1]].copy()
        masks = slice(rows.mask_offsets[i], rows.mask_offsets[i + 1])
        if filled:
            ids[rows.mask_pos[masks]] = golds[masks]
        texts.append(tokenizer.decode(ids[1:-1].tolist(), clean_up_tokenization_spaces=False))
    return texts


def _pipeline(batch_size: int) -> Way:
    def load(material: Material) -> Callable[[], Outcome]:
        from transformers import AutoTokenizer, pipeline

        folder = str(material.work / "checkpoint")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        fill = pipeline("fill-mask", model=folder, tokenizer=tokenizer, top_k=5, device=-1)
        texts = texts_of(material, tokenizer, filled=False)
        lengths = np.array([len(ids) for ids in tokenizer(texts)["input_ids"]])
        padded = sum(
            int(lengths[i : i + batch_size].max()) * len(lengths[i : i + batch_size])
            for i in range(0, len(lengths), batch_size)
        )

        def score() -> Outcome:
            fill(texts, batch_size=batch_size)
            return Outcome(padded, notes={"pieces_as_it_cuts": int(lengths.sum())})

        return score

    return load


def _minicons(material: Material) -> Callable[[], Outcome]:
    import torch
    from minicons import scorer
    from transformers import AutoTokenizer

    folder = str(material.work / "checkpoint")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = scorer.MaskedLMScorer(folder, "cpu", tokenizer=tokenizer)
    rows = FlatRows.of(material.table())
    golds = first_golds(rows)
    sentences = texts_of(material, tokenizer, filled=True)
    words = [
        tokenizer.decode(golds[rows.mask_offsets[i] : rows.mask_offsets[i + 1]].tolist()) for i in range(len(rows.row))
    ]

    def score() -> Outcome:
        failed = 0
        with torch.inference_mode():
            for sentence, word in zip(sentences, words, strict=True):
                try:
                    model.cloze([(sentence, word)])
                except (IndexError, ValueError, RuntimeError):
                    failed += 1  # it looks the word's pieces up in the sentence and does not always find them
        lengths = np.diff(rows.id_offsets)
        return Outcome(
            int((lengths * np.diff(rows.mask_offsets)).sum()), notes={"gold_only": True, "not_scored": failed}
        )

    return score


def _torch(*, gathered: bool, by_length: bool) -> Way:
    def load(material: Material) -> Callable[[], Outcome]:
        import torch
        from transformers import AutoModelForMaskedLM

        model = AutoModelForMaskedLM.from_pretrained(material.work / "checkpoint").eval()
        table = material.table()
        if not by_length:  # as a tool that does not sort meets them
            table = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
        limit = GATHERED_PIECES if gathered else FULL_LOGITS_PIECES

        def logits(ids: Any, attention: Any, at: Any) -> Any:
            if not gathered:
                return model(input_ids=ids, attention_mask=attention).logits.flatten(0, 1)[at]
            hidden = model.roberta(input_ids=ids, attention_mask=attention).last_hidden_state
            return model.lm_head(hidden.flatten(0, 1)[at])

        def score() -> Outcome:
            with torch.inference_mode():
                outcome = _answers(table, limit, logits)
            return outcome if by_length else Outcome(outcome.padded_pieces)

        return score

    return load


def _optimum(material: Material) -> Callable[[], Outcome]:
    import onnxruntime
    from optimum.onnxruntime import ORTModelForMaskedLM

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus()
    model = ORTModelForMaskedLM.from_pretrained(str(material.work / "full"), session_options=options)
    table = material.table()

    def logits(ids: Any, attention: Any, at: Any) -> Any:
        return model(input_ids=ids, attention_mask=attention).logits.flatten(0, 1)[at]

    return lambda: _answers(table, FULL_LOGITS_PIECES, logits)


def _answers(table: pa.Table, limit: int, logits: Callable[..., Any]) -> Outcome:
    """Top pieces and gold log-probabilities, by torch, over batches of at most `limit` pieces."""
    import torch

    rows = FlatRows.of(table)
    golds, padded = torch.from_numpy(first_golds(rows)), 0
    lengths, masks = np.diff(rows.id_offsets), np.diff(rows.mask_offsets)
    top_ids, top_logp, gold_logp = [], [], []
    for first, last in plan_batches(lengths, masks, max_batch_pieces=limit, max_batch_masks=MASKS):
        ids, attention, at = map(torch.from_numpy, pad_batch(rows, first, last, PAD))
        padded += ids.numel()
        logp = torch.log_softmax(logits(ids, attention, at).float(), dim=-1)
        values, pieces = logp.topk(KEPT)
        asked = golds[rows.mask_offsets[first] : rows.mask_offsets[last]]
        top_ids.append(pieces.numpy())
        top_logp.append(values.numpy())
        gold_logp.append(logp.gather(1, asked[:, None])[:, 0].numpy())
    row_of_mask = np.repeat(np.arange(len(rows.row)), masks)
    total = np.bincount(row_of_mask, weights=np.concatenate(gold_logp), minlength=len(rows.row))
    return Outcome(padded, np.concatenate(top_ids), np.concatenate(top_logp), total)


def _ours(precision: str) -> Way:
    def load(material: Material) -> Callable[[], Outcome]:
        scored = ShardSet(Location.of(material.work / "scored" / precision), "part", schemas.SCORED, "benchmark")
        scorer = scorer_of(material, precision, scored)

        def score() -> Outcome:
            return Outcome(sum(report.padded_pieces for report in overlapped(scorer, range(material.shards))))

        return score

    return load


def scorer_of(material: Material, precision: str, scored: ShardSet, *, threads: int = 0) -> ShardScorer:
    """A loaded model that scores the material's shards into `scored`."""
    job = ScoreJob(
        bundle=str(material.work / precision),
        rows=material.row_shards(),
        scored=scored,
        settings=ScoreSettings(),
        provider="cpu",
        threads=threads,
    )
    return ShardScorer(job)


WAYS: dict[str, Way] = {
    "transformers pipeline": _pipeline(1),
    "transformers pipeline, batch_size=32": _pipeline(32),
    "torch, full logits, unsorted": _torch(gathered=False, by_length=False),
    "torch, full logits, by length": _torch(gathered=False, by_length=True),
    "torch, masked rows gathered": _torch(gathered=True, by_length=True),
    "optimum ORTModelForMaskedLM, by length": _optimum,
    "minicons cloze (gold only)": _minicons,
    "ours, fp32": _ours("fp32"),
    "ours, int8": _ours("int8"),
}
