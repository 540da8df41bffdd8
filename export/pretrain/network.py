"""The network: made from nothing, or warm-started from a model with another vocabulary."""

# mypy: disallow-untyped-calls=False
# transformers is typed but for most of what is called here.

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from evaluator.errors import UserError
from export.pretrain.vocabulary import MAX_PIECES

Architecture = Literal["bert", "xlm-roberta"]
_SIZE = {
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_attention_heads": 4,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def new_network(
    architecture: Architecture, tokenizer: PreTrainedTokenizerBase, seed: int, size: dict[str, float] | None = None
) -> PreTrainedModel:
    """A masked model with random weights for this tokenizer; `size` overrides fields of the default configuration."""
    shape = {**_SIZE, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **(size or {})}
    torch.manual_seed(seed)
    if architecture == "bert":
        return BertForMaskedLM(BertConfig(max_position_embeddings=MAX_PIECES, **shape))
    return XLMRobertaForMaskedLM(
        XLMRobertaConfig(
            max_position_embeddings=MAX_PIECES + tokenizer.pad_token_id + 1,  # positions count from padding_idx + 1
            type_vocab_size=1,
            layer_norm_eps=1e-5,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **shape,
        )
    )


def prediction_head(model: PreTrainedModel) -> Callable[[torch.Tensor], torch.Tensor]:
    """The part that turns hidden states (n, hidden) into scores (n, vocabulary)."""
    return cast(Callable[[torch.Tensor], torch.Tensor], model.cls if hasattr(model, "cls") else model.lm_head)


def recut_piece(piece: str, source: PreTrainedTokenizerBase) -> list[int]:
    """Ids of the WordPiece pieces that spell a Unigram piece: word-initial for `▁x`, continuation (`##`) otherwise.

    Longest match first; Chinese characters and marks, which WordPiece isolates, may be either. Empty if it cannot be
    spelt.
    """
    vocabulary = source.get_vocab()
    text, initial = piece.removeprefix("▁"), piece.startswith("▁")
    ids: list[int] = []
    start = 0
    while start < len(text):
        for end in range(len(text), start, -1):
            part = text[start:end]
            spellings = (part, f"##{part}") if initial and start == 0 else (f"##{part}", part)
            found = next((vocabulary[name] for name in spellings if name in vocabulary), None)
            if found is not None:
                ids.append(found)
                start = end
                break
        else:
            return []
    return ids


def warm_start(
    target: PreTrainedModel,
    target_tokenizer: PreTrainedTokenizerBase,
    source: PreTrainedModel,
    source_tokenizer: PreTrainedTokenizerBase,
) -> int:
    """How many pieces got no embedding from the source (they get the mean of all); `target` is filled in place.

    Encoder, positions (shifted by padding_idx + 1) and head transform are copied; a piece's embedding and output bias
    are the means over the source pieces that spell it; special pieces take over those of the same role. Raises
    UserError unless it goes from BERT to XLM-R.
    """
    if not (isinstance(target, XLMRobertaForMaskedLM) and isinstance(source, BertForMaskedLM)):
        kinds = f"{source.config.model_type} to {target.config.model_type}"
        raise UserError(f"a warm start goes from bert to xlm-roberta, not from {kinds}")
    target.roberta.encoder.load_state_dict(source.bert.encoder.state_dict())
    head, source_head = target.lm_head, source.cls.predictions
    head.dense.load_state_dict(source_head.transform.dense.state_dict())
    head.layer_norm.load_state_dict(source_head.transform.LayerNorm.state_dict())
    embeddings, given = target.roberta.embeddings, source.bert.embeddings
    same_role = {
        getattr(target_tokenizer, f"{role}_token_id"): [getattr(source_tokenizer, f"{role}_token_id")]
        for role in ("cls", "sep", "pad", "unk", "mask")
    }
    unknown = 0
    with torch.no_grad():
        words, biases = given.word_embeddings.weight, source_head.bias
        for i, piece in enumerate(target_tokenizer.convert_ids_to_tokens(list(range(len(target_tokenizer))))):
            ids = same_role.get(i) or recut_piece(piece, source_tokenizer)
            unknown += not ids
            embeddings.word_embeddings.weight[i] = words[ids].mean(0) if ids else words.mean(0)
            head.bias[i] = biases[ids].mean() if ids else biases.mean()
        offset = embeddings.padding_idx + 1
        embeddings.position_embeddings.weight[offset:] = given.position_embeddings.weight
        embeddings.token_type_embeddings.weight[0] = given.token_type_embeddings.weight[0]
        embeddings.LayerNorm.load_state_dict(given.LayerNorm.state_dict())
    return unknown
