"""Made-up sentences: small builders and hypothesis strategies shared by the tests of items."""

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from evaluator.items.randomness import address
from evaluator.types import NO_HEAD, ROOT, Sentence, Unit

UPOS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN", "DET", "ADP", "PUNCT")
DEPRELS = ("nsubj", "nsubj:pass", "obj", "ccomp", "det", "nmod", "obl", "advmod", "punct")


def unit(form: str, upos: str = "NOUN", head: int = ROOT, deprel: str = "dep", lemma: str | None = "") -> Unit:
    """A unit; its lemma is its form unless given."""
    return Unit(form, form if lemma == "" else lemma, upos, deprel, head, "_", True, False, "1")


def sentence(units: Sequence[Unit], *, treebank: str = "T", sent_id: str = "s1", is_tree: bool = True) -> Sentence:
    """A sentence of these units."""
    text = " ".join(u.form for u in units)
    key = address(treebank, sent_id)
    return Sentence(treebank, "xx", sent_id, text, tuple(units), f"{treebank}:{sent_id}", is_tree, key)


def simple(words: str, heads: Sequence[int] | None = None, **more: object) -> Sentence:
    """A sentence from "form/UPOS/deprel" words; without heads every unit hangs on the first."""
    rows = [word.split("/") for word in words.split()]
    places = heads if heads is not None else [ROOT, *[0] * (len(rows) - 1)]
    units = [
        unit(row[0], row[1] if len(row) > 1 else "NOUN", head, row[2] if len(row) > 2 else "dep")
        for row, head in zip(rows, places, strict=True)
    ]
    return sentence(units, **more)  # type: ignore[arg-type]


def random_heads(n: int, chance: random.Random, *, projective: bool = False) -> list[int]:
    """Heads of a random tree of n units."""
    heads = [ROOT] * n
    if not projective:
        order = chance.sample(range(n), n)
        for place in range(1, n):
            heads[order[place]] = order[chance.randrange(place)]
        return heads

    spans = [(0, n, ROOT)]
    while spans:
        low, high, head = spans.pop()
        if low >= high:
            continue
        root = chance.randrange(low, high)
        heads[root] = head
        for first, end in ((low, root), (root + 1, high)):
            begin = first
            while begin < end:
                cut = chance.randint(begin + 1, end)
                spans.append((begin, cut, root))
                begin = cut
    return heads


@st.composite
def sentences(
    draw: st.DrawFn, *, min_units: int = 1, max_units: int = 14, trees: bool | None = None, repeats: bool = True
) -> Sentence:
    """Sentences with rightward heads, repeated words, long runs of punctuation and, unless `trees`, broken heads."""
    n = draw(st.integers(min_units, max_units))
    chance = random.Random(draw(st.integers(0, 2**32)))
    heads = random_heads(n, chance, projective=draw(st.booleans()))
    sound = draw(st.booleans()) if trees is None else trees
    if not sound:
        heads[chance.randrange(n)] = chance.choice([NO_HEAD, chance.randrange(n), ROOT])
    repeated = repeats and draw(st.booleans())
    units = [
        unit(
            chance.choice(["a", "aa", "b", "B"]) if repeated else f"w{i}",
            chance.choice(UPOS),
            heads[i],
            chance.choice(DEPRELS),
            lemma=chance.choice(["l", f"m{i}", f"n{i}"]) if repeats else f"m{i}",
        )
        for i in range(n)
    ]
    return sentence(units, sent_id=str(draw(st.integers(0, 2**40))))
