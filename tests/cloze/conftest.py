"""Small data sets made from our own sentences."""

from pathlib import Path

import pytest

from evaluator.cloze.build import Resources, Treebank, build
from evaluator.cloze.dataset import ClozeData
from evaluator.cloze.frequencies import Frequencies, count_text
from evaluator.cloze.tables import read_table
from evaluator.treebank.read import read_treebank

DATA = Path(__file__).parent.parent / "data" / "cloze"
LANGUAGES = ("de", "en", "es", "fr")


def treebank(language: str) -> Treebank:
    sentences = read_treebank([DATA / f"{language}.conllu"], name="own", language=language).sentences
    return Treebank("own", language, "CC BY 4.0", sentences, "0")


def frequencies(language: str) -> Frequencies:
    counts = count_text(" ".join(s.text for s in treebank(language).sentences))
    return Frequencies(counts, counts.total())


def resources(language: str) -> Resources:
    return Resources((DATA / "en.unimorph.tsv",)) if language == "en" else Resources()


def small(language: str, seed: int = 0) -> ClozeData:
    return build([treebank(language)], read_table(language), resources(language), frequencies(language), seed=seed)


@pytest.fixture(scope="session")
def english() -> ClozeData:
    return small("en")
