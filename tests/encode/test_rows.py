"""Items to model inputs: the vectorised encoder against its plain twin, and what must hold of every input."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.encode.pieces import cut_units
from evaluator.encode.rows import REASONS, Inputs, encode_slots, slots_of
from evaluator.items.build import ItemSettings, build_items
from evaluator.treebank.text import gaps, traits_of
from evaluator.types import ROOT, Condition, Sentence, Spacing, Unit
from tests.encode.conftest import FAKE, REAL
from tests.encode.plain import Cutter, Encoded, as_plain, encode, encode_plainly, slots_from
from tests.items.made_up import sentence

GetCutter = Callable[[str], Cutter]
Rows = list[dict[str, Any]]


FEW: tuple[Condition, ...] = ("orig", "full", "head_all", "reverse")


def items_of(sentences: Sequence[Sentence], *, conditions: tuple[Condition, ...] = FEW, **settings: Any) -> Rows:
    return list(
        build_items(
            sentences, ItemSettings(min_units=1, max_units=100, conditions=conditions, **settings)
        ).items.to_pylist()
    )


def all_as_plain(inputs: Inputs) -> list[Encoded]:
    return [as_plain(inputs, REASONS, i) for i in range(len(inputs.reason))]


def word(form: str, *, space_after: bool = True, upos: str = "NOUN", lemma: str | None = None) -> Unit:
    return Unit(form, lemma if lemma is not None else form, upos, "dep", ROOT, "_", space_after, False, "1")


def one(units: Sequence[Unit], target: int, cutter: Cutter, order: Sequence[int] | None = None, **more: Any) -> Encoded:
    """One item over these units, checked against the twin on the way."""
    made = sentence(units)
    item = {"sentence": 0, "order": list(order or range(len(units))), "target": target, "lemma": False}
    found = as_plain(encode([made], [item], cutter, **more), REASONS, 0)
    limit, spacing = more.get("limit", 512), more.get("spacing", "natural")
    assert found == encode_plainly(made, item["order"], target, False, cutter, limit=limit, spacing=spacing)
    return found


def check_against_twin(sentences: list[Sentence], rows: Rows, cutter: Cutter, limit: int, spacing: Spacing) -> None:
    found = all_as_plain(encode(sentences, rows, cutter, limit=limit, spacing=spacing))
    for item, encoded in zip(rows, found, strict=True):
        plain = encode_plainly(
            sentences[item["sentence"]],
            item["order"],
            item["target"],
            item["lemma"],
            cutter,
            limit=limit,
            spacing=spacing,
        )
        assert encoded == plain, item


@pytest.mark.parametrize("name", [*FAKE, *REAL])
@pytest.mark.parametrize("spacing", ["natural", "uniform"])
def test_demo_is_as_the_plain_twin_has_it(demo: list[Sentence], cutter: GetCutter, name: str, spacing: Spacing) -> None:
    check_against_twin(demo, items_of(demo)[::3], cutter(name), 512, spacing)


@pytest.mark.parametrize("name", [*FAKE, *REAL])
@pytest.mark.parametrize("limit", [512, 40, 9])
def test_pud_is_as_the_plain_twin_has_it(pud: list[Sentence], cutter: GetCutter, name: str, limit: int) -> None:
    check_against_twin(pud, items_of(pud)[::5], cutter(name), limit, "natural")


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_what_holds_of_every_input(pud: list[Sentence], demo: list[Sentence], cutter: GetCutter, name: str) -> None:
    sentences = [*demo, *pud]
    rows = items_of(sentences)
    door = cutter(name).door
    by_base: defaultdict[tuple[int, bool], set[tuple[int, ...]]] = defaultdict(set)
    unmasked = encode(sentences, [{**r, "target": -1} for r in rows], cutter(name))
    found = encode(sentences, rows, cutter(name))
    shown = 0
    for i, item in enumerate(rows):
        encoded, plain = as_plain(found, REASONS, i), as_plain(unmasked, REASONS, i)
        if not encoded.ids:
            assert encoded.reason in ("special_token_text", "no_pieces", "too_long")
            continue
        shown += 1
        before, after = len(door.prefix), len(door.suffix)
        assert encoded.ids[:before] == door.prefix.tolist()
        assert encoded.ids[-after:] == door.suffix.tolist()
        at = [p for p, piece in enumerate(encoded.ids) if piece == door.mask_id]
        assert at == list(range(at[0], at[0] + len(encoded.gold))), "the masks are the target's pieces, side by side"
        by_base[item["base_id"], item["lemma"]].add(tuple(encoded.gold))
        # Masking touches nothing else: the same order unmasked, where the target is cut for its gap there.
        tail = len(encoded.ids) - at[-1] - 1
        assert plain.ids[: at[0]] == encoded.ids[: at[0]]
        assert tail == 0 or plain.ids[-tail:] == encoded.ids[-tail:]
        if item["condition"] == "orig":
            assert plain.ids[at[0] : at[-1] + 1] == encoded.gold
    assert shown > len(rows) * 0.95
    assert all(len(golds) == 1 for golds in by_base.values()), "same gold and masks in every order"


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_orders_hold_the_same_pieces(demo: list[Sentence], cutter: GetCutter, name: str) -> None:
    """Exactly so with uniform spacing between spaced scripts; with natural spacing unit by unit up to the gap."""
    latin = [s for s in demo if s.language != "zh"]
    rows = items_of(latin, conditions=("orig", "full", "partial", "reverse"))
    found = encode(latin, rows, cutter(name), spacing="uniform")
    bags: defaultdict[tuple[int, bool], list[Counter[int]]] = defaultdict(list)
    starts_alike = cutter(name).door.starts_spaced or name in ("fake-wordpiece", "fake-uncased", "wordpiece")
    for i, item in enumerate(rows):
        encoded = as_plain(found, REASONS, i)
        first = set(latin[item["sentence"]].units[item["order"][0]].form) if not starts_alike else set()
        if not first:
            bags[item["base_id"], item["lemma"]].append(Counter(encoded.ids) + Counter(encoded.gold))
    for same in bags.values():
        assert all(bag == same[0] for bag in same)

    natural = encode(latin, rows, cutter(name))
    sizes: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)
    for i, item in enumerate(rows):
        sizes[item["base_id"], item["lemma"]].append(len(as_plain(natural, REASONS, i).ids))
    units = {(r["base_id"], r["lemma"]): len(r["order"]) for r in rows}
    for key, lengths in sizes.items():
        assert max(lengths) - min(lengths) <= units[key], "a gap changes a unit's cut, never which units there are"


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_gaps_are_those_of_the_text(cutter: GetCutter, data: st.DataObject) -> None:
    """The vectorised spacing rule, seen through pieces: with byte-level pieces the decoded input is the text."""
    forms = data.draw(
        st.lists(st.sampled_from(["aa", "b", "。", "我", "们们", ",", "(", "x1", "สวย"]), min_size=1, max_size=9)
    )
    units = [word(f, space_after=data.draw(st.booleans()), upos="PUNCT" if f in "。,(" else "NOUN") for f in forms]
    order = data.draw(st.permutations(range(len(units))))
    spacing: Spacing = data.draw(st.sampled_from(["natural", "uniform"]))
    door = cutter("fake-bytelevel").door
    item = {"sentence": 0, "order": order, "target": -1, "lemma": False}
    made = sentence(units)
    ids = as_plain(encode([made], [item], cutter("fake-bytelevel"), spacing=spacing), REASONS, 0).ids[1:-1]
    spaced = gaps(traits_of(units), order, spacing)
    assert door.word(ids) == "".join(" " * gap + forms[u] for u, gap in zip(order, spaced, strict=True))


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_only_the_chosen_one_of_a_repeated_word_is_masked(cutter: GetCutter, name: str) -> None:
    units = [word("the"), word("house"), word("the"), word("house"), word("the")]
    for target in range(5):
        for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
            encoded = one(units, target, cutter(name), order)
            mask = cutter(name).door.mask_id
            whole = cutter(name).cut(units[target].form, True)
            assert encoded.ids.count(mask) == len(encoded.gold) <= max(len(whole), len(encoded.gold))
            before = encoded.ids.index(mask)
            slots = [one(units, t, cutter(name), order).ids.index(mask) for t in order]
            assert slots == sorted(slots)
            assert before == slots[order.index(target)]


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_target_at_either_edge(cutter: GetCutter, name: str) -> None:
    units = [word("Haus"), word("la"), word("de", space_after=False), word(".", upos="PUNCT")]
    mask = cutter(name).door.mask_id
    first, last = one(units, 0, cutter(name)), one(units, 3, cutter(name))
    assert first.ids[len(cutter(name).door.prefix)] == mask
    assert last.ids[-len(cutter(name).door.suffix) - 1] == mask
    assert one(units[:1], 0, cutter(name)).ids.count(mask) == len(first.gold), "a sentence of one unit"


ODD = {
    "right to left": "المـــاء",
    "right-to-left mark": "20\u200f19",
    "combining marks": "n\u0307\u0304",
    "lone mark": "\u0301",
    "soft hyphen inside": "water\u00adfall",
    "soft hyphen": "\u00ad",
    "zero-width space": "\u200b",
    "zero-width joiner": "क्\u200dष",
    "emoji family": "👨‍👩‍👧",
    "flag": "🇩🇪",
    "variation selector": "\ufe0f",
    "control character": "T\x10his",
    "thai": "น้ำเย็นมาก",
    "chinese": "我们",
    "over a hundred letters": "x" * 101,
    "a hundred letters": "x" * 100,
    "no-break space": "a\u00a0b",
    "only a no-break space": "\u00a0",
    "space": "New York",
    "ideographic space": "\u3000",
    "[MASK]": "[MASK]",
    "<mask>": "<mask>",
    "</s>": "</s>",
    "<s>": "<s>",
    "[SEP]": "[SEP]",
    "<unk>": "<unk>",
    "[UNK]": "[UNK]",
    "word##ing": "##ing",
    "▁word": "▁word",
    "▁": "▁",
    "astral": "𝔘𐍈",
    "ligature": "ﬁ",
}


@pytest.mark.parametrize("odd", list(ODD.values()), ids=list(ODD))
@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_odd_words_are_scored_right_or_skipped_by_name(cutter: GetCutter, name: str, odd: str) -> None:
    """As target, as neighbour of the target, first, last, with and without a space before it."""
    door = cutter(name).door
    for spaced in (True, False):
        units = [word("la"), word("de", space_after=spaced), word(odd, space_after=spaced), word("Haus")]
        for target, order in (
            (2, (0, 1, 2, 3)),
            (2, (2, 0, 1, 3)),
            (2, (0, 1, 3, 2)),
            (1, (0, 2, 1, 3)),
            (0, (2, 1, 3, 0)),
        ):
            encoded = one(units, target, cutter(name), order)
            if encoded.reason in ("no_pieces", "special_token_text", "too_long"):
                assert encoded.ids == encoded.gold == []
                continue
            assert encoded.gold
            assert encoded.ids.count(door.mask_id) == len(encoded.gold)
            special = set(door.special.tolist()) - {cutter(name).unk_id, door.mask_id}
            inner = encoded.ids[len(door.prefix) : -len(door.suffix)]
            assert not special & set(inner), "text never becomes a special piece"
            assert (cutter(name).unk_id in encoded.gold) == (encoded.reason == "not_expressible")


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_limit_and_one_more(cutter: GetCutter, name: str) -> None:
    units = [word(f) for f in ("la", "Haus", "de", "house", "и", "la")]
    whole = one(units, 3, cutter(name))
    exact = one(units, 3, cutter(name), limit=len(whole.ids))
    assert exact == whole
    assert not exact.windowed
    short = one(units, 3, cutter(name), limit=len(whole.ids) - 1)
    assert short.windowed
    assert len(short.ids) <= len(whole.ids) - 1
    assert short.gold == whole.gold
    specials = len(cutter(name).door.prefix) + len(cutter(name).door.suffix)
    assert one(units, 3, cutter(name), limit=specials + len(whole.gold)).ids.count(cutter(name).door.mask_id) == len(
        whole.gold
    )
    assert one(units, 3, cutter(name), limit=specials + len(whole.gold) - 1).reason == "too_long"


def test_target_without_pieces_in_a_long_sentence_is_not_called_too_long(cutter: GetCutter) -> None:
    units = [word("\u00ad"), *(word("Haus") for _ in range(9))]
    assert one(units, 0, cutter("fake-wordpiece"), limit=8).reason == "no_pieces"


def test_special_text_outside_the_window_does_not_matter(cutter: GetCutter) -> None:
    units = [word("la"), *(word("Haus") for _ in range(9)), word("<mask>")]
    if one(units, 0, cutter("xlm-r")).reason == "special_token_text":
        assert one(units, 0, cutter("xlm-r"), limit=8).reason == ""


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_batched_is_one_by_one(demo: list[Sentence], cutter: GetCutter, name: str) -> None:
    rows = items_of(demo)[::17]
    units = cut_units(demo, cutter(name).door, unknown_id=cutter(name).unk_id)
    door = cutter(name).door
    together = encode_slots(slots_from(rows), units, door, limit=24, spacing="natural")
    alone = [encode_slots(slots_from([r]), units, door, limit=24, spacing="natural") for r in rows]
    assert all_as_plain(together) == [as_plain(a, REASONS, 0) for a in alone]


def test_no_items_at_all(demo: list[Sentence], cutter: GetCutter) -> None:
    table = build_items(demo[:3], ItemSettings(min_units=90, max_units=99)).items
    assert table.num_rows == 0
    units = cut_units(demo[:3], cutter("fake-unigram").door, unknown_id=1)
    inputs = encode_slots(slots_of(table), units, cutter("fake-unigram").door, limit=64, spacing="natural")
    assert inputs.offsets.tolist() == [0]
    assert len(inputs.ids) == 0


def test_lemma_spells_every_unit(cutter: GetCutter) -> None:
    units = [word("la", lemma="x1"), word("Haus", lemma="y2"), word("de", lemma="z3")]
    item = {"sentence": 0, "order": [2, 0, 1], "target": 1, "lemma": True}
    ids = as_plain(encode([sentence(units)], [item], cutter("fake-unigram")), REASONS, 0)
    door = cutter("fake-unigram").door
    assert door.word(ids.gold) == "y2"
    assert door.pieces(ids.ids) == ["[CLS]", "▁z", "3", "▁x", "1", "[MASK]", "[MASK]", "[SEP]"]
    assert np.array_equal(door.special, [0, 1, 2, 3, 4])
