"""A mini treebank, fake bundles and settings for whole runs that take a second."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.config import Config
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.stages.prepare import demo_folder
from tests.fake_bundle import FakeTokenizer, make_fake_bundle

COMMON = ("the", "The", "and", "is", "house", "book", "man", "der", "die", "das")


@pytest.fixture(scope="session")
def treebanks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Two files of a few embedded sentences each."""
    root = tmp_path_factory.mktemp("treebanks")
    made = []
    for code in ("en", "de"):
        blocks = (demo_folder() / "sentences" / f"{code}.conllu").read_text(encoding="utf-8").split("\n\n")
        path = root / f"{code}_mini-ud-test.conllu"
        path.write_text("\n\n".join(blocks[:8]) + "\n\n", encoding="utf-8")
        made.append(str(path))
    return tuple(made)


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Folder of a fake bundle, made once per name."""
    root = tmp_path_factory.mktemp("bundles")

    def get(name: str = "alpha", tokenizer: FakeTokenizer = "wordpiece", **options: Any) -> str:
        if not (root / name / "bundle.json").exists():
            make_fake_bundle(root / name, name=name, tokenizer=tokenizer, vocab=COMMON, **options)
        return str(root / name)

    return get


@pytest.fixture
def config(tmp_path: Path, treebanks: tuple[str, ...], bundle: Callable[..., str]) -> Callable[..., Config]:
    """Settings of a mini run; keywords overlay them."""

    def get(**changes: Any) -> Config:
        settings = {
            "treebanks": treebanks,
            "models": (bundle(),),
            "conditions": ("orig", "full"),
            "out": str(tmp_path / "run"),
            "scoring": {"threads": 1, "shard_rows": 8},
            "statistics": {"resamples": 100},
        }
        return Config.model_validate({**settings, **changes})

    return get


@pytest.fixture
def plain_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of `report.json` alone: drawing is not what these tests are about, and takes seconds."""

    def only_json(document: dict[str, Any], *_: object, **__: object) -> Iterator[tuple[str, bytes]]:
        yield "report.json", canonical_json(document)

    monkeypatch.setattr(render, "render_report", only_json)
