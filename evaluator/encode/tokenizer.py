"""The one door to `tokenizers`: cuts spellings into pieces, in the tokenizer's own way, and knows its template.

A spelling is cut twice: as it stands after a space, and as it stands directly after other text. No tokenizer call is
made for a sentence or an item; orders of a sentence are concatenations of these cuts.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from evaluator.errors import BundleError
from evaluator.treebank.text import starts_unspaced
from evaluator.types import Int8s, Int16s, Int32s, Int64s

_PROBE = "a"


@dataclass(frozen=True, slots=True)
class Cuts:
    """Pieces of many spellings, flat: spelling i has `pieces[offsets[i]:offsets[i + 1]]`."""

    pieces: Int32s
    offsets: Int64s


class PieceCutter:
    """A tokenizer with its special-token template, loaded from the bytes of a `tokenizer.json`."""

    def __init__(self, tokenizer_json: bytes, *, mask_id: int, where: str = "tokenizer.json") -> None:
        try:
            described = json.loads(tokenizer_json)
            self._tokenizer = _load(described)
            self._bare = _load(_without_prefix(described))
        except Exception as error:  # the library raises bare Exception for any fault in the file
            raise BundleError(f"not a tokenizer: {error}", where=where) from error
        self.mask_id = mask_id
        probe = self._tokenizer.encode(_PROBE).ids
        core = self._tokenizer.encode(_PROBE, add_special_tokens=False).ids
        at = next((i for i in range(len(probe)) if probe[i : i + len(core)] == core), None)
        if at is None or not core:
            raise BundleError("tokenizer's template does not hold the text it is given", where=where)
        self.prefix = np.array(probe[:at], dtype=np.int32)
        """Special pieces before the text, for instance [CLS]."""
        self.suffix = np.array(probe[at + len(core) :], dtype=np.int32)
        """Special pieces after the text, for instance [SEP]."""
        self.starts_spaced = core != self._bare.encode(_PROBE, add_special_tokens=False).ids
        """Whether the tokenizer reads the first word of a text as if a space came before it."""
        self._lone_space = self._tokenizer.token_to_id("▁")
        self._continuation = _continuation_mark(described["model"])
        added = (int(a["id"]) for a in described.get("added_tokens", []) if a.get("special"))
        self.special = np.array(sorted({*probe[:at], *probe[at + len(core) :], mask_id, *added}), dtype=np.int32)
        """Every id that must come from the template or a mask, never from text."""

    def cut(self, spellings: Sequence[str], *, after_space: bool) -> Cuts:
        """The pieces of each spelling after a space, or directly after other text.

        A space may be a piece of its own (`▁` before a word that no piece begins with it); it stays, for without it two
        words would be read as one. Only in a script written without spaces, where there is none, it goes.
        """
        if not after_space:
            cuts = self._cut_directly(spellings)
        elif self.starts_spaced:
            cuts = self.cut_texts(spellings)
        else:
            spaced = _encode(self._bare, [f" {s}" for s in spellings])
            cuts = [self._unspaced(ids, s) for ids, s in zip(spaced, spellings, strict=True)]
        offsets = np.zeros(len(cuts) + 1, dtype=np.int64)
        np.cumsum([len(c) for c in cuts], out=offsets[1:])
        return Cuts(np.fromiter((i for c in cuts for i in c), dtype=np.int32, count=int(offsets[-1])), offsets)

    def _cut_directly(self, spellings: Sequence[str]) -> list[list[int]]:
        """Only the first word of a spelling ("New York", the lemmas of a range) stands directly after other text."""
        if not self.starts_spaced:
            return _encode(self._bare, spellings)
        parts = [s.partition(" ") for s in spellings]
        heads = _encode(self._bare, [head for head, _, _ in parts])
        rests = _encode(self._tokenizer, [rest for _, _, rest in parts])
        return [head + rest for head, rest in zip(heads, rests, strict=True)]

    def _unspaced(self, ids: list[int], text: str) -> list[int]:
        return ids[1:] if ids and ids[0] == self._lone_space and starts_unspaced(text) else ids

    def cut_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Whole texts cut at once, without special pieces: what other tools feed their models."""
        encoded = _encode(self._tokenizer, texts)
        return [self._unspaced(ids, text) for ids, text in zip(encoded, texts, strict=True)]

    def word(self, pieces: Sequence[int]) -> str:
        """The string that a tuple of pieces spells, without its leading space; the pieces when it spells nothing."""
        if self._continuation:
            return "".join(p.removeprefix(self._continuation) for p in self.pieces(pieces))
        text = self._tokenizer.decode([int(p) for p in pieces], skip_special_tokens=False)
        return text.strip() or "".join(self.pieces(pieces))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces themselves, as the vocabulary writes them."""
        return [self._tokenizer.id_to_token(int(i)) or f"⟨{int(i)}⟩" for i in ids]

    def vocabulary_size(self) -> int:
        """One more than the largest id the tokenizer can give; ids may have holes."""
        return _size_of(self._tokenizer)


@dataclass(frozen=True, slots=True)
class TextPieces:
    """Pieces of whole inputs with their specials, flat: input i has offsets[i] … offsets[i + 1] - 1."""

    offsets: Int64s
    ids: Int32s
    types: Int8s
    """Which of two texts a piece belongs to, as the tokenizer's template says."""
    side: Int8s
    """Which of two texts it really came from, -1 for a special piece; empty unless asked."""
    word: Int16s
    """The number of its space-separated word in that text, -1 for a special piece; empty unless asked."""


class TextEncoder:
    """A tokenizer for whole texts and pairs of them, from the bytes of a `tokenizer.json`: what a classifier reads.

    Spellings of special pieces in a text are text.
    """

    def __init__(self, tokenizer_json: bytes, *, where: str = "tokenizer.json") -> None:
        try:
            self._tokenizer = _load(json.loads(tokenizer_json))
        except Exception as error:  # the library raises bare Exception for any fault in the file
            raise BundleError(f"not a tokenizer: {error}", where=where) from error

    def encode(self, first: Sequence[str], second: Sequence[str | None], *, words: bool = False) -> TextPieces:
        """The pieces of each input: the first text alone, or both in the template for pairs.

        `words` asks for `side` and `word`; texts then have single spaces.
        """
        inputs = [a if b is None else (a, b) for a, b in zip(first, second, strict=True)]
        call = self._tokenizer.encode_batch if words else self._tokenizer.encode_batch_fast
        encoded = call(inputs, add_special_tokens=True)
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(e.ids) for e in encoded], out=offsets[1:])
        count = int(offsets[-1])
        ids = np.fromiter((i for e in encoded for i in e.ids), dtype=np.int32, count=count)
        types = np.fromiter((t for e in encoded for t in e.type_ids), dtype=np.int8, count=count)
        side, word = np.zeros(0, dtype=np.int8), np.zeros(0, dtype=np.int16)
        if words:
            places = [p for e, texts in zip(encoded, zip(first, second, strict=True), strict=True)
                      for p in _places(e, texts)]  # fmt: skip
            side, word = (
                np.array(c, dtype=k) for c, k in zip(zip(*places, strict=True), (np.int8, np.int16), strict=True)
            )
        return TextPieces(offsets, ids, types, side, word)

    def vocabulary_size(self) -> int:
        """One more than the largest id the tokenizer can give."""
        return _size_of(self._tokenizer)


def _places(encoded: Any, texts: tuple[str, str | None]) -> list[tuple[int, int]]:
    """(text, word) of every piece of one input; the word is that of the piece's first character that is no space."""
    found = []
    for side, (begin, end) in zip(encoded.sequence_ids, encoded.offsets, strict=True):
        text = texts[side] if side is not None else None
        if text is None:
            found.append((-1, -1))
            continue
        spelled = text[begin:end]
        found.append((side, text.count(" ", 0, begin + len(spelled) - len(spelled.lstrip()))))
    return found


def _size_of(tokenizer: Tokenizer) -> int:
    return 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)


def _continuation_mark(model: dict[str, Any]) -> str:
    """What WordPiece writes before a piece that continues a word; empty for other models."""
    return str(model.get("continuing_subword_prefix") or "") if model.get("type") == "WordPiece" else ""


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    return [e.ids for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def _load(description: dict[str, Any]) -> Tokenizer:
    description["truncation"] = None
    description["padding"] = None
    tokenizer = Tokenizer.from_str(json.dumps(description))
    tokenizer.encode_special_tokens = True  # "[MASK]" in a treebank is text, not a mask
    return tokenizer


def _without_prefix(part: Any) -> Any:
    """The tokenizer's description with everything that puts a space before a text taken out."""
    if isinstance(part, list):
        return [_without_prefix(p) for p in part if not (isinstance(p, dict) and p.get("type") == "Prepend")]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "Prepend":
        return None
    changed = {name: (value if name == "vocab" else _without_prefix(value)) for name, value in part.items()}
    if part.get("type") == "Metaspace":
        changed["prepend_scheme"] = "never"
        changed.pop("add_prefix_space", None)
    if part.get("type") == "ByteLevel" and "add_prefix_space" in part:
        changed["add_prefix_space"] = False
    return changed
