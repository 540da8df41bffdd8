"""Treebanks of a Universal Dependencies release by name, `ud://2.15/UD_German-PUD`: fetched once, checked at each use.

A release is a tag in the repository of each treebank, so one treebank is fetched and not all of them. The archives
that the host makes of a tag are not the same to the byte for ever; the files in them are, so those are hashed.
"""

import hashlib
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO

from evaluator.errors import TreebankError
from evaluator.store.cache import kept_folder
from evaluator.treebank.issues import shown

SCHEME = "ud://"
SOURCE_VARIABLE = "MORPHORDER_UD_SOURCE"
"""Where archives are, of another host or a mirror: a URL with {name} and {release} in it."""
SOURCE = "https://github.com/UniversalDependencies/{name}/archive/refs/tags/r{release}.zip"
SUMS_FILE = "SHA256SUMS"
TIMEOUT_S = 60.0
_NAME = re.compile(r"ud://(?P<release>[0-9]+\.[0-9]+)/(?P<name>UD_[A-Za-z_]+-[A-Za-z0-9]+)")
_WANTED = re.compile(r"[A-Za-z0-9_-]+\.conllu|LICENSE\.txt|README\.(md|txt)")


def release_folder(uri: str) -> Path:
    """The folder of a treebank of a release, on this machine.

    Errors: TreebankError when there is no such treebank, it cannot be fetched, or it changed since it was.
    """
    match = _NAME.fullmatch(uri)
    if match is None:
        raise TreebankError(
            "not a treebank of a release", where=shown(uri), hint="write it as ud://2.15/UD_German-PUD, without globs"
        )
    name, release = match["name"], match["release"]
    folder = kept_folder(f"treebanks/{release}/{name}", lambda arriving: _fetch(uri, name, release, arriving))
    for line in (folder / SUMS_FILE).read_text(encoding="utf-8").splitlines():
        digest, _, file = line.partition("  ")
        path = folder / file
        if not path.is_file() or _sha256(path) != digest:
            raise TreebankError(
                "changed since it was fetched", where=str(path), hint=f"delete {folder} to fetch it again"
            )
    return folder


def _fetch(uri: str, name: str, release: str, folder: Path) -> None:
    url = os.environ.get(SOURCE_VARIABLE, SOURCE).format(name=name, release=release)
    without = "without a network give a folder of the treebank instead"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer, tempfile.TemporaryFile() as archive:
            shutil.copyfileobj(answer, archive)
            _unpack(archive, folder)
    except urllib.error.HTTPError as error:
        hint = f"is {name} in release {release}?" if error.code == 404 else without
        raise TreebankError(f"cannot be fetched: {error.code} {error.reason} at {url}", where=uri, hint=hint) from error
    except (OSError, ValueError, HTTPException, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise TreebankError(f"cannot be fetched from {url}: {error}", where=uri, hint=without) from error
    if not any(folder.glob("*.conllu")):
        raise TreebankError(f"no .conllu file in {url}", where=uri, hint=f"is {name} in release {release}?")
    sums = [f"{_sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / SUMS_FILE).write_text("".join(sums), encoding="utf-8")


def _unpack(archive: IO[bytes], folder: Path) -> None:
    """Writes the treebank's own files, found by name: links, folders and paths in the archive count for nothing."""
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            place = PurePosixPath(member.filename)
            if len(place.parts) == 2 and _WANTED.fullmatch(place.name):
                with members.open(member) as content, (folder / place.name).open("wb") as file:
                    shutil.copyfileobj(content, file)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
