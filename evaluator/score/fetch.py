"""A bundle's folder on this machine; of one named by URI, a copy that is fetched once, however many workers want it."""

import hashlib
from pathlib import Path

from evaluator.score.bundle import BUNDLE_FILE, Bundle, read_bundle
from evaluator.store.cache import kept_folder
from evaluator.store.location import Location


def local_bundle(place: str) -> Path:
    """The folder of the bundle at `place`, a path or URI. A copy is named after its manifest, so it is never stale.

    Errors: BundleError when what arrived is not what `bundle.json` promises; StoreError when it cannot be fetched.
    """
    if "://" not in place:
        return Path(place)
    location = Location.of(place)
    manifest = location.read(BUNDLE_FILE).to_pybytes()

    def fetch(arriving: Path) -> None:
        for name in Bundle.model_validate_json(manifest).files:
            location.copy_to(name, arriving / Path(name).name)
        (arriving / BUNDLE_FILE).write_bytes(manifest)
        read_bundle(arriving)

    return kept_folder(f"bundles/{hashlib.sha256(manifest).hexdigest()[:16]}", fetch)
