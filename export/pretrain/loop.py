"""Training: warm-up, stable rate, decay; Muon for hidden matrices, AdamW for the rest; resumable at any moment.

Everything random is addressed by (seed, pass, batch), so a checkpoint holds weights, optimizer states and counters, and
a killed run continues bit for bit on one thread.

With glibc, `MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184` in the environment keeps the large
temporary arrays mapped: 5,350 instead of 4,260 pieces per CPU second on one Zen 4 core (plain attention, bf16).
"""

# mypy: disallow-untyped-calls=False
# transformers is typed but for most of what is called here.

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from evaluator.errors import StoreError
from export.pretrain.corpus import Corpus
from export.pretrain.masking import mask_scale
from export.pretrain.network import prediction_head
from export.pretrain.order import Batch, SpecialIds, build_batch, generator, plan_pass

CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on besides its corpus and first weights. The schedule counts pieces, not steps."""

    seed: int = 0
    batch_pieces: int = 4096
    mask_share: float = 0.18
    mask_most: float = 0.5  # highest probability of masking any one word
    warmup_pieces: int = 400_000
    stable_pieces: int = 15_000_000  # warm-up included
    decay_pieces: int = 5_000_000
    muon_rate: float = 1.2e-3
    adam_rate: float = 8e-4
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    bf16: bool = True
    checkpoint_every: int = 100


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands."""

    step: int = 0
    pieces: int = 0
    pass_number: int = 0
    batch: int = 0  # the next one of this pass


def rate_factor(pieces: int, settings: Settings) -> float:
    """The share of the peak learning rate after `pieces`: up over warm-up, flat, down to 0 linearly."""
    up = (pieces + settings.batch_pieces) / (settings.warmup_pieces + settings.batch_pieces)
    left = settings.stable_pieces + settings.decay_pieces - pieces
    return max(0.0, min(1.0, up, left / max(settings.decay_pieces, 1)))


def make_optimizers(model: PreTrainedModel, settings: Settings) -> tuple[torch.optim.Muon, torch.optim.AdamW]:
    """Muon over the hidden matrices, AdamW over embeddings, biases and norms (decay on the embeddings only)."""
    embedding_ids = {
        id(p) for module in model.modules() if isinstance(module, torch.nn.Embedding) for p in module.parameters()
    }
    parameters = list(model.parameters())
    hidden = [p for p in parameters if p.ndim == 2 and id(p) not in embedding_ids]
    embeddings = [p for p in parameters if id(p) in embedding_ids]
    vectors = [p for p in parameters if p.ndim < 2]
    muon = torch.optim.Muon(
        hidden, lr=settings.muon_rate, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.AdamW(
        [{"params": embeddings, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=settings.adam_rate,
        betas=(0.9, 0.98),
        eps=1e-6,
        fused=True,
    )
    return muon, adam


def _precision(bf16: bool) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16, enabled=bf16)


def masked_scores(model: PreTrainedModel, batch: Batch, bf16: bool) -> torch.Tensor:
    """Scores at the masked positions only: (masks, vocabulary) float32."""
    with _precision(bf16):
        hidden = model.base_model(
            input_ids=torch.from_numpy(batch.input_ids), attention_mask=torch.from_numpy(batch.attention_mask)
        ).last_hidden_state
        gathered = hidden.reshape(-1, hidden.shape[-1])[torch.from_numpy(batch.masked_at)]
        return prediction_head(model)(gathered).float()


def word_mask_scale(corpus: Corpus, settings: Settings) -> float:
    """The factor on the corpus's mask weights that masks `mask_share` of the pieces."""
    starts = np.flatnonzero(corpus.word_starts)
    lengths = np.diff(np.append(starts, len(corpus.pieces)))
    return mask_scale(corpus.mask_weights[starts], lengths, settings.mask_share, settings.mask_most)


def _batches(corpus: Corpus, settings: Settings, progress: Progress) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """(pass, batch, sentence numbers) from where the run stands, without end."""
    pass_number, first = progress.pass_number, progress.batch
    while True:
        plan = plan_pass(corpus, settings.batch_pieces, settings.seed, pass_number)
        for number in range(first, len(plan)):
            yield pass_number, number, plan[number]
        pass_number, first = pass_number + 1, 0


def train(
    model: PreTrainedModel,
    corpus: Corpus,
    special: SpecialIds,
    settings: Settings,
    run: Path,
    stop_step: int | None = None,
) -> Progress:
    """Where the run stands when its schedule (or `stop_step`) is reached. `model` is trained in place.

    Continues from `run/checkpoint.pt` if there is one: its seed, batches and masks must be the ones given (StoreError),
    the schedule and rates may differ, so that the decay can be started early.
    """
    run.mkdir(parents=True, exist_ok=True)
    optimizers = make_optimizers(model, settings)
    progress = _resume(model, optimizers, settings, run / CHECKPOINT)
    scale = word_mask_scale(corpus, settings)
    model.train()
    began, pieces_began = time.monotonic(), progress.pieces
    recent: list[tuple[float, float]] = []
    for pass_number, number, rows in _batches(corpus, settings, progress):
        factor = rate_factor(progress.pieces, settings)
        if factor == 0.0 or progress.step == stop_step:
            break
        rng = generator(settings.seed, pass_number, number)
        batch = build_batch(corpus, rows, special, scale, settings.mask_most, rng)
        scores = masked_scores(model, batch, settings.bf16)
        gold = torch.from_numpy(batch.gold)
        loss = cross_entropy(scores, gold)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        for optimizer, rate in zip(optimizers, (settings.muon_rate, settings.adam_rate), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            optimizer.step()
            optimizer.zero_grad()
        progress = Progress(progress.step + 1, progress.pieces + batch.pieces, pass_number, number + 1)
        recent.append((loss.item(), (scores.argmax(-1) == gold).float().mean().item()))
        if progress.step % 50 == 0:
            speed = (progress.pieces - pieces_began) / (time.monotonic() - began)
            _log(run, progress, factor, recent, speed)
            recent = []
        if progress.step % settings.checkpoint_every == 0:
            _save(model, optimizers, settings, progress, run / CHECKPOINT)
    _save(model, optimizers, settings, progress, run / CHECKPOINT)
    return progress


def _log(run: Path, progress: Progress, factor: float, recent: list[tuple[float, float]], speed: float) -> None:
    loss, right = np.mean(recent, axis=0)
    line = {**asdict(progress), "rate": round(factor, 4), "loss": round(loss, 4), "right": round(right, 4)}
    with (run / "log.jsonl").open("a") as log:
        log.write(json.dumps({**line, "pieces_per_s": round(speed)}) + "\n")


def _save(
    model: PreTrainedModel,
    optimizers: tuple[torch.optim.Optimizer, ...],
    settings: Settings,
    progress: Progress,
    path: Path,
) -> None:
    partial = path.with_suffix(".partial")
    state = {
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "settings": asdict(settings),
        "progress": asdict(progress),
    }
    torch.save(state, partial)
    partial.replace(path)


def _resume(
    model: PreTrainedModel, optimizers: tuple[torch.optim.Optimizer, ...], settings: Settings, path: Path
) -> Progress:
    if not path.exists():
        return Progress()
    state = torch.load(path, weights_only=True)
    for name in ("seed", "batch_pieces", "mask_share", "mask_most"):
        if state["settings"][name] != getattr(settings, name):
            message = f"was made with {name}={state['settings'][name]}, not {getattr(settings, name)}"
            raise StoreError(message, where=str(path), hint="use another run folder")
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return Progress(**state["progress"])


@torch.no_grad()
def held_out_accuracy(model: PreTrainedModel, corpus: Corpus, special: SpecialIds, settings: Settings) -> float:
    """The share of masked pieces of the held-out sentences whose best-scored piece is the right one.

    Masked as in training, once, by a fixed draw.
    """
    model.eval()
    scale = word_mask_scale(corpus, settings)
    rows = np.flatnonzero(corpus.held_out)
    rows = rows[np.argsort(np.diff(corpus.offsets)[rows], kind="stable")]
    right = masks = 0
    for number, first in enumerate(range(0, len(rows), 64)):
        rng = generator(settings.seed, 2**31, number)
        batch = build_batch(corpus, rows[first : first + 64], special, scale, settings.mask_most, rng)
        best = masked_scores(model, batch, settings.bf16).argmax(-1)
        right += int((best == torch.from_numpy(batch.gold)).sum())
        masks += len(batch.gold)
    return right / masks
