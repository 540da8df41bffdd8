"""Word order before the task: a classifier fine-tuned on the task alone beside one that first learned word order.

Both see the same examples in the same order, by the same settings; what differs is where they start. Pham et al. 2021,
section 3.5.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from evaluator.errors import DatasetError
from evaluator.progress import Reporter
from evaluator.score.bundle import BUNDLE_FILE
from evaluator.stages.finished import Finished
from evaluator.store.run import fingerprint
from evaluator.wos.order_task import CLASSES, OrderExample, order_examples
from evaluator.wos.run import run_wos
from evaluator.wos.settings import WosConfig
from evaluator.wos.table import TaskData, read_task
from export.build import build_bundle
from export.finetune import Labelled, Tuning, fine_tune, steps_of
from export.source import find_source

SEEDS = (42, 100, 200, 300, 400)
"""The seeds of the published runs."""
MOST_CLASSES = 20
"""More distinct whole numbers than this are numbers to be predicted, not classes."""
TUNED_FILE = "tuned.json"


@dataclass(frozen=True, slots=True)
class OrderRun:
    """What came of it: the run with both classifiers of every seed, and how well the order task itself was learned."""

    result: Finished
    accuracy: dict[str, float | None]
    """Of every classifier, over all examples that it could read, unshuffled."""
    order_accuracy: dict[int, float | None]
    """By seed, on moved words of texts that were not trained on."""


def train_order(
    model: str, config: WosConfig, train: str, tuning: Tuning, seeds: Sequence[int], reporter: Reporter
) -> OrderRun:
    """Fine-tunes on `train` (a file like the task's, or "" for GLUE's own) with and without the order task before it.

    Everything is kept in `config.out`: `checkpoints/`, `bundles/`, `order-<seed>/` and `run/`, the run of both. What an
    earlier call finished is used. Errors: UserError for a model, task or file that cannot be used.
    """
    out = Path(config.out)
    start = find_source(model).folder
    learned = read_task(config.model_copy(update={"data": train or config.data}), "train")
    data = labelled(learned)
    order = order_examples((text for row in learned.rows for text in row.texts), config.seed)
    unseen = _unseen(config, learned)
    bundles, order_accuracy = [], {}
    for seed in seeds:
        own = replace(tuning, seed=seed)
        plain = _tuned(start, data, out / f"checkpoints/plain-{seed}", own, reporter)
        first = _tuned(start, _order_data(order), out / f"checkpoints/order-{seed}", own, reporter)
        after = _tuned(first, data, out / f"checkpoints/order-first-{seed}", own, reporter)
        order_accuracy[seed] = _order_accuracy(first, unseen, out, seed, config, reporter)
        bundles += [_bundle(folder, out / "bundles", reporter) for folder in (plain, after)]
    models = tuple(str(bundle) for bundle in bundles)
    result = run_wos(config.model_copy(update={"models": models, "out": str(out / "run")}), reporter)
    return OrderRun(result, accuracies(Path(result.folder)), order_accuracy)


def labelled(task: TaskData) -> Labelled:
    """A task as training data: its classes by name, or numbers where labels are not whole or too many to be classes."""
    texts = [row.texts for row in task.rows]
    if not texts:
        raise DatasetError("no rows to train on", where=task.name)
    distinct = sorted(
        {row.label for row in task.rows}, key=lambda v: (not v.isdecimal(), int(v) if v.isdecimal() else 0, v)
    )
    if _are_numbers(distinct):
        return Labelled(texts, [float(row.label) for row in task.rows], ())
    index = {label: i for i, label in enumerate(distinct)}
    names = task.label_names
    if names and all(label.isdecimal() and int(label) < len(names) for label in distinct):
        return Labelled(texts, [int(row.label) for row in task.rows], names)
    return Labelled(texts, [index[row.label] for row in task.rows], tuple(distinct))


def _are_numbers(labels: Sequence[str]) -> bool:
    try:
        values = [float(label) for label in labels]
    except ValueError:
        return False
    return len(values) > MOST_CLASSES or not all(value.is_integer() for value in values)


def accuracies(run: Path) -> dict[str, float | None]:
    """Share of unshuffled examples that each model of a run classifies correctly, of all that it could read."""
    table = pq.read_table(run / "report/outcomes.parquet", columns=["model", "condition", "correct"])
    orig = table.filter(pc.equal(table["condition"], "orig"))
    return {
        name: pc.mean(orig.filter(pc.equal(orig["model"], name))["correct"].cast("int8")).as_py()
        for name in dict.fromkeys(orig["model"].to_pylist())
    }


def _order_data(examples: Sequence[OrderExample]) -> Labelled:
    if not examples:
        raise DatasetError("no text of the task has a word that can be moved")
    return Labelled([(e.text,) for e in examples], [e.label for e in examples], CLASSES)


def _unseen(config: WosConfig, learned: TaskData) -> list[OrderExample]:
    """The order task of the texts that are measured on, without those that are trained on."""
    seen = {text for row in learned.rows for text in row.texts}
    texts = (text for row in read_task(config).rows for text in row.texts)
    return order_examples((text for text in texts if text not in seen), config.seed)


def _tuned(start: Path, data: Labelled, out: Path, tuning: Tuning, reporter: Reporter) -> Path:
    """The fine-tuned checkpoint, made now or found as an earlier call of the same start, data and settings left it."""
    mark = fingerprint(_mark_of(start), [list(t) for t in data.texts], list(data.labels), data.classes, asdict(tuning))
    done = out / TUNED_FILE
    if done.is_file() and json.loads(done.read_text(encoding="utf-8")) == mark:
        return out
    with reporter.stage(f"tune {out.name}", steps_of(data, tuning), "steps") as meter:
        fine_tune(start, data, out, tuning, meter.advance)
    done.write_text(json.dumps(mark), encoding="utf-8")
    return out


def _mark_of(start: Path) -> str:
    """What tells one start from another: how it was made here, or the names and sizes of its files."""
    if (start / TUNED_FILE).is_file():
        return (start / TUNED_FILE).read_text(encoding="utf-8")
    return fingerprint([[f.name, f.stat().st_size] for f in sorted(start.glob("*.safetensors"))])


def _bundle(checkpoint: Path, root: Path, reporter: Reporter) -> Path:
    """The bundle of a checkpoint, exported unless it is there and younger."""
    folder = root / checkpoint.name
    made = folder / BUNDLE_FILE
    if not made.is_file() or made.stat().st_mtime < (checkpoint / TUNED_FILE).stat().st_mtime:
        with reporter.stage(f"export {checkpoint.name}", 1, "bundle") as meter:
            build_bundle(checkpoint, folder, name=checkpoint.name, force=True)
            meter.advance()
    return folder


def _order_accuracy(
    checkpoint: Path, unseen: Sequence[OrderExample], out: Path, seed: int, config: WosConfig, reporter: Reporter
) -> float | None:
    """Accuracy of the order classifier on unseen texts, through the same engine; None without any."""
    if not unseen:
        return None
    data = out / f"order-{seed}.jsonl"
    rows = [json.dumps({"text": e.text, "label": CLASSES[e.label]}, ensure_ascii=False) for e in unseen]
    data.write_text("\n".join(rows) + "\n", encoding="utf-8")
    bundle = _bundle(checkpoint, out / "bundles", reporter)
    settings: dict[str, Any] = {"data": str(data), "models": (str(bundle),), "out": str(out / f"order-{seed}")}
    kept = {name: getattr(config, name) for name in ("engine", "scoring", "statistics", "ray")}
    result = run_wos(WosConfig(**settings, **kept, orders=("ngram1",), draws=1), reporter)
    return accuracies(Path(result.folder))[checkpoint.name]
