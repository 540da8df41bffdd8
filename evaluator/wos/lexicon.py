"""A user's list of words with their polarity: `word TAB positive` or `negative` a line."""

from pathlib import Path
from typing import Literal, get_args

from evaluator.errors import DatasetError

Polarity = Literal["positive", "negative"]


def read_lexicon(path: Path) -> dict[str, Polarity]:
    """Polarity by case-folded word; lines that begin with `;` or `#` are comments.

    Errors: DatasetError with `path:line` for a line that is not of that form, or a word that is given both.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot be read: {error}", where=str(path), hint="save it as UTF-8") from error
    found: dict[str, Polarity] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line[0] in ";#":
            continue
        word, _, said = (part.strip() for part in line.partition("\t"))
        polarity = next((p for p in get_args(Polarity) if p == said), None)
        if not word or polarity is None:
            raise DatasetError(
                f"{line[:60]!r} is no word with its polarity",
                where=f"{path}:{number}",
                hint="word TAB positive|negative",
            )
        if found.setdefault(word.casefold(), polarity) != polarity:
            raise DatasetError(f"{word!r} is both positive and negative", where=f"{path}:{number}", hint="keep one")
    if not found:
        raise DatasetError("holds no words", where=str(path), hint="word TAB positive|negative")
    return found
