"""Which words of a text without tags may be swapped as nouns: a rule that the report states, never a silent guess."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from evaluator.store.run import fingerprint
from evaluator.treebank.read import read_treebank
from evaluator.treebank.sources import find_sources
from evaluator.wos.words import Tagger

BY_UD = "the treebank's own tags"
BY_CAPITAL = "a capital letter inside the text makes a proper noun; no other nouns are known"


@dataclass(frozen=True, slots=True)
class NounRule:
    """How nouns are found, and the rule in words."""

    tag: Tagger
    said: str
    mark: str = ""
    """What tells it from the rule of another treebank."""


def noun_rule(treebank: str) -> NounRule:
    """The rule by a treebank's tags, or by capital letters when none is given.

    By tags: a word has the tag that most of its occurrences have, ties by name; one that is only known in other case
    has that one's; one that is not known at all is no noun. Errors: TreebankError when the treebank cannot be read.
    """
    if not treebank:
        return NounRule(_by_capital, BY_CAPITAL)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sources = find_sources([treebank])
    for source in sources:
        for sentence in read_treebank(source.files, name=source.name, language=source.language).sentences:
            for unit in sentence.units:
                for form in {unit.form, unit.form.casefold()}:
                    counts[form][unit.upos] += 1
    tags = {form: min((-n, tag) for tag, n in of.items())[1] for form, of in counts.items()}

    def tag(word: str, is_first: bool) -> str:
        return tags.get(word) or tags.get(word.casefold()) or "X"

    said = f"the most frequent tag of a word in {', '.join(s.name for s in sources)}"
    return NounRule(tag, said, fingerprint(sorted(tags.items())))


def _by_capital(word: str, is_first: bool) -> str:
    return "PROPN" if not is_first and word[:1].isupper() else "X"
