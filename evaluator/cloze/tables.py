"""A language's table: which verbs are asked for, what the prompt withholds, what the sentence must hold instead.

A new language is one TOML file. Nothing in it can name a cue word: cues are relations and features of the tree, and
the only words are auxiliaries, which UD closes per language.
"""

import re
import tomllib
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from evaluator.cloze.features import condition
from evaluator.errors import ConfigError

WITHHELD = ("Person", "Number", "Tense", "VerbForm", "Mood")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cue(_Part):
    """What must stand in the sentence, so that it supplies what the prompt withholds. All that is given must hold."""

    dependent: tuple[str, ...] = ()
    """Relations (exactly as written), one of which must hang on the verb."""
    lemma: tuple[str, ...] = ()
    """… and be one of these auxiliaries."""
    elsewhere: str = ""
    """Features that another verb or auxiliary of the sentence must have."""
    without: tuple[str, ...] = ()
    """Relations none of which may hang on the verb."""


class Target(_Part):
    """One kind of verb a phenomenon asks for."""

    match: str
    cue: Cue

    @field_validator("match")
    @classmethod
    def _is_condition(cls, value: str) -> str:
        condition(value)
        return value


class Phenomenon(_Part):
    """One line of the benchmark's table of phenomena."""

    name: str
    feats: str
    """The features the prompt gives."""
    given: tuple[str, ...] = ()
    """Features added to `feats` where the treebank marks all of them."""
    withheld: tuple[str, ...]
    targets: tuple[Target, ...]
    distinct: tuple[str, ...] = ()
    """Slots of the paradigm whose forms must differ; a lemma where they coincide, or one is unknown, is left out."""

    @model_validator(mode="after")
    def _withholds_known_features(self) -> "Phenomenon":
        if unknown := [w for w in self.withheld if w not in WITHHELD]:
            raise ValueError(f"withholds {unknown[0]!r}, which is none of {', '.join(WITHHELD)}")
        if not self.targets:
            raise ValueError("has no targets")
        for slot in self.distinct:
            condition(slot)
        return self


class ClassRule(_Part):
    """One rule for `verbclass`; the first that holds decides, and without one the class is `unknown`.

    Patterns must match whole, case-folded strings; `{lemma}`, `{stem}` (without its last letter), `{last}`, `{root}`
    (without the infinitive's ending) and `{unprefixed}` (the root without a separable prefix) stand for the lemma's.
    """

    name: str
    phenomena: tuple[str, ...] = ()
    person_number: tuple[str, ...] = ()
    match: str = ""
    """Features of the verb asked for."""
    lemma: str = ""
    gold: str = ""
    attested: str = ""
    """Which forms of the paradigm count as evidence; all, when not given."""
    forms: str = ""
    """What one of them must look like; any, when only `attested` is given."""


class Caps(_Part):
    """Largest numbers of items."""

    lemma: int = 10
    """Per (phenomenon, lemma) inside a cell of a split."""
    person_number: int = 200
    """Per (phenomenon, person-number) inside a cell of a split, where person and number are marked."""
    ceiling: int = 800
    """Of the test cell lem_high+form_high, which only estimates a ceiling."""
    train: int = 6000
    dev: int = 1000


class LanguageTable(_Part):
    """All that the builder knows of a language."""

    code: str
    name: str
    auxiliaries: tuple[str, ...]
    """Lemmas never asked for."""
    phenomena: tuple[Phenomenon, ...]
    """In order: a verb becomes an item of the first phenomenon that admits it."""
    verbclasses: tuple[ClassRule, ...] = ()
    infinitive: tuple[str, ...] = ()
    """Endings of the infinitive, longest first."""
    separable: tuple[str, ...] = ()
    """Prefixes that finite forms leave behind."""
    not_reported: tuple[str, ...] = ()
    """Cells whose figures are not shown."""
    threshold_per_million: float = 1.0
    test_share: float = 0.2
    """Share of the lemmas that are not rare that go to test; rare ones all do."""
    dev_share: float = 0.1
    caps: Caps = Caps()

    @model_validator(mode="after")
    def _names_fit(self) -> "LanguageTable":
        names = [p.name for p in self.phenomena]
        if repeated := [n for n in names if names.count(n) > 1]:
            raise ValueError(f"phenomenon {repeated[0]!r} is there twice")
        for phenomenon in self.phenomena:
            if words := cue_words(phenomenon, self.auxiliaries):
                raise ValueError(f"{phenomenon.name}: cue names {words[0]!r}, which is no auxiliary")
        for rule in self.verbclasses:
            re.compile(re.sub(r"\{\w+\}", "x", rule.lemma + rule.gold + rule.forms))
        return self

    def phenomenon(self, name: str) -> Phenomenon | None:
        """The phenomenon of that name, if the table has it."""
        return next((p for p in self.phenomena if p.name == name), None)


def cue_words(phenomenon: Phenomenon, auxiliaries: tuple[str, ...]) -> list[str]:
    """Words a phenomenon's cues name that are not auxiliaries: there must be none."""
    return [w for t in phenomenon.targets for w in t.cue.lemma if w not in auxiliaries]


def shipped() -> list[str]:
    """Codes of the languages whose tables are in the package."""
    folder = resources.files("evaluator.cloze") / "languages"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def read_table(name: str) -> LanguageTable:
    """The table of a shipped language (`de`) or in a TOML file (`mine/it.toml`). Errors: ConfigError, one line."""
    if name in shipped():
        where = f"{name}.toml"
        text = (resources.files("evaluator.cloze") / "languages" / where).read_text(encoding="utf-8")
    elif name.endswith(".toml"):
        where = name
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=name) from error
    else:
        raise ConfigError(
            f"no table for language {name!r}",
            where="--language",
            hint=f"one of {', '.join(shipped())}, or a TOML file like theirs",
        )
    try:
        return LanguageTable.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}", where=where) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{key}: {first['msg'].removeprefix('Value error, ')}", where=where) from error
