"""What each condition promises, on made-up sentences and, where a count is known, by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluator.items.conditions import CONDITIONS, changes, order_of
from evaluator.items.views import CORE_RELATIONS, View, base_relation, is_tree, view
from evaluator.types import CONTENT_UPOS, NO_HEAD, ROOT, Condition, Int64s, Sentence
from tests.items.made_up import random_heads, sentence, sentences, simple, unit

keys = st.integers(0, 2**64 - 1)


def seen(s: Sentence) -> View:
    return view(s, lemma=False)


def order(s: Sentence, condition: Condition, key: int = 0, draw: int = 0) -> list[int] | None:
    found = order_of(seen(s), 0, key, condition, draw)
    return None if found is None else found.tolist()


def swapped_pairs(shown: list[int]) -> list[tuple[int, int]]:
    """The pairs of an involution."""
    assert all(shown[shown[i]] == i for i in range(len(shown)))
    return [(i, j) for i, j in enumerate(shown) if i < j]


def are_attached(s: Sentence, a: int, b: int) -> bool:
    return s.units[a].head == b or s.units[b].head == a


@given(sentences(), keys, st.sampled_from([c for c in CONDITIONS if c != "orig"]), st.booleans())
def test_every_order_is_a_permutation_and_changes_the_text(
    s: Sentence, key: int, condition: Condition, lemma: bool
) -> None:
    shown = order_of(view(s, lemma=lemma), 0, key, condition)
    if shown is None:
        return
    assert sorted(shown.tolist()) == list(range(len(s.units)))
    assert [s.units[i].form for i in shown] != [u.form for u in s.units]
    assert "".join(s.units[i].form for i in shown) != "".join(u.form for u in s.units)
    if lemma:
        assert [s.units[i].lemma for i in shown] != [u.lemma for u in s.units]


@given(sentences(repeats=False, min_units=3), keys)
def test_unperturbable_only_where_it_must_be(s: Sentence, key: int) -> None:
    content = sum(u.upos in CONTENT_UPOS for u in s.units)
    assert order(s, "full", key) is not None
    assert order(s, "reverse", key) == list(range(len(s.units)))[::-1]
    if content > 3:
        assert order(s, "partial", key) is not None
    nouns = sum(u.upos in ("NOUN", "PROPN") for u in s.units)
    assert (order(s, "noun_swap", key) is not None) == (nouns >= 2)


@given(sentences(), keys)
def test_partial_moves_content_units_only(s: Sentence, key: int) -> None:
    shown = order(s, "partial", key)
    if shown is not None:
        assert all(shown[i] == i for i, u in enumerate(s.units) if u.upos not in CONTENT_UPOS)


@given(sentences(repeats=False), keys)
def test_head_swaps_one_head_and_its_dependent(s: Sentence, key: int) -> None:
    shown = order(s, "head", key)
    edges = [i for i, u in enumerate(s.units) if u.head >= 0 and u.head != i and base_relation(u.deprel) != "punct"]
    assert (shown is not None) == bool(edges)
    if shown is None:
        return
    ((a, b),) = swapped_pairs(shown)
    joined = [i for i in edges if {i, s.units[i].head} == {a, b}]
    assert joined
    if any(base_relation(s.units[i].deprel) in CORE_RELATIONS for i in edges):
        assert any(base_relation(s.units[i].deprel) in CORE_RELATIONS for i in joined)


@given(sentences(repeats=False), keys)
def test_head_all_swaps_a_maximal_set_of_disjoint_pairs(s: Sentence, key: int) -> None:
    shown = order(s, "head_all", key)
    edges = [(i, u.head) for i, u in enumerate(s.units) if u.head >= 0 and u.head != i and u.deprel != "punct"]
    if shown is None:
        assert not edges
        return
    assert all(are_attached(s, a, b) for a, b in swapped_pairs(shown))
    assert all(shown[d] != d or shown[h] != h for d, h in edges)


def test_rightward_heads_are_swapped() -> None:
    """A loader that settles heads while it reads loses every head to the right."""
    s = simple("From/ADP/case the/DET/det story/NOUN/obl this/PRON/nsubj comes/VERB/root", [2, 2, 4, 4, ROOT])
    assert order(s, "head") == [0, 1, 2, 4, 3]
    pairs = {pair for key in range(60) for pair in swapped_pairs(order(s, "head_all", key) or [])}
    assert pairs == {(0, 2), (1, 2), (2, 4), (3, 4)}


def test_head_skips_pairs_spelled_alike_and_then_leaves_the_core() -> None:
    s = simple("year/NOUN/nsubj was/AUX/cop a/DET/det year/NOUN/root", [3, 3, 3, ROOT])
    assert {str(order(s, "head", key)) for key in range(40)} == {"[0, 3, 2, 1]", "[0, 1, 3, 2]"}


@given(sentences(repeats=False), keys, st.sampled_from([1, 2, 3]))
def test_ngrams_stay_whole_and_final_punctuation_stays(s: Sentence, key: int, size: int) -> None:
    shown = order(s, ("ngram1", "ngram2", "ngram3")[size - 1], key)
    body = len(s.units)
    while body and s.units[body - 1].upos == "PUNCT":
        body -= 1
    assert (shown is not None) == (body > size)
    if shown is None:
        return
    assert shown[body:] == list(range(body, len(s.units)))
    blocks = [list(range(i, min(i + size, body))) for i in range(0, body, size)]
    rest = shown[:body]
    while rest:
        block = next(b for b in blocks if b[0] == rest[0])
        assert rest[: len(block)] == block
        rest = rest[len(block) :]


def test_noun_swap_prefers_two_proper_nouns() -> None:
    def pairs(words: str) -> set[tuple[int, int]]:
        return {p for key in range(60) for p in swapped_pairs(order(simple(words), "noun_swap", key) or [])}

    assert pairs("Ann/PROPN cat/NOUN Bob/PROPN dog/NOUN Cy/PROPN") == {(0, 2), (0, 4), (2, 4)}
    assert pairs("Ann/PROPN cat/NOUN sees/VERB dog/NOUN") == {(1, 3)}
    assert pairs("Ann/PROPN sees/VERB dog/NOUN") == {(0, 2)}
    assert pairs("Ann/PROPN and/CCONJ Ann/PROPN see/VERB cat/NOUN dog/NOUN") == {(4, 5)}
    assert pairs("Ann/PROPN sees/VERB") == pairs("dog/NOUN dog/NOUN runs/VERB") == set()


@given(sentences(max_units=30), keys)
def test_window3_moves_no_unit_further_than_three(s: Sentence, key: int) -> None:
    shown = order(s, "window3", key)
    if shown is not None:
        assert all(abs(slot - i) <= 3 for slot, i in enumerate(shown))


def _descendants(heads: list[int], top: int) -> set[int]:
    inside = {top}
    while more := {i for i, head in enumerate(heads) if head in inside} - inside:
        inside |= more
    return inside


@given(st.integers(2, 14), st.randoms(use_true_random=False), keys, st.booleans())
def test_subtrees_stay_whole_and_heads_in_place(n: int, chance: object, key: int, projective: bool) -> None:
    heads = random_heads(n, chance, projective=projective)  # type: ignore[arg-type]
    s = sentence([unit(f"w{i}", head=head) for i, head in enumerate(heads)])
    shown = order(s, "subtree", key)
    if shown is None:
        assert all(heads.count(i) <= 1 for i in range(n))
        return
    slot = {i: j for j, i in enumerate(shown)}
    for top in range(n):
        slots = sorted(slot[i] for i in _descendants(heads, top))
        assert slots[-1] - slots[0] == len(slots) - 1
        children = [i for i in range(n) if heads[i] == top]
        assert sum(c < top for c in children) == sum(slot[c] < slot[top] for c in children)


def test_subtree_needs_a_tree_of_units() -> None:
    assert order(simple("a b c", [1, 0, ROOT]), "subtree") is None
    assert order(simple("a b c d", [ROOT, 0, 0, NO_HEAD]), "subtree") is None
    assert order(simple("a b c d", [ROOT, ROOT, 0, 0]), "subtree") is None
    assert order(simple("a b c d", [ROOT, 0, 0, 0], is_tree=False), "subtree") is None
    assert order(simple("a b c d", [ROOT, 0, 0, 0]), "subtree") is not None


def test_no_recursion_limit() -> None:
    n = 5000
    deep = sentence([unit(f"w{i}", head=i - 1) for i in range(n)])
    assert is_tree([u.head for u in deep.units])
    assert order(deep, "subtree") is None  # a chain has nothing to permute
    heads = [ROOT, *range(n - 2), 0]
    assert order(sentence([unit(f"w{i}", head=head) for i, head in enumerate(heads)]), "subtree") is not None


def test_a_script_without_spaces_can_spell_one_text_from_two_orders() -> None:
    assert not changes(("好", "好好", "。"), np.array([1, 0, 2]))
    assert changes(("好", "不好", "。"), np.array([1, 0, 2]))
    assert not changes(("a a", "a"), np.array([1, 0])) or "".join(["a", "a"]) != "a a"


def test_unchangeable_sentences() -> None:
    same = simple("la/NOUN/obj la/NOUN/obj la/NOUN/root", [2, 2, ROOT])
    assert all(order(same, condition) is None for condition in CONDITIONS if condition != "orig")
    assert order(same, "orig") == [0, 1, 2]
    assert order(simple("a b a"), "reverse") is None
    assert order(simple("Yes"), "full") is None
    assert order(simple("!/PUNCT ./PUNCT"), "ngram1") is None


def test_lemmas_must_change_too_when_asked() -> None:
    units = [unit("is", lemma="be"), unit("was", lemma="be"), unit("be", lemma="be")]
    assert order_of(view(sentence(units), lemma=False), 0, 1, "full") is not None
    assert order_of(view(sentence(units), lemma=True), 0, 1, "full") is None


@pytest.mark.parametrize(("condition", "n", "outcomes"), [("full", 3, 5), ("full", 4, 23), ("ngram2", 6, 5)])
def test_orders_are_uniform_over_those_that_change_the_text(condition: Condition, n: int, outcomes: int) -> None:
    s = seen(sentence([unit(f"w{i}") for i in range(n)]))
    counts = Counter(tuple(_found(s, key, condition)) for key in range(outcomes * 100))
    assert len(counts) == outcomes
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def _found(s: View, key: int, condition: Condition) -> Int64s:
    found = order_of(s, 0, key, condition)
    assert found is not None
    return found
