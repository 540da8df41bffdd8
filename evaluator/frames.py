"""A finished run for Python: its document, its tables, data frames of them, and what every column means."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.errors import MorphorderError, StoreError
from evaluator.report.table_formats import flattened
from evaluator.store.location import Location
from evaluator.store.schemas import OUTCOMES, TEXT_COLUMNS

TableName = Literal["cells", "outcomes", "breakdowns", "draws", "doses", "comparisons"]

WHERE = {
    "model": "name of the model",
    "treebank": "name of the treebank",
    "language": "language code of the treebank",
    "condition": "order of the units: orig, full, partial, head, …",
    "lemma": "true under +L, every unit replaced by its lemma",
}
SHARES = {
    "top1": "A@1: share of items whose word is the first answer",
    "top5": "A@5: share of items whose word is among the first five answers",
    "n": "base items counted",
}
COLUMNS: dict[TableName, dict[str, str]] = {
    "cells": {
        **WHERE,
        **SHARES,
        "n_items": "base items times draws",
        "n_sentences": "sentences, the clusters of every interval",
        "mean_gold_logp": "mean log-probability of the right word, nats",
        "n_logp": "items that have one",
        "D": "A(orig) − A(c)",
        "S": "(A(orig) − A(c)) / A(orig)",
        "I": "D(c) + D(orig+L) − D(c+L); on the rows without +L",
        "I_range": "what I could be, given A(orig), A(c) and A(orig+L)",
        "I_range_no_gain": "the same if doing both helps over neither one",
        "I_logp": "I in mean log-probability, nats",
        "floor": "too few hits in c or c+L to read I",
        "S_floor": "too few hits in orig to read S",
        "reason": "why a value is null",
        "masks": "mean number of masks",
        "masks_changed": "share of base items with another number of masks than without +L",
    },
    "breakdowns": {
        "by": "property that groups the base items: upos, deprel, feats, masks, length",
        "group": "its value; of feats one Name=Value, a base item counting in every one that its word carries",
        **WHERE,
        **SHARES,
        "masks_changed": "share of the group with another number of masks under +L",
    },
    "draws": {**WHERE, **SHARES, "seed": "seed that chose the target", "draw": "number of the order drawn"},
    "doses": {
        **{key: WHERE[key] for key in ("model", "treebank", "language")},
        "tau": "mean Kendall's tau of the bin's orders with the orders as written",
        "tau_min": "lowest in the bin",
        "tau_max": "highest in the bin",
        "n": "items: forms, all conditions but orig, every draw",
        "n_sentences": "sentences, the clusters of the interval",
        "top1": SHARES["top1"],
    },
    "comparisons": {
        **{key: WHERE[key] for key in ("treebank", "language")},
        "family": "what is compared, and what Holm adjusts together: conditions, inflection, models",
        **{f"{side}_{key}": f"{WHERE[key]}, side {side}" for side in "ab" for key in ("model", "condition", "lemma")},
        "n": "pairs of items",
        "delta": "A@1 of side a − A@1 of side b",
        "only_a": "pairs that a alone has right",
        "only_b": "pairs that b alone has right",
        "p": "exact sign-flip test over sentences (McNemar's where a sentence has one pair)",
        "p_mid": "its mid-p",
        "p_holm": "p adjusted within the family",
        "reason": "why there is none",
    },
    "outcomes": {
        "run_id": "the run, as in report.json",
        "model_id": "the model's id on the Hub, else `local/` and its name here",
        "model_revision": "its revision there, if it has one",
        **WHERE,
        "precision": "precision that the model ran in",
        "sent_id": "the treebank's own id of the sentence",
        "sentence": "number of the sentence in the run",
        "base_id": "what all conditions of a (sentence, target, seed) share",
        "item_id": "the item, stable across runs",
        "seed": "seed that chose the target",
        "draw": "number of the order drawn",
        "target": "index of the masked unit",
        "upos": "part of speech of the masked word",
        "deprel": "its relation to its head",
        "feats": "its morphological features",
        "n_units": "units of the sentence",
        "n_pieces": "pieces that the model read",
        "n_masks": "masks among them",
        "moved": "units that stand elsewhere than in orig",
        "displacement": "mean distance moved, in slots",
        "kendall_tau": "rank correlation with the order as written, 1 in orig",
        "neighbours_kept": "share of orig's neighbour pairs still neighbours in the same order",
        "target_moved": "whether the masked unit moved",
        "windowed": "whether the sentence was cut to the model's length",
        "order": "the unit shown at each slot",
        "text": "what the model saw, the target as ⟨mask⟩; not there under --no-text",
        "gold": "the masked word; not there under --no-text",
        "gold_logp": "its log-probability, nats",
        "gold_ranks": "pieces strictly better than its own, at each mask",
        "place": "its place among the best words, 0 when not there",
        "correct1": "whether the first answer is right; null when not scored",
        "correct5": "whether one of the first five is; null when not scored",
        "near_tie": "whether a better word is closer than the backend's rounding",
        "pred": "the best words, best first; not there under --no-text",
        "pred_logp": "their log-probabilities, nats",
        "status": "scored, skipped or failed",
        "reason": "why it was not scored, or not_expressible",
        "complete": "whether the item counts in the cells",
    },
}
"""What each column holds. `…_lo` and `…_hi` are the ends of the interval of the column before them."""


@dataclass(frozen=True, slots=True)
class Report:
    """A finished run: the report document, its cells and outcomes as Arrow tables, data frames of everything."""

    document: dict[str, Any]
    """The content of report.json."""
    cells: pa.Table
    """One row per model, treebank, condition and ±L; accuracies 0–1, intervals as [low, high]."""
    outcomes: pa.Table
    """One row per item and model; see `evaluator.store.schemas.OUTCOMES`."""

    def table(self, name: TableName = "cells") -> pa.Table:
        """A table of the report in Arrow, flat: intervals as `…_lo`, `…_hi`, sides as `a_model`; see `columns`."""
        if name not in get_args(TableName):
            raise ValueError(f"no table {name!r}: one of {', '.join(get_args(TableName))}")
        return self.outcomes if name == "outcomes" else flat_table(records_of(self.document, name))

    def frame(self, name: TableName = "cells") -> Any:
        """The table as a data frame: polars if installed, else pandas. Errors: MorphorderError with neither."""
        table = self.table(name)
        for library in ("polars", "pandas"):
            try:
                module = import_module(library)
            except ImportError:
                continue
            return module.from_arrow(table) if library == "polars" else table.to_pandas()
        raise MorphorderError("a data frame needs polars or pandas", hint="pip install polars, or use .table()")

    def columns(self, name: TableName = "cells") -> dict[str, str]:
        """What each column of a table holds; `…_lo` and `…_hi` are the ends of an interval."""
        return dict(COLUMNS[name])


def records_of(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The rows of a table of report.json; those of `breakdowns` say in `by` what groups them."""
    found = document.get(name) or []
    if isinstance(found, Mapping):
        return [{"by": by, **row} for by in sorted(found) for row in found[by] or []]
    return list(found)


def flat_table(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of report.json in Arrow, one value a column."""
    return pa.Table.from_pylist([dict(flattened(record)) for record in records])


def load_report(folder: str | Path) -> Report:
    """The report in a run folder (or in its `report/` folder): `load_report("run").frame("cells")` is a data frame.

    Errors: StoreError when there is none, or one of another version.
    """
    location = Location.of(folder)
    if not location.exists("report.json"):
        location = location / "report"
    if not location.exists("report.json") or not location.exists("outcomes.parquet"):
        raise StoreError("has no report", where=str(folder), hint=f"run: morphorder report {folder}")
    document = json.loads(location.read("report.json").to_pybytes())
    outcomes = pq.read_table(pa.BufferReader(location.read("outcomes.parquet")))
    if missing := set(OUTCOMES.names) - set(TEXT_COLUMNS) - set(outcomes.column_names):
        said = f"its report is of another version: outcomes without {', '.join(sorted(missing))}"
        raise StoreError(said, where=str(folder), hint=f"run: morphorder report {folder}")
    return Report(document, pa.Table.from_pylist(document["cells"]), outcomes)
