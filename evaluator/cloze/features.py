"""Morphological features: UD's FEATS and UniMorph's tags as one set of `Name=Value`, and conditions over them."""

from dataclasses import dataclass
from functools import cache

Features = frozenset[str]
"""`Name=Value` items, as in FEATS."""

_UNIMORPH = {
    "IND": "Mood=Ind", "SBJV": "Mood=Sub", "COND": "Mood=Cnd", "IMP": "Mood=Imp", "PRS": "Tense=Pres",
    "PST": "Tense=Past", "FUT": "Tense=Fut", "NFIN": "VerbForm=Inf", "V.PTCP": "VerbForm=Part",
    "V.CVB": "VerbForm=Conv", "V.MSDR": "VerbForm=Ger", "1": "Person=1", "2": "Person=2", "3": "Person=3",
    "SG": "Number=Sing", "PL": "Number=Plur", "FIN": "VerbForm=Fin",
}  # fmt: skip
_NUMBERS = {"Sing": "sg", "Plur": "pl"}


@cache
def feats_of(text: str) -> Features:
    """The features of a FEATS field; none for `_`."""
    return frozenset() if text in ("", "_") else frozenset(text.split("|"))


@cache
def unimorph_feats(tags: str) -> Features:
    """The features of UniMorph tags such as `V;IND;PRS;3;SG` or `V;PRS;NOM(3,SG)`, in UD's terms.

    Past with IPFV is UD's Tense=Imp (French and Spanish). A tag bundle with a person or past or present tense that is
    neither infinitive nor participle is finite, and indicative unless it says otherwise, as UD would mark it.
    """
    parts = tags.upper().replace("NOM(", ";").replace(")", "").replace(",", ";").split(";")
    found = {_UNIMORPH[p] for p in parts if p in _UNIMORPH}
    if "IPFV" in parts and "Tense=Past" in found:
        found = (found - {"Tense=Past"}) | {"Tense=Imp"}
    if not any(f.startswith("VerbForm=") for f in found) and any(f[:5] in ("Tense", "Mood=", "Perso") for f in found):
        found.add("VerbForm=Fin")
        if not any(f.startswith("Mood=") for f in found):
            found.add("Mood=Ind")
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition over features: all of `wanted`, and no feature called one of `absent`."""

    wanted: Features
    absent: frozenset[str]

    def holds(self, features: Features) -> bool:
        """Whether the features meet the condition."""
        return self.wanted <= features and not (
            self.absent and any(f.partition("=")[0] in self.absent for f in features)
        )


@cache
def condition(text: str) -> Condition:
    """The condition written as `Mood=Ind|Tense=Past|!VerbForm`: the last says that there is no VerbForm at all.

    Errors: ValueError for an item of another shape.
    """
    wanted, absent = set(), set()
    for item in text.split("|") if text else []:
        name, mark, value = item.partition("=")
        if item.startswith("!") and not mark and len(item) > 1:
            absent.add(item[1:])
        elif name and mark and value:
            wanted.add(item)
        else:
            raise ValueError(f"{item!r} is neither Name=Value nor !Name")
    return Condition(frozenset(wanted), frozenset(absent))


def value_of(features: Features, name: str) -> str:
    """The value of a feature; empty when it is not marked."""
    return next((f.partition("=")[2] for f in features if f.startswith(f"{name}=")), "")


def person_number(features: Features) -> str:
    """`3sg`, `1pl`, …; `-` when person or number is not marked."""
    person, number = value_of(features, "Person"), _NUMBERS.get(value_of(features, "Number"), "")
    return f"{person}{number}" if person and number else "-"


def given_tags(features: Features, names: tuple[str, ...]) -> list[str]:
    """UniMorph tags of the named features, when all of them are marked; otherwise none."""
    to_tag = {feature: tag for tag, feature in _UNIMORPH.items()}
    tags = [to_tag.get(f"{name}={value_of(features, name)}", "") for name in names]
    return tags if all(tags) else []
