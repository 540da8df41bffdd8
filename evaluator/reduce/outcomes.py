"""The join: items, links and scored rows to one outcome per item and model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.encode.rows import offsets_of
from evaluator.encode.tokenizer import PieceCutter
from evaluator.items.dose import kendall_tau
from evaluator.store import schemas
from evaluator.treebank.text import MASK_MARKER, gaps, traits_of
from evaluator.types import Bools, Float64s, Int64s, Sentence, Spacing

_ITEM_COLUMNS = (
    "sentence", "base_id", "item_id", "condition", "lemma", "seed", "draw", "target", "moved", "displacement",
    "neighbours_kept", "target_moved", "order",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """A model's name and precision, its scored rows (all of them, row i at position i) and its tokenizer."""

    model: str
    precision: str
    scored: pa.Table
    cutter: PieceCutter


def item_columns(items: pa.Table, sentences: Sequence[Sentence], spacing: Spacing) -> pa.Table:
    """What an outcome says of its item, whatever the model: the item's own columns, its words, its text and gold."""
    sentence = items["sentence"].to_numpy()
    target = items["target"].to_numpy()
    units = [sentences[s].units[t] for s, t in zip(sentence, target, strict=True)]
    lemma = items["lemma"].to_pylist()
    texts = _texts(items, sentences, spacing)
    columns = {name: items[name] for name in _ITEM_COLUMNS}
    columns |= {
        "treebank": pa.array([sentences[s].treebank for s in sentence], pa.string()),
        "language": pa.array([sentences[s].language for s in sentence], pa.string()),
        "sent_id": pa.array([sentences[s].sent_id for s in sentence], pa.string()),
        "upos": pa.array([u.upos for u in units], pa.string()),
        "deprel": pa.array([u.deprel for u in units], pa.string()),
        "feats": pa.array([u.feats for u in units], pa.string()),
        "n_units": pa.array([len(sentences[s].units) for s in sentence], pa.int16()),
        "kendall_tau": _tau(items["order"].combine_chunks()),
        "text": pa.array(texts, pa.large_string()),
        "gold": pa.array(
            [u.lemma if f and u.lemma else u.form for u, f in zip(units, lemma, strict=True)], pa.string()
        ),
    }
    return pa.table(columns)


def _tau(orders: pa.ListArray) -> pa.Array:
    offsets = offsets_of(np.asarray(orders.value_lengths(), dtype=np.int64))
    return pa.array(kendall_tau(orders.flatten().to_numpy(), offsets))


def _texts(items: pa.Table, sentences: Sequence[Sentence], spacing: Spacing) -> list[str]:
    traits = {}
    texts = []
    for s, order, target, lemma in zip(
        items["sentence"].to_pylist(),
        items["order"].to_pylist(),
        items["target"].to_pylist(),
        items["lemma"].to_pylist(),
        strict=True,
    ):
        units = sentences[s].units
        if s not in traits:
            traits[s] = traits_of(units)
        words = [MASK_MARKER if u == target else (units[u].lemma if lemma else None) or units[u].form for u in order]
        spaced = gaps(traits[s], order, spacing)
        texts.append("".join(f" {w}" if gap else w for w, gap in zip(words, spaced, strict=True)))
    return texts


def join_answers(items: pa.Table, links: pa.Table, answers: ModelAnswers) -> pa.Table:
    """The OUTCOMES of one shard of `item_columns` under one model; `complete` is still false everywhere."""
    if not items["item_id"].equals(links["item_id"]):
        raise AssertionError("links do not belong to these items")
    count = items.num_rows
    if not count:  # a shard of sentences of which none was drawn
        return schemas.OUTCOMES.empty_table()
    linked = links["row"].is_valid().to_numpy()
    row = links["row"].fill_null(0).to_numpy()
    failed_of_row = answers.scored["failed"].combine_chunks()
    failed = np.zeros(count, dtype=np.bool_)
    if answers.scored.num_rows:
        failed = linked & failed_of_row.is_valid().to_numpy(zero_copy_only=False)[row]
    scored = linked & ~failed
    place = _place(answers.scored, row, links["gold"].fill_null(0).to_numpy(), scored)

    reasons = links["reason"].to_pylist()
    status = np.where(scored, "scored", np.where(failed, "failed", "skipped"))
    expressible = scored & np.array([r is None for r in reasons])
    for i in np.flatnonzero(failed):
        reasons[i] = failed_of_row[row[i]].as_py()
    hit = np.where(expressible, place.hit, 0)
    columns = {name: items[name] for name in items.column_names}
    columns |= {
        "model": pa.array([answers.model] * count, pa.string()),
        "precision": pa.array([answers.precision] * count, pa.string()),
        "n_pieces": links["n_pieces"],
        "n_masks": links["n_masks"],
        "windowed": links["windowed"],
        "gold_logp": pa.array(place.logp, pa.float64(), mask=~expressible),
        "gold_ranks": place.ranks,
        "place": pa.array(hit, pa.int8(), mask=~scored),
        "correct1": pa.array(hit == 1, pa.bool_(), mask=~scored),
        "correct5": pa.array((hit >= 1) & (hit <= 5), pa.bool_(), mask=~scored),
        "near_tie": _take(answers.scored["near_tie"], row, scored),
        "pred": _take(_words(answers, np.unique(row[scored])), row, scored),
        "pred_logp": _take(answers.scored["word_logp"], row, scored),
        "status": pa.array(status.tolist(), pa.string()),
        "reason": pa.array(reasons, pa.string()),
        "complete": pa.array(np.zeros(count, dtype=np.bool_)),
    }
    return pa.table([columns[name] for name in schemas.OUTCOMES.names], schema=schemas.OUTCOMES)


@dataclass(frozen=True, slots=True)
class _Place:
    logp: Float64s
    """0 where not scored."""
    hit: Int64s
    ranks: pa.ListArray


def _place(scored: pa.Table, row: Int64s, gold: Int64s, alive: Bools) -> _Place:
    """Each item's own gold among those asked of its row."""
    logp, hit, ranks = (scored[c].combine_chunks() for c in ("gold_logp", "hit", "gold_ranks"))
    starts = np.zeros(scored.num_rows + 1, dtype=np.int64)
    np.cumsum(np.asarray(logp.value_lengths(), dtype=np.int64), out=starts[1:])
    at = np.where(alive, starts[row] + gold, 0)
    at_or_null = pa.array(at, pa.int64(), mask=~alive)
    if starts[-1] == 0:
        zeros = np.zeros(len(row))
        return _Place(zeros, zeros.astype(np.int64), pa.nulls(len(row), pa.list_(pa.int32())))
    return _Place(
        np.where(alive, logp.flatten().to_numpy()[at], 0.0),
        np.where(alive, hit.flatten().to_numpy()[at], 0).astype(np.int64),
        ranks.flatten().take(at_or_null),
    )


def _take(column: pa.ChunkedArray | pa.Array, row: Int64s, alive: Bools) -> pa.Array:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return flat.take(pa.array(row, pa.int64(), mask=~alive))


def _words(answers: ModelAnswers, wanted: Int64s) -> pa.Array:
    """Per scored row its k best words as strings; empty for rows nobody asks for."""
    spelled: dict[tuple[int, ...], str] = {}
    words: list[list[str]] = [[] for _ in range(answers.scored.num_rows)]
    tuples = answers.scored["words"].combine_chunks().take(pa.array(wanted, pa.int64())).to_pylist()
    for row, candidates in zip(wanted, tuples, strict=True):
        for pieces in candidates:
            key = tuple(pieces)
            if key not in spelled:
                spelled[key] = answers.cutter.word(pieces)
            words[row].append(spelled[key])
    return pa.array(words, pa.list_(pa.string()))
