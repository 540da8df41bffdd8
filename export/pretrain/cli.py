"""Commands of the pre-training, in the order in which they are run."""

# mypy: disallow-untyped-calls=False
# transformers is typed but for most of what is called here.

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from evaluator.errors import UserError
from export.pretrain import loop, network, text, vocabulary
from export.pretrain.corpus import encode_corpus, load_corpus, save_corpus
from export.pretrain.domain import draw_copies, sampling_weights
from export.pretrain.order import SpecialIds

_DEFAULT = loop.Settings()
app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)

Text = Annotated[Path, typer.Option("--text", help="Folder with <language>.txt.xz, one sentence a line.")]
Out = Annotated[Path, typer.Option("--out", help="What to write.")]
Seed = Annotated[int, typer.Option(help="Decides everything random.")]
Threads = Annotated[int, typer.Option(help="CPU threads; 1 makes reruns bit for bit equal.")]


def _load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder)
    return tokenizer


def _load_model(folder: Path) -> PreTrainedModel:
    """The model in float32 with plain attention, which is faster than the fused kernel on CPUs at these lengths."""
    model: PreTrainedModel = AutoModelForMaskedLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    return model


def _special_ids(tokenizer: PreTrainedTokenizerBase) -> SpecialIds:
    return SpecialIds(tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)


@app.command()
def tokenizer(
    text_folder: Text,
    out: Out,
    kind: Annotated[vocabulary.Kind, typer.Option(help="Kind of vocabulary.")] = "wordpiece",
    size: Annotated[int, typer.Option(help="Pieces, special ones included.")] = 20_000,
    seed: Seed = 0,
) -> None:
    """Train a tokenizer on the text, domain-weighted and balanced between languages."""
    sentences = [sentence for sentence in text.read_sentences(text_folder) if not sentence.held_out]
    # A Chinese character carries about as much as two letters.
    sizes = np.array([len(s.text) * (2 if s.language == "zh" else 1) for s in sentences], dtype=np.float64)
    drawn = draw_copies(sampling_weights(sentences, sizes), np.random.Generator(np.random.Philox(key=seed)))
    vocabulary.train_tokenizer([sentences[i].text for i in drawn], kind, size).save_pretrained(out)


@app.command()
def encode(
    text_folder: Text,
    tokenizer_folder: Annotated[Path, typer.Option("--tokenizer", help="Folder with tokenizer.json.")],
    out: Out,
    seed: Seed = 0,
) -> None:
    """Encode the text with a tokenizer into one .npz file."""
    save_corpus(encode_corpus(text.read_sentences(text_folder), _load_tokenizer(tokenizer_folder), seed), out)


@app.command()
def start(
    tokenizer_folder: Annotated[Path, typer.Option("--tokenizer", help="Folder with tokenizer.json.")],
    out: Out,
    architecture: Annotated[network.Architecture, typer.Option(help="Kind of model.")] = "bert",
    warm: Annotated[Path | None, typer.Option(help="BERT model with a WordPiece vocabulary to start from.")] = None,
    seed: Seed = 0,
) -> None:
    """Write a model to train: random, or with the encoder and the averaged embeddings of a WordPiece model."""
    pieces = _load_tokenizer(tokenizer_folder)
    model = network.new_network(architecture, pieces, seed)
    if warm is not None:
        missing = network.warm_start(model, pieces, _load_model(warm), _load_tokenizer(warm))
        typer.echo(f"{missing} of {len(pieces)} pieces have no counterpart in {warm.name}")
    model.save_pretrained(out)
    pieces.save_pretrained(out)


@app.command()
def train(
    corpus: Annotated[Path, typer.Option(help="The .npz that `encode` wrote.")],
    init: Annotated[Path, typer.Option(help="Model to begin with: from `start`, or any earlier one.")],
    run: Annotated[Path, typer.Option(help="Folder for the checkpoint and the log; an interrupted run continues.")],
    stable_pieces: Annotated[int, typer.Option(help="Pieces before the decay.")] = _DEFAULT.stable_pieces,
    decay_pieces: Annotated[int, typer.Option(help="Pieces of the decay.")] = _DEFAULT.decay_pieces,
    batch_pieces: Annotated[int, typer.Option(help="Pieces a batch, padding included.")] = _DEFAULT.batch_pieces,
    muon_rate: Annotated[float, typer.Option(help="Peak rate of the hidden matrices.")] = _DEFAULT.muon_rate,
    adam_rate: Annotated[float, typer.Option(help="Peak rate of the rest.")] = _DEFAULT.adam_rate,
    seed: Seed = 0,
    threads: Threads = 1,
) -> None:
    """Train until the schedule ends. Killed at any time, the same command continues as if nothing had happened."""
    torch.set_num_threads(threads)
    settings = replace(
        _DEFAULT,
        seed=seed,
        batch_pieces=batch_pieces,
        stable_pieces=stable_pieces,
        decay_pieces=decay_pieces,
        muon_rate=muon_rate,
        adam_rate=adam_rate,
    )
    special = _special_ids(_load_tokenizer(init))
    progress = loop.train(_load_model(init), load_corpus(corpus), special, settings, run)
    typer.echo(json.dumps(asdict(progress)))


@app.command()
def finish(
    corpus: Annotated[Path, typer.Option(help="The corpus of the run, for its held-out sentences.")],
    init: Annotated[Path, typer.Option(help="The model that the run began with, for configuration and tokenizer.")],
    run: Annotated[Path, typer.Option(help="The run folder.")],
    out: Out,
    threads: Threads = 1,
) -> None:
    """Write the run's model in half precision, with its tokenizer, and print its held-out accuracy."""
    torch.set_num_threads(threads)
    pieces, model = _load_tokenizer(init), _load_model(init)
    state = torch.load(run / loop.CHECKPOINT, weights_only=True)
    model.load_state_dict(state["model"])
    model.half().save_pretrained(out)
    pieces.save_pretrained(out)
    figures: dict[str, Any] = dict(state["progress"])
    # Measured on what was written: in float32 arithmetic, with the rounded weights.
    settings = replace(loop.Settings(**state["settings"]), bf16=False)
    figures["held_out_right"] = loop.held_out_accuracy(
        _load_model(out), load_corpus(corpus), _special_ids(pieces), settings
    )
    typer.echo(json.dumps(figures))


def main() -> None:
    """Nothing; the user's mistake prints one line and exits 2."""
    transformers_logging.set_verbosity_error()
    try:
        app()
    except UserError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)
