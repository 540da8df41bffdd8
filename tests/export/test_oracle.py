"""Whole runs agree with the independent oracle: checkpoint → bundle → run, against transformers; and bundled models."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.config import BUNDLED_MODELS, Config
from evaluator.progress import Reporter
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.score.bundle import Bundle
from evaluator.stages.prepare import demo_folder
from evaluator.stages.run import run_all
from tests.oracle_words import best_tuples, examine, in_order, log_softmax


@pytest.fixture
def run_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """A run of a model over the embedded sentences, without the drawing."""

    def only_json(document: dict[str, Any], *_: object, **__: object) -> Iterator[tuple[str, bytes]]:
        yield "report.json", canonical_json(document)

    monkeypatch.setattr(render, "render_report", only_json)

    def run(model: str, **settings: Any) -> Path:
        config = {
            "models": (model,),
            "conditions": ("orig", "full", "head"),
            "sample": {"n": 24},
            "scoring": {"threads": 1},
            "statistics": {"resamples": 100},
            "out": str(tmp_path / "run"),
        }
        return Path(run_all(Config.model_validate({**config, **settings}), Reporter("none")).folder)

    return run


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "roberta"])
@pytest.mark.parametrize("onnx", [False, True], ids=["transformers", "opened graph"])
def test_run_agrees_with_the_oracle(
    kind: str,
    onnx: bool,
    checkpoint: Callable[[str], Path],
    built: Callable[[str], tuple[Path, Bundle]],
    run_with: Callable[..., Path],
) -> None:
    folder, bundle = built(kind)
    verdict = examine(
        folder if onnx else checkpoint(kind),
        run_with(str(folder)),
        model=bundle.name,
        items=100 if onnx else 500,
        onnx=onnx,
    )
    assert verdict["ok"], verdict
    assert verdict["items"] == (100 if onnx else 500)


def test_oracle_notices_another_model(
    checkpoint: Callable[[str], Path], built: Callable[[str], tuple[Path, Bundle]], run_with: Callable[..., Path]
) -> None:
    """It can fail: the checkpoint of a family of the same vocabulary, but other weights."""
    folder, bundle = built("bert")
    verdict = examine(checkpoint("electra"), run_with(str(folder)), model=bundle.name, items=20)
    assert not verdict["ok"]
    assert verdict["words_differ"] + verdict["gold_differs"] > 15


@pytest.mark.parametrize("name", BUNDLED_MODELS)
def test_bundled_model_agrees_with_its_opened_graph(name: str, run_with: Callable[..., Path]) -> None:
    folder = demo_folder() / "models" / name
    if not (folder / "bundle.json").is_file():
        pytest.skip(f"the bundled model {name} is not in this tree")
    verdict = examine(folder, run_with(name, sample={"n": 5}), model=name, items=100, onnx=True)
    assert verdict["ok"], verdict
    assert verdict["items"] == 100


@pytest.mark.parametrize("masks", [1, 2, 3, 4, 5])
def test_both_ways_to_the_best_tuples_agree(masks: int) -> None:
    """The written-out product and the queue, which takes over from five masks on."""
    logp = log_softmax(np.random.default_rng(masks).standard_normal((masks, 30)))
    queue = list(itertools.islice(in_order(logp, [np.argsort(-r)[:20] for r in logp]), 6))
    best = best_tuples(logp, 6)
    assert [t for _, t in best] == [t for _, t in queue]
    np.testing.assert_allclose([s for s, _ in best], [s for s, _ in queue], rtol=0, atol=1e-9)
