"""A forecast of scoring rests on the run's own batches, evenly spread over its lengths."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.score.bundle import Bundle
from evaluator.score.probe import _spread, probe_model
from evaluator.score.shard import ScoreSettings
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.shards import ShardSet
from tests.score.conftest import rows_table

GetFake = Callable[..., tuple[Path, Bundle]]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000])
def test_every_beginning_of_the_order_is_evenly_spread(count: int) -> None:
    order = list(_spread(count))
    assert order[0] == count // 2
    assert set(order[1:]) == set(range(count))
    for taken in (20, 50):
        if taken * 4 <= count:
            mean = sum(order[1 : taken + 1]) / taken / count
            assert abs(mean - 0.5) < 0.05


def test_forecast_of_a_fake_model(fake: GetFake, tmp_path: Path) -> None:
    folder, bundle = fake()
    rows = ShardSet(Location.of(tmp_path), "rows", schemas.ROWS, "f")
    for shard in range(2):
        rows.write(shard, rows_table(40, vocab=bundle.vocab_size, seed=shard))
    settings = ScoreSettings(max_batch_pieces=80)
    few = probe_model(folder, bundle, rows, 2, settings, provider="cpu", threads=1, seconds=0)
    everything = probe_model(folder, bundle, rows, 2, settings, provider="cpu", threads=1, seconds=60)
    assert few.probed == 2
    assert everything.probed == everything.batches == few.batches > 10
    assert everything.score_s > 0
    assert everything.rows_per_s == pytest.approx(80 / everything.score_s)


def test_nothing_to_score(fake: GetFake, tmp_path: Path) -> None:
    folder, bundle = fake()
    rows = ShardSet(Location.of(tmp_path), "rows", schemas.ROWS, "f")
    probe = probe_model(folder, bundle, rows, 0, ScoreSettings(), provider="cpu", threads=1, seconds=1)
    assert (probe.batches, probe.score_s) == (0, 0.0)
