"""SECURITY.md names tests that exist."""

import re

from tests.conftest import ROOT


def test_every_test_named_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    path, named = "", []
    for quoted in re.findall(r"`(tests/[^`]*|::test_\w+)`", text):
        place, _, name = quoted.partition("::")
        path = place or path
        named.append((path, name))
    assert len(named) >= 20
    for path, name in named:
        assert (ROOT / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"
    assert {
        line.count("`tests/") > 0 for line in text.splitlines() if line.startswith("| ") and "promised" not in line
    } == {True}
