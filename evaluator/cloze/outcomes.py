"""What came of every item: hits of both styles and all decoders, and of the floors that need no model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.cloze.dataset import MARKER
from evaluator.cloze.inputs import STYLES, Question, variants_of
from evaluator.cloze.scoring import FormScores, reason_name
from evaluator.types import Bools, Float64s, Int64s

MEASURES = (
    "first", "first_exact", "five", "joint", "joint_l2r", "per_piece", "per_piece_l2r", "equal", "equal_l2r",
)  # fmt: skip
"""Per style: first answer right (case-folded; exact), among five, then choices by rule, parallel and left to right."""

OUTCOMES = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),
        pa.field("item", pa.int64(), nullable=False),
        *(pa.field(name, pa.string(), nullable=False) for name in ("phenomenon", "cell", "person_number", "verbclass")),
        *(pa.field(name, pa.string(), nullable=False) for name in ("lemma", "gold", "context", "source_treebank")),
        pa.field("style", pa.string(), nullable=False),
        pa.field("n_masks", pa.int16()),
        pa.field("n_forms", pa.int16(), nullable=False),
        pa.field("gold_logp", pa.float64()),
        pa.field("gold_logp_l2r", pa.float64()),
        pa.field("answers", pa.list_(pa.string())),
        pa.field("chosen", pa.string()),
        *(pa.field(name, pa.bool_()) for name in MEASURES),
        pa.field("copy_lemma", pa.bool_(), nullable=False),
        pa.field("copy_lemma_exact", pa.bool_(), nullable=False),
        pa.field("frequent_form", pa.bool_()),
        pa.field("chance", pa.float64()),
        pa.field("windowed", pa.bool_(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)
"""One row per item, style and model. A measure is null where it is not defined: a choice needs two forms, an equal one
two forms of the gold's number of pieces. `chosen`: the joint choice, parallel. Status: scored, skipped or failed."""


def most_frequent(forms: Sequence[str], counts: Sequence[int] | None) -> str | None:
    """The form with the largest count, the first of equals; None without counts, or when none was ever seen."""
    if counts is None or not counts or max(counts) == 0:
        return None
    return forms[int(np.argmax(np.array(counts)))]


def floors_of(row: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """The floors of one item: copying the lemma (case-folded and exact), its most frequent form, and chance."""
    gold = str(row["gold"])
    frequent = most_frequent(row["paradigm"] or (), row["paradigm_freq"])
    return {
        "copy_lemma": row["lemma"].casefold() == gold.casefold(),
        "copy_lemma_exact": row["lemma"] == gold,
        "frequent_form": None if frequent is None else frequent.casefold() == gold.casefold(),
        "chance": 1 / len(question.forms) if len(question.forms) > 1 else None,
    }


def outcomes_of(
    model: str, rows: Sequence[Mapping[str, Any]], questions: Sequence[Question], scores: FormScores
) -> pa.Table:
    """The OUTCOMES of one model."""
    variants = variants_of(questions)
    starts = np.searchsorted(variants.question * len(STYLES) + variants.style, np.arange(len(questions) * len(STYLES)))
    ends = np.append(starts[1:], len(variants))
    out = []
    for number, (first, last) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        question = questions[number // len(STYLES)]
        row = rows[question.item]
        span = slice(first, last)
        gold = first + question.gold
        record: dict[str, Any] = {"model": model, "item": question.item, "style": STYLES[number % len(STYLES)]}
        record |= {name: row[name] for name in ("phenomenon", "cell", "person_number", "verbclass")}
        record |= {name: row[name] for name in ("lemma", "gold", "context", "source_treebank")}
        record |= floors_of(row, question)
        record |= {"n_forms": len(question.forms), "windowed": bool(scores.windowed[gold])}
        record |= _answered(scores, gold, row["gold"])
        if record["status"] == "scored":
            record |= _chosen(scores.parallel[span], scores.masks[span], question.gold, "")
            best = best_form(scores.parallel[span])
            record["chosen"] = None if best is None else question.forms[best]
            if scores.l2r is not None:
                record |= _chosen(scores.l2r[span], scores.masks[span], question.gold, "_l2r")
        out.append(record)
    return pa.Table.from_pylist(out, schema=OUTCOMES)


def _answered(scores: FormScores, gold: int, written: str) -> dict[str, Any]:
    """Status and reconstruction of one item in one style."""
    words, spelled = scores.words[gold], scores.spelled[gold]
    reason = reason_name(int(scores.reason[gold]))
    if words is None:
        return {"status": "skipped", "reason": reason or "no_row"}
    if np.isnan(scores.parallel[gold]):
        return {"status": "failed", "reason": "non_finite"}
    exact = int(scores.piece_hit[gold])
    expressible = bool(np.isfinite(scores.parallel[gold]))
    wanted = {written.casefold(), (spelled or written).casefold()}
    folded = [expressible and word.casefold() in wanted for word in words[:5]]
    return {
        "status": "scored",
        "reason": reason or None,
        "n_masks": int(scores.masks[gold]),
        "answers": words,
        "gold_logp": float(scores.parallel[gold]) if expressible else None,
        "gold_logp_l2r": float(scores.l2r[gold]) if scores.l2r is not None and expressible else None,
        "first": any(folded[:1]) or exact == 1,
        "first_exact": exact == 1,
        "five": any(folded) or 1 <= exact <= 5,
    }


def best_form(logp: Float64s) -> int | None:
    """The form of largest log-probability, the first of equals; None when none has one."""
    usable = np.where(np.isnan(logp), -np.inf, logp)
    return int(np.argmax(usable)) if np.isfinite(usable).any() else None


def _chosen(logp: Float64s, masks: Int64s, gold: int, suffix: str) -> dict[str, bool | None]:
    """Whether each rule chooses the gold.

    joint: argmax log p(form), each form under its own number of masks. per_piece: argmax log p(form) / pieces.
    equal: the joint rule among the forms with as many pieces as the gold, where no length is favoured.
    """
    if len(logp) < 2:
        return {f"joint{suffix}": None, f"per_piece{suffix}": None, f"equal{suffix}": None}
    same: Bools = masks == masks[gold]
    among_equals = np.where(same, logp, -np.inf)
    return {
        f"joint{suffix}": best_form(logp) == gold,
        f"per_piece{suffix}": best_form(logp / np.maximum(masks, 1)) == gold,
        f"equal{suffix}": best_form(among_equals) == gold if same.sum() > 1 else None,
    }


def sentence_ids(outcomes: pa.Table) -> Int64s:
    """The sentence of each outcome as a number: items of one sentence are not independent."""
    texts = [
        c.replace(MARKER, g) for c, g in zip(outcomes["context"].to_pylist(), outcomes["gold"].to_pylist(), strict=True)
    ]
    numbers = {text: i for i, text in enumerate(sorted(set(texts)))}
    return np.fromiter((numbers[t] for t in texts), dtype=np.int64, count=len(texts))
