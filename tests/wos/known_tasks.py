"""Tasks whose sensitivity to word order is known by construction, made from treebanks of any language."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluator.items.randomness import address, lots
from evaluator.treebank.read import read_treebank
from evaluator.wos.order_task import CLASSES, order_examples
from export.finetune import Labelled

Rows = list[tuple[tuple[str, ...], int]]
LANGUAGES = ("de", "en", "es", "fr")


@dataclass(frozen=True)
class KnownTask:
    """Rows to train on and to be measured on, the names of the classes, and of the columns of the texts."""

    name: str
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    train: Rows
    test: Rows

    def labelled(self) -> Labelled:
        return Labelled([texts for texts, _ in self.train], [label for _, label in self.train], self.classes)

    def write(self, path: Path) -> Path:
        """The rows to be measured on, as JSON Lines with named columns."""
        rows = [{**dict(zip(self.columns, t, strict=True)), "label": self.classes[y]} for t, y in self.test]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path


def sentences(file: Path, shortest: int = 5, longest: int = 20) -> list[str]:
    """Texts of a treebank file, of so many units."""
    found = read_treebank([file], name=file.stem, language="x").sentences
    return [s.text for s in found if shortest <= len(s.units) <= longest]


def order_task(train: Sequence[str], test: Sequence[str]) -> KnownTask:
    """Is the sentence as it was written, or was one of its words moved? Its words alone cannot tell."""
    made = [[((e.text,), e.label) for e in order_examples(texts, 0)] for texts in (train, test)]
    return KnownTask("order", CLASSES, ("sentence",), made[0], made[1])


def language_task(train: dict[str, list[str]], test: dict[str, list[str]]) -> KnownTask:
    """Which of four languages is the sentence in? Its words tell, in any order."""
    made = [[((t,), LANGUAGES.index(lang)) for lang in LANGUAGES for t in of[lang]] for of in (train, test)]
    return KnownTask("language", LANGUAGES, ("sentence",), made[0], made[1])


def pair_task(train: dict[str, list[str]], test: dict[str, list[str]]) -> KnownTask:
    """Are the two sentences in one language? Their words tell, in any order."""
    return KnownTask("pair", ("different", "same"), ("first", "second"), _pairs(train), _pairs(test))


def _pairs(of: dict[str, list[str]]) -> Rows:
    rows: Rows = []
    for lang in LANGUAGES:
        for i, text in enumerate(of[lang][:-1]):
            if i % 2:
                rows.append(((text, of[lang][i + 1]), 1))
                continue
            others = [o for o in LANGUAGES if o != lang]
            drawn = lots(np.array([address("pair", lang, i)], dtype=np.uint64), 2)[0]
            pool = of[others[int(drawn[0] % 3)]]
            rows.append(((text, pool[int(drawn[1] % len(pool))]), 0))
    return rows
