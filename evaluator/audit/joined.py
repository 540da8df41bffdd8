"""What must hold of the outcomes: the items of every model, with the answers that the tables give them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.audit.finding import NotChecked, Outcome, tally, total
from evaluator.audit.orders import NO_ITEMS
from evaluator.audit.spans import Spans, codes, inner, numbers, spans, whole
from evaluator.audit.tables import Answered, RunTables
from evaluator.encode.rows import NOT_EXPRESSIBLE, REASONS
from evaluator.reasons import ITEM_REASONS
from evaluator.types import Bools, Int64s

NO_OUTCOMES = NotChecked("there are no outcomes")
NOT_FIT = NotChecked("links lead nowhere")
ITEM_COLUMNS = ("base_id", "sentence", "seed", "condition", "draw", "lemma", "target", "moved", "target_moved")


@dataclass(frozen=True, slots=True)
class Joined:
    """One model's outcomes in the order of the items."""

    answered: Answered
    outcomes: pa.Table


def describe_outcome(outcomes: pa.Table, i: int) -> str:
    """Which outcome is at a row."""
    row = outcomes.slice(i, 1).select(["model", "treebank", "sent_id", "condition", "lemma", "item_id"]).to_pylist()[0]
    lemma = "+L" if row["lemma"] else ""
    return f"item {row['item_id']} ({row['condition']}{lemma}, {row['treebank']} {row['sent_id']}) of {row['model']}"


def _of_model(run: RunTables, answered: Answered) -> Joined | None:
    """The model's outcomes; None when they are not exactly the items (`outcomes_are_items` says so)."""
    assert run.outcomes is not None
    assert run.items is not None
    mine = run.outcomes.filter(pc.equal(run.outcomes["model"], answered.model))
    theirs, ours = numbers(mine["item_id"]), numbers(run.items["item_id"])
    if len(theirs) != len(ours):
        return None
    at, wanted = np.argsort(theirs, kind="stable"), np.argsort(ours, kind="stable")
    if not np.array_equal(theirs[at], ours[wanted]):
        return None
    order = np.empty(len(at), dtype=np.int64)
    order[wanted] = at
    return Joined(answered, mine.take(pa.array(order)).combine_chunks())


def outcomes_are_items(run: RunTables) -> Outcome:
    """Every model has one outcome per item, of the same order, target and condition; no other model has any."""
    if run.outcomes is None or run.items is None:
        return NO_OUTCOMES
    items, outcomes = run.items, run.outcomes
    known = {a.model for a in run.answered}
    if stray := sorted(set(outcomes["model"].unique().to_pylist()) - known):
        return tally(np.ones(1, dtype=np.bool_), lambda _: f"{stray[0]} has outcomes and no whole answers")

    def check(answered: Answered) -> Outcome:
        joined = _of_model(run, answered)
        if joined is None:
            return tally(np.ones(1, dtype=np.bool_), lambda _: f"outcomes of {answered.model} are not one per item")
        bad = spans(joined.outcomes["order"]).differ(spans(items["order"]))
        for name in ITEM_COLUMNS:
            both = pa.chunked_array([*joined.outcomes[name].chunks, *items[name].chunks], items[name].type)
            code = codes(both)
            bad |= code[: items.num_rows] != code[items.num_rows :]
        return tally(bad, lambda i: describe_outcome(joined.outcomes, i))

    return total((check(answered) for answered in run.answered), nothing="nothing has been scored")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the links and answers of a model say of each item."""

    status: npt.NDArray[Any]
    reason: list[str | None]
    place: Int64s  # 0 where not scored
    gold_logp: npt.NDArray[np.float64]  # NaN where there is none


def expected_of(answered: Answered) -> Expected | None:
    """Each item's result, joined anew from the tables; None when a link leads nowhere."""
    links, scored = answered.encoded.links, answered.scored
    row, gold = numbers(links["row"]).astype(np.int64), numbers(links["gold"]).astype(np.int64)
    linked = row >= 0
    if (row >= scored.num_rows).any():
        return None
    failures = scored["failed"].to_pylist()
    reason = links["reason"].to_pylist()
    failed = np.zeros(len(row), dtype=np.bool_)
    for i in np.flatnonzero(linked).tolist():
        if failures[row[i]] is not None:
            failed[i], reason[i] = True, failures[row[i]]
    hit, logp = spans(scored["hit"]), spans(scored["gold_logp"])
    alive = np.flatnonzero(linked & ~failed)
    at = hit.starts[row[alive]] + gold[alive]
    if not np.array_equal(hit.offsets, logp.offsets) or (at >= hit.offsets[row[alive] + 1]).any():
        return None
    unknown = np.array([reason[i] == REASONS[NOT_EXPRESSIBLE] for i in alive], dtype=np.bool_)
    place, gold_logp = np.zeros(len(row), dtype=np.int64), np.full(len(row), np.nan)
    place[alive] = np.where(unknown, 0, hit.values[at])
    gold_logp[alive] = np.where(unknown, np.nan, logp.values[at])
    status = np.where(linked, np.where(failed, "failed", "scored"), "skipped")
    return Expected(status, reason, place, gold_logp)


def outcomes_are_answers(run: RunTables) -> Outcome:
    """Status, reason, place, correctness, log-probability and window flag are those of a second join of the tables."""
    if run.outcomes is None or run.items is None:
        return NO_OUTCOMES

    def check(answered: Answered) -> Outcome:
        joined, expected = _of_model(run, answered), expected_of(answered)
        if joined is None or expected is None:
            return NOT_FIT
        table, links = joined.outcomes, answered.encoded.links
        scored = expected.status == "scored"
        bad = np.array(table["status"].to_pylist(), dtype=object) != expected.status
        theirs = table["reason"].to_pylist()
        bad |= np.array([a != b for a, b in zip(theirs, expected.reason, strict=True)], dtype=np.bool_)
        bad |= _null_unless(table["place"], scored) | _null_unless(table["correct1"], scored)
        bad |= _null_unless(table["correct5"], scored) | _null_unless(table["near_tie"], scored)
        place = np.where(scored, numbers(table["place"]), 0)
        bad |= place != expected.place
        bad |= numbers(table["correct1"]) != (expected.place == 1)
        bad |= numbers(table["correct5"]) != ((expected.place >= 1) & (expected.place <= 5))
        bad |= ~np.isclose(numbers(table["gold_logp"]), expected.gold_logp, rtol=0, atol=0, equal_nan=True)
        for name in ("windowed", "n_masks", "n_pieces"):
            bad |= numbers(table[name]) != numbers(links[name])
        return tally(np.asarray(bad), lambda i: describe_outcome(table, i))

    return total((check(answered) for answered in run.answered), nothing="nothing has been scored")


def _null_unless(column: pa.ChunkedArray, scored: Bools) -> Bools:
    valid = np.asarray(whole(column).is_valid().to_numpy(zero_copy_only=False))
    return np.asarray(valid != scored)


def answers_in_lists(run: RunTables) -> Outcome:
    """The k words shown of an item are those of its row, spelled; a right answer is the word at its place."""
    if run.outcomes is None or run.items is None:
        return NO_OUTCOMES
    if "pred" not in run.outcomes.column_names:
        return NotChecked("the outcomes were written without text")

    def check(answered: Answered) -> Outcome:
        joined, known = _of_model(run, answered), answered.encoded.vocabulary
        row = numbers(answered.encoded.links["row"]).astype(np.int64)
        if joined is None or (row >= answered.scored.num_rows).any():
            return NOT_FIT
        scored = np.flatnonzero(np.array(joined.outcomes["status"].to_pylist(), dtype=object) == "scored")
        shown = spans(joined.outcomes["pred"]).take(scored)
        logp = spans(joined.outcomes["pred_logp"]).take(scored)
        bad = logp.differ(spans(answered.scored["word_logp"]).take(row[scored])) | (shown.lengths != logp.lengths)
        if known is not None:
            spelled = _spelled(answered)
            bad |= shown.differ(spelled.take(row[scored]))
        return tally(np.asarray(bad), lambda i: describe_outcome(joined.outcomes, int(scored[i])))

    return total((check(answered) for answered in run.answered), nothing="nothing has been scored")


def _spelled(answered: Answered) -> Spans:
    """Per row its words as strings."""
    assert answered.encoded.vocabulary is not None
    per_row, words = inner(answered.scored["words"])
    known: dict[tuple[int, ...], str] = {}
    texts = np.empty(len(words), dtype=object)
    flat, ends = words.values.tolist(), words.offsets.tolist()
    for i in range(len(words)):
        pieces = tuple(flat[ends[i] : ends[i + 1]])
        if pieces not in known:
            known[pieces] = answered.encoded.vocabulary.cutter.word(pieces)
        texts[i] = known[pieces]
    return Spans(texts, per_row)


def texts_keep_words(run: RunTables) -> Outcome:
    """Without +L, the text that a model saw has the characters of `orig`'s text, spaces aside, in another order."""
    if run.outcomes is None:
        return NO_OUTCOMES
    if "text" not in run.outcomes.column_names:
        return NotChecked("the outcomes were written without text")
    outcomes = run.outcomes.filter(pc.invert(run.outcomes["lemma"]))
    base, model = (outcomes[name].to_pylist() for name in ("base_id", "model"))
    condition = outcomes["condition"].to_pylist()
    texts = ["".join(text.split()) for text in outcomes["text"].to_pylist()]
    origin = {(m, b): t for m, b, c, t in zip(model, base, condition, texts, strict=True) if c == "orig"}
    if not origin:
        return NotChecked("the run has no orig")
    letters = {key: Counter(text) for key, text in origin.items()}
    bad = np.zeros(len(texts), dtype=np.bool_)
    for i, (m, b, c, text) in enumerate(zip(model, base, condition, texts, strict=True)):
        if c != "orig":
            bad[i] = (m, b) not in origin or text == origin[m, b] or Counter(text) != letters[m, b]
    return tally(bad, lambda i: describe_outcome(outcomes, i))


def reasons_named(run: RunTables) -> Outcome:
    """What was not scored has a reason of the known set and counts nowhere as a wrong answer."""
    if run.outcomes is None:
        return NO_OUTCOMES if run.items is not None else NO_ITEMS
    outcomes = run.outcomes
    scored = np.array(outcomes["status"].to_pylist(), dtype=object) == "scored"
    reason = outcomes["reason"].to_pylist()
    known = np.array([r in ITEM_REASONS for r in reason], dtype=np.bool_)
    silent = np.array([r is None for r in reason], dtype=np.bool_)
    expressible = np.array([r != REASONS[NOT_EXPRESSIBLE] for r in reason], dtype=np.bool_)
    bad = np.where(scored, ~silent & expressible, ~known | ~expressible)
    for name in ("correct1", "correct5"):
        bad |= _null_unless(outcomes[name], scored)
    bad |= numbers(outcomes["complete"]) & ~scored
    return tally(np.asarray(bad), lambda i: describe_outcome(outcomes, i))
