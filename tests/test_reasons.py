"""README's tables of codes are those of the code, and the code has no code that is not in them."""

import re
from typing import get_args

from evaluator import reasons
from evaluator.audit.checks import CHECKS
from evaluator.encode.rows import REASONS as ROW_REASONS
from evaluator.items import build
from evaluator.items.sample import ineligible
from evaluator.reduce.block import Reason
from tests.conftest import ROOT

BEGIN, END = "<!-- reasons: python -m evaluator.reasons -->\n", "<!-- /reasons -->"
READER = {**reasons.REFUSALS, **reasons.DAMAGE, **reasons.REMARKS}


def literals(folder: str, pattern: str) -> set[str]:
    """What a pattern captures in the modules of a folder."""
    texts = [p.read_text(encoding="utf-8") for p in sorted((ROOT / folder).rglob("*.py"))]
    return {m for text in texts for m in re.findall(pattern, text)}


def test_readme_shows_the_tables_of_the_code() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "## When something is wrong" in readme
    assert f"| {len(CHECKS)} invariants of a finished run" in readme
    shown = readme.partition(BEGIN)[2].partition(END)[0]
    assert shown == reasons.markdown(), "run: python -m evaluator.reasons, and put it between README's marks"


def test_every_code_of_the_reader_is_listed() -> None:
    calls = literals("evaluator/treebank", r'(?:\.add|\.add_each|damage|remark)\(\s*f?"([a-z0-9_{}().]+)"')
    returned = literals("evaluator/treebank", r'return "([a-z0-9_]+)", ')
    found = {re.sub(r"\{.*\}", "N", c) for c in calls | returned} | {"text_missing", "text_repeated"}
    assert found == READER.keys()


def test_every_reason_of_an_item_is_listed() -> None:
    written = literals("evaluator/score", r'"(non_finite)"') | literals("evaluator/stages", r'"(not_scored)"')
    written |= literals("cluster", r'WORKER_\w+ = "(\w+)"')
    assert {*ROW_REASONS[1:], *written} == reasons.ITEM_REASONS.keys()


def test_every_reason_of_a_base_item_is_listed() -> None:
    constants = [c for f in (ineligible, build._reasons) for c in f.__code__.co_consts if isinstance(c, str)]
    found = {c for c in constants if re.fullmatch("[a-z_]{4,}", c)}
    assert "unperturbable:" in constants
    assert found | {"unperturbable:CONDITION"} == reasons.BASE_ITEM_REASONS.keys()


def test_every_reason_of_a_cell_is_listed() -> None:
    (table,) = (codes for caption, codes in reasons.tables().items() if caption.startswith("A cell"))
    assert table.keys() == set(get_args(Reason))


def test_every_reason_of_a_classifier_is_listed() -> None:
    steps = literals("evaluator/wos", r'\("(\w+)", (?:reasons != "\w+"|fits|sound)\)')
    assert steps == reasons.EXAMPLE_REASONS.keys()
    given = literals("evaluator/wos", r'"reason": "(\w+)"') | literals("evaluator/wos", r'"(one_class)" if len')
    given |= literals("evaluator/wos", r'else "(no_examples)"')
    assert given == reasons.WOS_REASONS.keys()


def test_codes_of_errors_are_those_of_the_tree() -> None:
    classes = literals("evaluator", r'\n    code = "([a-z_]+)"')
    classes |= literals("evaluator", r'_fail\("([a-z_]+)"')
    assert reasons.error_codes().keys() == classes
    assert all(meaning.startswith("exit ") for meaning in reasons.error_codes().values())
