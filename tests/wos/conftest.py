"""Tasks of made-up words, and the classifiers of `fake_classifiers` as bundles, made once."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.score.bundle import Bundle
from evaluator.stages.finished import Finished
from evaluator.wos.run import run_wos
from evaluator.wos.settings import WosConfig
from tests.wos.fake_classifiers import FILLERS, Rule, class_of, make_classifier


def made_up(count: int, seed: int, shortest: int = 5) -> list[list[str]]:
    """Texts of fillers with `alpha` and `beta` somewhere, no word twice."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = rng.permutation(FILLERS)[: rng.integers(shortest - 2, 9)].tolist()
        texts.append(rng.permutation([*words, "alpha", "beta"]).tolist())
    return texts


def write_tsv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None).writerows(
            [header, *rows]
        )
    return path


def wrong_some(label: int, number: int, labels: int = 2) -> int:
    """The label, made wrong in every seventh row, so that correct ones have to be chosen."""
    return label if number % 7 else (label + 1) % labels


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folder of the bundle of a rule."""
    made: dict[str, Path] = {}
    root = tmp_path_factory.mktemp("classifiers")

    def get(rule: Rule, **options: Any) -> Path:
        name = "-".join([rule, *(f"{k}={v}" for k, v in sorted(options.items()))]).replace("/", "_")
        if name not in made:
            _: Bundle = make_classifier(root / name, rule, **options)
            made[name] = root / name
        return made[name]

    return get


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 texts labelled by which of two words comes first; a few are too short, or of two sentences."""
    rows = [[" ".join(w) + " .", wrong_some(class_of("order", w), i)] for i, w in enumerate(made_up(117, 1))]
    rows += [["alpha beta w1", 1], ["w1 w2 w3 w4. W5 w6 w7 w8 .", 1], ["w1 w1 w1 w1 w1", 0]]
    return write_tsv(tmp_path_factory.mktemp("data") / "single.tsv", ("sentence", "label"), rows)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Finished]:
    """A run with one thread, to a folder of its own unless told."""

    def go(data: Path, models: Sequence[Path], **settings: Any) -> Finished:
        options = {"scoring": {"threads": 1}, "out": str(tmp_path / "run"), **settings}
        return run_wos(WosConfig.model_validate({"data": str(data), "models": [str(m) for m in models], **options}))

    return go
