"""One driver per run folder: a file there names the run that works on it, and says so again every few seconds.

On a local disk the file is created exclusively, so two drivers cannot both have it. Object stores offer no such call
through `pyarrow.fs`: there the file is written, given time to settle and read back, and the last writer has it. That
leaves a gap of one settling time; two drivers that slip through it do double work, but cannot corrupt a shard, since
every shard is written whole and is the same whoever writes it.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluator.errors import StoreError
from evaluator.store.location import Location

LOCK_FILE = "_lock.json"
LEASE_S = 60.0
"""A lock not renewed for so long is dead. Longer than clocks of one cluster differ."""
SETTLE_S = 1.0


@contextmanager
def run_lock(location: Location, *, lease_s: float = LEASE_S) -> Iterator[None]:
    """Holds the run folder for this process until the block ends. Errors: StoreError when another run holds it.

    The lock of a process that died is taken over: at once on the same machine, after `lease_s` on another.
    """
    mine = {
        "owner": uuid.uuid4().hex,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "start": _start_of(os.getpid()),
    }
    made_here = location.is_local and not Path(location.text).exists()
    _acquire(location, mine, lease_s)
    done = threading.Event()
    renewal = threading.Thread(target=_renew, args=(location, mine, lease_s, done), name="morphorder-lock", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()
        if (held := _read(location)) is not None and held["owner"] == mine["owner"]:
            location.delete(LOCK_FILE)
        if made_here and Path(location.text).is_dir() and not any(Path(location.text).iterdir()):
            Path(location.text).rmdir()


def _acquire(location: Location, mine: dict[str, Any], lease_s: float) -> None:
    if location.is_local:
        try:
            while not _create(location, mine):
                if (held := _read(location)) is not None:
                    _refuse_if_alive(location, held, lease_s)
                    _retire(location, held)
            return
        except OSError:  # no hard links here (FAT, some network mounts): as on an object store
            pass
    if (held := _read(location)) is not None:
        _refuse_if_alive(location, held, lease_s)
    location.write(LOCK_FILE, _content(mine))
    time.sleep(SETTLE_S)
    if (held := _read(location)) is None or held["owner"] != mine["owner"]:
        _refuse(location, held or {})


def _create(location: Location, mine: dict[str, Any]) -> bool:
    """Whether the lock file was not there and is now ours: linked to its name when whole; that fails if it exists."""
    own = f"{LOCK_FILE}.{mine['owner']}"
    location.write(own, _content(mine))
    try:
        os.link(Path(location.text) / own, Path(location.text) / LOCK_FILE)
    except FileExistsError:
        return False
    finally:
        location.delete(own)
    return True


def _retire(location: Location, dead: dict[str, Any]) -> None:
    """Takes a dead owner's lock out of the way: renamed, so that of two who found it dead only one does it."""
    aside = Path(location.text) / f"{LOCK_FILE}.{dead['owner']}.dead"
    try:
        (Path(location.text) / LOCK_FILE).rename(aside)
    except FileNotFoundError:
        return
    if (
        _parsed(aside.read_bytes())["owner"] != dead["owner"]
    ):  # somebody was quicker, and what was moved is alive: put it back
        os.link(aside, Path(location.text) / LOCK_FILE)
    aside.unlink(missing_ok=True)


def _refuse_if_alive(location: Location, held: dict[str, Any], lease_s: float) -> None:
    same_machine = held["host"] == socket.gethostname()
    if same_machine and _start_of(held["pid"]) != held["start"]:
        return
    if time.time() - held["at"] <= lease_s:
        _refuse(location, held)


def _refuse(location: Location, held: dict[str, Any]) -> None:
    raise StoreError(
        f"another run works here: process {held.get('pid', '?')} on {held.get('host', '?')}",
        where=str(location),
        hint="wait for it, stop it, or choose another --out",
    )


def _renew(location: Location, mine: dict[str, Any], lease_s: float, done: threading.Event) -> None:
    while not done.wait(lease_s / 4):
        if (held := _read(location)) is not None and held["owner"] != mine["owner"]:
            return  # this process slept past its lease; what both write is the same
        try:
            location.write(LOCK_FILE, _content(mine))
        except StoreError:  # full or out of reach for now: the next shard says so, the next renewal may succeed
            continue


def _content(mine: dict[str, Any]) -> bytes:
    return json.dumps({**mine, "at": time.time()}).encode()


def _read(location: Location) -> dict[str, Any] | None:
    """What the lock file says; None when it is not there."""
    if not location.exists(LOCK_FILE):
        return None
    try:
        return _parsed(location.read(LOCK_FILE).to_pybytes())
    except StoreError:  # gone since
        return None


def _parsed(content: bytes) -> dict[str, Any]:
    """A lock file's content; that of a lock long dead when it is damaged."""
    try:
        held = json.loads(content)
    except ValueError:
        held = None
    whole = isinstance(held, dict) and {"owner", "host", "pid", "start", "at"} <= held.keys()
    return held if whole else {"owner": "", "host": "", "pid": 0, "start": "", "at": 0.0}


def _start_of(pid: int) -> str:
    """When the process started, as the kernel counts; empty when there is none (or no way to know)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
