"""Checkpoints and bundles made once per session."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from evaluator.score.bundle import Bundle
from export.build import build_bundle
from tests.export.tiny import save_checkpoint


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of the tiny checkpoint of a family."""
    made: dict[str, Path] = {}
    root = tmp_path_factory.mktemp("checkpoints")

    def get(kind: str) -> Path:
        if kind not in made:
            made[kind] = save_checkpoint(kind, root / kind)
        return made[kind]

    return get


@pytest.fixture(scope="session")
def built(
    checkpoint: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Bundle]]:
    """Folder and manifest of the bundle of a family's tiny checkpoint."""
    made: dict[str, tuple[Path, Bundle]] = {}
    root = tmp_path_factory.mktemp("bundles")

    def get(kind: str) -> tuple[Path, Bundle]:
        if kind not in made:
            made[kind] = (root / kind, build_bundle(checkpoint(kind), root / kind))
        return made[kind]

    return get
