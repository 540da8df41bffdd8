"""Items, links and logits of one model joined: what the classifier said of every input."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.score.bundle import Bundle
from evaluator.store import schemas
from evaluator.types import Bools, Float32s, Float64s, Int64s
from evaluator.wos.labels import is_regression


@dataclass(frozen=True, slots=True)
class Said:
    """What one model says of the items of a run; arrays are (items,), or (examples,) where so marked."""

    bundle: Bundle
    example: Int64s
    condition: np.ndarray[tuple[int], np.dtype[np.object_]]
    both: Bools
    draw: Int64s
    scored: Bools
    failed: Bools
    """Has a row, and the model gave no finite answer."""
    predicted: Int64s
    """Index of the largest logit, ties to the smaller index; -1 unless scored."""
    value: Float64s
    """What a model of one logit predicts; NaN otherwise."""
    probability: Float64s
    """(items, labels) softmax of the logits in float64; NaN unless scored."""
    gold: Float64s
    """(examples,) class or number."""

    @property
    def regression(self) -> bool:
        return is_regression(self.bundle)

    @property
    def correct(self) -> Bools:
        """(items,) whether the prediction is the gold class."""
        return np.asarray(self.scored & (self.predicted == self.gold[self.example]))

    def of(self, condition: str, *, both: bool = False) -> Int64s:
        """The items of a condition, example by example, draw by draw."""
        return np.flatnonzero((self.condition == condition) & (self.both == both))


def said_of(bundle: Bundle, items: pa.Table, links: pa.Table, logits: Float32s, gold: Float64s) -> Said:
    """What a model says of all items; `gold` is (examples,)."""
    row = np.asarray(links["row"].fill_null(-1).to_numpy(), dtype=np.int64)
    own = np.full((len(row), logits.shape[1]), np.nan)
    own[row >= 0] = logits[row[row >= 0]].astype(np.float64)
    scored = np.isfinite(own).all(axis=1)
    shifted = own - np.where(scored, own.max(axis=1, initial=-np.inf), 0.0)[:, None]
    exponentials = np.exp(shifted)
    return Said(
        bundle=bundle,
        example=items["example"].to_numpy().astype(np.int64),
        condition=np.array(items["condition"].to_pylist(), dtype=object),
        both=items["both"].to_numpy(),
        draw=items["draw"].to_numpy().astype(np.int64),
        scored=scored,
        failed=(row >= 0) & ~scored,
        predicted=np.where(scored, np.where(scored[:, None], own, 0.0).argmax(axis=1), -1),
        value=own[:, 0] if is_regression(bundle) else np.full(len(row), np.nan),
        probability=exponentials / exponentials.sum(axis=1, keepdims=True),
        gold=gold,
    )


def outcome_table(said: Said, items: pa.Table, links: pa.Table, examples: pa.Table, dev_r: Bools) -> pa.Table:
    """The TEXT_OUTCOMES of one model. `dev_r` is (examples,)."""
    count = len(said.example)
    names = np.array([*said.bundle.labels, None], dtype=object)
    unknown = ~said.scored | said.regression
    best = np.take_along_axis(said.probability, np.maximum(said.predicted, 0)[:, None], axis=1)[:, 0]
    wanted = np.zeros(count, dtype=np.int64) if said.regression else said.gold[said.example].astype(np.int64)
    given = np.take_along_axis(said.probability, wanted[:, None], axis=1)[:, 0]
    reason = pc.if_else(pa.array(said.failed), pa.scalar("non_finite"), links["reason"].combine_chunks())
    status = np.where(said.scored, "scored", np.where(said.failed, "failed", "skipped"))
    columns: Sequence[pa.Array | pa.ChunkedArray] = [
        pa.array([said.bundle.name] * count, pa.string()),
        pa.array([said.bundle.precision] * count, pa.string()),
        *(items[name] for name in ("example", "condition", "both", "draw", "text", "other")),
        examples["label"].take(items["example"]),
        pa.array(names[np.where(unknown, -1, said.predicted)], pa.string()),
        pa.array(best, pa.float64(), mask=unknown),
        pa.array(given, pa.float64(), mask=unknown),
        pa.array(said.value, pa.float64(), mask=~np.isfinite(said.value)),
        pa.array(said.correct, pa.bool_(), mask=unknown),
        pa.array(dev_r[said.example], pa.bool_()),
        pa.array(status.tolist(), pa.string()),
        reason,
    ]
    return pa.table(columns, schema=schemas.TEXT_OUTCOMES)
