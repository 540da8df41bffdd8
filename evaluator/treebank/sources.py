"""Where treebanks are: files, `UD_…` folders and globs to named lists of files, before anything is read."""

import glob
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluator.errors import TreebankError
from evaluator.treebank.issues import shown
from evaluator.treebank.releases import SCHEME, release_folder

Split = Literal["test", "dev", "train"]

_UD_FILE = re.compile(r"(?P<prefix>(?P<language>[a-z]{2,3})_[a-z0-9_]+)-ud-(?P<split>test|dev|train)[^/]*\.conllu")
_BARE_LANGUAGE = re.compile(r"[a-z]{2}")


@dataclass(frozen=True, slots=True)
class Source:
    """One treebank: the files that make it up, under one name and language."""

    name: str
    language: str
    files: tuple[Path, ...]
    left_out: tuple[Path, ...] = ()
    """Files of the same split in the same folder that belong to another version of the treebank."""


def find_sources(
    patterns: Sequence[str | Path], *, split: Split = "test", name: str | None = None, language: str | None = None
) -> list[Source]:
    """The treebanks that the patterns name, in order: a `.conllu` file, a folder `UD_X-Y` (its files of `split`), a
    glob over either, or a treebank of a release, `ud://2.15/UD_X-Y`.

    A folder's treebank is named after the folder, a single file's after its stem. The language is the prefix of the
    file name (`de_pud-ud-test` → de) unless given; `name` is allowed with a single treebank. TreebankError when a
    pattern matches nothing, a file is found twice or lies outside its folder, or two treebanks share a name.
    """
    sources = [
        _folder(path, split, language) if path.is_dir() else _file(path, language)
        for pattern in patterns
        for path in _matches(str(pattern))
    ]
    if name is not None:
        if len(sources) != 1:
            raise TreebankError(f"one name ({name}) for {len(sources)} treebanks", hint="name them one by one")
        sources = [Source(name, sources[0].language, sources[0].files, sources[0].left_out)]
    _reject_twins(sources)
    return sources


def _matches(pattern: str) -> list[Path]:
    """The files and folders a pattern names, sorted; a path that exists stands for itself."""
    if pattern.startswith(SCHEME):
        return [release_folder(pattern)]
    try:
        if Path(pattern).exists():
            return [Path(pattern)]
        found = [Path(path) for path in sorted(glob.glob(pattern))]  # noqa: PTH207 (absolute patterns)
    except (OSError, ValueError) as error:
        raise TreebankError(f"cannot be a path: {error}", where=shown(pattern), hint="give an existing path") from None
    found = [path for path in found if path.is_dir() or path.suffix == ".conllu"]
    if not found:
        raise TreebankError(
            "no such treebank", where=pattern, hint="give a .conllu file, a UD_… folder or a glob of them"
        )
    return found


def _file(path: Path, language: str | None) -> Source:
    """The treebank of a file given directly."""
    if path.suffix != ".conllu":
        raise TreebankError("not a .conllu file", where=str(path), hint="give a .conllu file, a UD_… folder or a glob")
    return Source(path.stem, language or _language_of(path), (path,))


def _folder(folder: Path, split: Split, language: str | None) -> Source:
    """The treebank of a folder: its files of one split.

    Where several versions share a folder (UD_Chinese-PUD holds zh_pud and zh_pud_t2s), the one with the folder's own
    name is taken; if none has it, that is an error.
    """
    root = folder.resolve()
    name = root.name if folder.name in ("", "..") else folder.name
    versions: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.conllu")):
        match = _UD_FILE.fullmatch(path.name)
        if match and match["split"] == split:
            versions[match["prefix"]].append(path)
    if not versions:
        have = ", ".join(sorted(path.name for path in folder.glob("*.conllu"))) or "none"
        hint = f"its .conllu files: {have}; give the file itself"
        raise TreebankError(f"no file *-ud-{split}*.conllu in this folder", where=str(folder), hint=hint)
    prefix = next(iter(versions))
    if len(versions) > 1:
        own = name.rpartition("-")[2].lower()
        named = [version for version in versions if version.partition("_")[2] == own]
        if len(named) != 1:
            raise TreebankError(
                f"several treebanks in one folder: {', '.join(versions)}",
                where=str(folder),
                hint="give the file itself",
            )
        prefix = named[0]
    files = tuple(versions.pop(prefix))
    for path in files:
        if not path.resolve().is_relative_to(root):
            raise TreebankError("the file lies outside its folder", where=str(path), hint="give its real path")
    left_out = tuple(path for paths in versions.values() for path in paths)
    return Source(name, language or _language_of(files[0]), files, left_out)


def _language_of(path: Path) -> str:
    """The language code in a file name: `de_pud-ud-test.conllu`, or a name that is a code, as `de.conllu`."""
    match = _UD_FILE.fullmatch(path.name)
    if match:
        return match["language"]
    if _BARE_LANGUAGE.fullmatch(path.stem):
        return path.stem
    raise TreebankError("the file name does not tell the language", where=str(path), hint='say it, as language = "de"')


def _reject_twins(sources: Sequence[Source]) -> None:
    """TreebankError when two treebanks share a name or a file."""
    names: dict[str, Source] = {}
    given: dict[Path, Path] = {}
    for source in sources:
        for path in source.files:
            real = path.resolve()
            if real in given:
                raise TreebankError(
                    f"this file was already given, as {given[real]}", where=str(path), hint="give it once"
                )
            given[real] = path
        if names.setdefault(source.name, source) is not source:
            raise TreebankError(
                f"two treebanks are called {source.name}",
                where=str(source.files[0]),
                hint=f"the other is {names[source.name].files[0]}; rename one",
            )
