"""Which attention heads join equal or similar words of a pair, before and after reordering.

Per example: of all heads, the one whose strongest links (`evaluator.score.attend`) join the most alike words wins.
After Pham et al. 2021, section 3.4, whose analysis is only known from its output (their code for it is not public).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.types import Float64s, Int16s, Int64s
from evaluator.wos.words import is_punctuation

Head = tuple[int, int]
"""(layer, head), both from 0."""


@dataclass(frozen=True, slots=True)
class Attended:
    """The strongest links of every row and head: word numbers (rows, heads, links), -1 where there are fewer."""

    from_word: Int16s
    to_word: Int16s


def attended_of(table: pa.Table, heads: int, links: int) -> Attended:
    """The links of an ATTENDED table; of a row that failed all are -1."""
    there = np.flatnonzero(table["failed"].is_null().to_numpy())
    found = []
    for name in ("from_word", "to_word"):
        words = np.full((table.num_rows, heads, links), -1, dtype=np.int16)
        words[there] = table[name].combine_chunks().flatten().to_numpy().reshape(len(there), heads, links)
        found.append(words)
    return Attended(*found)


def edit_distance(a: str, b: str) -> int:
    """Levenshtein's distance: the fewest insertions, deletions and replacements of one character."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def similarity(a: str, b: str) -> float:
    """1 − edit distance / length of the longer, case and punctuation at the edges aside; 0 for punctuation alone."""
    a, b = (word if is_punctuation(word) else _bare(word) for word in (a.casefold(), b.casefold()))
    if is_punctuation(a) or is_punctuation(b):
        return 0.0
    return 1 - edit_distance(a, b) / max(len(a), len(b))


def _bare(word: str) -> str:
    while word and is_punctuation(word[0]):
        word = word[1:]
    while word and is_punctuation(word[-1]):
        word = word[:-1]
    return word


def likeness(attended: Attended, row: int, words: Sequence[str], others: Sequence[str]) -> Float64s:
    """(heads,) the mean similarity of the words that each head's links join; a link that is not there counts 0."""
    known: dict[tuple[int, int], float] = {(-1, -1): 0.0}
    scores = np.zeros(attended.from_word.shape[1:])
    for place in np.ndindex(scores.shape):
        pair = int(attended.from_word[row][place]), int(attended.to_word[row][place])
        if pair not in known:
            known[pair] = similarity(words[pair[0]], others[pair[1]])
        scores[place] = known[pair]
    mean: Float64s = scores.mean(axis=1)
    return mean


def winner(scores: Float64s) -> int:
    """The head with the highest score, ties to the smaller number."""
    return int(np.argmax(scores.round(9)))


def kept_share(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> float:
    """Share of the word pairs joined before that are joined after too, repeated ones counted as often."""
    both = Counter(before) & Counter(after)
    return sum(both.values()) / len(before)


def pairs_of(
    attended: Attended, row: int, head: int, words: Sequence[str], others: Sequence[str]
) -> list[tuple[str, str]]:
    """The words that one head's links join, strongest first."""
    ends = zip(attended.from_word[row, head].tolist(), attended.to_word[row, head].tolist(), strict=True)
    return [(words[a], others[b]) for a, b in ends if a >= 0]


def place_of(head: int, per_layer: int) -> Head:
    """(layer, head) of a head's number."""
    return head // per_layer, head % per_layer


def ranked(winners: Int64s, heads: int) -> list[tuple[int, int]]:
    """(head, wins) of every head that wins at all, most wins first, ties to the smaller number."""
    wins = np.bincount(winners, minlength=heads)
    return [(int(h), int(wins[h])) for h in np.lexsort((np.arange(heads), -wins)) if wins[h]]
