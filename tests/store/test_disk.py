"""Full disks, read-only ones, lost bytes, killed writers: nothing finished is lost, nothing wrong is read."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.errors import StoreError
from evaluator.store import schemas
from evaluator.store.location import Location
from evaluator.store.run import RunFolder, json_bytes, read_json
from evaluator.store.shards import ShardSet


def links(count: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 1000, count)
    return pa.table(
        [
            pa.array(rng.integers(0, 2**63, count), pa.uint64()),
            *(pa.array(numbers, kind) for kind in (pa.int64(), pa.int16(), pa.int16(), pa.int16())),
            pa.array([False] * count),
            pa.array(["crc32:00000000"] * count, pa.string()),
        ],
        schema=schemas.LINKS,
    )


def shards_in(folder: Path) -> ShardSet:
    return ShardSet(Location.of(folder), "part", schemas.LINKS, "f" * 16)


def test_file_cut_anywhere_is_not_done(tmp_path: Path) -> None:
    shards = shards_in(tmp_path)
    shards.write(0, links(20))
    path = tmp_path / shards.name(0)
    content = path.read_bytes()
    for length in range(0, len(content), 37):
        path.write_bytes(content[:length])
        assert not shards.is_done(0), length
        path.write_bytes(
            content[:length] + bytes(len(content) - length)
        )  # the size is right, the rest was never written
        assert not shards.is_done(0), length
    path.write_bytes(content + b"\0")
    assert not shards.is_done(0)
    path.write_bytes(content)
    assert shards.read(0).equals(links(20))


def test_changed_byte_anywhere_is_not_read(tmp_path: Path) -> None:
    """A hole in the middle too: Arrow itself would read it as other numbers."""
    shards = shards_in(tmp_path)
    shards.write(0, links(20))
    path = tmp_path / shards.name(0)
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), 31):
        changed = bytearray(content)
        changed[place] ^= 0x41
        path.write_bytes(changed)
        with pytest.raises(StoreError, match="damaged shard") as error:
            shards.read(0)
        assert "delete it and rerun" in error.value.hint
    assert bytes(content).count(b"crc32:") == 2 + 20, "the words are no checksums"


@pytest.mark.parametrize("chunks", [1, 3, 3000])
def test_checksum_of_tables_in_many_chunks(chunks: int, tmp_path: Path) -> None:
    shards = shards_in(tmp_path)
    table = pa.concat_tables([links(2, seed) for seed in range(chunks)])
    shards.write(0, table)
    assert shards.read(0).equals(table)


LIMITED = """
import resource, sys
from pathlib import Path
from evaluator.errors import StoreError
from tests.store.test_disk import links, shards_in
shards = shards_in(Path(sys.argv[1]))
shards.write(0, links(10))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    shards.write(1, links(100_000))
except StoreError as error:
    print(error)
try:
    shards.write(0, links(100_000))
except StoreError as error:
    print(error)
"""


def test_file_that_may_not_grow_leaves_what_was_there(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert len(said) == 2
    assert all("cannot write: File too large" in line and "nothing finished is lost" in line for line in said)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["part-00000.arrow"]
    assert shards_in(tmp_path).read(0).equals(links(10))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a test mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_full_disk_keeps_what_is_finished_and_goes_on_when_there_is_room(disk: Path) -> None:
    shards = shards_in(disk)
    written = 0
    with pytest.raises(StoreError, match="No space left on device"):
        while written < 100:
            shards.write(written, links(300, written))
            written += 1
    assert written > 0
    assert [shards.is_done(s) for s in range(written + 1)] == [True] * written + [False]
    assert all(p.name.startswith("part-") for p in disk.iterdir()), "no temporary file is left"
    (disk / shards.name(0)).unlink()
    shards.write(written, links(300, written))
    assert shards.read(written).equals(links(300, written))
    assert all(shards.read(s).equals(links(300, s)) for s in range(1, written))


def test_read_only_folder_is_one_line(disk: Path) -> None:
    run = RunFolder.create(str(disk / "run"), "a" * 16, {})
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert RunFolder.open(str(disk / "run")) == run, "reading goes on"
    with pytest.raises(StoreError, match="Read-only file system"):
        run.items().write(0, schemas.ITEMS.empty_table())
    with pytest.raises(StoreError, match="Read-only file system"):
        RunFolder.create(str(disk / "other"), "a" * 16, {})


WRITER = """
import sys
from pathlib import Path
from tests.store.test_disk import links, shards_in
shards = shards_in(Path(sys.argv[1]))
print(flush=True)
for shard in range(10_000):
    shards.write(shard % 5, links(20_000, shard % 5))
"""


def test_killed_writer_leaves_whole_shards_or_none(tmp_path: Path) -> None:
    shards = shards_in(tmp_path)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        deadline = time.monotonic() + 60
        while not shards.is_done(1) and time.monotonic() < deadline:
            time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
    seen = shards.location.names()
    assert "part-00001.arrow" in seen
    for name in seen:
        shard = int(name[5:10])
        assert shards.read(shard).equals(links(20_000, shard))
    shards.write(0, links(3))
    assert shards.read(0).num_rows == 3


def test_name_that_is_no_unicode_can_be_kept(tmp_path: Path) -> None:
    """A path of stray bytes, as the shell gives it: the setting comes back as it was."""
    place = Location.of(tmp_path)
    place.write("config.json", json_bytes({"out": "run-\udcff", "word": "naïve"}))
    assert read_json(place, "config.json") == {"out": "run-\udcff", "word": "naïve"}
    place.read("config.json").to_pybytes().decode("utf-8")
