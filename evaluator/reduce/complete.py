"""Complete cases: which base items count. Runs once, on the joined outcomes, before every table of the report.

Comparing conditions or models on different items would confound the comparison with the items, so a base item counts in
all cells of its treebank or in none.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.reduce.grid import Grid, flags, grids
from evaluator.types import Bools


@dataclass(frozen=True, slots=True)
class Part:
    """What takes part in a treebank's complete cases."""

    models: Bools  # (models,) has at least one scored row
    cells: Bools  # (cells,) scored at least once by a model that takes part
    slots: Bools  # (slots,)


def taking_part(grid: Grid, scored: Bools) -> Part:
    """The models and cells that take part; `scored` is dense [models, slots, base items].

    A model without one scored row in the treebank, or a cell that no such model ever scored (+L in a treebank without
    lemmas), would leave nothing complete: it is left out, and its own cells say so.
    """
    models: Bools = np.asarray(scored.any(axis=(1, 2)))
    cells = np.zeros(len(grid.cells), dtype=np.bool_)
    cells[grid.cell_of_slot[scored.any(axis=(0, 2))]] = True
    return Part(models, cells, cells[grid.cell_of_slot])


def filled_base_items(dense: Bools) -> Bools:
    """Which base items are true everywhere, (base items,); none when no model or no slot takes part."""
    if not dense.shape[0] * dense.shape[1]:
        return np.zeros(dense.shape[2], dtype=np.bool_)
    return np.asarray(dense.all(axis=(0, 1)))


def mark_complete(outcomes: pa.Table) -> pa.Table:
    """The outcomes with `complete` set: the row counts in the cells.

    A row is complete iff its base item has every slot (condition × lemma × draw) of its treebank scored under every
    model of its treebank (see `taking_part` for what is left out). A gold that the model's pieces cannot express is a
    scored miss and does not make a base item incomplete.
    """
    scored = flags(outcomes, "scored")
    complete = np.zeros(outcomes.num_rows, dtype=np.bool_)
    for grid in grids(outcomes):
        dense = grid.scatter(scored, fill=False)
        part = taking_part(grid, dense)
        whole = filled_base_items(dense[np.ix_(part.models, part.slots)])
        keep = part.models[:, None, None] & part.slots[None, :, None] & whole[None, None, :]
        complete[grid.rows] = keep.ravel()[grid.flat]
    field = pa.field("complete", pa.bool_(), nullable=False)
    if "complete" not in outcomes.column_names:
        return outcomes.append_column(field, pa.array(complete))
    return outcomes.set_column(outcomes.column_names.index("complete"), field, pa.array(complete))
