"""A task in; its examples, with the reason why some take no part, and every reordered input out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evaluator.items.randomness import mix
from evaluator.progress import Reporter
from evaluator.store import schemas
from evaluator.store.run import RunFolder, TextRun, fingerprint, read_stage, write_stage
from evaluator.types import Condition, UInt64s, Unit
from evaluator.wos.nouns import BY_UD, NounRule, noun_rule
from evaluator.wos.settings import WosConfig
from evaluator.wos.shuffle import Shuffled, key_of, seeded, shuffle, texts_of
from evaluator.wos.table import TEXT, Row, TaskData, read_task
from evaluator.wos.words import LEAST_WORDS, is_one_sentence, units_of

WOS_VERSION = 1
"""Raised whenever the same data and settings would give other items."""
EXAMPLES_PER_SHARD = 1000
ITEM_BITS = 16
"""An item's id is its example's number and, in so many bits, its place among that example's items."""
OTHER = 1
"""The address of an input's partner: its orders are not those of the same text as an input of its own."""
NOUN_SWAP: Condition = "noun_swap"


@dataclass(frozen=True, slots=True)
class Example:
    """A row as it is shuffled: the units that blocks are made of, and those in which nouns are looked for."""

    text: str
    other: str | None
    label: str
    changed_first: bool
    source: str
    units: tuple[Unit, ...]
    tagged: tuple[Unit, ...]
    is_sentence: bool
    """Whether its text is a treebank's sentence: its words and its being one sentence are known, not guessed."""

    @property
    def key(self) -> int:
        return key_of(self.text, self.other)


def example_of(row: Row, config: WosConfig, rule: NounRule) -> Example:
    """The example of a row."""
    at = config.columns.index(config.changed)
    other = row.texts[1 - at] if len(row.texts) == 2 else None
    text = row.texts[at]
    if row.units and config.changed == TEXT:
        return Example(text, other, row.label, at == 0, row.source, row.units, row.units, True)
    tagged = units_of(text, rule.tag, split="all")
    return Example(text, other, row.label, at == 0, row.source, units_of(text), tagged, False)


def unfit(text: str, units: Sequence[Unit], *, one_sentence: bool) -> str | None:
    """Why an input cannot be shuffled whatever the order drawn; None when it can. Punctuation is no word."""
    if sum(unit.upos != "PUNCT" for unit in units) < LEAST_WORDS:
        return "too_short"
    return "several_sentences" if one_sentence and not is_one_sentence(text) else None


def prepare(config: WosConfig, reporter: Reporter) -> tuple[TextRun, TaskData]:
    """The run folder with its examples and items, made now or found there, and the task they were made of."""
    task = read_task(config)
    settings = config.item_settings()
    rule = noun_rule(config.tags)
    mark = fingerprint(WOS_VERSION, settings, task.sha256, rule.said, rule.mark)
    run = TextRun(RunFolder.create(config.out, mark, settings))
    done = read_stage(run.items())
    if done is not None and run.items().are_done(done["shards"]) and run.examples().are_done(done["shards"]):
        return run, task
    shards = max(1, -(-len(task.rows) // EXAMPLES_PER_SHARD))
    reasons: Counter[str] = Counter()
    items = 0
    is_tagged = False
    with reporter.stage("shuffle", len(task.rows), "examples") as meter:
        for shard in range(shards):
            first = shard * EXAMPLES_PER_SHARD
            examples = [example_of(r, config, rule) for r in task.rows[first : first + EXAMPLES_PER_SHARD]]
            is_tagged = is_tagged or any(e.is_sentence for e in examples)
            table, made = shard_tables(examples, first, config)
            run.examples().write(shard, table)
            run.items().write(shard, made)
            reasons.update(reason for reason in table["reason"].to_pylist() if reason)
            items += made.num_rows
            meter.advance(len(examples))
    facts = {"shards": shards, "rows": items, "examples": len(task.rows), "reasons": dict(sorted(reasons.items())),
             "nouns": BY_UD if is_tagged else rule.said, "task": task.name, "sha256": task.sha256}  # fmt: skip
    write_stage(run.items(), facts)
    return run, task


def shard_tables(examples: Sequence[Example], first: int, config: WosConfig) -> tuple[pa.Table, pa.Table]:
    """The EXAMPLES and TEXT_ITEMS of examples, which are numbered from `first`."""
    keys = seeded([e.key for e in examples], config.seed)
    reasons = [unfit(e.text, e.units, one_sentence=config.one_sentence and not e.is_sentence) for e in examples]
    blocks = _blocks(examples, reasons, keys, config)
    nouns = _nouns(examples, reasons, keys, config)
    others = _others(examples, reasons, keys, config)
    items = _Items()
    for i, example in enumerate(examples):
        items.start(first + i, example)
        items.add("orig", False, 0, example.text, example.other)
        if reasons[i]:
            continue
        beside = others.get(i)
        texts = texts_of(example.units, blocks[i].orders)
        for j, ((condition, draw), text) in enumerate(zip(_plan(config), texts, strict=True)):
            items.add(condition, False, draw, text, example.other)
            if beside is not None:
                items.add(condition, True, draw, text, beside[j])
        for draw, text in enumerate(nouns.get(i, ())):
            items.add(NOUN_SWAP, False, draw, text, example.other)
    return _examples_table(examples, first, reasons, keys, set(others)), items.table()


def _examples_table(
    examples: Sequence[Example], first: int, reasons: Sequence[str | None], keys: UInt64s, pairable: set[int]
) -> pa.Table:
    columns = [
        range(first, first + len(examples)),
        keys,
        [e.label for e in examples],
        [e.text for e in examples],
        [e.other for e in examples],
        [e.changed_first for e in examples],
        [e.source for e in examples],
        reasons,
        [i in pairable for i in range(len(examples))],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schemas.EXAMPLES, strict=True)]
    return pa.table(arrays, schema=schemas.EXAMPLES)


def _plan(config: WosConfig) -> list[tuple[Condition, int]]:
    return [(condition, draw) for condition in config.ngrams for draw in range(config.draws)]


def _blocks(
    examples: Sequence[Example], reasons: list[str | None], keys: UInt64s, config: WosConfig
) -> dict[int, Shuffled]:
    """The block shuffles of every example that is fit; one that some order cannot change gets its reason."""
    fit = [i for i, reason in enumerate(reasons) if reason is None]
    found = dict(zip(fit, shuffle([examples[i].units for i in fit], keys[fit], _plan(config)), strict=True))
    for i, shuffled in found.items():
        if shuffled.unmet:
            reasons[i] = "unchangeable"
    return found


def _nouns(
    examples: Sequence[Example], reasons: Sequence[str | None], keys: UInt64s, config: WosConfig
) -> dict[int, list[str]]:
    """The texts with two nouns swapped of every fit example that has two."""
    if NOUN_SWAP not in config.orders:
        return {}
    fit = [i for i, reason in enumerate(reasons) if reason is None]
    plan = [(NOUN_SWAP, draw) for draw in range(config.draws)]
    swapped = zip(fit, shuffle([examples[i].tagged for i in fit], keys[fit], plan), strict=True)
    return {i: texts_of(examples[i].tagged, s.orders) for i, s in swapped if not s.unmet}


def _others(
    examples: Sequence[Example], reasons: Sequence[str | None], keys: UInt64s, config: WosConfig
) -> dict[int, list[str]]:
    """The shuffled partners, one per entry of the plan, of every fit example whose partner can be shuffled too."""
    if not config.both:
        return {}
    units = {i: units_of(other) for i, e in enumerate(examples) if reasons[i] is None and (other := e.other)}
    fit = [i for i, of in units.items() if not unfit(examples[i].other or "", of, one_sentence=config.one_sentence)]
    drawn = shuffle([units[i] for i in fit], mix(keys[fit], OTHER), _plan(config))
    return {i: texts_of(units[i], s.orders) for i, s in zip(fit, drawn, strict=True) if not s.unmet}


class _Items:
    """Items as they come, column by column."""

    def __init__(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in schemas.TEXT_ITEMS]
        self._number = 0
        self._id = 0
        self._changed_first = True

    def start(self, number: int, example: Example) -> None:
        """The items that follow are those of this example."""
        self._number, self._changed_first = number, example.changed_first
        self._id = number << ITEM_BITS

    def add(self, condition: str, both: bool, draw: int, text: str, other: str | None) -> None:
        """Takes one item; `text` is the changed input and is put where the model reads it."""
        first, second = (text, other) if self._changed_first or other is None else (other, text)
        for column, value in zip(
            self._columns, (self._id, self._number, condition, both, draw, first, second), strict=True
        ):
            column.append(value)
        self._id += 1

    def table(self) -> pa.Table:
        """The TEXT_ITEMS."""
        arrays = [pa.array(c, f.type) for c, f in zip(self._columns, schemas.TEXT_ITEMS, strict=True)]
        return pa.table(arrays, schema=schemas.TEXT_ITEMS)
