"""List columns as flat values with offsets, and comparisons of spans without a Python object per item."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.types import Bools, Int64s


@dataclass(frozen=True, slots=True)
class Spans:
    """Span i is `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[Any]
    offsets: Int64s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def starts(self) -> Int64s:
        return self.offsets[:-1]

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    @property
    def owner(self) -> Int64s:
        """(values,) the span of each value."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def within(self) -> Int64s:
        """(values,) the place of each value in its span."""
        return np.arange(len(self.values)) - np.repeat(self.starts, self.lengths)

    def any(self, flags: Bools) -> Bools:
        """(spans,) whether any value of a span is flagged."""
        return self.count(flags) > 0

    def count(self, flags: Bools) -> Int64s:
        """(spans,) how many values of a span are flagged."""
        sums = np.zeros(len(flags) + 1, dtype=np.int64)
        np.cumsum(flags, out=sums[1:])
        return sums[self.offsets[1:]] - sums[self.offsets[:-1]]

    def take(self, which: Int64s) -> "Spans":
        """The spans `which`, in that order."""
        lengths = self.lengths[which]
        offsets = starts_of(lengths)
        at = np.arange(int(offsets[-1])) + np.repeat(self.starts[which] - offsets[:-1], lengths)
        return Spans(self.values[at], offsets)

    def differ(self, other: "Spans") -> Bools:
        """(spans,) whether span i is not span i of `other`."""
        unequal: Bools = self.lengths != other.lengths
        same = np.flatnonzero(~unequal)
        mine, theirs = self.take(same), other.take(same)
        unequal[same] = mine.any(mine.values != theirs.values)
        return unequal


def starts_of(lengths: Int64s) -> Int64s:
    """(spans + 1,) offsets of spans of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def whole(column: pa.ChunkedArray) -> Any:
    """The column as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def spans(column: Any) -> Spans:
    """The spans of a list column; a null is an empty span, a null value −1."""
    array = whole(column) if isinstance(column, pa.ChunkedArray) else column
    lengths = np.asarray(array.value_lengths().fill_null(0), dtype=np.int64)
    values = array.flatten()
    if pa.types.is_list(values.type):
        raise TypeError("a list of lists: take `inner` of it")
    return Spans(_numpy(values), starts_of(lengths))


def inner(column: Any) -> tuple[Int64s, Spans]:
    """A list-of-lists column as the offsets of its outer spans and the inner ones."""
    array = whole(column) if isinstance(column, pa.ChunkedArray) else column
    lengths = np.asarray(array.value_lengths().fill_null(0), dtype=np.int64)
    return starts_of(lengths), spans(array.flatten())


def _numpy(values: Any) -> npt.NDArray[Any]:
    if values.null_count and pa.types.is_integer(values.type):
        values = values.fill_null(-1)
    return np.asarray(values.to_numpy(zero_copy_only=False))


def numbers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A numeric or boolean column; null is −1, False or NaN."""
    array = whole(column)
    if array.null_count and not pa.types.is_floating(array.type):
        array = array.fill_null(False if pa.types.is_boolean(array.type) else -1)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def indexed(values: Iterable[str]) -> tuple[list[str], Int64s]:
    """The distinct strings, sorted, and the place of each value among them. (numpy's own would drop final NULs.)"""
    every = list(values)
    distinct = sorted(set(every))
    place = {value: i for i, value in enumerate(distinct)}
    return distinct, np.fromiter((place[v] for v in every), dtype=np.int64, count=len(every))


def codes(*columns: pa.ChunkedArray) -> Int64s:
    """(rows,) one number per distinct combination of the columns' values; null is a value of its own."""
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        coded = whole(column).dictionary_encode(null_encoding="encode")
        size = len(coded.dictionary)
        indices = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        found = np.unique(found * max(size, 1) + indices, return_inverse=True)[1].astype(np.int64)
    return found


def first_of(group: Int64s) -> Int64s:
    """(rows,) the first row of each row's group."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)
