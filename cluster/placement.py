"""Where workers can be: the connection to Ray, what one worker needs, what the cluster has."""

import logging
import math
import os
from dataclasses import dataclass
from typing import Any

from evaluator.config import RaySettings
from evaluator.errors import ConfigError, UserError

os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # the hook may start workers on another Python (ray#59639)
# Once left, Ray is joined again by any call to it, those of the threads of a pass that was given up included.
os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")

try:
    import ray
    import ray.data  # needs pandas, which plain `ray` lacks: better here than on a worker
    from ray.util.placement_group import placement_group, remove_placement_group
except ImportError as error:
    raise UserError(
        f"engine ray cannot start: {error}", where="engine", hint="pip install 'morphorder[cluster]'"
    ) from error


@dataclass(frozen=True, slots=True)
class Demand:
    """What one worker reserves."""

    cpus: int
    gpus: float

    @property
    def bundle(self) -> dict[str, float]:
        return {"CPU": float(self.cpus), **({"GPU": self.gpus} if self.gpus else {})}

    def __str__(self) -> str:
        return " + ".join(f"{amount:g} {kind}" for kind, amount in self.bundle.items())


def demand_of(settings: RaySettings, provider: str) -> Demand:
    """What one worker needs. Errors: ConfigError for a fraction of a GPU that is not 1/n: some would wait for ever."""
    gpus = settings.gpus_per_actor or (1.0 if provider == "cuda" else 0.0)
    if gpus and abs(round(1 / gpus) * gpus - 1) > 0.02:
        near = 1 / math.ceil(1 / gpus)
        raise ConfigError(
            f"{gpus:g} GPU per actor leaves part of each GPU unused",
            where="ray.gpus_per_actor",
            hint=f"use 1/n, for instance {near:.4g}",
        )
    return Demand(settings.cpus_per_actor, gpus)


def connect(settings: RaySettings) -> None:
    """Joins the cluster, unless this process already has. Ships no environment: devices are limited at node start.

    Never Ray's own guess: it follows a file that a head killed long ago leaves behind.
    """
    if ray.is_initialized():
        return
    address = settings.address or os.environ.get("RAY_ADDRESS") or "local"
    try:
        ray.init(address=address, log_to_driver=True, logging_level=logging.WARNING)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ConfigError(
            f"cannot join Ray: {str(error).strip().splitlines()[0][:300]}",
            where=f"ray.address {address}",
            hint="is the head up (ray status), and are Ray and Python the same here and there?",
        ) from error


def supply() -> tuple[dict[str, float], dict[str, float]]:
    """CPUs and GPUs of the cluster: all, and free now."""
    total, free = ray.cluster_resources(), ray.available_resources()
    return _counted(total), _counted(free)


def room(demand: Demand) -> int:
    """How many workers the nodes now alive can hold together, were they free."""
    nodes = [n["Resources"] for n in ray.nodes() if n["Alive"]]
    return sum(min(int(node.get(kind, 0) / amount + 1e-6) for kind, amount in demand.bundle.items()) for node in nodes)


def wait_for_room(demand: Demand, actors: int, timeout_s: float) -> None:
    """Returns when `actors` workers can be placed at once. Errors: UserError with demand and supply after `timeout_s`.

    The reservation makes an autoscaling cluster add nodes; it is given back before the workers start.
    """
    group = placement_group([demand.bundle] * actors, strategy="PACK")
    try:
        if group.wait(timeout_s):
            return
        total, free = supply()
        raise UserError(
            f"no room for {actors} actor{'s' * (actors > 1)} of {demand} within {timeout_s:g} s:"
            f" the cluster has {_listed(total)}, free {_listed(free)}",
            where="ray.min_actors",
            hint="ask for less, add nodes, or wait longer with ray.placement_timeout_s",
        )
    finally:
        remove_placement_group(group)


def _counted(resources: dict[str, Any]) -> dict[str, float]:
    return {kind: float(resources.get(kind, 0.0)) for kind in ("CPU", "GPU")}


def _listed(resources: dict[str, float]) -> str:
    return " + ".join(f"{amount:g} {kind}" for kind, amount in resources.items())
