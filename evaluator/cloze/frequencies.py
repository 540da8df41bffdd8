"""How often every word occurs in plain text: streaming, in parallel, equal to one regular expression over the text.

**Word.** A maximal run of letters and digits, after NFC, as written (case kept): `re.findall(r"[^\\W_]+", text)`.
Everything else separates, so `dit-il`, `l'eau` and `don't` are two words each.

Words are not looked for in the text but in its distinct *chunks*: runs of bytes without an ASCII separator, found with
numpy, counted by Arrow. The expression runs once per distinct chunk.
"""

import bz2
import gzip
import lzma
import os
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from evaluator.errors import DatasetError

WORD = re.compile(r"[^\W_]+")
MARKER = "[x]"
BLOCK_BYTES = 8 << 20
COUNTS_HEADER = "#morphorder-counts"
PART_BYTES = 1 << 20
_IS_INSIDE = np.array([code >= 128 or chr(code).isalnum() for code in range(256)])


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Counts of words in one corpus."""

    counts: Mapping[str, int]
    tokens: int
    """All words, counted with repetition."""
    markers: int = 0
    """How often the blank's marker occurs: a corpus that holds it is no corpus for this benchmark."""

    def threshold(self, per_million: float) -> float:
        """The count from which a word is `high`: `per_million` × tokens / 10⁶."""
        return per_million * self.tokens / 1e6

    def level(self, count: int, per_million: float) -> str:
        """`high` iff count ≥ per_million × tokens / 10⁶ (and at least once), else `low`."""
        return "high" if count >= max(1.0, self.threshold(per_million)) else "low"


def count_text(text: str) -> Counter[str]:
    """The counts of a text by the definition itself: the plain twin of the fast path."""
    return Counter(WORD.findall(unicodedata.normalize("NFC", text)))


def count_block(block: bytes) -> tuple[dict[bytes, int], int]:
    """The chunks of a block of UTF-8 text with their counts, and the occurrences of the marker."""
    parts = [_chunks(part) for part in _cut(block, PART_BYTES)]
    counted = pa.chunked_array(parts, pa.binary()).value_counts()
    chunks = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    return chunks, block.count(MARKER.encode())


def _chunks(text: bytes) -> pa.BinaryArray:
    """The maximal runs of bytes that are no ASCII separator, copied without them into one array."""
    codes = np.frombuffer(text, np.uint8)
    inside = _IS_INSIDE[codes]
    edges = np.diff(inside.view(np.int8), prepend=0, append=0)
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(codes[inside])]
    return pa.BinaryArray.from_buffers(pa.binary(), len(lengths), buffers)


def _cut(block: bytes, size: int) -> Iterator[bytes]:
    """The block in parts of about `size` bytes, cut after white space: parts that fit a core's cache."""
    begin = 0
    while begin < len(block):
        end = min(begin + size, len(block))
        if end < len(block):
            end = max(block.rfind(b"\n", begin, end), block.rfind(b" ", begin, end)) + 1 or len(block)
        yield block[begin:end]
        begin = end


def words_of(chunks: Mapping[bytes, int]) -> Counter[str]:
    """The counts of words in counted chunks. Bytes that are no UTF-8 separate, as U+FFFD does."""
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        if chunk.isalnum() and chunk.isascii():
            words[chunk.decode("ascii")] += count
            continue
        for word in WORD.findall(unicodedata.normalize("NFC", chunk.decode("utf-8", "replace"))):
            words[word] += count
    return words


def count_files(paths: Sequence[Path], *, workers: int = 1, block_bytes: int = BLOCK_BYTES) -> Frequencies:
    """The frequencies of plain-text files (also .xz, .gz, .bz2) or of tables that `write_counts` wrote.

    Memory: a few blocks and the distinct chunks. Errors: DatasetError when a file cannot be read.
    """
    total: dict[bytes, int] = {}
    known: Counter[str] = Counter()
    markers = 0
    texts = []
    for path in paths:
        if (table := read_counts(path)) is None:
            texts.append(path)
        else:
            known.update(table.counts)
            markers += table.markers
    blocks = (block for path in texts for block in _blocks(path, block_bytes))
    for chunks, found in _counted(blocks, workers):
        for chunk, count in chunks.items():
            total[chunk] = total.get(chunk, 0) + count
        markers += found
    known.update(words_of(total))
    return Frequencies(known, known.total(), markers)


def _counted(blocks: Iterator[bytes], workers: int) -> Iterator[tuple[dict[bytes, int], int]]:
    """The counts of each block, at most two blocks per worker under way."""
    if workers <= 1:
        yield from map(count_block, blocks)
        return
    under_way: deque[Future[tuple[dict[bytes, int], int]]] = deque()
    with ProcessPoolExecutor(workers) as pool:
        for block in blocks:
            under_way.append(pool.submit(count_block, block))
            if len(under_way) >= 2 * workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """A file's content in blocks cut at ASCII white space, each about `size` bytes; a BOM at its start goes."""
    try:
        with _opened(path) as file:
            rest = b""
            first = True
            while read := file.read(size):
                block = rest + (read.removeprefix(b"\xef\xbb\xbf") if first else read)
                first = False
                cut = max(block.rfind(b"\n"), block.rfind(b" ")) + 1
                rest = block[cut:]
                if cut:
                    yield block[:cut]
            if rest:
                yield rest
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"cannot be read: {reason}", where=str(path), hint="give plain UTF-8 text") from error


def _opened(path: Path) -> BufferedIOBase:
    """The file's plain content, by its suffix."""
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return cast(BufferedIOBase, gzip.open(path))
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


def write_counts(frequencies: Frequencies, path: Path) -> None:
    """Writes the counts as `word TAB count`, most frequent first, under a line with tokens and markers."""
    lines = [f"{COUNTS_HEADER}\t{frequencies.tokens}\t{frequencies.markers}"]
    ordered = sorted(frequencies.counts.items(), key=lambda pair: (-pair[1], pair[0]))
    lines += [f"{word}\t{count}" for word, count in ordered]
    temporary = path.with_name(f"_{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise DatasetError(f"cannot write: {error.strerror}", where=str(path)) from error


def read_counts(path: Path) -> Frequencies | None:
    """The counts in a table that `write_counts` wrote; None when the file is something else."""
    header = f"{COUNTS_HEADER}\t".encode()
    try:
        with path.open("rb") as file:
            if file.read(len(header)) != header:
                return None
        lines = path.read_text(encoding="utf-8").splitlines()
        _, tokens, markers = lines[0].split("\t")
        pairs = (line.split("\t") for line in lines[1:])
        return Frequencies({word: int(count) for word, count in pairs}, int(tokens), int(markers))
    except OSError as error:
        raise DatasetError(
            f"cannot be read: {error.strerror}", where=str(path), hint="give plain UTF-8 text"
        ) from error
    except (ValueError, IndexError) as error:
        raise DatasetError(
            f"damaged table of counts: {error}", where=str(path), hint="make it again: morphorder cloze count"
        ) from error
