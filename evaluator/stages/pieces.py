"""What a model read for an item, piece by piece: from the links and rows that encoding left."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.stages.encode import ModelFolder, open_cutter
from evaluator.store.run import RunFolder, read_stage


def pieces_read(run: RunFolder, model: ModelFolder, item_ids: Collection[int]) -> dict[int, list[str]]:
    """The pieces the model read by item, masks and special pieces included; items that were skipped have none."""
    tokenizer = model.bundle.tokenizer_fingerprint
    rows, links = run.rows(tokenizer), run.links(tokenizer)
    shards = int((read_stage(run.items()) or {}).get("shards", 0))
    wanted = pa.array(sorted(item_ids), pa.uint64())
    linked = [links.read(shard).filter(pc.is_in(pc.field("item_id"), wanted)) for shard in range(shards)]
    found = pa.concat_tables(linked).filter(pc.field("row").is_valid()) if linked else links.schema.empty_table()
    if not found.num_rows:
        return {}
    shard_of_row, place = np.divmod(found["row"].to_numpy(), rows.read(0).num_rows)
    items, cutter = found["item_id"].to_numpy(), open_cutter(model)
    pieces: dict[int, list[str]] = {}
    for shard in np.unique(shard_of_row).tolist():
        mine = np.flatnonzero(shard_of_row == shard)
        for item, ids in zip(items[mine].tolist(), rows.read(shard)["ids"].take(place[mine]).to_pylist(), strict=True):
            pieces[item] = cutter.pieces(ids)
    return pieces
