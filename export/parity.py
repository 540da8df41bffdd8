"""The parity gate: the masked graph against full logits of transformers, on sentences and on awkward shapes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.errors import BundleError
from export.session import Feeds, Session

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]
FullLogits = Callable[[Int64s, Int64s], npt.NDArray[np.float32]]
"""(input_ids, attention_mask), both [B, L], to logits [B, L, V]."""

TOLERANCE_NATS = 1e-4
"""Largest |Δ log p| of an fp32 bundle: some ten times what the order of additions makes of 12 layers in fp32."""
SMALL_SHAPES = ((1, 3), (2, 16), (5, 1))
MASKS_PER_SENTENCE = 3
BATCH_SENTENCES = 5


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded rows with masks, and one gold piece per mask."""

    label: str
    input_ids: Int64s  # (B, L)
    attention_mask: Int64s  # (B, L)
    mask_pos: Int64s  # (M,) flat index into B*L
    gold_id: Int64s  # (M,)

    def feeds(self) -> Feeds:
        """Inputs of the masked graph; unused names are left out by the session."""
        return {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "token_type_ids": np.zeros_like(self.input_ids),
            "mask_pos": self.mask_pos,
            "gold_row": np.arange(len(self.mask_pos), dtype=np.int64),
            "gold_id": self.gold_id,
        }


@dataclass(slots=True)
class Parity:
    """Running comparison of a masked graph with full logits."""

    tolerance: float
    masks: int = 0
    worst: float = 0.0
    worst_label: str = ""
    near_ties: int = 0
    top5_differences: int = 0
    rank_differences: int = 0
    non_finite: int = 0
    shapes: list[list[int]] = field(default_factory=list)

    def add(self, batch: Batch, reference: Float64s, outputs: dict[str, npt.NDArray[Any]]) -> None:
        """Nothing: takes in one batch; `reference` is log p float64 [M, V]."""
        ids, logp = outputs["topk_ids"], outputs["topk_logp"].astype(np.float64)
        rows = np.arange(len(ids))
        gold = reference[rows, batch.gold_id]
        deltas = np.concatenate(
            [
                np.abs(logp - np.take_along_axis(reference, ids, axis=1)).ravel(),
                np.abs(outputs["gold_logp"].astype(np.float64) - gold),
            ]
        )
        self.masks += len(ids)
        self.non_finite += int((~np.isfinite(deltas)).sum())
        worst = float(np.nanmax(deltas, initial=0.0))
        if worst >= self.worst:
            self.worst, self.worst_label = worst, batch.label
        top = min(5, ids.shape[1])
        expected = np.argsort(-reference, axis=1, kind="stable")[:, :top]
        differ = ids[:, :top] != expected
        gap = np.abs(np.take_along_axis(reference, ids[:, :top], 1) - np.take_along_axis(reference, expected, 1))
        near = differ & (gap <= 2 * self.tolerance)
        self.near_ties += int(near.any(axis=1).sum())
        self.top5_differences += int((differ & ~near).any(axis=1).sum())
        fewest = (reference > gold[:, None] + 2 * self.tolerance).sum(axis=1)
        most = (reference > gold[:, None] - 2 * self.tolerance).sum(axis=1)
        self.rank_differences += int(((outputs["gold_rank"] < fewest) | (outputs["gold_rank"] > most)).sum())
        self.shapes.append([int(n) for n in batch.input_ids.shape])

    @property
    def passed(self) -> bool:
        """Whether every figure is within the tolerance."""
        wrong = self.non_finite + self.top5_differences + self.rank_differences
        return wrong == 0 and self.worst <= self.tolerance

    def figures(self) -> dict[str, Any]:
        """What `bundle.json` keeps."""
        return {
            "max_abs_dlogp_nats": self.worst,
            "tolerance_nats": self.tolerance,
            "masks": self.masks,
            "near_ties": self.near_ties,
            "shapes": self.shapes,
        }

    def refuse(self, reference: str) -> BundleError:
        """The error that says how far from the reference the graph is."""
        return BundleError(
            f"the exported graph differs from {reference}: |Δ log p| up to {self.worst:.2e} on {self.worst_label} "
            f"(tolerance {self.tolerance:.0e}), {self.top5_differences} top-5 lists, {self.rank_differences} ranks and "
            f"{self.non_finite} non-finite values of {self.masks} masks; no bundle was written",
            hint="report it with the model's name, or export another checkpoint",
        )


def measure_parity(
    session: Session, reference: FullLogits, batches: Sequence[Batch], *, tolerance: float = TOLERANCE_NATS
) -> Parity:
    """How far the masked graph is from full logits over all batches."""
    parity = Parity(tolerance)
    for batch in batches:
        logits = reference(batch.input_ids, batch.attention_mask)
        if logits.ndim != 3 or logits.shape[:2] != batch.input_ids.shape:
            raise BundleError(
                f"the model answers {logits.shape} for input {batch.input_ids.shape}: not one row per piece",
                hint="export it for the task fill-mask with dynamic axes",
            )
        rows = logits.reshape(-1, logits.shape[-1])[batch.mask_pos]
        parity.add(batch, log_softmax(rows), session.run(batch.feeds()))
    return parity


def log_softmax(logits: npt.NDArray[np.float32]) -> Float64s:
    """log p in float64 of logits [M, V]."""
    wide = logits.astype(np.float64)
    shifted = wide - wide.max(axis=-1, keepdims=True)
    result: Float64s = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def sentence_batches(
    encoded: Sequence[Sequence[int]], *, mask_id: int, pad_id: int, masks: int = MASKS_PER_SENTENCE
) -> Iterator[Batch]:
    """Batches of sentences of mixed length, `masks` of each one's inner pieces masked, spread evenly."""
    for start in range(0, len(encoded), BATCH_SENTENCES):
        rows = encoded[start : start + BATCH_SENTENCES]
        length = max(len(row) for row in rows)
        ids = np.full((len(rows), length), pad_id, dtype=np.int64)
        attention = np.zeros_like(ids)
        flat, gold = [], []
        for b, row in enumerate(rows):
            ids[b, : len(row)] = row
            attention[b, : len(row)] = 1
            inner = np.arange(1, len(row) - 1)
            count = min(masks, len(inner))
            chosen = np.unique(inner[np.linspace(0, len(inner) - 1, count).round().astype(int)]) if count else inner[:0]
            gold += [row[position] for position in chosen]
            flat += [b * length + int(position) for position in chosen]
        ids.reshape(-1)[flat] = mask_id
        yield Batch(
            f"sentences {start + 1}-{start + len(rows)}",
            ids,
            attention,
            np.array(flat, np.int64),
            np.array(gold, np.int64),
        )


def shape_batches(pieces: Sequence[int], *, mask_id: int, pad_id: int, longest: int) -> Iterator[Batch]:
    """The shapes a frozen graph fails on: tiny, square, a column, the full length; and one row mostly padding."""
    pool = np.array([piece for piece in pieces if piece not in (mask_id, pad_id)] or [0], dtype=np.int64)
    for b, length in (*(shape for shape in SMALL_SHAPES if shape[1] <= longest), (1, longest)):
        ids = np.resize(pool, (b, length))
        attention = np.ones_like(ids)
        if b > 1 and length > 2:
            ids[-1, 2:], attention[-1, 2:] = pad_id, 0
        real = np.flatnonzero(attention)
        flat = real[:: max(1, len(real) // 8)]
        gold = ids.reshape(-1)[flat].copy()
        ids.reshape(-1)[flat] = mask_id
        yield Batch(f"shape ({b}, {length})", ids, attention, flat.astype(np.int64), gold)
