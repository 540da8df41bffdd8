"""The embedded default, as it comes, is sound."""

from pathlib import Path

import pytest

from evaluator.audit.checks import audit
from evaluator.config import BUNDLED_MODELS, PAPER_CONDITIONS, demo_config
from evaluator.progress import Reporter
from evaluator.report import render
from evaluator.report.document import canonical_json
from evaluator.stages.prepare import demo_folder
from evaluator.stages.run import run_all
from tests.fake_bundle import make_fake_bundle


def models(tmp_path: Path) -> tuple[str, ...]:
    """The bundled models; in a checkout without them, fake ones with the same kinds of tokenizer."""
    if all((demo_folder() / "models" / name / "bundle.json").is_file() for name in BUNDLED_MODELS):
        return BUNDLED_MODELS
    for kind in ("wordpiece", "unigram"):
        make_fake_bundle(tmp_path / kind, name=kind, tokenizer=kind)
    return str(tmp_path / "wordpiece"), str(tmp_path / "unigram")


def test_embedded_default_passes_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        render, "render_report", lambda document, *_, **__: iter([("report.json", canonical_json(document))])
    )
    default = demo_config()
    assert default.conditions == PAPER_CONDITIONS
    settings = default.model_copy(
        update={
            "models": models(tmp_path),
            "out": str(tmp_path / "run"),
            "seeds": default.seeds[:2],
            "statistics": default.statistics.model_copy(update={"resamples": 100}),
        }
    )
    result = run_all(settings, Reporter("none"))
    assert result.complete
    found = list(audit(result.folder))
    assert [f for f in found if f.status != "holds"] == []
    assert len({c["treebank"] for c in result.document["cells"]}) == 7
