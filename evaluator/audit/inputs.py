"""What must hold of the model inputs: masks, specials, golds, links, lengths."""

from collections.abc import Callable

import numpy as np

from evaluator.audit.finding import NotChecked, Outcome, tally, total
from evaluator.audit.orders import NO_ITEMS, describe_item
from evaluator.audit.spans import Spans, codes, first_of, indexed, inner, numbers, spans
from evaluator.audit.tables import Encoded, RunTables
from evaluator.encode.rows import REASONS
from evaluator.types import Int64s

SKIPPING = REASONS[2:]
"""Reasons of items without a row."""
NO_ROWS = "nothing has been encoded"
NO_TOKENIZER = NotChecked("no bundle with this tokenizer is here")


def _each(run: RunTables, check: Callable[[Encoded], Outcome]) -> Outcome:
    return total((check(encoded) for encoded in run.encoded), nothing=NO_ROWS)


def _row(encoded: Encoded, i: int) -> str:
    return f"row {i} of encoded/{encoded.tokenizer}"


def rows_sorted(run: RunTables) -> Outcome:
    """Rows are numbered from 0 on, shortest first."""

    def check(encoded: Encoded) -> Outcome:
        number, lengths = numbers(encoded.rows["row"]), spans(encoded.rows["ids"]).lengths
        bad = number != np.arange(len(number))
        bad[1:] |= np.diff(lengths) < 0
        return tally(bad, lambda i: _row(encoded, i))

    return _each(run, check)


def rows_distinct(run: RunTables) -> Outcome:
    """No two rows hold the same ids."""

    def check(encoded: Encoded) -> Outcome:
        ids = spans(encoded.rows["ids"])
        bad = np.zeros(len(ids), dtype=np.bool_)
        for length in np.unique(ids.lengths):
            same = np.flatnonzero(ids.lengths == length)
            if length:
                matrix = ids.take(same).values.reshape(len(same), int(length))
                first, back = np.unique(matrix, axis=0, return_index=True, return_inverse=True)[1:]
                bad[same] = first[back.ravel()] != np.arange(len(same))
            else:
                bad[same[1:]] = True
        return tally(bad, lambda i: _row(encoded, i))

    return _each(run, check)


def specials_at_ends(run: RunTables) -> Outcome:
    """Rows begin and end with the tokenizer's own special pieces (without a bundle: with those of the first row)."""

    def check(encoded: Encoded) -> Outcome:
        ids = spans(encoded.rows["ids"])
        if not len(ids):
            return tally(np.zeros(0, dtype=np.bool_), str)
        known = encoded.vocabulary
        first = ids.take(np.zeros(1, dtype=np.int64)).values
        before = known.cutter.prefix if known else first[:1]
        after = known.cutter.suffix if known else first[-1:]
        short = ids.lengths < len(before) + len(after) + 1
        bad = short.copy()
        whole = np.flatnonzero(~short)
        for j, piece in enumerate(before):
            bad[whole] |= ids.values[ids.offsets[whole] + j] != piece
        for j, piece in enumerate(after):
            bad[whole] |= ids.values[ids.offsets[whole + 1] - len(after) + j] != piece
        return tally(bad, lambda i: _row(encoded, i))

    return _each(run, check)


def masks_are_masks(run: RunTables) -> Outcome:
    """The mask piece stands where `mask_pos` says, side by side, and nowhere else."""

    def check(encoded: Encoded) -> Outcome:
        ids, masks = spans(encoded.rows["ids"]), spans(encoded.rows["mask_pos"])
        bad = (masks.lengths == 0) | masks.any((masks.values < 0) | (masks.values >= ids.lengths[masks.owner]))
        sound = ~bad[masks.owner]
        at = ids.starts[masks.owner] + np.where(sound, masks.values, 0)
        first = int(ids.values[at[0]]) if len(at) else -1
        mask_id = encoded.vocabulary.cutter.mask_id if encoded.vocabulary else first
        bad |= masks.any(sound & (ids.values[at] != mask_id) if len(at) else sound)
        bad |= ids.count(ids.values == mask_id) != masks.lengths
        gap = np.zeros(len(masks.values), dtype=np.bool_)
        gap[1:] = np.diff(masks.values.astype(np.int64)) != 1
        bad |= masks.any(gap & (masks.within > 0))
        return tally(np.asarray(bad), lambda i: _row(encoded, i))

    return _each(run, check)


def golds_fill_masks(run: RunTables) -> Outcome:
    """Every gold of a row has as many pieces as the row has masks, and no two golds of a row are equal."""

    def check(encoded: Encoded) -> Outcome:
        masks = spans(encoded.rows["mask_pos"]).lengths
        per_row, golds = inner(encoded.rows["golds"])
        of_row = Spans(np.arange(len(golds)), per_row)
        bad = of_row.any(golds.lengths != masks[of_row.owner]) | (of_row.lengths == 0)
        several = np.flatnonzero(of_row.lengths > 1)
        for row in several.tolist():
            mine = golds.take(np.arange(per_row[row], per_row[row + 1]))
            texts = {mine.values[a:b].tobytes() for a, b in zip(mine.offsets, mine.offsets[1:], strict=False)}
            bad[row] |= len(texts) != of_row.lengths[row]
        return tally(np.asarray(bad), lambda i: _row(encoded, i))

    return _each(run, check)


def links_resolve(run: RunTables) -> Outcome:
    """Each item has its link: to a row, a gold of it and their sizes, or to none, with a known reason."""
    if run.items is None:
        return NO_ITEMS
    items = run.items

    def check(encoded: Encoded) -> Outcome:
        links, rows = encoded.links, encoded.rows
        if not np.array_equal(numbers(links["item_id"]), numbers(items["item_id"])):
            what = f"links of encoded/{encoded.tokenizer} are not those of the items"
            return tally(np.ones(1, dtype=np.bool_), lambda _: what)
        row, gold = numbers(links["row"]), numbers(links["gold"])
        reason = np.array(links["reason"].to_pylist(), dtype=object)
        skipped = np.isin(reason, SKIPPING)
        known = skipped | np.isin(reason, REASONS[1:2]) | np.array([r is None for r in reason], dtype=np.bool_)
        golds = np.diff(inner(rows["golds"])[0])
        there = (row >= 0) & (row < rows.num_rows)
        at = np.where(there, row, 0)
        sizes = (spans(rows["ids"]).lengths, spans(rows["mask_pos"]).lengths)
        fits = there & (gold >= 0)
        if rows.num_rows:
            fits &= (gold < golds[at]) & (numbers(links["n_pieces"]) == sizes[0][at])
            fits &= numbers(links["n_masks"]) == sizes[1][at]
        nothing = (row == -1) & (gold == -1) & (numbers(links["n_masks"]) == -1)
        bad = ~known | np.where(skipped, ~nothing, ~fits)
        return tally(np.asarray(bad), lambda i: describe_item(items, run.sentences, i))

    return _each(run, check)


def _asked(encoded: Encoded) -> tuple[Int64s, Spans] | None:
    """The items that have a row, and the gold that each asks of it; None when a link leads nowhere."""
    row, gold = numbers(encoded.links["row"]).astype(np.int64), numbers(encoded.links["gold"]).astype(np.int64)
    per_row, golds = inner(encoded.rows["golds"])
    linked = np.flatnonzero(row >= 0)
    if (row[linked] >= encoded.rows.num_rows).any():
        return None
    at = per_row[row[linked]] + gold[linked]
    if ((gold[linked] < 0) | (at >= per_row[row[linked] + 1])).any():
        return None
    return linked, golds.take(at)


def gold_same_everywhere(run: RunTables) -> Outcome:
    """A base item's gold, with forms or with lemmas, is the same pieces in every order."""
    if run.items is None:
        return NO_ITEMS
    items = run.items

    def check(encoded: Encoded) -> Outcome:
        asked = _asked(encoded) if encoded.links.num_rows == items.num_rows else None
        if asked is None:
            return NotChecked("links lead nowhere")
        linked, golds = asked
        first = first_of(codes(items["base_id"], items["lemma"])[linked])
        return tally(golds.differ(golds.take(first)), lambda i: describe_item(items, run.sentences, int(linked[i])))

    return _each(run, check)


def gold_is_target(run: RunTables) -> Outcome:
    """The gold is what the tokenizer makes of the target's spelling, after a space or directly after other text."""
    if run.items is None or run.sentences is None:
        return NO_ITEMS
    items = run.items
    units = {lemma: spans(run.sentences["lemma" if lemma else "form"]) for lemma in (False, True)}

    def check(encoded: Encoded) -> Outcome:
        asked = _asked(encoded) if encoded.links.num_rows == items.num_rows else None
        if asked is None:
            return NotChecked("links lead nowhere")
        if encoded.vocabulary is None:
            return NO_TOKENIZER
        linked, golds = asked
        sentence, target, lemma = (numbers(items[c])[linked].astype(np.int64) for c in ("sentence", "target", "lemma"))
        spelled = [
            units[bool(with_l)].values[units[bool(with_l)].offsets[s] + t]
            for s, t, with_l in zip(sentence.tolist(), target.tolist(), lemma.tolist(), strict=True)
        ]
        words, which = indexed(spelled)
        differs = []
        for after_space in (False, True):
            cuts = encoded.vocabulary.cutter.cut(words, after_space=after_space)
            differs.append(golds.differ(Spans(cuts.pieces, cuts.offsets).take(which)))
        bad = differs[0] & differs[1]
        return tally(bad, lambda i: f"{describe_item(items, run.sentences, int(linked[i]))}: {spelled[i]!r}")

    return _each(run, check)
