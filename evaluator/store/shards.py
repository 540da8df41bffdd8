"""Arrow IPC shards: a finished file is the completion mark, and its metadata says what made it."""

import io
from dataclasses import dataclass

import pyarrow as pa

from evaluator.errors import StoreError
from evaluator.store.location import Location

FINGERPRINT = b"morphorder.fingerprint"
ROWS = b"morphorder.rows"


@dataclass(frozen=True, slots=True)
class ShardSet:
    """The shards of one table: where they are, their schema, and the fingerprint that each must carry."""

    location: Location
    prefix: str
    schema: pa.Schema
    fingerprint: str

    def name(self, shard: int) -> str:
        return f"{self.prefix}-{shard:05d}.arrow"

    def write(self, shard: int, table: pa.Table) -> None:
        """Writes one shard, all or nothing. Columns must equal the declared schema."""
        if table.schema.remove_metadata() != self.schema:
            raise AssertionError(f"{self.prefix}: columns differ from the declared schema:\n{table.schema}")
        marks = {FINGERPRINT: self.fingerprint.encode(), ROWS: str(table.num_rows).encode()}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self.schema.with_metadata(marks)) as writer:
            writer.write_table(table)
        self.location.write(self.name(shard), sink.getvalue())

    def read(self, shard: int) -> pa.Table:
        """One shard. Errors: StoreError when it is missing, damaged, or was made by something else."""
        name = self.name(shard)
        where = f"{self.location}/{name}"
        try:
            table = pa.ipc.open_file(self.location.read(name)).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"damaged shard: {error}", where=where, hint="delete it and rerun") from error
        marks = table.schema.metadata or {}
        if marks.get(FINGERPRINT, b"").decode() != self.fingerprint:
            raise StoreError("shard was made by other settings or data", where=where, hint="choose another --out")
        if table.schema.remove_metadata() != self.schema or int(marks.get(ROWS, b"-1")) != table.num_rows:
            raise StoreError("shard does not hold what it declares", where=where, hint="delete it and rerun")
        return table.replace_schema_metadata(None)

    def is_done(self, shard: int) -> bool:
        """Whether the shard is there, whole and made by this fingerprint; a damaged or foreign one is not."""
        if not self.location.exists(self.name(shard)):
            return False
        try:
            self.read(shard)
        except StoreError:
            return False
        return True

    def are_done(self, shards: int) -> bool:
        """Whether shards 0 … shards - 1 are all done."""
        return all(self.is_done(shard) for shard in range(shards))

    def read_all(self, shards: int) -> pa.Table:
        """All shards, in order, as one table."""
        if shards == 0:
            return self.schema.empty_table()
        return pa.concat_tables([self.read(shard) for shard in range(shards)])


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
