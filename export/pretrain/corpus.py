"""The encoded corpus: flat piece ids, where words begin, how often each word and sentence should be used.

Made once per tokenizer and kept in one `.npz`; training reads nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from export.pretrain.domain import sampling_weights
from export.pretrain.text import Sentence

MAX_CONTENT_PIECES = 118  # 128 positions less the two specials, less room for words that a shuffle cuts otherwise
FREQUENT_SHARE = 2e-4  # words above this share of their language are masked less: sqrt(share / frequency), as word2vec
_NO_LETTER_WEIGHT = 0.02
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentences as columns: S sentences, P pieces in all (no special pieces)."""

    pieces: NDArray[np.int32]  # (P,)
    word_starts: NDArray[np.bool_]  # (P,) whether a piece begins a word
    mask_weights: NDArray[np.float32]  # (P,) of the word that begins there; 0 inside words
    offsets: NDArray[np.int64]  # (S + 1,) sentence s is pieces[offsets[s]:offsets[s + 1]]
    sample_weights: NDArray[np.float32]  # (S,) expected uses per pass
    held_out: NDArray[np.bool_]  # (S,)


def save_corpus(corpus: Corpus, path: Path) -> None:
    """Nothing; the file appears whole or not at all."""
    partial = path.with_name(f".{path.name}.partial.npz")
    np.savez(partial, **{field.name: getattr(corpus, field.name) for field in fields(corpus)})
    partial.replace(path)


def load_corpus(path: Path) -> Corpus:
    """The corpus that `save_corpus` wrote."""
    with np.load(path) as arrays:
        return Corpus(**{field.name: arrays[field.name] for field in fields(Corpus)})


def is_han(char: str) -> bool:
    """Whether a character is a Chinese one, written without spaces between words."""
    return "\u3400" <= char <= "\u9fff"


def word_start_flags(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each piece, given as (start, end) in `text`, begins a word.

    Words are runs of letters and digits; any other character and any Chinese character is one by itself, so a piece of
    several Chinese characters is one word.
    """
    flags = []
    for span_start, end in spans:
        start = span_start + (span_start < end and text[span_start] == " ")  # Unigram pieces take in the space before
        here, before = text[start : start + 1], text[start - 1 : start] if start else ""
        inside = before.isalnum() and here.isalnum() and not is_han(here) and not is_han(before)
        flags.append(not inside)
    return flags


def join_chinese(
    flags: Sequence[bool], han: Sequence[bool], rng: np.random.Generator, join_share: float, longest: int = 3
) -> list[bool]:
    """The flags with neighbouring Chinese words of one piece joined at random into words of up to `longest` pieces.

    Chinese text has no word boundaries, and the words to be predicted are often two pieces long.
    """
    joined = list(flags)
    length = 1
    for i, draw in enumerate(rng.random(len(flags))):
        if i and han[i] and han[i - 1] and joined[i] and draw < join_share and length < longest:
            joined[i] = False
        length = 1 if joined[i] else length + 1
    return joined


def _encode_sentences(
    sentences: Sequence[Sentence], tokenizer: PreTrainedTokenizerBase, rng: np.random.Generator, join_share: float
) -> Iterator[tuple[list[int], list[bool]]]:
    for first in range(0, len(sentences), _CHUNK):
        chunk = sentences[first : first + _CHUNK]
        encodings = tokenizer(
            [sentence.text for sentence in chunk],
            add_special_tokens=False,
            return_offsets_mapping=True,
            truncation=True,
            max_length=MAX_CONTENT_PIECES + 1,
        )
        for sentence, ids, spans in zip(chunk, encodings["input_ids"], encodings["offset_mapping"], strict=True):
            flags = word_start_flags(sentence.text, spans)
            if sentence.language == "zh":
                han = [all(is_han(char) for char in sentence.text[a:b].strip()) for a, b in spans]
                flags = join_chinese(flags, han, rng, join_share)
            if len(ids) > MAX_CONTENT_PIECES:  # cut before the last word that would not fit whole
                cut = next((i for i in range(MAX_CONTENT_PIECES, 0, -1) if flags[i]), MAX_CONTENT_PIECES)
                yield ids[:cut], flags[:cut]
            else:
                yield ids, flags


def _has_letter(pieces: Sequence[str]) -> bool:
    return any(char.isalpha() for piece in pieces for char in piece)


def _word_weights(
    rows: Sequence[tuple[list[int], list[bool]]], languages: Sequence[str], tokenizer: PreTrainedTokenizerBase
) -> NDArray[np.float32]:
    """How eagerly the word beginning at each piece is masked: (P,).

    sqrt(FREQUENT_SHARE / frequency in its language), at most 1, over its number of pieces, so that long words do not
    take most of the masks; almost never when it has no letter or an unknown piece.
    """
    names = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    words = [[tuple(word) for word in split_words(ids, flags)] for ids, flags in rows]
    counts: dict[str, Counter[tuple[int, ...]]] = {language: Counter() for language in set(languages)}
    for row, language in zip(words, languages, strict=True):
        counts[language].update(row)
    weights: dict[str, dict[tuple[int, ...], float]] = {}
    for language, counter in counts.items():
        total = counter.total()
        weights[language] = {}
        for word, count in counter.items():
            plain = _has_letter([names[i] for i in word]) and tokenizer.unk_token_id not in word
            eager = min(1.0, (FREQUENT_SHARE * total / count) ** 0.5) / len(word)
            weights[language][word] = eager if plain else _NO_LETTER_WEIGHT
    flat = []
    for row, language in zip(words, languages, strict=True):
        table = weights[language]
        for word in row:
            flat.append(table[word])
            flat.extend([0.0] * (len(word) - 1))
    return np.array(flat, dtype=np.float32)


def split_words(ids: Sequence[int], flags: Sequence[bool]) -> Iterator[list[int]]:
    """The ids of each word in turn."""
    word: list[int] = []
    for piece, starts in zip(ids, flags, strict=True):
        if starts and word:
            yield word
            word = []
        word.append(piece)
    if word:
        yield word


def encode_corpus(sentences: Sequence[Sentence], tokenizer: PreTrainedTokenizerBase, seed: int) -> Corpus:
    """The corpus of these sentences. Each language gets the same expected number of pieces per pass."""
    join_share = (
        0.15 if "▁" in tokenizer.get_vocab() else 0.5
    )  # WordPiece cuts Chinese into characters, Unigram does not
    rng = np.random.Generator(np.random.Philox(key=seed))
    rows = list(_encode_sentences(sentences, tokenizer, rng, join_share))
    languages = [sentence.language for sentence in sentences]
    lengths = np.array([len(ids) for ids, _ in rows], dtype=np.int64)
    return Corpus(
        pieces=np.array([piece for ids, _ in rows for piece in ids], dtype=np.int32),
        word_starts=np.array([flag for _, flags in rows for flag in flags], dtype=np.bool_),
        mask_weights=_word_weights(rows, languages, tokenizer),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        sample_weights=sampling_weights(sentences, lengths.astype(np.float64)).astype(np.float32),
        held_out=np.array([sentence.held_out for sentence in sentences], dtype=np.bool_),
    )
