"""One driver per run folder; a dead one's lock is taken over."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evaluator.errors import StoreError
from evaluator.store import lock
from evaluator.store.location import Location
from evaluator.store.lock import LOCK_FILE, run_lock


def test_second_run_is_refused_and_the_folder_is_free_afterwards(tmp_path: Path) -> None:
    place = Location.of(tmp_path / "run")
    with (
        run_lock(place),
        pytest.raises(StoreError, match=r"another run works here: process \d+ on") as caught,
        run_lock(place),
    ):
        pass
    assert "choose another --out" in str(caught.value)
    with run_lock(place):
        assert place.names() == []
    assert not (tmp_path / "run").exists(), "made for the lock only"


def test_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import sys, time; from evaluator.store.lock import run_lock; from evaluator.store.location import Location\n"
        "with run_lock(Location.of(sys.argv[1])): print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreError, match=str(holder.pid)), run_lock(Location.of(tmp_path)):
            pass
        holder.kill()
    with run_lock(Location.of(tmp_path)):
        pass


@pytest.mark.parametrize(("age_s", "free"), [(1.0, False), (100.0, True)])
def test_lock_of_another_machine_holds_for_its_lease(tmp_path: Path, age_s: float, free: bool) -> None:
    held = {"owner": "x", "host": "elsewhere", "pid": 1, "start": "1", "at": time.time() - age_s}
    (tmp_path / LOCK_FILE).write_text(json.dumps(held))
    if free:
        with run_lock(Location.of(tmp_path)):
            pass
    else:
        with pytest.raises(StoreError, match="process 1 on elsewhere"), run_lock(Location.of(tmp_path)):
            pass


def test_damaged_lock_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_bytes(b"{")
    with run_lock(Location.of(tmp_path)):
        pass


def test_lock_is_renewed(tmp_path: Path) -> None:
    with run_lock(Location.of(tmp_path), lease_s=0.4):
        first = json.loads((tmp_path / LOCK_FILE).read_bytes())["at"]
        deadline = time.monotonic() + 10
        while json.loads((tmp_path / LOCK_FILE).read_bytes())["at"] == first and time.monotonic() < deadline:
            time.sleep(0.05)
        assert json.loads((tmp_path / LOCK_FILE).read_bytes())["at"] > first


def test_one_of_many_at_once_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK_FILE).write_text(json.dumps({"owner": "x", "host": "gone", "pid": 1, "start": "1", "at": 0.0}))
    monkeypatch.setattr(lock, "SETTLE_S", 0.0)
    inside, refused, start, leave = [], [], threading.Barrier(8), threading.Event()

    def try_it() -> None:
        start.wait()
        try:
            with run_lock(Location.of(tmp_path)):
                inside.append(1)
                leave.wait(30)
        except StoreError:
            refused.append(1)

    threads = [threading.Thread(target=try_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    while len(inside) + len(refused) < 8 and time.monotonic() < deadline:
        time.sleep(0.02)
    leave.set()
    for thread in threads:
        thread.join()
    assert (len(inside), len(refused)) == (1, 7)
