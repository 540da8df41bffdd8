"""A finished run for the audit: two tokenizers, +L, every kind of condition, a model too short for some sentences."""

from pathlib import Path

import pytest

from evaluator.config import Config
from evaluator.progress import Reporter
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.stages.prepare import demo_folder
from evaluator.stages.run import run_all
from tests.fake_bundle import make_fake_bundle

CONDITIONS = ("orig", "full", "partial", "head", "head_all", "ngram2", "noun_swap", "reverse", "window3")


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was not tampered with; its second model shows most sentences as windows."""
    root = tmp_path_factory.mktemp("audit")
    treebank = root / "en_mini-ud-test.conllu"
    blocks = (demo_folder() / "sentences" / "en.conllu").read_text(encoding="utf-8").split("\n\n")
    treebank.write_text("\n\n".join(blocks[:12]) + "\n\n", encoding="utf-8")
    make_fake_bundle(root / "alpha", name="alpha", vocab=("the", "The", "and", "house"))
    make_fake_bundle(root / "short", name="short", tokenizer="unigram", max_pieces=14)
    settings = {
        "treebanks": (str(treebank),),
        "models": (str(root / "alpha"), str(root / "short")),
        "conditions": CONDITIONS,
        "seeds": (0, 1),
        "draws": 2,
        "out": str(root / "run"),
        "scoring": {"threads": 1, "shard_rows": 64},
        "statistics": {"resamples": 100},
    }
    with pytest.MonkeyPatch.context() as patch:  # drawing is not what the audit looks at, and takes seconds
        patch.setattr(
            render, "render_report", lambda document, *_, **__: iter([("report.json", canonical_json(document))])
        )
        assert run_all(Config.model_validate(settings), Reporter("none")).complete
    return root / "run"
