"""The answers to one item as they are printed: words with probabilities, the gold word's rank."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Any, TypedDict

from evaluator.report.formats import number, visible


class Answers(TypedDict):
    """One column of the answers table: `w` rows of [word, p, 1 if gold], `g`: rank and p of the gold word."""

    h: str
    w: list[list[Any]]
    g: str


def words_of(row: Mapping[str, Any]) -> list[list[Any]]:
    """The five best words as [word, p, 1 if gold]."""
    gold, place = row["gold"], row["place"]
    found = []
    for rank, (word, logp) in enumerate(zip(row["pred"] or [], row["pred_logp"] or [], strict=False), start=1):
        hit = rank == place
        found.append([visible(word) + ("" if hit else _lookalike(word, gold)), probability(logp), int(hit)])
    return found[:5]


def _lookalike(word: str, gold: str) -> str:
    """What tells a wrong answer from a gold word it looks like: its code points, or that only the pieces differ."""
    if word == gold:
        return " (other pieces)"
    if unicodedata.normalize("NFKC", word) == unicodedata.normalize("NFKC", gold):
        return " ⟨" + " ".join(f"U+{ord(c):04X}" for c in word) + "⟩"
    return ""


def probability(logp: float | None) -> str:
    """A log-probability as the probability printed."""
    return number(None if logp is None else math.exp(min(logp, 0.0)))


def rank_of(row: Mapping[str, Any]) -> str:
    """`rank 3` among words where known, else how many pieces were better at each mask; or that there is no rank."""
    if row.get("reason") == "not_expressible":
        return "not expressible"
    if row["place"]:
        return f"rank {row['place']}"
    ranks = row["gold_ranks"]
    if not ranks:
        return "rank –"
    if len(ranks) == 1:
        return f"rank {ranks[0] + 1}"
    return "rank > 5 (pieces " + ", ".join(str(rank + 1) for rank in ranks) + ")"
