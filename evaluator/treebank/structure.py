"""The rules inside one block: ten fields, the sequence of IDs, and whether the heads make a tree.

No recursion and one pass over the heads, so that neither a cycle nor a chain of thousands of words can stop a run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.treebank.issues import Findings, Severity, shown

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
MAX_WORDS = 32_767
"""Heads and orders are stored in 16 bits."""
BAD_HEAD = -1

_COMPOUND_ID = re.compile(r"([0-9]{1,9})([-.])([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_SMALL_NUMBERS = {str(number): number for number in range(1000)}


@dataclass(slots=True)
class Structure:
    """What the word lines of one block are: `heads[i]` is the head of word i + 1, 0 for the root, or BAD_HEAD."""

    words: int = 0
    ranges: int = 0
    empty: int = 0
    heads: list[int] = field(default_factory=list)
    error: str | None = None
    """Code of the first damage that excludes the sentence."""
    is_tree: bool = False


@dataclass(slots=True)
class _Report:
    """Where findings of one block go."""

    findings: Findings
    sentence: int
    structure: Structure

    def damage(self, code: str, line: int, message: str) -> None:
        self.structure.error = self.structure.error or code
        self.findings.add(code, line, f"{message} (the sentence is excluded)", "error", self.sentence)

    def remark(self, code: str, line: int, message: str, severity: Severity = "warning") -> None:
        self.findings.add(code, line, message, severity, self.sentence)


def examine(rows: Sequence[tuple[int, list[str]]], findings: Findings, sentence: int) -> Structure:
    """The structure of a block, given (line number, fields) of its lines that are not comments."""
    structure = Structure()
    report = _Report(findings, sentence, structure)
    ids = _Ids(report)
    raw_heads: list[tuple[int, str]] = []
    for line, fields in rows:
        if len(fields) != 10:
            report.damage(f"field_count_{len(fields)}", line, f"{len(fields)} fields instead of 10; only TAB separates")
            continue
        if "" in fields:
            _empty_field(fields, line, report)
        if fields[1].isspace():
            report.remark("whitespace_form", line, "the FORM is only white space (kept, but never a target)")
        if ids.is_word(fields[0], line):
            raw_heads.append((line, fields[6]))
    ids.close()
    structure.words = len(raw_heads)
    if structure.words == 0 and structure.error is None:
        report.damage("no_words", rows[0][0], "the sentence holds no word")
    if structure.words > MAX_WORDS:
        report.damage("too_many_words", rows[0][0], f"{structure.words} words; at most {MAX_WORDS} can be handled")
    if structure.error is None:
        _examine_heads(raw_heads, report)
    return structure


@dataclass(slots=True)
class _Ids:
    """Where the sequence of IDs stands: words 1, 2, …; ranges before their first word; empty nodes n.1, n.2, …"""

    report: _Report
    last: int = 0
    """The last word."""
    last_empty: int = 0
    """k of the last empty node after it."""
    range_end: int = 0
    range_line: int = 0

    def is_word(self, ident: str, line: int) -> bool:
        """Whether the ID is that of a word; it is checked against the sequence, and the sequence moves on."""
        if ident == str(self.last + 1):
            self.last += 1
            self.last_empty = 0
            return True
        compound = _COMPOUND_ID.fullmatch(ident)
        if compound:
            first, second = int(compound[1]), int(compound[3])
            if compound[2] == "-":
                self._range(first, second, line)
            else:
                self._empty(first, second, line)
            return False
        if _NUMBER.fullmatch(ident):
            self.report.damage("id_sequence", line, f"ID {ident} where {self.last + 1} was expected")
            self.last, self.last_empty = int(ident), 0
            return True
        self.report.damage("id_format", line, f"{shown(ident)} is no ID; expected a number, n-m or n.k")
        return False

    def _range(self, first: int, end: int, line: int) -> None:
        self.report.structure.ranges += 1
        if first <= self.range_end:
            self.report.damage("range_overlap", line, f"range {first}-{end} overlaps one that ends at {self.range_end}")
        elif end < first:
            self.report.damage("range_inverted", line, f"range {first}-{end} ends before it starts")
        elif first != self.last + 1:
            self.report.damage("range_position", line, f"range {first}-{end} does not stand before word {first}")
        self.range_end, self.range_line = max(self.range_end, end), line

    def _empty(self, word: int, k: int, line: int) -> None:
        self.report.structure.empty += 1
        due = (self.last, self.last_empty + 1)
        if (word, k) != due:
            self.report.damage("empty_node_sequence", line, f"empty node {word}.{k} where {due[0]}.{due[1]} was due")
        self.last_empty = k

    def close(self) -> None:
        """Checks, after the last line, that no range is left open."""
        if self.range_end > self.last:
            message = f"the range ends at {self.range_end} but the words end at {self.last}"
            self.report.damage("range_unfinished", self.range_line, message)


def _empty_field(fields: list[str], line: int, report: _Report) -> None:
    """Notes an empty field; without an ID or FORM there is no word, any other field counts as missing."""
    names = [name for name, value in zip(FIELDS, fields, strict=True) if value == ""]
    if fields[0] == "" or fields[1] == "":
        report.damage("empty_field", line, f"empty {names[0].upper()}")
    else:
        report.remark("empty_field", line, f"empty {names[0].upper()}, read as missing (write `_`)", "error")


def _examine_heads(raw_heads: list[tuple[int, str]], report: _Report) -> None:
    """Fills `heads` and `is_tree`, and notes what keeps the heads from being a tree; such a sentence is still used."""
    structure, count = report.structure, len(raw_heads)
    heads = structure.heads
    numbers = True
    for line, raw in raw_heads:
        head = _SMALL_NUMBERS.get(raw)
        if head is None:
            if not (raw.isascii() and raw.isdecimal()):
                report.remark("head_not_number", line, f"HEAD {shown(raw)} is no number (read as unattached)")
                numbers = False
                heads.append(BAD_HEAD)
                continue
            head = int(raw) if len(raw) < 10 else count + 1
        if head > count:
            report.remark("head_out_of_range", line, f"HEAD {shown(raw)} of {count} words (read as unattached)")
            head = BAD_HEAD
        heads.append(head)
    looped = cycle_of(heads)
    if looped is not None:
        report.remark("cycle", raw_heads[looped - 1][0], f"the heads form a cycle at word {looped} (not a tree)")
    roots = heads.count(0)
    if numbers and roots != 1:
        report.remark(f"roots_{roots}", raw_heads[0][0], f"{roots} roots instead of 1 (not a tree)")
    structure.is_tree = looped is None and roots == 1 and BAD_HEAD not in heads


def cycle_of(heads: Sequence[int]) -> int | None:
    """A word (1-based) on a cycle of heads, or None; `heads[i]` ≤ 0 ends a path. Visits each word once."""
    visited_from = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word > 0 and not visited_from[word]:
            visited_from[word] = start
            word = heads[word - 1]
        if word > 0 and visited_from[word] == start:
            return word
    return None
