"""The plain way: transformers, one input at a time, no padding, no sorting, no deduplication."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from export.convert import quiet


class Plain:
    """A checkpoint asked one input at a time."""

    def __init__(self, folder: Path) -> None:
        with quiet():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
            self.model = AutoModelForSequenceClassification.from_pretrained(str(folder), dtype=torch.float32).eval()

    def logits(self, text: str, other: str | None) -> list[float]:
        """The logits of one input."""
        texts = (text,) if other is None else (text, other)
        encoded = self.tokenizer(*texts, return_tensors="pt")
        known = {
            n: v
            for n, v in encoded.items()
            if n != "token_type_ids" or getattr(self.model.config, "type_vocab_size", 0) > 1
        }
        with torch.inference_mode():
            return [float(v) for v in self.model(**known).logits[0]]


def disagreements(outcomes: Path, checkpoint: Path, model: str) -> tuple[int, int, float]:
    """Over every scored outcome of a model: how many, how many predictions differ, largest |Δ p(predicted)|."""
    plain = Plain(checkpoint)
    table = pq.read_table(outcomes).to_pylist()
    seen: dict[tuple[str, str | None], list[float]] = {}
    count = differ = 0
    worst = 0.0
    for row in table:
        if row["model"] != model or row["status"] != "scored":
            continue
        key = (row["text"], row["other"])
        if key not in seen:
            seen[key] = plain.logits(*key)
        logits = seen[key]
        count += 1
        if len(logits) == 1:
            worst = max(worst, abs(logits[0] - row["value"]))
            continue
        p = torch.tensor(logits, dtype=torch.float64).softmax(0)
        best = int(p.argmax())
        differ += plain.model.config.id2label[best] != row["predicted"]
        worst = max(worst, abs(float(p[best]) - row["p_predicted"]))
    return count, differ, worst
