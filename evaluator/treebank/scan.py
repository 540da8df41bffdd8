"""Bytes of a CoNLL-U file to blocks and issues: the structural scan that stands before the `conllu` package.

Alone, that package merges, guesses and cuts. Here lines end at LF only, fields at TAB only, every finding has a line
number, and damage excludes one sentence, never the file. Nothing is decoded with replacement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from evaluator.treebank.issues import Findings, Issue
from evaluator.treebank.structure import Structure, examine

_BOM = b"\xef\xbb\xbf"
_NAMED_COMMENT = re.compile(r"#\s*(sent_id|text)\s*=(.*)", re.DOTALL)
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ARCHIVES = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Block:
    """One sentence of a file as it stands there; `error` is set when it cannot be used."""

    ordinal: int
    """1-based among the sentences of the file, damaged ones counted."""
    line: int
    """Line number of the first word line."""
    lines: tuple[str, ...]
    """Its lines without their ends, comments included."""
    rows: tuple[tuple[int, list[str]], ...]
    """(line number, fields) of every line that is no comment; empty when the bytes are not UTF-8."""
    sent_id: str | None
    """The first `# sent_id`; None when missing or already used by an earlier sentence."""
    text: str | None
    """The first `# text`."""
    structure: Structure

    @property
    def error(self) -> str | None:
        """Code of the damage that excludes this sentence, or None."""
        return self.structure.error


@dataclass(frozen=True, slots=True)
class Scan:
    """All of one file. `refused` is the issue that makes the whole file unusable, if any."""

    path: str
    blocks: list[Block]
    issues: list[Issue]
    """Findings about the format, in file order."""
    notes: list[Issue]
    """Remarks on comments and characters; they exclude nothing."""
    refused: Issue | None


def scan(data: bytes, path: str, *, seen: dict[str, str] | None = None) -> Scan:
    """The blocks and issues of a file's bytes. `seen` maps each sent_id met so far to its `path:line`, and is added to;
    pass one mapping through all files of a treebank."""
    findings, notes = Findings(path), Findings(path)
    encoding = _foreign_encoding(data)
    if encoding:
        kind, remedy = encoding
        findings.add(kind, 1, f"the file is {remedy}", "error")
        return Scan(path, [], findings.issues, [], findings.issues[-1])
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
        findings.add(
            "bom", 1, "byte order mark at the start of the file (dropped; save as UTF-8 without it)", "warning"
        )
    try:
        text, sound = data.decode("utf-8"), True
    except UnicodeDecodeError:
        text, sound = data.decode("utf-8", "surrogateescape"), False
    lines = _lines(text, findings)
    odd = "\0" in text or "\r" in text or _CONTROL.search(text) is not None
    scanner = _Scanner(path, findings, notes, {} if seen is None else seen, sound, odd)
    blocks = [block for first, chunk in _chunks(lines, findings) if (block := scanner.block(first, chunk))]
    refused = _withheld(blocks, findings)
    findings.issues.sort(key=lambda issue: issue.line)
    return Scan(path, blocks, findings.issues, notes.issues, refused)


def _foreign_encoding(data: bytes) -> tuple[str, str] | None:
    """Code and remedy when the bytes as a whole are an archive or in another encoding."""
    for magic, name in _ARCHIVES.items():
        if data.startswith(magic):
            return "compressed_file", f"{name}-compressed (unpack it first)"
    head = data[:400]
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "not_utf8_utf32", "UTF-32 (save it as UTF-8)"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(head) >= 8 and max(even, odd) * 5 > len(head)):
        return "not_utf8_utf16", "UTF-16 (save it as UTF-8)"
    if b"\r" in head and b"\n" not in data:
        return "cr_line_ends", "written with CR line ends only (save it with LF)"
    return None


def _lines(text: str, findings: Findings) -> list[str]:
    """The lines without their ends; CR before LF is dropped, with a warning."""
    lines = text.split("\n")
    if "\r" in text:
        first = next((number for number, line in enumerate(lines, 1) if line.endswith("\r")), None)
        if first is not None:
            findings.add("crlf", first, "line ends with CR LF (read as LF)", "warning")
            lines = [line.rstrip("\r") for line in lines]
    if len(lines) > 1 or lines[0]:
        ends_blank = len(lines) >= 3 and lines[-1] == "" and lines[-2] == ""
        if not ends_blank and any(line and not line.isspace() for line in reversed(lines)):
            message = "the file does not end with an empty line (its last sentence is kept)"
            findings.add("no_final_blank_line", len(lines) - (lines[-1] == ""), message, "warning")
    return lines


def _chunks(lines: list[str], findings: Findings) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of each run of lines between blank ones."""
    start = 0
    for number, line in enumerate(chain(lines, [""])):
        if line and not line.isspace():
            continue
        if line:
            message = "white space in a blank line (read as the end of a sentence)"
            findings.add("whitespace_in_blank_line", number + 1, message, "warning")
        if number > start:
            yield start + 1, lines[start:number]
        start = number + 1


@dataclass(slots=True)
class _Scanner:
    """The state that runs through the blocks of a file: how many there were, and which sent_ids are taken."""

    path: str
    findings: Findings
    notes: Findings
    seen: dict[str, str]
    sound: bool
    odd: bool
    """Whether the file holds a NUL, CR or control character anywhere."""
    ordinal: int = 0

    def block(self, first: int, lines: list[str]) -> Block | None:
        """The block of these lines, or None when they are only comments."""
        comments: list[str] = []
        rows: list[tuple[int, list[str]]] = []
        late = 0
        for number, line in enumerate(lines, first):
            if line[0] == "#":
                comments.append(line)
                if rows and not late:
                    late = number
            else:
                rows.append((number, line.split("\t")))
        if not rows:
            message = "comments without a sentence (ignored; they belong to no other sentence)"
            self.findings.add_each("comments_without_tokens", first, message, "warning")
            return None
        self.ordinal += 1
        if late:
            message = "comment inside a sentence (the sentence is not split)"
            self.findings.add("comment_inside_sentence", late, message, "warning", self.ordinal)
        if not self.sound and (broken := self._broken_line(first, lines)):
            message = "not UTF-8 (the sentence is excluded; save the file as UTF-8)"
            self.findings.add("bad_utf8", broken, message, "error", self.ordinal)
            return Block(self.ordinal, rows[0][0], (), (), None, None, Structure(error="bad_utf8"))
        structure = examine(rows, self.findings, self.ordinal)
        if self.odd:
            self._characters(first, lines, structure)
        sent_id, text = self._names(comments, rows[0][0])
        return Block(self.ordinal, rows[0][0], tuple(lines), tuple(rows), sent_id, text, structure)

    @staticmethod
    def _broken_line(first: int, lines: list[str]) -> int | None:
        return next((number for number, line in enumerate(lines, first) if _ESCAPED_BYTE.search(line)), None)

    def _characters(self, first: int, lines: list[str], structure: Structure) -> None:
        """Notes NUL, CR and control characters inside the lines."""
        for number, line in enumerate(lines, first):
            if "\0" in line:
                self.findings.add("nul_byte", number, "NUL byte (kept as it is; remove it)", "warning", self.ordinal)
            if "\r" in line:
                structure.error = structure.error or "carriage_return"
                message = "carriage return inside a line (the sentence is excluded)"
                self.findings.add("carriage_return", number, message, "error", self.ordinal)
            if _CONTROL.search(line):
                self.notes.add("control_character", number, "control character (kept as it is)", "note", self.ordinal)

    def _names(self, comments: list[str], line: int) -> tuple[str | None, str | None]:
        """The sentence's own id, if no earlier one has it, and its text."""
        ids: list[str] = []
        texts: list[str] = []
        for comment in comments:
            if match := _NAMED_COMMENT.match(comment):
                (ids if match[1] == "sent_id" else texts).append(match[2].strip())
        ids = [value for value in ids if value]
        if len(ids) != 1:
            message = (
                f"{len(ids)} sent_id comments instead of 1 ({'the first counts' if ids else 'named by its place'})"
            )
            self.findings.add(f"sent_id_count_{len(ids)}", line, message, "warning", self.ordinal)
        if len(texts) != 1:
            message = f"{len(texts)} text comments instead of 1 (the text is built from the forms)"
            self.notes.add("text_missing" if not texts else "text_repeated", line, message, "note", self.ordinal)
        sent_id = ids[0] if ids else None
        if sent_id is not None and sent_id in self.seen:
            message = f"sent_id already used at {self.seen[sent_id]} (this sentence is named by its place)"
            self.findings.add("sent_id_repeated", line, message, "warning", self.ordinal)
            sent_id = None
        elif sent_id is not None:
            self.seen[sent_id] = f"{self.path}:{line}"
        return sent_id, texts[0] if texts else None


def _withheld(blocks: list[Block], findings: Findings) -> Issue | None:
    """The refusal of a treebank whose text is withheld: every FORM is `_`. One underscore among words is a word."""
    rows = chain.from_iterable(block.rows for block in blocks if block.error is None)
    forms = {fields[1] for _, fields in rows}
    if forms != {"_"}:
        return None
    findings.add(
        "no_text", blocks[0].line, "every FORM is `_`: the text is withheld (get the licensed text first)", "error"
    )
    return findings.issues[-1]
