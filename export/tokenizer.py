"""The bundle's `tokenizer.json`, and what must be known of it: mask, padding, unknown, usable length."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from evaluator.errors import BundleError
from export.graph import first_line
from export.sentences import SENTENCES

TOKENIZER_FILE = "tokenizer.json"
MASK_SPELLINGS = ("[MASK]", "<mask>", "<special1>")
PAD_SPELLINGS = ("[PAD]", "<pad>")
POSITIONS_AFTER_PAD = frozenset(
    {
        "camembert", "data2vec-text", "ibert", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
        "xlm-roberta-xl", "xmod",
    }
)  # fmt: skip
"""Model types that number positions from `pad_id + 1`: they have that many fewer than their table."""
LONGEST_VERIFIED = 1024
"""A bundle promises no more pieces than the shape probe ran: quadratic attention bounds what a probe can afford."""
ABSENT_LENGTH = 10**6
"""transformers writes 1e30 where a tokenizer names no longest length."""


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """Ids and length that `bundle.json` records, and how the tokenizer was had."""

    mask_id: int
    """-1 where the tokenizer has none and needs none."""
    pad_id: int
    unk_id: int | None
    size: int
    """One more than the largest id, added tokens included."""
    origin: str
    """`tokenizer.json` when copied, else the name of the class converted."""
    probe_sha256: str
    """Hash of the ids of the built-in sentences: equal hashes, equal tokenizers, on those."""
    slow_disagreements: int | None
    """Built-in sentences that the slow class it was converted from cuts otherwise; None when it was copied."""
    encoded: tuple[tuple[int, ...], ...]
    """Ids of the built-in sentences, special tokens included."""


def bring_tokenizer(
    folder: Path, out: Path, config: dict[str, Any], *, trust_remote_code: bool, needs_mask: bool = True
) -> TokenizerFacts:
    """What is known of the tokenizer, after writing its `tokenizer.json` into `out`.

    Errors: BundleError when there is none, or it has no mask though it needs one, or no padding.
    """
    source = folder / TOKENIZER_FILE
    disagreements: int | None = None
    if source.is_file():
        # Copied, never passed through its class: BertTokenizerFast would set its own normalizer (lower-casing) anew.
        document = _read_json(source)
        origin = TOKENIZER_FILE
    else:
        document, origin, disagreements = _convert(folder, trust_remote_code)
    # State of the last training or padding call; a reader must never cut or pad by it.
    document["truncation"] = document["padding"] = None
    target = out / TOKENIZER_FILE
    target.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    try:
        fast = PreTrainedTokenizerFast(tokenizer_file=str(target))
    except Exception as error:  # the Rust side raises bare Exception
        raise BundleError(
            f"tokenizer cannot be read: {first_line(error)}", where=str(source), hint="save it again with transformers"
        ) from error
    vocabulary: dict[str, int] = fast.get_vocab()
    named = _named_tokens(folder)
    mask_id = _find(vocabulary, [named.get("mask_token"), *MASK_SPELLINGS])
    if mask_id is None and needs_mask:
        raise BundleError(
            "the tokenizer has no mask token",
            where=str(folder),
            hint="name it as mask_token in special_tokens_map.json",
        )
    pad_id = _find(vocabulary, [named.get("pad_token"), *PAD_SPELLINGS])
    if pad_id is None:
        pad_id = config.get("pad_token_id")
    if pad_id is None:
        raise BundleError(
            "the tokenizer has no padding token",
            where=str(folder),
            hint="name it as pad_token in special_tokens_map.json",
        )
    encoded = tuple(tuple(fast(sentence)["input_ids"]) for sentence in SENTENCES)
    return TokenizerFacts(
        mask_id=-1 if mask_id is None else mask_id,
        pad_id=int(pad_id),
        unk_id=_unknown_id(document, vocabulary, named.get("unk_token")),
        size=max(vocabulary.values()) + 1,
        origin=origin,
        probe_sha256=_hash_ids(encoded),
        slow_disagreements=disagreements,
        encoded=encoded,
    )


def positions_after_pad(config: dict[str, Any]) -> bool:
    """Whether a checkpoint's model numbers its positions from `pad_id + 1`."""
    return config.get("model_type") in POSITIONS_AFTER_PAD


def usable_length(folder: Path, config: dict[str, Any], pad_id: int) -> int:
    """Pieces a row may hold, specials included: the least that model, tokenizer and probe allow."""
    lengths = [LONGEST_VERIFIED]
    table = config.get("max_position_embeddings", config.get("n_positions"))
    if isinstance(table, int) and table > 0:
        lengths.append(table - (pad_id + 1 if positions_after_pad(config) else 0))
    stated = _read_optional(folder / "tokenizer_config.json").get("model_max_length")
    if isinstance(stated, int | float) and 0 < stated < ABSENT_LENGTH:
        lengths.append(int(stated))
    length = min(lengths)
    if length < 3:
        raise BundleError(
            f"the model holds {length} pieces, too few for a word between two special ones", where=folder.name
        )
    return length


def check_sizes(facts: TokenizerFacts, vocab_size: int, source: str) -> None:
    """Nothing. Errors: BundleError when the tokenizer gives ids outside the model's vocabulary."""
    if facts.size > vocab_size:
        raise BundleError(
            f"the tokenizer has {facts.size} pieces, the model only {vocab_size}: they do not belong together",
            where=source,
            hint="take tokenizer and model from one checkpoint",
        )


def _convert(folder: Path, trust_remote_code: bool) -> tuple[dict[str, Any], str, int]:
    """The fast form of a slow tokenizer, its class, and on how many built-in sentences the two differ."""
    options = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    try:
        fast = AutoTokenizer.from_pretrained(str(folder), use_fast=True, **options)
        slow = AutoTokenizer.from_pretrained(str(folder), use_fast=False, **options)
    except (OSError, ValueError, ImportError, TypeError, KeyError, AttributeError) as error:
        raise BundleError(
            f"no usable tokenizer: {first_line(error)}",
            where=str(folder),
            hint="put the checkpoint's tokenizer.json (or vocab.txt, sentencepiece model) beside the model",
        ) from error
    if not fast.is_fast:
        raise BundleError(
            f"{type(fast).__name__} has no fast form",
            where=str(folder),
            hint="save a tokenizer.json for it with the tokenizers library",
        )
    differ = sum(slow(sentence)["input_ids"] != fast(sentence)["input_ids"] for sentence in SENTENCES)
    return json.loads(fast.backend_tokenizer.to_str()), type(fast).__name__, differ


def _named_tokens(folder: Path) -> dict[str, str]:
    """Special tokens by role, from special_tokens_map.json and tokenizer_config.json."""
    named: dict[str, str] = {}
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        for role, token in _read_optional(folder / file).items():
            content = token.get("content") if isinstance(token, dict) else token
            if role.endswith("_token") and isinstance(content, str):
                named[role] = content
    return named


def _unknown_id(document: dict[str, Any], vocabulary: dict[str, int], named: str | None) -> int | None:
    """Id the tokenizer gives to what it does not know; None where it never needs one."""
    model = document.get("model", {})
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    return _find(vocabulary, [model.get("unk_token"), named])


def _find(vocabulary: dict[str, int], spellings: Sequence[str | None]) -> int | None:
    return next((vocabulary[s] for s in spellings if s is not None and s in vocabulary), None)


def _hash_ids(encoded: Sequence[Sequence[int]]) -> str:
    return hashlib.sha256(json.dumps([list(row) for row in encoded]).encode()).hexdigest()


def _read_optional(path: Path) -> dict[str, Any]:
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Errors: BundleError naming the file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise BundleError(f"not JSON: {first_line(error)}", where=str(path), hint="copy the file again") from error
    if not isinstance(document, dict):
        raise BundleError("not a JSON object", where=str(path), hint="copy the file again")
    return document
