"""Writing is all or nothing, whatever happens to the writer or the disk."""

import errno
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.errors import StoreError
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.run import fingerprint, json_bytes, read_json, read_stage, write_stage
from evaluator.store.shards import ShardSet


def scored(words: list[list[list[int]]]) -> pa.Table:
    count = len(words)
    columns = {
        "row": pa.array(np.arange(count)),
        "words": pa.array(words, schemas.SCORED.field("words").type),
        "near_tie": pa.array([False] * count),
        "failed": pa.array([None if w else "non_finite" for w in words], pa.string()),
    }
    empty = {f.name: pa.array([[]] * count, f.type) for f in schemas.SCORED if f.name not in columns}
    return pa.table([{**columns, **empty}[n] for n in schemas.SCORED.names], schema=schemas.SCORED)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_disk_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int, step: str
) -> None:
    place = Location.of(tmp_path)
    place.write("a.json", b"old")

    def fail(*_: object) -> None:
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(StoreError, match=os.strerror(fault)) as error:
        place.write("a.json", b"new")
    assert error.value.hint
    assert place.read("a.json").to_pybytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"], "nothing half written is left"


def test_what_a_killed_writer_left_is_not_seen(tmp_path: Path) -> None:
    place = Location.of(tmp_path)
    shards = ShardSet(place, "part", schemas.SCORED, "f" * 16)
    (tmp_path / "_part-00000.arrow.77.ab").write_bytes(b"half")
    (tmp_path / ".hidden").write_bytes(b"")
    assert place.names() == []
    assert not shards.is_done(0)
    shards.write(0, scored([[[1]]]))
    assert place.names() == ["part-00000.arrow"]
    assert shards.are_done(1)
    assert not shards.are_done(2)


def test_columns_that_begin_with_nulls_or_nothing(tmp_path: Path) -> None:
    """The schema is declared, not guessed from a first batch."""
    shards = ShardSet(Location.of(tmp_path), "part", schemas.SCORED, "f" * 16)
    tables = [scored([[], []]), scored([[[1, 2]], []]), scored([])]
    for shard, table in enumerate(tables):
        shards.write(shard, table)
    assert shards.read_all(3).equals(pa.concat_tables(tables))
    assert shards.read_all(0).schema == schemas.SCORED


def test_dictionary_columns_are_refused(tmp_path: Path) -> None:
    table = scored([[], []])
    at = table.schema.get_field_index("failed")
    encoded = table.set_column(at, "failed", table["failed"].dictionary_encode())
    with pytest.raises(AssertionError, match="declared schema"):
        ShardSet(Location.of(tmp_path), "part", schemas.SCORED, "f" * 16).write(0, encoded)


def test_stage_manifest_of_other_settings_is_none(tmp_path: Path) -> None:
    mine, other = (ShardSet(Location.of(tmp_path), "part", schemas.SCORED, c * 16) for c in "ab")
    assert read_stage(mine) is None
    write_stage(mine, {"shards": 3})
    assert read_stage(mine) == {"fingerprint": "a" * 16, "shards": 3}
    assert read_stage(other) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_json_that_is_damaged_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(StoreError, match="JSON") as error:
        read_json(Location.of(tmp_path), "run.json")
    assert "delete it" in error.value.hint


def test_no_number_that_is_not_one_in_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_bytes({"x": float("nan")})


def test_fingerprint_depends_on_content_not_on_key_order() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


@pytest.mark.parametrize("uri", ["nope://bucket/run", "s3:/x://y"])
def test_place_that_no_file_system_opens(uri: str) -> None:
    with pytest.raises(StoreError, match="cannot open"):
        Location.of(uri).names()


def test_home_folder_is_meant_by_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A job's run folder below it: taken literally, it would go with the job's own folder, and nothing be kept."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Location.of("~/morphorder-runs/run").text == str(tmp_path / "morphorder-runs" / "run")
