"""Items from sentences: choose targets, draw the sample, compute the orders, fill the table. The core of `prepare`.

Every number here is a function of the sentence's key and the seed, so the same base items, targets and orders come out
for any order of the sentences, any other treebanks beside them and any subset of the conditions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.errors import ConfigError
from evaluator.items.candidates import Candidates, Evaluation, find, find_subset
from evaluator.items.sample import aligned_bundles, draw, draw_balanced, length_bins, sample_lots, single_bundles
from evaluator.items.sentences import sentences_of, sentences_table
from evaluator.items.settings import ItemSettings
from evaluator.items.subset import SubsetRow
from evaluator.items.table import items_table
from evaluator.types import Bools, Int64s, Sentence

__all__ = ["Counts", "ItemSettings", "ItemsResult", "build_items", "sentences_of", "sentences_table", "subset_of"]


class Counts(TypedDict):
    """What became of everything. For each treebank: asked = base_items + the sum of excluded."""

    sentences: dict[str, int]
    """Sentences read."""
    eligible: dict[str, int]
    """Sentences with a target, a usable length and, with +L, all lemmas."""
    asked: dict[str, int]
    """(sentence, seed) pairs considered: sentences x seeds, or the subset's rows."""
    base_items: dict[str, int]
    excluded: dict[str, dict[str, int]]
    """(sentence, seed) pairs by reason: withheld, too_short, too_long, lemma_missing, no_target,
    unperturbable:<condition>, not_aligned (lacking or unusable in another treebank), not_drawn."""
    short: dict[str, int]
    """Base items missing to n per seed; only treebanks that fall short."""


@dataclass(frozen=True, slots=True)
class ItemsResult:
    """The items of a run, schema `ITEMS`, by sentence, seed, condition, draw, lemma; and the counts behind them."""

    items: pa.Table
    counts: Counts


def build_items(sentences: Sequence[Sentence], settings: ItemSettings) -> ItemsResult:
    """All items of these sentences. `sentence` in the table is the position in `sentences`.

    Raises ConfigError when a sentence was read twice or a subset row cannot be found.
    """
    _refuse_duplicates(sentences)
    subset = settings.subset is not None
    candidates = find_subset(sentences, settings) if subset else find(sentences, settings)
    names = sorted({s.treebank for s in sentences})
    number = {name: i for i, name in enumerate(names)}
    of_sentence = np.array([number[s.treebank] for s in sentences], np.int64)
    treebanks = of_sentence[candidates.sentences]
    evaluation = Evaluation(sentences, candidates, settings)
    kept, alone = _sample(sentences, candidates, treebanks, len(names), settings, evaluation)
    kept = kept[np.lexsort((candidates.seeds[kept], candidates.sentences[kept]))]
    reasons = _reasons(settings, evaluation, kept, alone)
    counts = _counts(sentences, candidates, treebanks, names, settings, kept, reasons)
    return ItemsResult(items_table(candidates, evaluation, settings, kept), counts)


def subset_of(items: pa.Table, sentences: Sequence[Sentence]) -> tuple[SubsetRow, ...]:
    """The base items of an `ITEMS` table, one row each in the table's order, for `subset_text`."""
    base = items.filter(pc.equal(items.column("condition"), pa.scalar("orig")))
    rows = dict.fromkeys(zip(*(base.column(name).to_pylist() for name in ("sentence", "seed", "target")), strict=True))
    return tuple(SubsetRow(sentences[i].treebank, sentences[i].sent_id, seed, target) for i, seed, target in rows)


def _refuse_duplicates(sentences: Sequence[Sentence]) -> None:
    seen: dict[int, Sentence] = {}
    for sentence in sentences:
        first = seen.get(sentence.key)
        seen[sentence.key] = sentence
        if first is not None:
            raise ConfigError(
                f"sentence {sentence.sent_id} of {sentence.treebank} is already at {first.source}",
                where=sentence.source,
                hint="give every treebank file once",
            )


def _sample(
    sentences: Sequence[Sentence],
    candidates: Candidates,
    treebanks: Int64s,
    n_treebanks: int,
    settings: ItemSettings,
    evaluation: Evaluation,
) -> tuple[Int64s, Bools]:
    """The candidates that become base items, and which candidates lack a counterpart in some treebank (`align`)."""
    lots = sample_lots(candidates.keys)
    alone = np.zeros(len(treebanks), bool)
    if settings.balance:
        strata = _strata(sentences, candidates, settings)
        return (
            draw_balanced(treebanks, n_treebanks, candidates.seeds, strata, lots, settings.n, evaluation.usable),
            alone,
        )
    if settings.align:
        ids = [sentences[i].sent_id for i in candidates.sentences]
        bundles = aligned_bundles(treebanks, n_treebanks, candidates.seeds, ids)
        alone[:] = True
        alone[bundles.members] = False
    else:
        _, seeds = np.unique(candidates.seeds, return_inverse=True)
        bundles = single_bundles(seeds * n_treebanks + treebanks, lots)
    return draw(bundles, settings.n, evaluation.usable), alone


def _strata(sentences: Sequence[Sentence], candidates: Candidates, settings: ItemSettings) -> Int64s:
    """The (target part of speech, length bin) stratum of each candidate, as `balance` asks."""
    strata = np.zeros(len(candidates.sentences), np.int64)
    if "length" in settings.balance:
        lengths = np.array([len(sentences[i].units) for i in candidates.sentences], np.int64)
        strata += length_bins(lengths) * len(settings.upos)
    if "upos" in settings.balance:
        pairs = zip(candidates.sentences, candidates.targets, strict=True)
        strata += np.array([settings.upos.index(sentences[i].units[t].upos) for i, t in pairs], np.int64)
    return strata


def _reasons(settings: ItemSettings, evaluation: Evaluation, kept: Int64s, alone: Bools) -> list[str]:
    """Why each candidate is not a base item; "" for those that are."""
    reasons = []
    drawn = np.zeros(len(alone), bool)
    drawn[kept] = True
    for is_drawn, failed, looked, is_alone in zip(
        drawn.tolist(), evaluation.failed.tolist(), evaluation.looked.tolist(), alone.tolist(), strict=True
    ):
        if is_drawn:
            reasons.append("")
        elif failed >= 0:
            reasons.append(f"unperturbable:{settings.conditions[failed]}")
        else:
            reasons.append("not_aligned" if is_alone or (settings.align and looked) else "not_drawn")
    return reasons


def _counts(
    sentences: Sequence[Sentence],
    candidates: Candidates,
    treebanks: Int64s,
    names: list[str],
    settings: ItemSettings,
    kept: Int64s,
    reasons: list[str],
) -> Counts:
    """The counts, every candidate under exactly one heading."""
    excluded = {name: Counter(candidates.refused.get(name, ())) for name in names}
    for treebank, reason in zip(treebanks.tolist(), reasons, strict=True):
        if reason:
            excluded[names[treebank]][reason] += 1
    read = Counter(sentence.treebank for sentence in sentences)
    eligible = Counter(sentences[i].treebank for i in np.unique(candidates.sentences))
    base = Counter(names[t] for t in treebanks[kept].tolist())
    wanted = (settings.n or 0) * len(settings.seeds)
    return Counts(
        sentences={name: read[name] for name in names},
        eligible={name: eligible[name] for name in names},
        asked={name: candidates.asked[name] for name in names},
        base_items={name: base[name] for name in names},
        excluded={name: dict(sorted(excluded[name].items())) for name in names},
        short={name: wanted - base[name] for name in names if base[name] < wanted},
    )
