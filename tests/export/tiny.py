"""Tiny random checkpoints of every family, with tokenizers trained on the built-in sentences."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

from export.convert import quiet
from export.sentences import SENTENCES

BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@dataclass(frozen=True)
class Family:
    """A model type, its tokenizer's kind, and settings that differ from the shared ones."""

    tokenizer: str
    settings: dict[str, Any]


FAMILIES: dict[str, Family] = {
    "bert": Family("wordpiece", {}),
    "distilbert": Family("wordpiece", {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}),
    "electra": Family("wordpiece", {"embedding_size": 16}),
    "modernbert": Family("wordpiece", {"global_attn_every_n_layers": 2, "local_attention": 8}),
    "mpnet": Family("unigram", {}),
    "roberta": Family("bytes", {"type_vocab_size": 1}),
    "xlm-roberta": Family("unigram", {"type_vocab_size": 1}),
    "camembert": Family("unigram", {"type_vocab_size": 1}),
    "albert": Family("unigram", {"embedding_size": 16}),
    "rembert": Family("unigram", {"input_embedding_size": 16, "output_embedding_size": 24}),
    "deberta-v2": Family(
        "unigram",
        {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "position_buckets": 16,
        },
    ),
}


@cache
def _trained(kind: str) -> tuple[str, dict[str, str]]:
    """A trained tokenizer as JSON, and its special tokens. Kept: training breaks ties differently each time."""
    if kind == "wordpiece":
        specials = BERT_SPECIALS
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=400, special_tokens=specials, show_progress=False)
    elif kind == "bytes":
        specials = ROBERTA_SPECIALS
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        specials = ROBERTA_SPECIALS
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=400, special_tokens=specials, unk_token="<unk>", show_progress=False
        )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    names = {name.strip("[]<>").lower(): name for name in specials}
    first, last = names.get("cls", "<s>"), names.get("sep", "</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}" if first == "<s>" else f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, tokenizer.token_to_id(first)), (last, tokenizer.token_to_id(last))],
    )
    roles = {"mask_token": "mask", "pad_token": "pad", "unk_token": "unk"}
    return tokenizer.to_str(), {
        **{role: names[short] for role, short in roles.items()}, "cls_token": first, "sep_token": last,
    }  # fmt: skip


def train_tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A small tokenizer of the kind, with its family's special tokens: equal at every call of a session."""
    text, tokens = _trained(kind)
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(text), model_max_length=64, **tokens)


def make_model(kind: str, tokenizer: PreTrainedTokenizerFast, **settings: Any) -> Any:
    """A random masked language model whose logits spread enough for ranks to mean something."""
    torch.manual_seed(7)
    config = AutoConfig.for_model(
        kind,
        **{
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": 64 + tokenizer.pad_token_id + 1,
            "pad_token_id": tokenizer.pad_token_id,
            **FAMILIES[kind].settings,
            **settings,
        },
    )
    with quiet():  # importing some model classes compiles with a deprecated decorator of torch
        model = AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3)
            elif parameter.ndim == 2:
                parameter.mul_(4)
    return model


def save_classifier(kind: str, folder: Path, labels: tuple[str, ...], **settings: Any) -> Path:
    """Folder of a saved tiny classifier with its tokenizer; its logits spread, so that classes differ."""
    tokenizer = train_tokenizer(FAMILIES[kind].tokenizer)
    body = make_model(kind, tokenizer, num_labels=len(labels), id2label=dict(enumerate(labels)), **settings)
    with quiet():
        model = AutoModelForSequenceClassification.from_config(body.config).eval()
        model.load_state_dict(body.state_dict(), strict=False)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "classifier" in name or "pooler" in name:
                parameter.normal_(0, 1)
    tokenizer.model_max_length = settings.get("max_position_embeddings", tokenizer.model_max_length)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_checkpoint(kind: str, folder: Path, **settings: Any) -> Path:
    """Folder of a saved tiny checkpoint with its tokenizer."""
    tokenizer = train_tokenizer(FAMILIES[kind].tokenizer)
    make_model(kind, tokenizer, **settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
