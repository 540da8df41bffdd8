"""What can be said about a line of a treebank: one value, one address, one line of text."""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["note", "warning", "error"]
"""`error`: format damage. `warning`: a lapse of form that changes no word. `note`: a remark on the annotation."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding. `code` is stable; the message says what was found and, in brackets, what to do."""

    code: str
    path: str
    line: int
    message: str
    severity: Severity
    sentence: int | None = None
    """1-based ordinal of the sentence in its file, damaged ones counted; None for findings about the file."""

    @property
    def where(self) -> str:
        """The address as `path:line`."""
        return f"{self.path}:{self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"


@dataclass(slots=True)
class Findings:
    """Issues of one file as they are found; of each code the first in a sentence (or about the file) is kept."""

    path: str
    issues: list[Issue] = field(default_factory=list)
    _seen: set[tuple[int | None, str]] = field(default_factory=set)

    def add(self, code: str, line: int, message: str, severity: Severity, sentence: int | None = None) -> None:
        """Keeps a finding, unless the sentence (or the file) already has one of this code."""
        if (sentence, code) not in self._seen:
            self._seen.add((sentence, code))
            self.add_each(code, line, message, severity, sentence)

    def add_each(self, code: str, line: int, message: str, severity: Severity, sentence: int | None = None) -> None:
        """Keeps a finding whatever was found before."""
        self.issues.append(Issue(code, self.path, line, message, severity, sentence))


def shown(text: str, limit: int = 40) -> str:
    """The text as printable ASCII within quotes, cut to `limit` characters: safe in any terminal or log."""
    return ascii(text if len(text) <= limit else text[: limit - 1] + "…")
