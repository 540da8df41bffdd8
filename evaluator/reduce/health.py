"""The health strip: what must hold in any sound run, each with a name and what was found."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def health_of(outcomes: pa.Table, document: dict[str, Any], manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows {"name", "ok", "detail"}: invariants that a fault upstream would break."""
    status = outcomes["status"]
    skipped = int(pc.sum(pc.equal(status, "skipped")).as_py() or 0)
    failed = int(pc.sum(pc.equal(status, "failed")).as_py() or 0)
    scored = int(pc.sum(pc.equal(status, "scored")).as_py() or 0)
    sizes: dict[str, set[int]] = {}
    for cell in document["cells"]:
        sizes.setdefault(cell["treebank"], set()).add(cell["n"])
    uneven = sorted(name for name, seen in sizes.items() if len(seen - {0}) > 1)
    above = [c for c in document["cells"] if c["top1"] is not None and c["top1"] > c["top5"]]
    ties = int(pc.sum(outcomes["near_tie"].fill_null(False)).as_py() or 0)
    perturbed = pc.not_equal(outcomes["condition"], "orig")
    still = int(pc.sum(pc.and_(perturbed, pc.equal(outcomes["moved"], 0))).as_py() or 0)
    unknown = int(pc.sum(pc.equal(outcomes["reason"], "not_expressible")).as_py() or 0)
    windowed = int(pc.sum(outcomes["windowed"]).as_py() or 0)
    providers = sorted({str(m["provider"]) for m in manifest["models"] if m["provider"]})
    agreement = [v for m in manifest["models"] for v in m["whole_text_equal"].values()]
    lossy = [(m, m["parity"]["agreement"]) for m in manifest["models"] if "agreement" in m.get("parity", {})]
    return [
        _row("every item accounted for", scored + skipped + failed == outcomes.num_rows,
             f"{outcomes.num_rows:,} items = {scored:,} scored + {skipped:,} skipped + {failed:,} failed"),
        _row("complete cases", not uneven, "all cells of a treebank rest on the same base items"
             if not uneven else f"cells differ in n: {', '.join(uneven)}"),
        _row("A@5 ≥ A@1 in every cell", not above, f"{len(document['cells'])} cells"),
        _row("nothing failed", failed == 0, f"{failed:,} failed"),
        _row("near-ties", True, f"{ties:,} of {scored:,} answers hold words closer than the arithmetic can tell"),
        _row("windows", True, f"{windowed:,} items longer than a model takes, shown as a window around the target"),
        _row("pieces as in whole texts", True,
             f"{np.mean(agreement):.1%} of sentences" if agreement else "not measured"),
        _row("precision", all(a["acceptable"] for _, a in lossy),
             "; ".join(_agreement(model, measured) for model, measured in lossy) or "fp32"),
        _row("provider", True, ", ".join(providers) or "none"),
        _row("no-ops", still == 0,
             f"{still:,} perturbed items left as they were; {_dropped(manifest):,} base items that could not be "
             "changed left all cells"),
        _row("expressible", True, f"{unknown:,} golds hold an unknown piece: scored, never a hit"),
    ]  # fmt: skip


def _row(name: str, ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": bool(ok), "detail": detail}


def _agreement(model: dict[str, Any], measured: dict[str, Any]) -> str:
    return (
        f"{model['name']} computes in {model['precision']}: on {measured['masks']} masks the best piece is that of "
        f"fp32 in {measured['top1']:.1%}, |Δ log p| is {measured['mean_abs_dlogp_nats']:.3f} nats on average, at most "
        f"{measured['worst_abs_dlogp_nats']:.2f}"
    )


def _dropped(manifest: dict[str, Any]) -> int:
    return sum(
        n
        for reasons in manifest["excluded"].values()
        for reason, n in reasons.items()
        if reason.startswith("unperturbable")
    )
