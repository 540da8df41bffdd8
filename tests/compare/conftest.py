"""A synthetic run to compare with itself and with altered copies."""

import numpy as np
import pyarrow as pa
import pytest

from evaluator.compare.document import Compared
from evaluator.reduce.complete import mark_complete
from tests.report.synthetic import make_run


def altered(run: Compared, keep: np.ndarray | None = None, **columns: list[object]) -> Compared:
    """The run with only the rows of `keep`, and other values in some columns; completeness marked anew."""
    table = run.outcomes
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    table = table if keep is None else table.filter(pa.array(keep))
    return Compared("candidate", run.report, mark_complete(table))


@pytest.fixture(scope="session")
def baseline() -> Compared:
    made = make_run(("de", "ar"), ("mlm-base",), ("orig", "full", "head"), items=58, draws=1)
    report = {**made.report, "intervals": {"resamples": 200, "confidence": 0.95, "seed": 0}}
    return Compared("baseline", report, mark_complete(made.outcomes))


@pytest.fixture(scope="session")
def worse(baseline: Compared) -> Compared:
    """The baseline, but every German item in the original order and forms is wrong, and some Arabic ones flipped."""
    rows = baseline.outcomes.to_pylist()
    right = []
    for number, row in enumerate(rows):
        value = row["correct1"]
        if value is not None and row["language"] == "de" and row["condition"] == "orig" and not row["lemma"]:
            value = False
        elif value is not None and row["language"] == "ar" and number % 5 == 0:
            value = not value
        right.append(value)
    return altered(baseline, correct1=right)
