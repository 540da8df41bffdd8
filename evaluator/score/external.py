"""Where an ONNX graph says its weights lie, read from the file itself, without the `onnx` package.

onnxruntime follows whatever path a graph names, so a graph from a stranger could have it open any file of this machine.
The walk is over protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) along the fields of
onnx.proto that can hold a tensor, subgraphs and functions included; everything else is stepped over by its length.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

from evaluator.errors import BundleError

_MESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
"""Message → number of a field that leads to a tensor's external data → message of that field."""
_MAX_DEPTH = 100
"""Protobuf's own limit."""
_VARINT, _EIGHT_BYTES, _SPAN, _FOUR_BYTES = 0, 1, 2, 5


def external_locations(graph: Path) -> set[str]:
    """The names of the files in which a graph's tensors say they lie; none when all are inside it.

    Errors: BundleError when the file is not laid out as protobuf writes a graph.
    """
    try:
        with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return set(_locations(content, 0, len(content), "model", 0))
    except (ValueError, IndexError) as error:
        raise BundleError(
            "cannot load the graph: it is no ONNX file, or a damaged one", where=str(graph), hint="export it again"
        ) from error


def _locations(content: mmap.mmap, at: int, end: int, message: str, depth: int) -> Iterator[str]:
    """The locations named inside one message. Errors: ValueError when it is no message."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    below = _MESSAGES[message]
    while at < end:
        field, first, last = _field(content, at, end)
        at = last
        inner = below.get(field)
        if inner is None or first < 0:
            continue
        if inner != "entry":
            yield from _locations(content, first, last, inner, depth + 1)
            continue
        key, value = _entry(content, first, last)
        if key == b"location":
            yield value.decode("utf-8", "backslashreplace")


def _entry(content: mmap.mmap, at: int, end: int) -> tuple[bytes, bytes]:
    """Key and value of a StringStringEntryProto; of a field that stands twice, the last counts."""
    found = {1: b"", 2: b""}
    while at < end:
        field, first, last = _field(content, at, end)
        if field in found and first >= 0:
            found[field] = content[first:last]
        at = last
    return found[1], found[2]


def _field(content: mmap.mmap, at: int, end: int) -> tuple[int, int, int]:
    """Number of the field at a place, where its content starts (−1: it is a number) and where it ends."""
    tag, at = _varint(content, at, end)
    kind, first = tag & 7, -1
    if kind == _VARINT:
        _, last = _varint(content, at, end)
    elif kind == _SPAN:
        length, first = _varint(content, at, end)
        last = first + length
    elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
        last = at + (8 if kind == _EIGHT_BYTES else 4)
    else:
        raise ValueError(f"wire type {kind}")
    if last > end or not tag >> 3:
        raise ValueError("a field beyond its message")
    return tag >> 3, first, last


def _varint(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number and the place after it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("a number without an end")
