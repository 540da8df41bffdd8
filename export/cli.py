"""`morphorder export MODEL --out FOLDER`: a model id, a folder or an ONNX file becomes a bundle.

`export_command` is the function to mount as a command; `app` is the same as a Typer application of its own.
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evaluator.errors import BundleError, MorphorderError
from evaluator.score.bundle import Bundle
from evaluator.types import ModelKind


class PrecisionName(StrEnum):
    """What the graph computes in."""

    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


class TaskName(StrEnum):
    """What a model is exported as."""

    auto = "auto"
    fill_mask = "fill-mask"
    text_classification = "text-classification"
    attention = "attention"


TASKS: dict[TaskName, ModelKind | None] = {
    TaskName.auto: None,
    TaskName.fill_mask: "fill-mask",
    TaskName.text_classification: "text-classification",
    TaskName.attention: "attention",
}


class StorageName(StrEnum):
    """What the weights of an fp32 graph are stored in."""

    fp32 = "fp32"
    fp16 = "fp16"


NEEDED = frozenset(
    {"accelerate", "huggingface_hub", "onnx", "onnxruntime", "optimum", "safetensors", "torch", "transformers"}
)
"""What the extra installs: a missing one of these is the user's to mend, any other a fault."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("export")
def export_command(
    model: Annotated[str, typer.Argument(help="Model id, folder of a checkpoint, or ONNX file or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the bundle to.")],
    name: Annotated[str | None, typer.Option(help="Short name shown in reports; default: the model's.")] = None,
    precision: Annotated[PrecisionName, typer.Option(help="fp32; fp16 for GPUs; int8 for CPUs.")] = PrecisionName.fp32,
    storage: Annotated[
        StorageName, typer.Option(help="fp16 halves the file: weights rounded to fp16, computed in fp32.")
    ] = StorageName.fp32,
    task: Annotated[
        TaskName, typer.Option(help="What it answers; auto: classes if its config names a classifier, else masks.")
    ] = TaskName.auto,
    top_k: Annotated[int, typer.Option(min=1, help="Pieces kept per mask.")] = 10,
    revision: Annotated[str | None, typer.Option(help="Commit, branch or tag of a model id.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load weights that are only there as pickle.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a bundle; accept low agreement and untested versions.")
    ] = False,
) -> None:
    """Make a model bundle: ONNX graph with a masked head or of a classifier, tokenizer, measured parity."""
    console = Console(stderr=True)
    try:
        with console.status("starting") as status:
            require_extra()
            from export.build import build_bundle

            bundle = build_bundle(
                model,
                out,
                name=name,
                precision=precision.value,
                storage=storage.value,
                k=top_k,
                revision=revision,
                trust_remote_code=trust_remote_code,
                allow_pickle=allow_pickle,
                force=force,
                task=TASKS[task],
                say=status.update,
            )
    except MorphorderError as error:
        console.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(error.exit_code) from error
    for line in _measurements(bundle):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    size = sum(stamp.size for stamp in bundle.files.values()) / 1e6
    what = f"{bundle.architecture}, {bundle.precision}, {size:.1f} MB, {bundle.fingerprint}"
    typer.echo(f"{out}: bundle {bundle.name} ({what})")


def _measurements(bundle: Bundle) -> Iterator[str]:
    """Lines that say what the gates measured."""
    parity = bundle.parity
    worst = parity["max_abs_dlogp_nats"]
    on = f"{parity['inputs']} inputs" if bundle.labels else f"{parity['masks']} masks"
    yield f"parity with {parity['reference']}: |Δ log p| at most {worst:.1e} nats on {on}"
    if "agreement" in parity:
        figures = parity["agreement"]
        yield (
            f"agreement of {bundle.precision} with fp32: top-1 {figures['top1']:.3f}, top-5 {figures['top5']:.3f}, "
            f"mean |Δ log p| {figures['mean_abs_dlogp_nats']:.3f} on {figures['masks']} masks"
        )


def require_extra() -> None:
    """Nothing. Errors: BundleError when the libraries of the extra are not installed."""
    try:
        import export.build  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in NEEDED:
            raise
        raise BundleError(
            f"exporting needs {error.name}, which is not installed", hint="pip install 'morphorder[export]'"
        ) from error
