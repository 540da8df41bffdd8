"""Which licence a treebank is under, and whether it lets anyone use its sentences, commercially too."""

import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

UNKNOWN = "unknown"
_NAMES = (
    (re.compile(r"Attribution-NonCommercial-ShareAlike (\d\.\d)|CC BY-NC-SA (\d\.\d)", re.I), "CC BY-NC-SA"),
    (re.compile(r"Attribution-NonCommercial (\d\.\d)|CC BY-NC (\d\.\d)", re.I), "CC BY-NC"),
    (re.compile(r"Attribution-ShareAlike (\d\.\d)|CC BY-SA (\d\.\d)", re.I), "CC BY-SA"),
    (re.compile(r"Attribution (\d\.\d)|CC BY (\d\.\d)", re.I), "CC BY"),
)


def is_permissive(licence: str) -> bool:
    """Whether a licence has no non-commercial clause and is known: CC BY, CC BY-SA, CC0."""
    return licence.startswith(("CC BY-SA ", "CC BY ", "CC0")) and "NC" not in licence


def treebank_code(name: str) -> str:
    """The code of a treebank: `UD_English-EWT`, `UD_ewt`, `en_ewt-ud-test` and `EWT` are all `ewt`."""
    if match := re.fullmatch(r"[a-z]{2,3}_([a-z0-9]+)-ud-.*", name):
        return match[1]
    return name.removeprefix("UD_").rpartition("-")[2].casefold()


def licence_of(language: str, code: str, folder: Path | None = None) -> str:
    """The licence of a treebank: as its folder's LICENSE.txt or README says, else as known here, else `unknown`."""
    for name in ("LICENSE.txt", "README.md", "README.txt") if folder is not None else ():
        path = folder / name if folder is not None else Path(name)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            for pattern, label in _NAMES:
                if match := pattern.search(text):
                    return f"{label} {next(g for g in match.groups() if g)}"
    return _known().get(language, {}).get(code, UNKNOWN)


def known_licence(code: str) -> str:
    """The licence of a treebank code where it is the same in all languages known here; else `unknown`."""
    found = {table[code] for table in _known().values() if code in table}
    return found.pop() if len(found) == 1 else UNKNOWN


@cache
def _known() -> dict[str, dict[str, str]]:
    text = (resources.files("evaluator.treebank") / "licences.toml").read_text(encoding="utf-8")
    return {language: {str(k): str(v) for k, v in table.items()} for language, table in tomllib.loads(text).items()}
