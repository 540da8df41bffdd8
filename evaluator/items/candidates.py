"""Candidates: every (sentence, seed) that may become a base item, with its target, and what became of it.

`Evaluation` computes the orders of candidates on demand, since a sample must know which are unperturbable.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.errors import ConfigError
from evaluator.items.choose import base_keys, choose, eligible_units
from evaluator.items.orders import orders_of
from evaluator.items.sample import ineligible
from evaluator.items.settings import MAX_UNITS, ItemSettings
from evaluator.items.views import spell, stack, view
from evaluator.types import Bools, Int16s, Int64s, Sentence, UInt64s


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns, one value per candidate; `refused` counts the others as {treebank: {reason: (sentence, seed) pairs}}."""

    sentences: Int64s
    seeds: Int64s
    targets: Int64s
    keys: UInt64s
    refused: dict[str, Counter[str]]
    asked: Counter[str]
    """(sentence, seed) pairs looked at, by treebank: candidates and refused."""


def by_length(lengths: Int64s) -> Iterator[Int64s]:
    """Indices of equal length, shortest first."""
    order = np.argsort(lengths, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        if len(group):
            yield group


def find(sentences: Sequence[Sentence], settings: ItemSettings) -> Candidates:
    """All eligible sentences under each seed, by sentence, then seed as given."""
    refused: dict[str, Counter[str]] = {}
    usable, masks = [], []
    for i, sentence in enumerate(sentences):
        mask = eligible_units(sentence, settings.upos)
        reason = ineligible(
            sentence,
            min_units=settings.min_units,
            max_units=settings.max_units,
            lemma=settings.lemma,
            has_target=bool(mask.any()),
        )
        if reason:
            refused.setdefault(sentence.treebank, Counter())[reason] += len(settings.seeds)
        else:
            usable.append(i)
            masks.append(mask)
    n_seeds = len(settings.seeds)
    rows = np.array(usable, np.int64)
    sentence_keys = np.array([sentences[i].key for i in usable], np.uint64)
    keys = np.stack([base_keys(sentence_keys, seed) for seed in settings.seeds], axis=1)  # (sentences, seeds)
    targets = np.zeros((len(rows), n_seeds), np.int64)
    for group in by_length(np.array([len(mask) for mask in masks], np.int64)):
        eligible = np.repeat(np.stack([masks[i] for i in group]), n_seeds, axis=0)
        targets[group] = choose(eligible, keys[group].ravel()).reshape(-1, n_seeds)
    asked = Counter(sentence.treebank for sentence in sentences)
    return Candidates(
        np.repeat(rows, n_seeds),
        np.tile(np.array(settings.seeds, np.int64), len(rows)),
        targets.ravel(),
        keys.ravel(),
        refused,
        Counter({treebank: count * n_seeds for treebank, count in asked.items()}),
    )


def find_subset(sentences: Sequence[Sentence], settings: ItemSettings) -> Candidates:
    """The subset's base items. Raises ConfigError for a row whose sentence or target is not there."""
    places = {(s.treebank, s.sent_id): i for i, s in enumerate(sentences)}
    refused: dict[str, Counter[str]] = {}
    asked: Counter[str] = Counter()
    kept: list[tuple[int, int, int]] = []
    for number, row in enumerate(settings.subset or (), 1):
        where = f"subset:{row.line}" if row.line else f"subset row {number}"
        place = places.get((row.treebank, row.sent_id))
        if place is None:
            raise ConfigError(f"sentence {row.sent_id} of {row.treebank} is not in the treebanks read", where=where)
        sentence = sentences[place]
        if not 0 <= row.target < len(sentence.units):
            raise ConfigError(
                f"target {row.target} of sentence {row.sent_id}, which has units 0 to {len(sentence.units) - 1}",
                where=where,
            )
        asked[row.treebank] += 1
        reason = ineligible(sentence, min_units=1, max_units=MAX_UNITS, lemma=settings.lemma, has_target=True)
        if reason:
            refused.setdefault(row.treebank, Counter())[reason] += 1
        else:
            kept.append((place, row.seed, row.target))
    columns = np.array(kept, np.int64).reshape(-1, 3)
    keys = np.zeros(len(kept), np.uint64)
    sentence_keys = np.array([sentences[i].key for i in columns[:, 0]], np.uint64)
    for seed in np.unique(columns[:, 1]).tolist():
        mine = columns[:, 1] == seed
        keys[mine] = base_keys(sentence_keys[mine], seed)
    return Candidates(columns[:, 0], columns[:, 1], columns[:, 2], keys, refused, asked)


class Evaluation:
    """The orders of the candidates looked at so far, and for each the condition that failed."""

    def __init__(self, sentences: Sequence[Sentence], candidates: Candidates, settings: ItemSettings) -> None:
        """Nothing is computed yet."""
        self._sentences = sentences
        self._candidates = candidates
        self._settings = settings
        self.failed: Int64s = np.full(len(candidates.sentences), -1, np.int64)
        """(candidates,): index of the first condition that could not be met; -1: none, or not looked at."""
        self.looked: Bools = np.zeros(len(candidates.sentences), bool)
        """(candidates,): whether its orders were asked for."""
        self.parts: list[tuple[Int64s, Int16s]] = []
        """(candidates, their orders (candidates, arrangements, units)), each candidate once."""

    def usable(self, chosen: Int64s) -> Bools:
        """Whether each of these candidates meets every condition; computes and keeps their orders."""
        settings = self._settings
        self.looked[chosen] = True
        numbers = self._candidates.sentences[chosen]
        distinct, rows = np.unique(numbers, return_inverse=True)
        lengths = np.array([len(self._sentences[i].units) for i in distinct], np.int64)
        for group in by_length(lengths[rows]):
            local, block_rows = np.unique(rows[group], return_inverse=True)
            views = [view(self._sentences[i], lemma=settings.lemma) for i in distinct[local]]
            spellings = [spell([v.forms for v in views])]
            if settings.lemma:
                spellings.append(spell([v.lemmas or () for v in views]))
            orders, failed = orders_of(
                stack(views),
                spellings,
                block_rows,
                self._candidates.keys[chosen[group]],
                settings.plan(),
            )
            places = np.array([settings.conditions.index(c) for c, _ in settings.plan()], np.int64)
            self.failed[chosen[group]] = np.where(failed < 0, -1, places[failed])
            self.parts.append((chosen[group], orders))
        return self.failed[chosen] < 0
