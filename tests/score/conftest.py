"""Fake bundles, and rows to score with them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.score.backend import Session
from evaluator.score.bundle import Bundle, read_bundle
from evaluator.score.shard import Model
from evaluator.store import schemas
from tests.fake_bundle import make_fake_bundle

MASK, NAN_PIECE, FIRST_LETTER = 4, 50, 5


def rows_table(count: int, *, vocab: int, seed: int = 0, nan_rows: tuple[int, ...] = (), golds: int = 1) -> pa.Table:
    """Rows of 3 to 20 pieces with 1 to 3 masks side by side and `golds` golds each; never the NaN piece but there."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in range(count):
        length, masks = int(rng.integers(5, 20)), int(rng.integers(1, 4))
        ids = rng.integers(FIRST_LETTER, vocab, length)
        ids[ids == NAN_PIECE] += 1
        at = int(rng.integers(1, length - masks))
        ids[at : at + masks] = MASK
        if row in nan_rows:
            ids[-1] = NAN_PIECE
        gold = rng.integers(FIRST_LETTER, vocab, (golds, masks))
        rows.append({"row": row, "ids": ids, "mask_pos": np.arange(at, at + masks), "golds": list(gold)})
    return pa.Table.from_pylist(rows, schema=schemas.ROWS)


@pytest.fixture(scope="session")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Bundle]]:
    """Folder and manifest of a fake bundle, made once per set of options."""
    root = tmp_path_factory.mktemp("fake")
    made: dict[str, tuple[Path, Bundle]] = {}

    def get(**options: object) -> tuple[Path, Bundle]:
        key = repr(sorted(options.items()))
        if key not in made:
            folder = root / str(len(made))
            made[key] = folder, make_fake_bundle(folder, **options)  # type: ignore[arg-type]  # the builder's own
        return made[key]

    return get


@pytest.fixture(scope="session")
def model(fake: Callable[..., tuple[Path, Bundle]]) -> Callable[..., Model]:
    """A loaded fake model."""

    def get(**options: object) -> Model:
        folder, _ = fake(**options)
        bundle = read_bundle(folder)
        return Model(Session(folder, bundle, threads=1), bundle.pad_id, bundle.vocab_size, bundle.top_k)

    return get
