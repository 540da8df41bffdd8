"""What must hold of the items: the same base items everywhere, orders that are what their condition says."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.audit.finding import NotChecked, Outcome, Tally, tally
from evaluator.audit.spans import Spans, codes, first_of, numbers, spans, whole
from evaluator.audit.tables import RunTables
from evaluator.types import CONTENT_UPOS, Bools, Int64s

NO_ITEMS = NotChecked("the items cannot be read")


@dataclass(frozen=True, slots=True)
class Items:
    """The items with their sentences, as arrays."""

    items: pa.Table
    sentences: pa.Table
    orders: Spans
    sentence: Int64s  # (items,)

    def describe(self, i: int) -> str:
        """Which item is at a row."""
        return describe_item(self.items, self.sentences, i)

    def is_of(self, *conditions: str) -> Bools:
        """(items,) whether the item is of one of these conditions."""
        found = pc.is_in(self.items["condition"], pa.array(conditions, pa.string()))
        return np.asarray(whole(found).to_numpy(zero_copy_only=False))

    @property
    def slot(self) -> Int64s:
        """(shown units,) the slot of each unit shown."""
        return self.orders.within

    def unit_values(self, name: str) -> Spans:
        """A column of the units, in the order in which each item shows them."""
        of_sentence = spans(self.sentences[name])
        at = of_sentence.starts[self.sentence][self.orders.owner] + self.orders.values
        return Spans(of_sentence.values[at], self.orders.offsets)


def describe_item(items: pa.Table, sentences: pa.Table | None, i: int) -> str:
    """Which item is at a row: its id, condition, draw, sentence and seed."""
    row = items.slice(i, 1).to_pylist()[0]
    lemma = "+L" if row["lemma"] else ""
    text = f"item {row['item_id']} ({row['condition']}{lemma}, draw {row['draw']}, seed {row['seed']}"
    number = row["sentence"]
    if sentences is not None and 0 <= number < sentences.num_rows:
        named = sentences.slice(number, 1).select(["treebank", "sent_id"]).to_pylist()[0]
        return f"{text}, {named['treebank']} {named['sent_id']})"
    return f"{text}, sentence {number})"


def items_of(run: RunTables) -> Items | None:
    """The items as arrays; None when they are not there or do not fit their sentences (`orders_permute` says so)."""
    if run.items is None or run.sentences is None or _misfits(run.items, run.sentences).any():
        return None
    orders = spans(run.items["order"])
    return Items(run.items, run.sentences, orders, numbers(run.items["sentence"]).astype(np.int64))


def _misfits(items: pa.Table, sentences: pa.Table) -> Bools:
    """(items,) whether the order is no permutation of its sentence's units, or target or sentence are not there."""
    orders = spans(items["order"])
    sentence = numbers(items["sentence"]).astype(np.int64)
    units = spans(sentences["form"]).lengths
    known = (sentence >= 0) & (sentence < len(units))
    size = np.where(known, units[np.where(known, sentence, 0)] if len(units) else 0, -1)
    target = numbers(items["target"])
    bad: Bools = (orders.lengths != size) | (target < 0) | (target >= size)
    ranked = orders.values[np.lexsort((orders.values, orders.owner))]
    return np.asarray(bad | orders.any(ranked != orders.within))


def orders_permute(run: RunTables) -> Outcome:
    """Every order shows every unit of its sentence once, and the target is one of them."""
    if run.items is None or run.sentences is None:
        return NO_ITEMS
    items, sentences = run.items, run.sentences
    return tally(_misfits(items, sentences), lambda i: describe_item(items, sentences, i))


def ids_distinct(run: RunTables) -> Outcome:
    """No id names two items, and a base id is one (sentence, target, seed) and the other way round."""
    if run.items is None:
        return NO_ITEMS
    items = run.items
    ids = numbers(items["item_id"])
    bad = first_of(ids) != np.arange(len(ids))
    base = numbers(items["base_id"])
    triple = codes(items["sentence"], items["target"], items["seed"])
    bad |= triple != triple[first_of(base)]
    bad |= base != base[first_of(triple)]
    return tally(np.asarray(bad), lambda i: describe_item(items, run.sentences, i))


def same_base_items(run: RunTables) -> Outcome:
    """Every base item has every (condition, ±L, draw) of the run, once."""
    if run.items is None:
        return NO_ITEMS
    items = run.items
    slots = codes(items["condition"], items["lemma"], items["draw"])
    base, number = np.unique(numbers(items["base_id"]), return_inverse=True)
    count = int(slots.max(initial=-1)) + 1
    bad = np.zeros(len(base), dtype=np.bool_)
    if count:
        cells = np.bincount(number * count + slots, minlength=len(base) * count).reshape(len(base), count)
        bad = np.any(cells != 1, axis=1)
    return tally(bad, lambda i: f"base item {base[i]} lacks or repeats one of {count} conditions, lemmas and draws")


def perturbed_differ(run: RunTables) -> Outcome:
    """`orig` is the identity; any other condition's text differs from it in forms, and in lemmas under +L."""
    found = items_of(run)
    if found is None:
        return NO_ITEMS
    moved = found.orders.any(found.orders.values != found.slot)
    orig = found.is_of("orig")
    bad = np.where(orig, moved, ~moved)
    forms = _squeezed(found.sentences["form"])
    lemmas = _squeezed(found.sentences["lemma"]) if pc.any(found.items["lemma"]).as_py() else forms
    plain = {key: ["".join(units) for units in units_of] for key, units_of in ((False, forms), (True, lemmas))}
    lemma = numbers(found.items["lemma"])
    offsets, values = found.orders.offsets.tolist(), found.orders.values.tolist()
    for i in np.flatnonzero(~orig & ~bad).tolist():
        sentence = int(found.sentence[i])
        units = (lemmas if lemma[i] else forms)[sentence]
        shown = "".join([units[u] for u in values[offsets[i] : offsets[i + 1]]])
        bad[i] = shown == plain[bool(lemma[i])][sentence]
    return tally(bad, found.describe)


def _squeezed(column: pa.ChunkedArray) -> list[list[str]]:
    """Per sentence its units' spellings without spaces."""
    return [["".join((unit or "").split()) for unit in units] for units in column.to_pylist()]


def _partners(found: Items) -> tuple[Bools, Bools]:
    """(shown units,) whether the unit here and the unit whose slot this is changed places, and whether both are joined.

    Joined: one is the other's head.
    """
    orders = found.orders
    start = np.repeat(orders.starts, orders.lengths)
    mutual = orders.values[start + orders.values] == orders.within
    heads = spans(found.sentences["head"])
    base = heads.starts[found.sentence][orders.owner]
    joined = (heads.values[base + orders.values] == orders.within) | (
        heads.values[base + orders.within] == orders.values
    )
    return np.asarray(mutual), np.asarray(joined)


def head_swaps(run: RunTables) -> Outcome:
    """`head` swaps one head with its dependent, `head_all` such pairs: each order undone by itself."""
    found = items_of(run)
    if found is None:
        return NO_ITEMS
    moved = found.orders.values != found.slot
    mutual, joined = _partners(found)
    bad = found.orders.any(moved & ~(mutual & joined))
    bad |= found.is_of("head") & (found.orders.count(moved) != 2)
    which = np.flatnonzero(found.is_of("head", "head_all"))
    return tally(np.asarray(bad[which]), lambda i: found.describe(int(which[i])))


def conditions_kept(run: RunTables) -> Outcome:
    """`partial` moves content units only, `window3` by 3 at most, `noun_swap` two nouns; `reverse` mirrors.

    The blocks of `ngram1` to `ngram3` leave the punctuation at the end where it is.
    """
    found = items_of(run)
    if found is None:
        return NO_ITEMS
    orders, slot = found.orders, found.slot
    moved = orders.values != slot
    upos = found.unit_values("upos")
    mirror = np.repeat(orders.lengths, orders.lengths) - 1 - slot
    mutual, _ = _partners(found)
    bad = found.is_of("partial") & orders.any(moved & ~np.isin(upos.values, CONTENT_UPOS))
    bad |= found.is_of("window3") & orders.any(np.abs(orders.values - slot) > 3)
    bad |= found.is_of("reverse") & orders.any(orders.values != mirror)
    swap = (orders.count(moved) == 2) & ~orders.any(moved & ~(mutual & np.isin(upos.values, ("NOUN", "PROPN"))))
    bad |= found.is_of("noun_swap") & ~swap
    bad |= found.is_of("ngram1", "ngram2", "ngram3") & orders.any(moved & _final(found))
    rules = ("partial", "window3", "reverse", "noun_swap", "ngram1", "ngram2", "ngram3")
    which = np.flatnonzero(found.is_of(*rules))
    return tally(np.asarray(bad[which]), lambda i: found.describe(int(which[i])))


def _final(found: Items) -> Bools:
    """(shown units,) whether the unit stands in the run of punctuation that ends its sentence in the source."""
    upos = spans(found.sentences["upos"])
    last = np.zeros(len(upos), dtype=np.int64)  # one more than the last unit that is no punctuation
    words = np.flatnonzero(upos.values != "PUNCT")
    np.maximum.at(last, upos.owner[words], upos.within[words] + 1)
    return np.asarray(found.orders.values >= last[found.sentence][found.orders.owner])


def lemma_twins(run: RunTables) -> Outcome:
    """An item with +L shows its units in the order of its twin without."""
    found = items_of(run)
    if found is None:
        return NO_ITEMS
    items = found.items
    lemma = numbers(items["lemma"])
    if not lemma.any():
        return NotChecked("the run has no +L")
    key = codes(items["base_id"], items["condition"], items["draw"])
    plain = np.full(int(key.max()) + 1, -1, dtype=np.int64)
    plain[key[~lemma]] = np.flatnonzero(~lemma)
    with_l = np.flatnonzero(lemma)
    twin = plain[key[with_l]]
    bad = found.orders.take(with_l).differ(found.orders.take(np.maximum(twin, 0))) | (twin < 0)
    return tally(np.asarray(bad), lambda i: found.describe(int(with_l[i])))


def dose_recounted(run: RunTables) -> Outcome:
    """The units moved and whether the target moved, counted again from the orders."""
    found = items_of(run)
    if found is None:
        return NO_ITEMS
    moved = found.orders.values != found.slot
    target = numbers(found.items["target"])[found.orders.owner]
    counted, went = found.orders.count(moved), found.orders.any(moved & (found.orders.values == target))
    bad = (counted != numbers(found.items["moved"])) | (went != numbers(found.items["target_moved"]))
    return tally(np.asarray(bad), found.describe)


def files_whole(run: RunTables) -> Outcome:
    """Every stage is finished, and every file is whole and was made by this run."""
    first = run.damaged[0] if run.damaged else ""
    return Tally(run.files + len(run.damaged), len(run.damaged), first)
