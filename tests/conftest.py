"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of treebanks and cases that are not part of the product; tests that use it skip without it."""
    folder = Path(os.environ.get("MORPHORDER_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: set MORPHORDER_SHARED to run this test")
    return folder


@pytest.fixture(scope="session")
def treebank_data() -> Path:
    """The folder of small CoNLL-U files, each named for its one flaw."""
    return ROOT / "tests" / "data" / "treebank"
