"""`morphorder wos train-order`: does learning to see moved words first make a classifier heed word order?"""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.errors import ConfigError
from evaluator.report.formats import interval, number
from evaluator.wos.cli import Change, Columns, Json, Out, Style, Task, Threads, reporter_of, settings_of
from export.cli import require_extra

if TYPE_CHECKING:
    from export.train_order import OrderRun


def train_order_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model id or folder of a checkpoint to start from.")],
    task: Task,
    out: Out = None,
    train: Annotated[
        str, typer.Option("--train", help="Rows to train on, a file like TASK; GLUE names have theirs.")
    ] = "",
    columns: Columns = "",
    change: Change = "",
    epochs: Annotated[float, typer.Option("--epochs", min=0.01, help="Of each fine-tuning.")] = 3,
    rate: Annotated[float, typer.Option("--rate", min=0, help="Learning rate.")] = 2e-5,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=5, help="Fine-tunings of each kind: 42, 100, 200, …")] = 1,
    threads: Threads = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Fine-tune with and without a word-order task before the task itself; compare accuracy and sensitivity.

    `morphorder wos train-order roberta-base dev.tsv --train train.tsv --columns sentence,label --out order-first`
    """
    require_extra()
    from export.finetune import Tuning
    from export.train_order import SEEDS, train_order

    config = settings_of(task, out=out, columns=columns, change=change, threads=threads)
    if not train and not config.glue:
        raise ConfigError("no rows to train on", where="--train", hint="give a file with the same columns as the task")
    tuning = Tuning(epochs=epochs, learning_rate=rate)
    found = train_order(model, config, train, tuning, SEEDS[:seeds], reporter_of(progress))
    report = f"{found.result.folder}/report/report"
    if as_json:
        print(json.dumps(_facts(found) | {"report": f"{report}.json"}))
    else:
        print("\n".join([*_lines(found), f"report: {report}.html"]))
    for problem in found.result.document["problems"]:
        print(f"look: {problem}", file=sys.stderr)
    if not found.result.complete:
        raise typer.Exit(1)


def _facts(found: "OrderRun") -> dict[str, Any]:
    document = found.result.document
    return {
        "ok": found.result.complete,
        "accuracy": found.accuracy,
        "order_accuracy": {str(seed): value for seed, value in found.order_accuracy.items()},
        "rows": document["rows"],
        "problems": document["problems"],
    }


def _lines(found: "OrderRun") -> list[str]:
    """One line per classifier: accuracy, and sensitivity to every order."""
    lines = [f"order task, seed {s}: accuracy {number(v)} on unseen texts" for s, v in found.order_accuracy.items()]
    for name, accuracy in found.accuracy.items():
        own = [r for r in found.result.document["rows"] if r["model"] == name and not r["both"]]
        parts = [f"{r['condition']} {number(r['wos'])} {interval(r['wos_ci'])}".strip() for r in own]
        lines.append(f"{name}: accuracy {number(accuracy)}; sensitivity {', '.join(parts)}")
    return lines
