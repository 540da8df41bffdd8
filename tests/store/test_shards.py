"""What is written is what is read, and nothing damaged or foreign is taken for it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.errors import StoreError
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.run import RunFolder
from evaluator.store.shards import ShardSet, parquet_bytes


def links(count: int) -> pa.Table:
    return pa.table(
        [
            pa.array(np.arange(count), pa.uint64()),
            pa.array([None] * count, pa.int64()),
            pa.array([None] * count, pa.int16()),
            pa.array([None] * count, pa.int16()),
            pa.array([None] * count, pa.int16()),
            pa.array([False] * count),
            pa.array(["too_long"] * count, pa.string()),
        ],
        schema=schemas.LINKS,
    )


@pytest.fixture
def shards(tmp_path: Path) -> ShardSet:
    return ShardSet(Location.of(tmp_path), "part", schemas.LINKS, "f" * 16)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_write_then_read_is_identity(shards: ShardSet, count: int) -> None:
    shards.write(3, links(count))
    assert shards.read(3).equals(links(count))
    assert shards.is_done(3)
    assert not shards.is_done(2)
    assert shards.location.names() == ["part-00003.arrow"]


@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign bytes", "middle zeroed"])
def test_damaged_shard_is_not_done(shards: ShardSet, damage: str) -> None:
    shards.write(0, links(1000))
    path = Path(shards.location.text) / shards.name(0)
    content = path.read_bytes()
    path.write_bytes(
        {
            "truncated": content[:-40],
            "empty": b"",
            "foreign bytes": parquet_bytes(links(10)),
            "middle zeroed": content[:8] + bytes(len(content) - 8),
        }[damage]
    )
    assert not shards.is_done(0)
    with pytest.raises(StoreError, match=r"part-00000\.arrow"):
        shards.read(0)


def test_shard_of_other_settings_is_an_error(shards: ShardSet) -> None:
    shards.write(0, links(5))
    other = ShardSet(shards.location, "part", schemas.LINKS, "0" * 16)
    assert not other.is_done(0)
    with pytest.raises(StoreError, match="other settings"):
        other.read(0)


def test_schema_drift_is_an_error(shards: ShardSet) -> None:
    shards.write(0, links(5))
    with pytest.raises(StoreError, match="declares"):
        ShardSet(shards.location, "part", schemas.ROWS, "f" * 16).read(0)
    with pytest.raises(AssertionError, match="declared schema"):
        shards.write(1, links(5).drop_columns(["reason"]))


def test_unwritable_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot write"):
        Location.of(tmp_path / "file").write("x", b"")


def test_run_folder_refuses_other_settings_and_strange_folders(tmp_path: Path) -> None:
    RunFolder.create(str(tmp_path / "run"), "a" * 16, {"draws": 1})
    assert RunFolder.open(str(tmp_path / "run")).fingerprint == "a" * 16
    with pytest.raises(StoreError, match=r"other settings \(draws differ\)"):
        RunFolder.create(str(tmp_path / "run"), "b" * 16, {"draws": 2})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("dear to somebody")
    with pytest.raises(StoreError, match="holds other files"):
        RunFolder.create(str(tmp_path / "full"), "a" * 16, {})
    with pytest.raises(StoreError, match="no run here"):
        RunFolder.open(str(tmp_path / "nothing"))
