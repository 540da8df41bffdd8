"""Fine-tuning a checkpoint as a classifier with transformers' Trainer, with the published settings as defaults."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from evaluator.errors import BundleError
from export.convert import quiet
from export.graph import first_line


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a checkpoint is fine-tuned; the defaults are those of Pham et al. (2021)."""

    epochs: float = 3
    learning_rate: float = 2e-5
    batch: int = 32
    max_pieces: int = 128
    """A longer input is cut, as the paper's script does."""
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Labelled:
    """Training data: inputs of one or two texts, and per input the index of its class, or a number without classes."""

    texts: Sequence[tuple[str, ...]]
    labels: Sequence[float]
    classes: tuple[str, ...]
    """Names of the classes; empty for numbers."""


class _Encoded(Dataset[dict[str, Any]]):
    """Inputs cut into pieces, with their labels."""

    def __init__(self, data: Labelled, tokenizer: Any, max_pieces: int) -> None:
        columns = [[t[i] for t in data.texts] for i in range(len(data.texts[0]))]
        self._encoded = tokenizer(*columns, truncation=True, max_length=max_pieces)
        self._labels = [int(v) for v in data.labels] if data.classes else [float(v) for v in data.labels]

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self._encoded.items()} | {"labels": self._labels[index]}


class _Steps(TrainerCallback):
    """Tells a meter of every step."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._advance(1)


def steps_of(data: Labelled, tuning: Tuning) -> int:
    """How many steps fine-tuning will take."""
    return int(np.ceil(-(-len(data.texts) // tuning.batch) * tuning.epochs))


def fine_tune(
    start: Path, data: Labelled, out: Path, tuning: Tuning, advance: Callable[[int], None] = lambda _: None
) -> Path:
    """The folder of the fine-tuned checkpoint with its tokenizer.

    The classification head is made anew even if the start has one. The same data, seed, machine and library versions
    give the same weights. Errors: BundleError when the start is no checkpoint that can be fine-tuned.
    """
    if find_spec("accelerate") is None:
        raise BundleError(
            "fine-tuning needs accelerate, which is not installed", hint="pip install 'morphorder[export]'"
        )
    torch.manual_seed(tuning.seed)
    names = dict(enumerate(data.classes)) or {0: "LABEL_0"}
    kind = "single_label_classification" if data.classes else "regression"
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(str(start), local_files_only=True)
            model = AutoModelForSequenceClassification.from_pretrained(
                str(start), num_labels=len(names), id2label=names, label2id={n: i for i, n in names.items()},
                problem_type=kind, ignore_mismatched_sizes=True, local_files_only=True, dtype=torch.float32,
            )  # fmt: skip
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise BundleError(
            f"cannot be fine-tuned: {first_line(error)}", where=str(start), hint="give the folder of a checkpoint"
        ) from error
    for name, part in model.named_children():
        if name != model.base_model_prefix:
            part.apply(model._init_weights)
    longest = min(tuning.max_pieces, int(tokenizer.model_max_length))
    arguments = TrainingArguments(
        output_dir=str(out / "trainer"),
        num_train_epochs=tuning.epochs,
        learning_rate=tuning.learning_rate,
        per_device_train_batch_size=tuning.batch,
        seed=tuning.seed,
        data_seed=tuning.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        group_by_length=True,
    )
    with quiet():
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=_Encoded(data, tokenizer, longest),
            data_collator=DataCollatorWithPadding(tokenizer),
            callbacks=[_Steps(advance)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        trainer.save_model(str(out))
    tokenizer.save_pretrained(str(out))
    return out
