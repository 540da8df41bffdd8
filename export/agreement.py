"""How far a converted graph agrees with the fp32 one on real sentences, and the floor below which it is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.errors import BundleError
from evaluator.types import Precision
from export.parity import Batch
from export.session import Session


@dataclass(frozen=True, slots=True)
class Floor:
    """What a converted graph must reach against fp32 to be accepted unforced."""

    top1: float
    top5: float
    mean_abs_dlogp_nats: float


FLOORS: dict[Precision, Floor] = {"fp16": Floor(0.98, 0.97, 0.02), "int8": Floor(0.90, 0.85, 0.15)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement with fp32 on masks of real sentences."""

    label: str
    precision: Precision
    masks: int
    top1: float
    """Share of masks with the same best piece."""
    top5: float
    """Mean share of the five best pieces that both have."""
    mean_abs_dlogp_nats: float
    worst_abs_dlogp_nats: float
    top1_change_points: float
    """By how many points the share of golds that are the best piece moves: the effect on A@1 of single pieces."""
    non_finite: int

    @property
    def acceptable(self) -> bool:
        """Whether it reaches the floor of its precision."""
        floor = FLOORS[self.precision]
        return (
            self.non_finite == 0
            and self.top1 >= floor.top1
            and self.top5 >= floor.top5
            and self.mean_abs_dlogp_nats <= floor.mean_abs_dlogp_nats
        )

    def figures(self) -> dict[str, Any]:
        """What `bundle.json` keeps, the floor included."""
        floor = FLOORS[self.precision]
        return {
            "variant": self.label,
            "masks": self.masks,
            "top1": self.top1,
            "top5": self.top5,
            "mean_abs_dlogp_nats": self.mean_abs_dlogp_nats,
            "worst_abs_dlogp_nats": self.worst_abs_dlogp_nats,
            "top1_change_points": self.top1_change_points,
            "non_finite": self.non_finite,
            "floor": {"top1": floor.top1, "top5": floor.top5, "mean_abs_dlogp_nats": floor.mean_abs_dlogp_nats},
            "acceptable": self.acceptable,
        }

    def refuse(self) -> BundleError:
        """The error that says how far it falls short."""
        floor = FLOORS[self.precision]
        return BundleError(
            f"{self.precision} agrees too little with fp32: top-1 {self.top1:.3f} (floor {floor.top1}), top-5 "
            f"{self.top5:.3f} (floor {floor.top5}), mean |Δ log p| {self.mean_abs_dlogp_nats:.3f} (at most "
            f"{floor.mean_abs_dlogp_nats}), {self.non_finite} non-finite; no bundle was written",
            hint="use --precision fp32, or --force to keep it with these figures",
        )


def measure_agreement(
    label: str, precision: Precision, reference: Session, other: Session, batches: Sequence[Batch]
) -> Agreement:
    """Agreement of two masked graphs on the same batches; the reference is fp32."""
    same, overlap, deltas, moved = [], [], [], []
    for batch in batches:
        a, b = reference.run(batch.feeds()), other.run(batch.feeds())
        top = min(5, a["topk_ids"].shape[1])
        same.append(a["topk_ids"][:, 0] == b["topk_ids"][:, 0])
        pairs = a["topk_ids"][:, :top, None] == b["topk_ids"][:, None, :top]
        overlap.append(pairs.any(axis=2).mean(axis=1))
        moved.append((b["gold_rank"] == 0).astype(np.float64) - (a["gold_rank"] == 0))
        deltas.append(np.abs(a["gold_logp"].astype(np.float64) - b["gold_logp"].astype(np.float64)))
    delta = np.concatenate(deltas)
    finite = np.isfinite(delta)
    return Agreement(
        label=label,
        precision=precision,
        masks=len(delta),
        top1=float(np.concatenate(same).mean()),
        top5=float(np.concatenate(overlap).mean()),
        mean_abs_dlogp_nats=float(delta[finite].mean()) if finite.any() else float("inf"),
        worst_abs_dlogp_nats=float(delta[finite].max(initial=0.0)),
        top1_change_points=100 * float(np.concatenate(moved).mean()),
        non_finite=int((~finite).sum()),
    )
