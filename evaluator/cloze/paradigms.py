"""The forms of each verb, and which resource knows them: UniMorph, the treebanks themselves, a form–lemma lexicon."""

import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.cloze.features import Condition, Features, feats_of, unimorph_feats
from evaluator.errors import DatasetError
from evaluator.types import Sentence

VERB_TAGS = ("VERB",)
LEXICON_SHARE = 0.2


@dataclass(slots=True)
class Paradigms:
    """Forms by lemma, all case-folded where words are compared; an ordinary value once filled."""

    unimorph: dict[str, dict[str, set[Features]]] = field(default_factory=lambda: defaultdict(dict))
    attested: dict[str, dict[str, set[Features]]] = field(default_factory=lambda: defaultdict(dict))
    """From the treebanks, and, without features, from the lexicon."""

    def slots(self, lemma: str) -> dict[str, set[Features]]:
        """The lemma's forms with the features each is known to have, from all resources."""
        merged = {form: set(slots) for form, slots in self.unimorph.get(lemma, {}).items()}
        for form, slots in self.attested.get(lemma, {}).items():
            merged.setdefault(form, set()).update(slots)
        return merged

    def forms(self, lemma: str) -> list[str]:
        """The lemma's paradigm, sorted: UniMorph's where it has the lemma, otherwise what is attested.

        Forms of more than one word are left out: they cannot fill one blank.
        """
        known = self.unimorph.get(lemma) or self.attested.get(lemma, {})
        return sorted(form for form in known if " " not in form)

    def forms_in(self, lemma: str, slot: Condition) -> set[str]:
        """The lemma's forms known to meet a condition, UniMorph's where it has the lemma."""
        known = self.unimorph.get(lemma) or self.attested.get(lemma, {})
        return {form for form, slots in known.items() if any(slot.holds(features) for features in slots)}

    def resource(self, lemma: str, form: str) -> str:
        """`form` when UniMorph has the form for the lemma, `lemma` when only the lemma, `treebank` when neither."""
        known = self.unimorph.get(lemma)
        if known is None:
            return "treebank"
        return "form" if form in known else "lemma"


def _add(paradigm: dict[str, set[Features]], form: str, features: Features | None) -> None:
    slots = paradigm.setdefault(form, set())
    if features:
        slots.add(features)


def add_treebank(paradigms: Paradigms, sentences: Iterable[Sentence]) -> None:
    """Adds the verbs of the sentences (words outside multiword tokens) with their FEATS."""
    for sentence in sentences:
        for unit in sentence.units:
            if unit.upos in VERB_TAGS and not unit.is_mwt and unit.lemma is not None:
                _add(paradigms.attested[unit.lemma.casefold()], unit.form.casefold(), feats_of(unit.feats))


def read_unimorph(paradigms: Paradigms, path: Path) -> int:
    """How many verb forms were added from a UniMorph file: lemma TAB form TAB features, one a line.

    Errors: DatasetError with `path:line` for a line of another shape.
    """
    added = 0
    for number, fields in _lines(path):
        if len(fields) < 3:
            raise DatasetError(
                f"{len(fields)} fields, expected lemma, form, features", where=f"{path}:{number}", hint="tab-separated"
            )
        lemma, form, tags = fields[0].casefold(), fields[1].casefold(), fields[2]
        if tags.upper().split(";")[0].split(".")[0] == "V":
            _add(paradigms.unimorph[lemma], form, unimorph_feats(tags))
            added += 1
    return added


def read_lexicon(paradigms: Paradigms, path: Path, lemmas: set[str] | None = None) -> int:
    """How many verb forms were added from a tagged lexicon: form TAB lemma TAB UPOS [TAB count], one a line.

    Taggers err: a form counts for a lemma only if at least `LEXICON_SHARE` of its occurrences are that verb, and only
    if it is one word of letters. `lemmas`: only these. Errors: DatasetError with `path:line`.
    """
    total: Counter[str] = Counter()
    verbs: Counter[tuple[str, str]] = Counter()
    for number, fields in _lines(path):
        if len(fields) < 3 or (len(fields) > 3 and not fields[3].isdecimal()):
            raise DatasetError(
                "expected form, lemma, UPOS and perhaps a count", where=f"{path}:{number}", hint="tab-separated"
            )
        form, lemma = fields[0].casefold(), fields[1].casefold()
        count = int(fields[3]) if len(fields) > 3 else 1
        total[form] += count
        if fields[2] in VERB_TAGS and (lemmas is None or lemma in lemmas) and form.isalpha():
            verbs[form, lemma] += count
    kept = [pair for pair, count in verbs.items() if count >= LEXICON_SHARE * total[pair[0]]]
    for form, lemma in kept:
        _add(paradigms.attested[lemma], form, None)
    return len(kept)


def _lines(path: Path) -> Iterable[tuple[int, Sequence[str]]]:
    """Number and tab-separated fields of each line that is not empty; `.xz` files are opened as such."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if text := line.rstrip("\r\n"):
                    yield number, text.split("\t")
    except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"cannot be read: {reason}", where=str(path)) from error
