"""Which candidates become items, and in which split: pure, and the same whatever the order in which they come.

Lemmas are split first (rare ones all to test, the others by an addressed lot), then sentences: one whose verbs fall
into several splits goes to test before dev before train, and its other verbs are left out. Caps come last, filled in
an addressed random order.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluator.cloze.candidates import Candidate
from evaluator.cloze.dataset import cell_name
from evaluator.cloze.frequencies import Frequencies
from evaluator.cloze.paradigms import Paradigms
from evaluator.cloze.tables import Caps, LanguageTable
from evaluator.items.randomness import address

PRIORITY = ("test", "dev", "train")
CEILING_CELL = "lem_high+form_high"


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate with what the corpus says of it."""

    candidate: Candidate
    forms: tuple[str, ...]
    """The lemma's paradigm, the gold in it, case-folded and sorted."""
    form_freqs: tuple[int, ...]
    form_freq: int
    lemma_other_freq: int
    form_level: str
    lemma_level: str
    resource: str

    @property
    def cell(self) -> str:
        return cell_name(self.lemma_level, self.form_level)


def with_frequencies(
    candidates: Iterable[Candidate], table: LanguageTable, paradigms: Paradigms, frequencies: Frequencies
) -> list[Item]:
    """The candidates with their counts and levels.

    form_freq = count of the gold as the lemma's own case writes it (a verb: lower case), so that a verb at the start of
    a sentence is no other form, and a German noun is not counted for a verb. lemma_other_freq = Σ over the lemma's
    other forms. The paradigm always holds the gold, so form_freq + lemma_other_freq is the same for all of a lemma.
    """
    candidates = list(candidates)
    golds: dict[str, set[str]] = defaultdict(set)
    for c in candidates:
        golds[c.lemma].add(c.gold.casefold())
    forms = {lemma: tuple(sorted({*paradigms.forms(lemma), *own})) for lemma, own in golds.items()}
    counts = {lemma: tuple(frequencies.counts.get(f, 0) for f in known) for lemma, known in forms.items()}
    rate = table.threshold_per_million
    items = []
    for c in candidates:
        gold = c.gold.casefold()
        own = counts[c.lemma][forms[c.lemma].index(gold)]
        other = sum(counts[c.lemma]) - own
        items.append(
            Item(
                c,
                forms[c.lemma],
                counts[c.lemma],
                own,
                other,
                frequencies.level(own, rate),
                frequencies.level(other, rate),
                paradigms.resource(c.lemma, gold),
            )
        )
    return items


def lemma_splits(items: Sequence[Item], table: LanguageTable, seed: int) -> dict[str, str]:
    """The split of each lemma: test if any of its items has lemma_level low, otherwise by lot."""
    rare = {i.candidate.lemma for i in items if i.lemma_level == "low"}
    splits = {}
    for lemma in {i.candidate.lemma for i in items}:
        lot = address("cloze lemma", table.code, seed, lemma) / 2.0**64
        if lemma in rare or lot < table.test_share:
            splits[lemma] = "test"
        else:
            splits[lemma] = "dev" if lot < table.test_share + table.dev_share else "train"
    return splits


def assign(items: Sequence[Item], table: LanguageTable, seed: int) -> tuple[dict[str, list[Item]], Counter[str]]:
    """The items of each split, in the order of `items`, and how many were left out by reason."""
    of_lemma = lemma_splits(items, table, seed)
    of_sentence: dict[str, str] = {}
    for item in items:
        place, split = item.candidate.place, of_lemma[item.candidate.lemma]
        if place not in of_sentence or PRIORITY.index(split) < PRIORITY.index(of_sentence[place]):
            of_sentence[place] = split
    left_out: Counter[str] = Counter()
    chosen: dict[str, list[tuple[int, Item]]] = {split: [] for split in PRIORITY}
    seen: set[tuple[str, str, str]] = set()
    for position, item in enumerate(items):
        split = of_lemma[item.candidate.lemma]
        twin = (item.candidate.place, item.candidate.context, item.candidate.gold)
        if of_sentence[item.candidate.place] != split:
            left_out["sentence_in_other_split"] += 1
        elif twin in seen:
            left_out["repeated_sentence"] += 1
        else:
            seen.add(twin)
            chosen[split].append((position, item))
    kept = {}
    for split, numbered in chosen.items():
        ordered = sorted(numbered, key=lambda pair: address("cloze cap", seed, pair[1].candidate.context))
        taken, reasons = _capped([item for _, item in ordered], split, table.caps)
        left_out.update(reasons)
        positions = {id(item): position for position, item in numbered}
        kept[split] = sorted(taken, key=lambda item: positions[id(item)])
    return kept, left_out


def _capped(items: Sequence[Item], split: str, caps: Caps) -> tuple[list[Item], Counter[str]]:
    """The items taken one after another while no cap is reached, and how many each cap left out."""
    taken: list[Item] = []
    left_out: Counter[str] = Counter()
    by_lemma: Counter[tuple[str, str, str]] = Counter()
    by_person: Counter[tuple[str, str, str]] = Counter()
    ceiling = 0
    whole = {"train": caps.train, "dev": caps.dev}.get(split)
    for item in items:
        c = item.candidate
        lemma_key, person_key = (item.cell, c.phenomenon, c.lemma), (item.cell, c.phenomenon, c.person_number)
        if by_lemma[lemma_key] >= caps.lemma:
            left_out["cap_lemma"] += 1
        elif c.person_number != "-" and by_person[person_key] >= caps.person_number:
            left_out["cap_person_number"] += 1
        elif split == "test" and item.cell == CEILING_CELL and ceiling >= caps.ceiling:
            left_out["cap_ceiling"] += 1
        elif whole is not None and len(taken) >= whole:
            left_out[f"cap_{split}"] += 1
        else:
            taken.append(item)
            by_lemma[lemma_key] += 1
            by_person[person_key] += 1
            ceiling += split == "test" and item.cell == CEILING_CELL
    return taken, left_out
