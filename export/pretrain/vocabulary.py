"""Tokenizers: train a cased WordPiece (BERT kind) or a Unigram (XLM-R kind) on the training text.

Both are written as a `tokenizer.json` with `tokenizer_config.json` beside it, which AutoTokenizer loads.
"""

# mypy: disallow-untyped-calls=False
# transformers is typed but for most of what is called here.

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

Kind = Literal["wordpiece", "unigram"]
MAX_PIECES = 128
_WORDPIECE_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(texts: Iterable[str], size: int) -> Tokenizer:
    """A cased WordPiece tokenizer with the special pieces at ids 0-4."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=list(_WORDPIECE_SPECIAL), limit_alphabet=6000, show_progress=False
        ),
    )
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def train_unigram(texts: Sequence[str], size: int) -> Tokenizer:
    """A Unigram tokenizer laid out like XLM-R: <s> <pad> </s> <unk> at ids 0-3, <mask> last, words begin with `▁`.

    SentencePiece estimates the pieces (split by script, so that none mixes letters and punctuation; digits one by one;
    Chinese is not cut beforehand). The normaliser is plain NFKC in both places, which keeps `tokenizer.json` small.
    """
    normalizer = unigram_normalizer()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "unigram")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(normalizer.normalize_str(text) for text in texts),
            model_prefix=str(prefix),
            vocab_size=size - 2,  # SentencePiece counts <unk> <s> </s>; we lay out those, <pad> and <mask> ourselves
            model_type="unigram",
            character_coverage=0.9998,
            split_digits=True,
            normalization_rule_name="identity",
            max_sentence_length=4096,
            max_sentencepiece_length=16,
            shuffle_input_sentence=False,
            num_threads=1,
            minloglevel=1,
        )
        trained = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    pieces = [
        (trained.id_to_piece(i), round(trained.get_score(i), 4))
        for i in range(trained.get_piece_size())
        if not (trained.is_control(i) or trained.is_unknown(i))
    ]
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces, ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def unigram_normalizer() -> normalizers.Normalizer:
    """NFKC, then runs of spaces to one, none at the ends."""
    return normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])


def wrap_tokenizer(tokenizer: Tokenizer, kind: Kind) -> PreTrainedTokenizerFast:
    """The tokenizer with its special pieces named and its length limit set, ready for `save_pretrained`."""
    if kind == "wordpiece":
        pad, unk, cls, sep, mask = _WORDPIECE_SPECIAL
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            model_max_length=MAX_PIECES,
            pad_token=pad,
            unk_token=unk,
            cls_token=cls,
            sep_token=sep,
            mask_token=mask,
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MAX_PIECES,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
    )


def train_tokenizer(texts: Sequence[str], kind: Kind, size: int) -> PreTrainedTokenizerFast:
    """A tokenizer of `size` pieces, special ones included."""
    trained = train_wordpiece(texts, size) if kind == "wordpiece" else train_unigram(texts, size)
    return wrap_tokenizer(trained, kind)
