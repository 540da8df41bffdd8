"""What the conditions need to know of a sentence, as arrays: one sentence (`View`) or many of one length (`Block`).

Sentences of the same number of units are stacked, so that every array is a full matrix: no padding, no ragged loops.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.types import CONTENT_UPOS, ROOT, Bools, Int32s, Int64s, Sentence

CORE_RELATIONS = frozenset(("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp"))
"""The core arguments of clausal predicates, https://universaldependencies.org/u/dep/ ; subtypes belong to them."""


@dataclass(frozen=True, slots=True)
class View:
    """One sentence as its conditions see it; arrays are (units,)."""

    content: Bools
    heads: Int64s
    edges: Bools
    """The unit has a head in the sentence and its relation is not `punct`."""
    pairs: Bools
    """Dependents that `head` may swap with their heads: core arguments if there is one, else any edge."""
    nouns: Bools
    """Nouns that `noun_swap` may swap: PROPN if it has a pair to swap, else NOUN if it has, else both."""
    final: int
    """Length of the run of punctuation units that ends the sentence."""
    tree: bool
    """One root, no cycle, no missing head, among units."""
    forms: tuple[str, ...]
    """Forms without their spaces."""
    lemmas: tuple[str, ...] | None
    """Lemmas without their spaces; None when +L is not asked or a unit has none."""

    def __len__(self) -> int:
        """Number of units."""
        return len(self.forms)


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spellings (forms or lemmas) of a block, for telling whether an order changes the text."""

    ids: Int32s  # (rows, units): equal within a row iff the spelling is equal
    initials: Int32s  # (rows, units): code point of the first character, -1 for an empty spelling
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Sentences of one length; matrices are (rows, units), vectors (rows,). Fields as in `View`."""

    content: Bools
    heads: Int64s
    edges: Bools
    pairs: Bools
    nouns: Bools
    final: Int64s
    tree: Bools


def base_relation(deprel: str) -> str:
    """The universal part of a relation: "nsubj" of "nsubj:pass"."""
    return deprel.partition(":")[0]


def is_tree(heads: Sequence[int]) -> bool:
    """Whether unit heads form one tree. A multiword token can close a cycle among units that words do not have."""
    if sum(head == ROOT for head in heads) != 1 or any(not ROOT <= head < len(heads) for head in heads):
        return False
    settled = [head == ROOT for head in heads]
    for unit in range(len(heads)):
        path, node = [], unit
        on_path = set()
        while not settled[node]:
            if node in on_path:
                return False
            path.append(node)
            on_path.add(node)
            node = heads[node]
        for passed in path:
            settled[passed] = True
    return True


def _first_with_pair(tiers: Sequence[list[int]], differ: Callable[[int, int], bool]) -> list[int]:
    """The first tier of units that holds two whose swap shows."""
    for tier in tiers:
        if any(differ(a, b) for i, a in enumerate(tier) for b in tier[:i]):
            return tier
    return []


def _mask(n: int, units: Sequence[int]) -> Bools:
    mask = np.zeros(n, bool)
    mask[list(units)] = True
    return mask


def view(sentence: Sentence, *, lemma: bool) -> View:
    """The sentence's arrays, the same for every seed, condition and draw.

    A swap of two units spelled alike shows nothing: with `lemma`, the two must differ in form and in lemma.
    """
    units = sentence.units
    n = len(units)
    upos = [unit.upos for unit in units]
    heads = [unit.head for unit in units]
    forms = ["".join(unit.form.split()) for unit in units]
    all_lemmas = ["".join(unit.lemma.split()) for unit in units if unit.lemma is not None]
    lemmas = all_lemmas if lemma and len(all_lemmas) == n else None

    def differ(a: int, b: int) -> bool:
        return forms[a] != forms[b] and (lemmas is None or lemmas[a] != lemmas[b])

    relations = [base_relation(unit.deprel) for unit in units]
    edges = [i for i, head in enumerate(heads) if 0 <= head < n and head != i and relations[i] != "punct"]
    swappable = [i for i in edges if differ(i, heads[i])]
    core = [i for i in swappable if relations[i] in CORE_RELATIONS]
    proper = [i for i, tag in enumerate(upos) if tag == "PROPN"]
    common = [i for i, tag in enumerate(upos) if tag == "NOUN"]
    final = 0
    while final < n and upos[n - 1 - final] == "PUNCT":
        final += 1
    return View(
        content=np.array([tag in CONTENT_UPOS for tag in upos], bool),
        heads=np.array(heads, np.int64),
        edges=_mask(n, edges),
        pairs=_mask(n, core or swappable),
        nouns=_mask(n, _first_with_pair((proper, common, proper + common), differ)),
        final=final,
        tree=sentence.is_tree and is_tree(heads),
        forms=tuple(forms),
        lemmas=None if lemmas is None else tuple(lemmas),
    )


def stack(views: Sequence[View]) -> Block:
    """Views of one length as matrices."""
    return Block(
        content=np.stack([v.content for v in views]),
        heads=np.stack([v.heads for v in views]),
        edges=np.stack([v.edges for v in views]),
        pairs=np.stack([v.pairs for v in views]),
        nouns=np.stack([v.nouns for v in views]),
        final=np.array([v.final for v in views], np.int64),
        tree=np.array([v.tree for v in views], bool),
    )


def rows_of(block: Block, rows: Int64s) -> Block:
    """The block's rows at these indices, repeats allowed."""
    return Block(*(getattr(block, name)[rows] for name in Block.__slots__))


def spell(texts: Sequence[tuple[str, ...]]) -> Spelling:
    """The spellings of sentences of one length."""
    ids = []
    for row in texts:
        seen: dict[str, int] = {}
        ids.append([seen.setdefault(text, len(seen)) for text in row])
    initials = [[ord(text[0]) if text else -1 for text in row] for row in texts]
    return Spelling(np.array(ids, np.int32), np.array(initials, np.int32), tuple(texts))
