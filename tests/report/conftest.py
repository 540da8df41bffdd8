"""One synthetic run and its rendered report, shared by the tests of the report."""

import pytest

from evaluator.report import render_report
from tests.report.synthetic import Run, make_run
from tests.report.test_formats import EVIL


@pytest.fixture(scope="session")
def run() -> Run:
    return make_run(items=30)


@pytest.fixture(scope="session")
def files(run: Run) -> dict[str, bytes]:
    return dict(render_report(run.report, run.outcomes, sentences=run.sentences))


@pytest.fixture(scope="session")
def evil_run() -> Run:
    names = tuple(token.replace("\ud800", "\ufffd") for token in EVIL)
    return make_run(("de", "ar"), (names[0] + "model|x", "b_%#"), ("orig", "full"), items=30, evil=names, draws=1)


@pytest.fixture(scope="session")
def evil_files(evil_run: Run) -> dict[str, bytes]:
    return dict(render_report(evil_run.report, evil_run.outcomes, sentences=evil_run.sentences))
