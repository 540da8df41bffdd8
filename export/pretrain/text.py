"""Training text: read one-sentence-a-line files, drop junk, set a held-out slice apart.

First step of the flow. Everything here is a pure function of the lines, so that the same folder always gives the same
sentences in the same order.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import DatasetError

LANGUAGES = ("de", "en", "es", "fr", "ru", "tr", "zh")
HELD_OUT_ONE_IN = 200
MIN_WORDS = 4
MIN_HAN = 8

# Help texts translated in part leave English lines in the other files; two of these words give them away.
_ENGLISH = frozenset(["the", "of", "to", "and", "is", "with", "for", "that", "this", "are", "from", "you", "can"])
_SPACES = re.compile(r"\s+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LETTER = re.compile(r"[^\W\d_]")
_MARKUP = re.compile(r"https?://|[{}<>|\\=*_]|\]\(|--|[#$%&]\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of training text and what decides its use."""

    language: str
    text: str
    held_out: bool


def clean_line(line: str) -> str:
    """The line in NFC with single spaces."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", line)).strip()


def is_usable(text: str, language: str) -> bool:
    """Whether a cleaned line is running text of its language, long enough to predict a word from the others."""
    letters = len(_LETTER.findall(text))
    if letters < 0.6 * len(text.replace(" ", "")) or _MARKUP.search(text):
        return False
    if language == "zh":
        han = len(_HAN.findall(text))
        return han >= MIN_HAN and han >= 0.7 * letters
    words = text.split(" ")
    if len(words) < MIN_WORDS:
        return False
    if language == "ru" and len(_CYRILLIC.findall(text)) < 0.7 * letters:
        return False
    return language == "en" or sum(word in _ENGLISH for word in words) < 2


def is_held_out(text: str, one_in: int = HELD_OUT_ONE_IN) -> bool:
    """Whether a line belongs to the held-out slice: decided by its hash, so equal lines fall on the same side."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=b"morphorder held-out").digest()
    return int.from_bytes(digest, "big") % one_in == 0


def select_sentences(lines: Iterable[str], language: str, one_in: int = HELD_OUT_ONE_IN) -> Iterator[Sentence]:
    """The usable distinct lines, in file order."""
    seen: set[str] = set()
    for line in lines:
        text = clean_line(line)
        if text in seen or not is_usable(text, language):
            continue
        seen.add(text)
        yield Sentence(language, text, is_held_out(text, one_in))


def read_sentences(folder: Path, languages: tuple[str, ...] = LANGUAGES) -> list[Sentence]:
    """All usable sentences of `folder/<language>.txt.xz` (or `.txt`), by language in the order given.

    Raises DatasetError naming the language that has neither file.
    """
    sentences: list[Sentence] = []
    for language in languages:
        packed, plain = folder / f"{language}.txt.xz", folder / f"{language}.txt"
        if packed.exists():
            with lzma.open(packed, "rt", encoding="utf-8") as lines:
                sentences.extend(select_sentences(lines, language))
        elif plain.exists():
            with plain.open(encoding="utf-8") as lines:
                sentences.extend(select_sentences(lines, language))
        else:
            raise DatasetError(f"no {language}.txt.xz and no {language}.txt", where=str(folder))
    return sentences
