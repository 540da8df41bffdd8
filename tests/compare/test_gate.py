"""`--fail-if`: what is a rule, that the interval's end decides, and that what is missing fails."""

from typing import Any

import pytest

from evaluator.compare.document import Compared, compare_runs
from evaluator.compare.gate import parse_rule
from evaluator.errors import ConfigError


def cell(low: float, high: float, **more: Any) -> dict[str, Any]:
    row = {"language": "de", "treebank": "de_pud", "condition": "orig", "lemma": False, "reason": None}
    return {**row, "delta": (low + high) / 2, "delta_ci": [low, high], "delta_S": None, "delta_S_ci": None, **more}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("top1[de,orig] < -0.01", ("top1", "de", "orig", True, -0.01)),
        (" top1 [ de_pud , full+L ]>.5 ", ("top1", "de_pud", "full+L", False, 0.5)),
        ("S[*,*] > 0.1", ("S", "*", "*", False, 0.1)),
        ("I[tr,head] < −1", ("I", "tr", "head", True, -1.0)),
    ],
)
def test_rules_are_read(text: str, parts: tuple[Any, ...]) -> None:
    rule = parse_rule(text)
    assert (rule.metric, rule.place, rule.condition, rule.below, rule.bound) == parts


@pytest.mark.parametrize(
    "text", ["", "top1", "top1[de] < 0", "top1[de,orig] = 0", "top1[de,orig] < x", "top9[de,orig] < 0",
             "top1[,orig] < 0", "top1[de,orgi] < 0", "top1[de,orig] < 0 or 1"],
)  # fmt: skip
def test_what_is_not_a_rule_is_the_users_mistake(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_rule(text)


def test_the_end_of_the_interval_decides() -> None:
    rule = parse_rule("top1[de,orig] < -0.01")
    assert rule.decide([cell(-0.05, -0.011)])["failed"]
    assert not rule.decide([cell(-0.05, -0.009)])["failed"]
    assert not rule.decide([cell(0.1, 0.2), cell(-0.5, -0.4, language="ru", treebank="ru_pud")])["failed"]
    assert parse_rule("top1[*,*] < -0.01").decide([cell(0.1, 0.2), cell(-0.5, -0.4, language="ru")])["failed"]
    assert parse_rule("top1[de,orig] > 0").decide([cell(0.001, 0.2)])["failed"]


def test_what_is_missing_fails() -> None:
    rule = parse_rule("top1[de,orig] < -0.01")
    assert rule.decide([])["failed"]
    assert rule.decide([cell(0.1, 0.2, condition="full")])["failed"]
    assert rule.decide([cell(0.1, 0.2, delta=None, delta_ci=None, reason="model_not_scored")])["failed"]
    assert parse_rule("S[de,orig] < -0.01").decide([cell(0.1, 0.2)])["failed"]


def test_rules_are_decided_over_the_cells(baseline: Compared, worse: Compared) -> None:
    rules = [parse_rule(text) for text in ("top1[de,orig] < -0.01", "top1[ar,orig] < -0.9", "top1[fi,orig] < 0")]
    gates = compare_runs([baseline, worse], rules=rules)["gates"]
    assert [gate["failed"] for gate in gates] == [True, False, True]
    assert gates[2]["why"] == "no such cell was compared"
