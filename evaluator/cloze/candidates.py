"""Verbs that can be asked for: every verb of a treebank that one of a table's phenomena admits, with what is withheld.

A verb becomes at most one candidate, of the first phenomenon in the table's order whose conditions all hold. Everything
left out is counted by reason.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.cloze.dataset import MARKER
from evaluator.cloze.features import Features, condition, feats_of, given_tags, person_number, value_of
from evaluator.cloze.paradigms import VERB_TAGS, Paradigms
from evaluator.cloze.tables import ClassRule, Cue, LanguageTable, Phenomenon, Target
from evaluator.treebank.text import folded, spell
from evaluator.types import Sentence, Unit


@dataclass(frozen=True, slots=True)
class Candidate:
    """A verb in its sentence that may become an item."""

    sentence: Sentence
    unit: int
    phenomenon: str
    feats: str
    lemma: str
    gold: str
    features: Features
    person_number: str
    verbclass: str

    @property
    def context(self) -> str:
        """The sentence with the verb written as the marker."""
        return folded(spell(self.sentence.units, masked=self.unit, marker=MARKER))

    @property
    def place(self) -> str:
        """What makes two sentences the same one: the text, whatever its treebank or id."""
        return folded(self.sentence.text)


def find_candidates(
    sentences: Iterable[Sentence], table: LanguageTable, paradigms: Paradigms
) -> tuple[list[Candidate], Counter[str]]:
    """The candidates in order, and how many verbs were left out, by reason."""
    found: list[Candidate] = []
    left_out: Counter[str] = Counter()
    for sentence in sentences:
        has_marker = MARKER in sentence.text
        children = _children(sentence)
        for index, unit in enumerate(sentence.units):
            if unit.upos not in VERB_TAGS:
                continue
            reason = _unfit(unit, table) or ("marker_in_source" if has_marker else "")
            if not reason:
                admitted = _admitting(sentence, index, children[index], table)
                reason = "no_phenomenon" if admitted is None else ""
                if admitted is not None:
                    outcome = _candidate(sentence, index, admitted, table, paradigms)
                    if isinstance(outcome, Candidate):
                        found.append(outcome)
                    else:
                        reason = outcome
            if reason:
                left_out[reason] += 1
    return found, left_out


def _unfit(unit: Unit, table: LanguageTable) -> str:
    """Why a verb can be in no item; empty when it can."""
    if unit.is_mwt:
        return "in_multiword_token"
    if unit.lemma is None:
        return "no_lemma"
    if unit.lemma.casefold() in table.auxiliaries:
        return "auxiliary"
    if not re.fullmatch(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", unit.form) or " " in unit.lemma:
        return "not_one_word"
    if "Abbr=Yes" in unit.feats or "Typo=Yes" in unit.feats:
        return "misspelt_or_short"
    return ""


def _children(sentence: Sentence) -> list[list[Unit]]:
    """For each unit, the units that hang on it."""
    children: list[list[Unit]] = [[] for _ in sentence.units]
    for unit in sentence.units:
        if 0 <= unit.head < len(children):
            children[unit.head].append(unit)
    return children


def _admitting(
    sentence: Sentence, index: int, dependents: Sequence[Unit], table: LanguageTable
) -> tuple[Phenomenon, Target] | None:
    features = feats_of(sentence.units[index].feats)
    for phenomenon in table.phenomena:
        for target in phenomenon.targets:
            if condition(target.match).holds(features) and has_cue(target.cue, sentence, index, dependents):
                return phenomenon, target
    return None


def has_cue(cue: Cue, sentence: Sentence, index: int, dependents: Sequence[Unit]) -> bool:
    """Whether all that a cue asks for stands in the sentence of verb `index`, whose dependents are given."""
    if cue.dependent and not any(
        d.deprel in cue.dependent and (not cue.lemma or (d.lemma or "").casefold() in cue.lemma) for d in dependents
    ):
        return False
    if any(d.deprel in cue.without for d in dependents):
        return False
    if not cue.elsewhere:
        return True
    wanted = condition(cue.elsewhere)
    return any(
        other != index and unit.upos in ("VERB", "AUX") and wanted.holds(feats_of(unit.feats))
        for other, unit in enumerate(sentence.units)
    )


def _candidate(
    sentence: Sentence, index: int, admitted: tuple[Phenomenon, Target], table: LanguageTable, paradigms: Paradigms
) -> Candidate | str:
    """The candidate, or why there is none."""
    phenomenon, _ = admitted
    unit = sentence.units[index]
    lemma = (unit.lemma or "").casefold()
    features = feats_of(unit.feats)
    axis = {"Person", "Number"} & set(phenomenon.withheld)
    if any(not value_of(features, name) for name in axis):
        return "withheld_not_marked"
    if phenomenon.distinct and not is_distinct(lemma, phenomenon.distinct, paradigms):
        return "syncretic"
    shown = person_number(features)
    return Candidate(
        sentence,
        index,
        phenomenon.name,
        ";".join([phenomenon.feats, *given_tags(features, phenomenon.given)]) if phenomenon.given else phenomenon.feats,
        lemma,
        unit.form,
        features,
        shown,
        verbclass(lemma, unit.form.casefold(), phenomenon.name, features, table, paradigms),
    )


def is_distinct(lemma: str, slots: Sequence[str], paradigms: Paradigms) -> bool:
    """Whether the lemma's forms in the slots are all known and none stands in two of them."""
    forms = [paradigms.forms_in(lemma, condition(slot)) for slot in slots]
    return all(forms) and sum(map(len, forms)) == len(set().union(*forms))


def verbclass(
    lemma: str, gold: str, phenomenon: str, features: Features, table: LanguageTable, paradigms: Paradigms
) -> str:
    """The class of the first rule that holds; `unknown` without one."""
    parts = _parts(lemma, table)
    for rule in table.verbclasses:
        if rule.phenomena and phenomenon not in rule.phenomena:
            continue
        if rule.person_number and person_number(features) not in rule.person_number:
            continue
        if not condition(rule.match).holds(features):
            continue
        if (
            _looks_like(rule.lemma, parts, lemma)
            and _looks_like(rule.gold, parts, gold)
            and _evidence(rule, parts, lemma, paradigms)
        ):
            return rule.name
    return "unknown"


def _evidence(rule: ClassRule, parts: tuple[tuple[str, str], ...], lemma: str, paradigms: Paradigms) -> bool:
    """Whether some form of the lemma counts as evidence and looks as the rule says."""
    if not rule.forms and not rule.attested:
        return True
    wanted = condition(rule.attested)
    return any(
        _looks_like(rule.forms, parts, form)
        for form, slots in paradigms.slots(lemma).items()
        if not rule.attested or any(wanted.holds(features) for features in slots)
    )


def _looks_like(pattern: str, parts: tuple[tuple[str, str], ...], text: str) -> bool:
    return not pattern or _compiled(pattern, parts).fullmatch(text) is not None


@lru_cache(maxsize=100_000)
def _compiled(pattern: str, parts: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    for name, value in parts:
        pattern = pattern.replace(f"{{{name}}}", re.escape(value))
    return re.compile(pattern)


def _parts(lemma: str, table: LanguageTable) -> tuple[tuple[str, str], ...]:
    """What the patterns' placeholders stand for."""
    ending = next((e for e in table.infinitive if lemma.endswith(e) and len(lemma) > len(e)), "")
    root = lemma.removesuffix(ending)
    prefix = max((p for p in table.separable if root.startswith(p) and len(root) > len(p) + 1), key=len, default="")
    return (
        ("lemma", lemma),
        ("stem", lemma[:-1]),
        ("last", lemma[-1:]),
        ("root", root),
        ("unprefixed", root.removeprefix(prefix)),
    )
