"""Treebank files to sentences: sound blocks go through the `conllu` package, damaged ones are counted by code.

`conllu` token lists are accepted and returned at the edge (`sentence_from_tokenlist`, `tokenlists`).
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conllu import Metadata, Token, TokenList
from conllu.parser import parse_comment_line, parse_token_and_metadata
from conllu.serializer import serialize_field

from evaluator.errors import TreebankError
from evaluator.items.randomness import address
from evaluator.treebank.issues import Findings, Issue, shown
from evaluator.treebank.scan import Block, Scan, scan
from evaluator.treebank.structure import FIELDS, cycle_of
from evaluator.treebank.text import folded, source_text
from evaluator.treebank.units import is_sound_feats, units_of
from evaluator.types import Sentence


def _raw(fields: list[str], index: int) -> str:
    """The field as it stands, so that FEATS, DEPS and MISC pass through untouched."""
    return fields[index]


_RAW_FIELDS: dict[str, Callable[[list[str], int], Any]] = dict.fromkeys(
    ("id", "xpos", "feats", "head", "deps", "misc"), _raw
)


@dataclass(slots=True)
class Counts:
    """How much was read. Sentences: `sentences + bad_sentences` is every sentence of the files."""

    sentences: int = 0
    """Usable sentences."""
    bad_sentences: int = 0
    words: int = 0
    """Word lines of ten fields, those of damaged sentences included (but not of undecodable ones)."""
    ranges: int = 0
    empty: int = 0
    usable_words: int = 0
    units: int = 0
    not_a_tree: int = 0
    """Usable sentences whose words or units do not form a tree."""
    excluded: Counter[str] = field(default_factory=Counter)
    """Damaged sentences by the code of their first damage; adds up to `bad_sentences`."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The usable sentences of a treebank, and everything found on the way."""

    sentences: list[Sentence]
    issues: list[Issue]
    """Findings about the format."""
    notes: list[Issue]
    """Remarks on text and annotation; they exclude nothing."""
    counts: Counts


def read_treebank(paths: Sequence[str | Path], *, name: str, language: str, strict: bool = False) -> ReadResult:
    """The sentences of a treebank's files, in file order, with issues and counts.

    A damaged sentence is excluded and counted; `strict` raises on the first instead. TreebankError when a file
    cannot be read at all: missing, UTF-16, compressed, or with its text withheld.
    """
    result = ReadResult([], [], [], Counts())
    seen: dict[str, str] = {}
    blocks = 0
    for path in paths:
        with _collector_paused():
            blocks += _read_file(result, path, name, language, blocks, seen, strict)
    return result


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Nothing; meanwhile the cycle collector rests. Reading makes no cycles, and without it is a quarter faster."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_file(
    result: ReadResult, path: str | Path, name: str, language: str, before: int, seen: dict[str, str], strict: bool
) -> int:
    """How many sentences one file has, damaged ones counted; the usable ones are added to the result."""
    scanned = scan(read_bytes(path), str(path), seen=seen)
    if scanned.refused:
        raise TreebankError(scanned.refused.message, where=scanned.refused.where)
    damage = next((issue for issue in scanned.issues if issue.severity == "error"), None)
    if strict and damage:
        raise TreebankError(damage.message, where=damage.where, hint="strict reading stops here")
    result.issues.extend(scanned.issues)
    result.notes.extend(scanned.notes)
    _add_file(result, scanned, name, language, before, seen)
    return len(scanned.blocks)


def read_scan(scanned: Scan, *, name: str, language: str) -> ReadResult:
    """The sentences of one scanned file; of a refused file every sentence counts as damaged."""
    result = ReadResult([], list(scanned.issues), list(scanned.notes), Counts())
    taken = {block.sent_id: "" for block in scanned.blocks if block.sent_id is not None}
    _add_file(result, scanned, name, language, 0, taken)
    return result


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file; TreebankError, in one line, when there are none to be had."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TreebankError(f"cannot be read: {reason}", where=str(path), hint="give an existing file") from None


def _add_file(result: ReadResult, scanned: Scan, name: str, language: str, before: int, taken: dict[str, str]) -> None:
    """Adds the sentences, notes and counts of one file; `before` sentences stood in earlier files, and no id made here
    is one of `taken`."""
    counts = result.counts
    notes = Findings(scanned.path)
    checked_feats: set[str] = set()
    for block in scanned.blocks:
        structure = block.structure
        counts.words += structure.words
        counts.ranges += structure.ranges
        counts.empty += structure.empty
        error = structure.error or (scanned.refused.code if scanned.refused else None)
        if error:
            counts.bad_sentences += 1
            counts.excluded[error] += 1
            continue
        place = ""
        if block.sent_id is None:
            place = f"#{before + block.ordinal}"
            while place in taken:
                place = f"#{place}"
            taken[place] = f"{scanned.path}:{block.line}"
        sentence = sentence_of(block, scanned.path, name, language, place)
        result.sentences.append(sentence)
        counts.sentences += 1
        counts.usable_words += structure.words
        counts.units += len(sentence.units)
        counts.not_a_tree += not sentence.is_tree
        if structure.is_tree and not sentence.is_tree:
            message = "the words form a tree but the units do not (a multiword token takes part in a cycle)"
            notes.add("units_not_a_tree", block.line, message, "note", block.ordinal)
        if block.text is not None and block.text != sentence.text and folded(block.text) != folded(sentence.text):
            message = "`# text` differs from the forms (the forms count)"
            notes.add("text_mismatch", block.line, message, "note", block.ordinal)
        for line, fields in block.rows:
            feats = fields[5]
            if feats not in checked_feats:
                checked_feats.add(feats)
                if not is_sound_feats(feats):
                    message = f"FEATS {shown(feats)} is not Name=Value items (kept as it is)"
                    notes.add_each("feats_malformed", line, message, "note", block.ordinal)
    result.notes.extend(notes.issues)
    result.notes.sort(key=lambda note: (note.path, note.line))


def sentence_of(block: Block, path: str, name: str, language: str, place: str) -> Sentence:
    """The sentence of a sound block; `place` is its id where the treebank gives none."""
    units = units_of(tokenlist_of(block), block.structure.heads)
    sent_id = block.sent_id if block.sent_id is not None else place
    is_tree = block.structure.is_tree
    if is_tree and block.structure.ranges:
        heads = [unit.head + 1 for unit in units]
        is_tree = heads.count(0) == 1 and cycle_of(heads) is None
    return Sentence(
        name, language, sent_id, source_text(units), units, f"{path}:{block.line}", is_tree, address(name, sent_id)
    )


def tokenlist_of(block: Block) -> TokenList:
    """The `conllu` token list of a sound block, every field as the raw string of the file.

    The package splits at two spaces and trims lines; where that would change a word, the list is built from our own
    fields instead.
    """
    text = "\n".join(block.lines)
    if "  " not in text and not any(line[-1].isspace() for line in block.lines):
        return parse_token_and_metadata(text, FIELDS, _RAW_FIELDS)
    metadata = Metadata()
    for line in block.lines:
        if line[0] == "#":
            metadata.update(parse_comment_line(line))
    return TokenList([Token(zip(FIELDS, fields, strict=True)) for _, fields in block.rows], metadata, FIELDS)


def tokenlists(path: str | Path) -> Iterator[TokenList]:
    """The usable sentences of a file as `conllu` token lists with raw string fields, in file order."""
    scanned = scan(read_bytes(path), str(path))
    if scanned.refused:
        raise TreebankError(scanned.refused.message, where=scanned.refused.where)
    return (tokenlist_of(block) for block in scanned.blocks if block.error is None)


def sentence_from_tokenlist(tokens: TokenList, *, name: str, language: str, place: str = "#1") -> Sentence:
    """The sentence of a `conllu` token list, its fields parsed or raw; TreebankError when its structure is damaged."""
    lines = [f"# {key} = {value}" for key, value in tokens.metadata.items() if value]
    lines += ["\t".join(_field(token, key) for key in FIELDS) for token in tokens]
    where = str(tokens.metadata.get("sent_id") or place)
    scanned = scan("\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass"), where)
    damage = next((issue for issue in scanned.issues if issue.severity == "error"), None)
    if len(scanned.blocks) != 1 or damage:
        reason = damage.message if damage else f"{len(scanned.blocks)} sentences instead of 1"
        raise TreebankError(f"token list: {reason}", where=where)
    return sentence_of(scanned.blocks[0], where, name, language, place)


def _field(token: Token, key: str) -> str:
    """One field of a token as CoNLL-U writes it; `_` for None and for empty lists and dicts."""
    value = token.get(key)
    return "_" if value is None or value in ([], {}) else serialize_field(value)
