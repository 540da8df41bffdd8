"""What must hold of the answers: one per row, best first, hits that are hits, ties that say so."""

from collections.abc import Callable

import numpy as np

from evaluator.audit.finding import Outcome, tally, total
from evaluator.audit.spans import Spans, inner, numbers, spans, whole
from evaluator.audit.tables import Answered, RunTables
from evaluator.score.words import NEAR_TIE_NATS
from evaluator.types import Bools, Int64s

NO_ANSWERS = "nothing has been scored"
ROUNDING_NATS = 1e-4
"""A probability may pass 1 by the rounding of float32 log-softmax."""


def _each(run: RunTables, check: Callable[[Answered], Outcome]) -> Outcome:
    return total((check(answered) for answered in run.answered), nothing=NO_ANSWERS)


def _row(answered: Answered, i: int) -> str:
    return f"row {i} of {answered.model}"


def _failed(answered: Answered) -> Bools:
    return np.asarray(whole(answered.scored["failed"]).is_valid().to_numpy(zero_copy_only=False))


def rows_answered(run: RunTables) -> Outcome:
    """Every encoded row has one answer, in the same place, with one result per gold; a failed one has none."""

    def check(answered: Answered) -> Outcome:
        rows, scored = answered.encoded.rows, answered.scored
        if not np.array_equal(numbers(rows["row"]), numbers(scored["row"])):
            what = f"{answered.model} has {scored.num_rows:,} answers for {rows.num_rows:,} rows, or other ones"
            return tally(np.ones(1, dtype=np.bool_), lambda _: what)
        failed = _failed(answered)
        golds = np.where(failed, 0, np.diff(inner(rows["golds"])[0]))
        bad = np.diff(inner(scored["words"])[0]) != spans(scored["word_logp"]).lengths
        bad |= failed & (np.diff(inner(scored["words"])[0]) > 0)
        for column in ("gold_logp", "hit"):
            bad |= spans(scored[column]).lengths != golds
        bad |= np.diff(inner(scored["gold_ranks"])[0]) != golds
        return tally(np.asarray(bad), lambda i: _row(answered, i))

    return _each(run, check)


def _words(answered: Answered) -> tuple[Spans, Spans, Int64s]:
    """Per row the spans of its words, the words as piece tuples, and the row of each word."""
    per_row, words = inner(answered.scored["words"])
    of_row = Spans(np.arange(len(words)), per_row)
    return of_row, words, of_row.owner


def words_ranked(run: RunTables) -> Outcome:
    """The words of a row are distinct, as long as its masks, best first, equals by ids, finite, of probability ≤ 1."""

    def check(answered: Answered) -> Outcome:
        of_row, words, owner = _words(answered)
        masks = spans(answered.encoded.rows["mask_pos"]).lengths
        logp = spans(answered.scored["word_logp"])
        if len(masks) != len(of_row) or not np.array_equal(logp.offsets, of_row.offsets):
            return tally(np.ones(1, dtype=np.bool_), lambda _: f"{answered.model}: words do not fit the rows")
        bad = of_row.any(words.lengths != masks[owner])
        bad |= logp.any(~np.isfinite(logp.values) | (logp.values > ROUNDING_NATS))
        bad |= (of_row.lengths == 0) & ~_failed(answered)
        drop = np.zeros(len(logp.values))
        drop[1:] = np.diff(logp.values)
        drop[logp.within == 0] = -1
        bad |= logp.any(drop > 0)
        distinct = _first_repeat(of_row, words)
        bad |= of_row.any(distinct)
        equal = np.flatnonzero((drop == 0) & (logp.within > 0))
        for word in equal.tolist():
            before, here = (words.values[words.offsets[w] : words.offsets[w + 1]].tolist() for w in (word - 1, word))
            bad[owner[word]] |= before > here
        return tally(np.asarray(bad), lambda i: _row(answered, i))

    return _each(run, check)


def _first_repeat(of_row: Spans, words: Spans) -> Bools:
    """(words,) whether a word stood before in its row."""
    repeated = np.zeros(len(words), dtype=np.bool_)
    for distance in range(1, int(of_row.lengths.max(initial=0))):
        later = np.flatnonzero(of_row.within >= distance)
        repeated[later] |= ~words.take(later).differ(words.take(later - distance))
    return repeated


def hits_recomputed(run: RunTables) -> Outcome:
    """A gold's place is where it stands among its row's words, 0 if nowhere; its log-probability is the word's own."""

    def check(answered: Answered) -> Outcome:
        per_row, golds = inner(answered.encoded.rows["golds"])
        of_row, words, _ = _words(answered)
        hit, logp = spans(answered.scored["hit"]), spans(answered.scored["gold_logp"])
        word_logp = spans(answered.scored["word_logp"]).values
        failed = _failed(answered)
        asked = Spans(np.arange(len(golds)), per_row)
        if len(failed) != len(asked):
            return tally(np.ones(1, dtype=np.bool_), lambda _: f"{answered.model}: rows without an answer")
        alive = np.flatnonzero(~failed[asked.owner])
        if len(alive) != len(hit.values) or len(hit.values) != len(logp.values):
            return tally(np.ones(1, dtype=np.bool_), lambda _: f"{answered.model}: golds without a result")
        owner = asked.owner[alive]
        mine = golds.take(alive)
        place = np.zeros(len(alive), dtype=np.int64)
        far = np.zeros(len(alive), dtype=np.bool_)
        for at in range(int(of_row.lengths.max(initial=0)), 0, -1):
            has = np.flatnonzero(of_row.lengths[owner] >= at)
            word = of_row.starts[owner[has]] + at - 1
            same = ~words.take(word).differ(mine.take(has))
            place[has[same]] = at
            far[has[same]] = np.abs(word_logp[word[same]] - logp.values[has[same]]) > 1e-3
        bad = (place != hit.values) | (far & (place > 0)) | ~np.isfinite(logp.values)
        return tally(np.asarray(bad), lambda i: f"gold {i} ({_row(answered, int(owner[i]))})")

    return _each(run, check)


def ties_flagged(run: RunTables) -> Outcome:
    """A row whose words lie closer than the declared tie distance says so."""

    def check(answered: Answered) -> Outcome:
        logp = spans(answered.scored["word_logp"])
        gap = np.ones(len(logp.values))
        gap[1:] = -np.diff(logp.values)
        close = logp.any((gap < NEAR_TIE_NATS) & (logp.within > 0))
        bad = close & ~numbers(answered.scored["near_tie"])
        return tally(np.asarray(bad), lambda i: _row(answered, i))

    return _each(run, check)
