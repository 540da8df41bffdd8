"""A bundle's folder on this machine; of one named by URI, a copy that is fetched once, however many workers want it."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.errors import StoreError
from evaluator.score.bundle import BUNDLE_FILE, Bundle, read_bundle
from evaluator.store.location import Location

CACHE_VARIABLE = "MORPHORDER_CACHE"


def local_bundle(place: str) -> Path:
    """The folder of the bundle at `place`, a path or URI. A copy is named after its manifest, so it is never stale.

    Errors: BundleError when what arrived is not what `bundle.json` promises; StoreError when it cannot be fetched.
    """
    if "://" not in place:
        return Path(place)
    location = Location.of(place)
    manifest = location.read(BUNDLE_FILE).to_pybytes()
    cache = cache_folder() / "bundles"
    target = cache / hashlib.sha256(manifest).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(cache / f"{target.name}.lock"):
        if not target.exists():
            arriving = cache / f"{target.name}.{uuid.uuid4().hex[:8]}"
            arriving.mkdir()
            try:
                for name in Bundle.model_validate_json(manifest).files:
                    location.copy_to(name, arriving / Path(name).name)
                (arriving / BUNDLE_FILE).write_bytes(manifest)
                read_bundle(arriving)
                arriving.rename(target)
            finally:
                shutil.rmtree(arriving, ignore_errors=True)
    return target


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
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except PermissionError as error:
        raise StoreError(f"cannot write: {error.strerror}", where=str(path), hint=f"set {CACHE_VARIABLE}") from error
