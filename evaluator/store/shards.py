"""Arrow IPC shards: a finished file is the completion mark, and its metadata says what made it and its checksum.

Arrow checks neither the bytes nor the offsets that it reads: a hole in the middle of a file would be read as other
numbers, or end the process. So the metadata hold the CRC-32 of the file, taken with eight zeros in its own two places
(the schema stands at the start of the file and again in its footer).
"""

import io
import zlib
from dataclasses import dataclass

import pyarrow as pa

from evaluator.errors import StoreError
from evaluator.store.location import Location

FINGERPRINT = b"morphorder.fingerprint"
ROWS = b"morphorder.rows"
CHECKSUM = b"morphorder.crc32"
MADE_BY = b"morphorder.made_by"
_MARK = b"crc32:"
_ZEROS = b"00000000"


@dataclass(frozen=True, slots=True)
class ShardSet:
    """The shards of one table: where they are, their schema, and the fingerprint that each must carry."""

    location: Location
    prefix: str
    schema: pa.Schema
    fingerprint: str

    def name(self, shard: int) -> str:
        return f"{self.prefix}-{shard:05d}.arrow"

    def write(self, shard: int, table: pa.Table, made_by: str = "") -> None:
        """Writes one shard, all or nothing. Columns must equal the declared schema; `made_by` is kept as a remark."""
        if table.schema.remove_metadata() != self.schema:
            raise AssertionError(f"{self.prefix}: columns differ from the declared schema:\n{table.schema}")
        marks = {FINGERPRINT: self.fingerprint.encode(), ROWS: str(table.num_rows).encode(), MADE_BY: made_by.encode()}
        self.location.write(self.name(shard), arrow_bytes(table, marks))

    def read(self, shard: int) -> pa.Table:
        """One shard. Errors: StoreError when it is missing, damaged, or was made by something else."""
        return self._marked(shard).replace_schema_metadata(None)

    def find(self, shard: int) -> tuple[pa.Table, str] | None:
        """The shard and the remark it was written with; None when it is missing, damaged or foreign."""
        if not self.location.exists(self.name(shard)):
            return None
        try:
            table = self._marked(shard)
        except StoreError:
            return None
        return table.replace_schema_metadata(None), _remark(table.schema)

    def _marked(self, shard: int) -> pa.Table:
        """See `read`; the marks are still among the schema's metadata."""
        name = self.name(shard)
        where = f"{self.location}/{name}"
        try:
            content = self.location.read(name)
            if not _is_whole(memoryview(content)):
                raise StoreError("damaged shard: its checksum is another", where=where, hint="delete it and rerun")
            table = pa.ipc.open_file(content).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"damaged shard: {error}", where=where, hint="delete it and rerun") from error
        marks = table.schema.metadata or {}
        if marks.get(FINGERPRINT, b"").decode() != self.fingerprint:
            raise StoreError("shard was made by other settings or data", where=where, hint="choose another --out")
        if table.schema.remove_metadata() != self.schema or int(marks.get(ROWS, b"-1")) != table.num_rows:
            raise StoreError("shard does not hold what it declares", where=where, hint="delete it and rerun")
        return table

    def is_done(self, shard: int) -> bool:
        """Whether the shard is there, whole and made by this fingerprint; a damaged or foreign one is not."""
        return self.find(shard) is not None

    def made_by(self, shard: int) -> str:
        """The remark a shard was written with; empty where it has none, or cannot be read."""
        try:
            schema = pa.ipc.open_file(self.location.read(self.name(shard))).schema
        except (pa.ArrowInvalid, StoreError):
            return ""
        return _remark(schema)

    def are_done(self, shards: int) -> bool:
        """Whether shards 0 … shards - 1 are all done."""
        return all(self.is_done(shard) for shard in range(shards))

    def read_all(self, shards: int) -> pa.Table:
        """All shards, in order, as one table."""
        if shards == 0:
            return self.schema.empty_table()
        return pa.concat_tables([self.read(shard) for shard in range(shards)])


def _remark(schema: pa.Schema) -> str:
    return str((schema.metadata or {}).get(MADE_BY, b"").decode())


def arrow_bytes(table: pa.Table, marks: dict[bytes, bytes]) -> bytes:
    """The table as an Arrow IPC file with these marks and its checksum among the metadata."""
    sink = pa.BufferOutputStream()
    schema = table.schema.with_metadata({**marks, CHECKSUM: _MARK + _ZEROS})
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table)
    content = bytearray(sink.getvalue())
    checksum = f"{zlib.crc32(content):08x}".encode()
    for place in _places(memoryview(content)):
        content[place : place + len(checksum)] = checksum
    return bytes(content)


def _places(content: memoryview) -> tuple[int, int]:
    """Where the two copies of the checksum stand; −1 where one is missing."""
    head = bytes(content[: 1 << 16]).find(_MARK)
    footer = int.from_bytes(content[-10:-6], "little") + 10  # its length stands before the closing "ARROW1"
    tail = bytes(content[-footer:]).rfind(_MARK) if 10 < footer <= len(content) else -1
    skip = len(_MARK)
    return (head + skip if head >= 0 else -1, len(content) - footer + tail + skip if tail >= 0 else -1)


def _is_whole(content: memoryview) -> bool:
    """Whether the bytes are those that were written."""
    size = len(_ZEROS)
    first, last = _places(content)
    if first < 0 or last < first + size:
        return False
    checksum = zlib.crc32(content[:first])
    for part in (_ZEROS, content[first + size : last], _ZEROS, content[last + size :]):
        checksum = zlib.crc32(part, checksum)
    return bytes(content[first : first + size]) == bytes(content[last : last + size]) == f"{checksum:08x}".encode()


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file: zstd, page index, row groups of bounded size."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=100_000,
        write_page_index=True,
        use_content_defined_chunking=True,
    )
    return sink.getvalue()
