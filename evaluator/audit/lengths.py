"""What must hold of long items: none cut off unsaid, none lost unsaid."""

import numpy as np

from evaluator.audit.finding import NotChecked, Outcome, tally, total
from evaluator.audit.inputs import NO_ROWS, NO_TOKENIZER
from evaluator.audit.orders import NO_ITEMS, describe_item
from evaluator.audit.spans import Spans, indexed, numbers, spans
from evaluator.audit.tables import Encoded, RunTables
from evaluator.types import Int64s


def nothing_cut_off(run: RunTables) -> Outcome:
    """A row holds pieces of all units of its item, at most what the model takes, unless it is flagged as a window."""
    if run.items is None or run.sentences is None:
        return NO_ITEMS
    items, sentences = run.items, run.sentences
    sentence = numbers(items["sentence"]).astype(np.int64)
    lemma = numbers(items["lemma"])

    def check(encoded: Encoded) -> Outcome:
        if encoded.links.num_rows != items.num_rows or sentence.max(initial=-1) >= sentences.num_rows:
            return NotChecked("links lead nowhere")
        if encoded.vocabulary is None:
            return NO_TOKENIZER
        least, most = _sizes(encoded, run)
        cutter, limit = encoded.vocabulary.cutter, encoded.vocabulary.bundle.max_pieces
        specials = len(cutter.prefix) + len(cutter.suffix)
        pieces = numbers(encoded.links["n_pieces"]).astype(np.int64)
        windowed, linked = numbers(encoded.links["windowed"]), numbers(encoded.links["row"]) >= 0
        low = least[lemma.astype(np.int64), sentence] + specials
        high = most[lemma.astype(np.int64), sentence] + specials
        bad = linked & ((pieces > limit) | (pieces > high) | (~windowed & (pieces < low)))
        bad |= linked & windowed & (high <= limit)
        return tally(np.asarray(bad), lambda i: describe_item(items, sentences, i))

    return total((check(encoded) for encoded in run.encoded), nothing=NO_ROWS)


def _sizes(encoded: Encoded, run: RunTables) -> tuple[Int64s, Int64s]:
    """(2, sentences) the fewest and the most pieces of a sentence's forms and of its lemmas, whatever the gaps."""
    assert encoded.vocabulary is not None
    assert run.sentences is not None
    forms = spans(run.sentences["form"])
    lemmas = spans(run.sentences["lemma"])
    filled = [form if lemma is None else lemma for form, lemma in zip(forms.values, lemmas.values, strict=True)]
    least: list[Int64s] = []
    most: list[Int64s] = []
    for values in (forms.values, filled):
        words, which = indexed(values)
        lengths = []
        for after_space in (False, True):
            cuts = encoded.vocabulary.cutter.cut(words, after_space=after_space)
            lengths.append(np.diff(cuts.offsets)[which])
        for sums, per_unit in ((least, np.minimum(*lengths)), (most, np.maximum(*lengths))):
            sums.append(_per_span(Spans(per_unit, forms.offsets)))
    return np.stack(least), np.stack(most)


def _per_span(of: Spans) -> Int64s:
    sums = np.zeros(len(of.values) + 1, dtype=np.int64)
    np.cumsum(of.values, out=sums[1:])
    return sums[of.offsets[1:]] - sums[of.offsets[:-1]]
