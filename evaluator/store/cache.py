"""What was fetched from elsewhere, kept on this machine: once, whoever asks, and all or nothing."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.errors import StoreError

CACHE_VARIABLE = "MORPHORDER_CACHE"


def kept_folder(place: str, fetch: Callable[[Path], None]) -> Path:
    """The folder `place` of the cache; where it is not there yet, `fetch` fills it, for all processes that wait.

    Errors: those of `fetch`, which leave nothing behind; StoreError when the cache cannot be written.
    """
    folder = cache_folder() / place
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder.parent, error) from error
    with _one_at_a_time(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            arriving = folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:8]}")
            arriving.mkdir()
            try:
                fetch(arriving)
                arriving.rename(folder)
            finally:
                shutil.rmtree(arriving, ignore_errors=True)
    return folder


def cache_folder() -> Path:
    """Where fetched files are kept: `MORPHORDER_CACHE`, or `morphorder` in the user's cache folder."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "morphorder"


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Waits until no other process of this machine is inside; where files cannot be locked, all may be."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        file = path.open("w")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write: {error.strerror}", where=str(path), hint=f"set {CACHE_VARIABLE}")
