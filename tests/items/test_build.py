"""Items on made-up sentences: what is kept, what is counted, and what an item may depend on."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluator.errors import ConfigError
from evaluator.items.build import ItemSettings, build_items, sentences_of, sentences_table, subset_of
from evaluator.items.choose import base_keys, can_be_target, eligible_units
from evaluator.items.conditions import CONDITIONS, order_of
from evaluator.items.dose import kendall_tau
from evaluator.items.subset import SubsetRow, subset_rows, subset_text
from evaluator.items.views import view
from evaluator.store.schemas import ITEMS, SENTENCES
from evaluator.types import Condition, Sentence, Unit
from tests.items.made_up import random_heads, sentence, sentences, simple, unit

CONDITION = 3
"""Place of the condition in `rows`."""
ALL: tuple[Condition, ...] = tuple(CONDITIONS)


def corpus(size: int, *, treebank: str = "T", seed: int = 0, low: int = 4, high: int = 24) -> list[Sentence]:
    """Sentences without flaws."""
    chance = random.Random(f"{treebank}{seed}")
    made = []
    for number in range(size):
        n = chance.randint(low, high)
        heads = random_heads(n, chance)
        tags = [chance.choice(["NOUN", "NOUN", "VERB", "PROPN", "ADP", "DET"]) for _ in range(n)]
        units = [unit(f"w{i}", tags[i], heads[i], chance.choice(["nsubj", "obl", "det"])) for i in range(n)]
        made.append(sentence(units, treebank=treebank, sent_id=f"n{number}"))
    return made


def rows(table: pa.Table, *, drop: tuple[str, ...] = ("sentence",)) -> dict[int, tuple[object, ...]]:
    """Items by id, without their position in a run."""
    names = [name for name in table.column_names if name not in drop]
    return {
        row["item_id"]: tuple(tuple(row[n]) if n == "order" else row[n] for n in names) for row in table.to_pylist()
    }


def test_items_are_the_plain_orders_in_the_declared_order() -> None:
    made = corpus(30)
    settings_ = ItemSettings(seeds=(3, 1), draws=2)
    result = build_items(made, settings_)
    items = result.items.to_pylist()
    assert result.items.schema == ITEMS
    assert len({item["item_id"] for item in items}) == len(items)
    place = {c: i for i, c in enumerate(CONDITIONS)}
    by = [(i["sentence"], i["seed"], place[i["condition"]], i["draw"], i["lemma"]) for i in items]
    assert by == sorted(by)
    for item in items:
        s = made[item["sentence"]]
        key = int(base_keys(np.array([s.key], np.uint64), item["seed"])[0])
        assert item["base_id"] == key
        plain = order_of(view(s, lemma=True), item["target"], key, item["condition"], item["draw"])
        assert plain is not None
        assert item["order"] == plain.tolist()
    per_base = Counter(item["base_id"] for item in items)
    assert set(per_base.values()) == {2 * (2 + 2 * (len(CONDITIONS) - 2))}


def test_dose_by_hand() -> None:
    made = [simple("a/NOUN b/VERB c/ADP d/NOUN e/PUNCT f/DET", [1, -1, 1, 1, 1, 1])]
    for item in build_items(made, ItemSettings()).items.to_pylist():
        order, n = item["order"], 6
        assert item["moved"] == sum(order[j] != j for j in range(n))
        assert item["displacement"] == pytest.approx(sum(abs(j - order[j]) for j in range(n)) / n)
        kept = sum(order.index(i + 1) == order.index(i) + 1 for i in range(n - 1))
        assert item["neighbours_kept"] == pytest.approx(kept / (n - 1))
        assert item["target_moved"] == (order[item["target"]] != item["target"])
        if item["condition"] == "orig":
            assert (item["moved"], item["displacement"], item["neighbours_kept"]) == (0, 0, 1)
        if item["condition"] == "reverse":
            assert (item["moved"], item["displacement"], item["neighbours_kept"]) == (6, 3, 0)


def test_kendall_tau_is_scipys() -> None:
    rng = np.random.default_rng(3)
    orders = [rng.permutation(n) for n in (1, 2, 2, 7, 1, 30, 7, 64)] + [np.arange(9), np.arange(9)[::-1]]
    offsets = np.cumsum([0, *map(len, orders)])
    expected = [1.0 if len(o) == 1 else stats.kendalltau(np.arange(len(o)), o).statistic for o in orders]
    assert kendall_tau(np.concatenate(orders), offsets) == pytest.approx(expected, abs=1e-6)
    assert kendall_tau(np.zeros(0, np.int16), np.zeros(1, np.int64)).tolist() == []


def test_chunks_of_the_table_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    made = corpus(12)
    whole = build_items(made, ItemSettings()).items
    monkeypatch.setattr("evaluator.items.table._CHUNK_UNITS", 1000)
    assert build_items(made, ItemSettings()).items.to_pylist() == whole.to_pylist()


def test_plus_l_has_the_same_orders() -> None:
    items = build_items(corpus(20), ItemSettings()).items.to_pylist()
    for plain, twin in zip(items[::2], items[1::2], strict=True):
        assert not plain["lemma"]
        assert twin["lemma"]
        same = set(plain) - {"item_id", "lemma"}
        assert all(plain[name] == twin[name] for name in same)


@settings(max_examples=15, deadline=None)
@given(st.sets(st.sampled_from(ALL)), st.randoms(use_true_random=False))
def test_draws_do_not_depend_on_conditions_order_or_company(some: set[Condition], chance: random.Random) -> None:
    made = corpus(8)
    whole = rows(build_items(made, ItemSettings(seeds=(0, 1))).items)
    company = [*made, *corpus(5, treebank="Other")]
    chance.shuffle(company)
    found = rows(build_items(company, ItemSettings(seeds=(1, 0), conditions=tuple(some), draws=2)).items)
    mine = {item_id for item_id, row in whole.items() if row[CONDITION] in {"orig", *some}}
    assert mine
    assert all(found[item_id] == whole[item_id] for item_id in mine)


def test_lemma_setting_and_length_limits_leave_orders_alone() -> None:
    made = corpus(20)
    whole = rows(build_items(made, ItemSettings()).items)
    for other in (ItemSettings(lemma=False), ItemSettings(min_units=10, max_units=15), ItemSettings(n=7)):
        some = rows(build_items(made, other).items)
        assert some
        assert all(whole[item_id] == row for item_id, row in some.items())


def test_every_sentence_has_one_fate() -> None:
    good = corpus(10)
    flawed = [
        simple("too short here"),
        sentence([unit("_", "NOUN") for _ in range(6)], sent_id="w"),
        sentence([unit(f"w{i}", "ADP") for i in range(6)], sent_id="t"),
        sentence([unit(f"w{i}", "NOUN", lemma=None if i == 2 else "") for i in range(6)], sent_id="l"),
        sentence([unit(f"w{i}") for i in range(60)], sent_id="x"),
        sentence([unit(f"w{i}", "VERB", i - 1, "obl") for i in range(6)], sent_id="u"),
    ]
    result = build_items([*good, *flawed], ItemSettings(seeds=(0, 1)))
    counts = result.counts
    assert counts["sentences"] == {"T": 16}
    for reason in ("too_short", "withheld", "no_target", "lemma_missing", "too_long", "unperturbable:noun_swap"):
        assert counts["excluded"]["T"].get(reason, 0) >= 2, reason
    assert counts["asked"]["T"] == 32 == counts["base_items"]["T"] + sum(counts["excluded"]["T"].values())
    assert result.items.num_rows == counts["base_items"]["T"] * 24
    with_missing = build_items(flawed, ItemSettings(lemma=False, conditions=("full",))).counts
    assert with_missing["base_items"] == {"T": 2}


def test_a_target_is_a_one_word_content_unit() -> None:
    upos = ("NOUN", "VERB")
    assert can_be_target(unit("dogs", lemma="dog"), upos)
    assert can_be_target(unit("a_b", lemma="a_b"), upos)
    assert can_be_target(unit("10 000", lemma="10 000"), upos)
    refused = [unit("of", "ADP"), unit("x", lemma=None), unit("\u00a0"), unit("x", lemma=" "), unit("x", lemma="a_b")]
    refused += [unit("x", lemma="a b"), replace(unit("im"), is_mwt=True)]
    assert not any(can_be_target(u, upos) for u in refused)


def test_targets_are_uniform_and_keep_their_unit_when_others_become_eligible() -> None:
    s = simple("a/NOUN b/VERB c/ADP d/NOUN e/ADV")
    narrow, wide = (
        build_items([s], ItemSettings(seeds=tuple(range(3000)), upos=upos, conditions=(), lemma=False)).items
        for upos in (("NOUN", "VERB"), ("NOUN", "VERB", "ADV"))
    )
    first, second = (np.array(t["target"]) for t in (narrow, wide))
    assert stats.chisquare([np.sum(first == i) for i in (0, 1, 3)]).pvalue > 1e-4
    assert (first == second)[second != 4].all()
    assert eligible_units(s, ("ADV",)).tolist() == [False] * 4 + [True]


def test_n_per_treebank_replaces_the_unperturbable_and_reports_the_short() -> None:
    no_nouns = [sentence([unit(f"w{i}", "VERB", i - 1, "obl") for i in range(6)], sent_id=f"v{k}") for k in range(20)]
    made = [*corpus(40), *no_nouns, *corpus(5, treebank="Small")]
    result = build_items(made, ItemSettings(n=15, seeds=(0, 1), min_units=1))
    assert result.counts["base_items"]["T"] == 30
    assert result.counts["short"] == {"Small": 30 - result.counts["base_items"]["Small"]}
    excluded = result.counts["excluded"]["T"]
    assert excluded["not_drawn"] > 0
    more = build_items(made, ItemSettings(n=25, seeds=(0, 1), min_units=1))
    assert set(rows(result.items)) <= set(rows(more.items))


def test_seeds_draw_different_sentences() -> None:
    items = build_items(corpus(60), ItemSettings(n=10, seeds=(0, 1))).items.to_pylist()
    drawn = [{i["sentence"] for i in items if i["seed"] == seed} for seed in (0, 1)]
    assert len(drawn[0]) == len(drawn[1]) == 10
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("n", [None, 20])
@pytest.mark.parametrize("balance", [("upos",), ("length",), ("upos", "length")])
def test_balance_equalises_strata(n: int | None, balance: tuple[str, ...]) -> None:
    made = [*corpus(150, treebank="A"), *corpus(100, treebank="B", low=8), *corpus(120, treebank="C", high=15)]
    result = build_items(made, ItemSettings(n=n, seeds=(0, 1), balance=balance))  # type: ignore[arg-type]
    strata: dict[tuple[str, int], Counter[tuple[object, int]]] = {}
    for item in result.items.to_pylist():
        if item["condition"] == "orig" and not item["lemma"]:
            s = made[item["sentence"]]
            length = int(np.searchsorted([10, 15, 20, 30, 40], len(s.units), side="right"))
            stratum = (
                s.units[item["target"]].upos if "upos" in balance else "",
                length if "length" in balance else 0,
            )
            strata.setdefault((s.treebank, item["seed"]), Counter())[stratum] += 1
    for seed in (0, 1):
        assert strata["A", seed] == strata["B", seed] == strata["C", seed]
        assert n is None or strata["A", seed].total() == n


def test_align_draws_the_same_ids_everywhere() -> None:
    a, b = corpus(40, treebank="A"), corpus(40, treebank="B")
    b[3] = sentence([unit(f"w{i}", "VERB", i - 1, "obl") for i in range(6)], treebank="B", sent_id=b[3].sent_id)
    made = [*a, *b[:35]]
    whole = build_items(made, ItemSettings(align="sent_id"))
    some = build_items(made, ItemSettings(align="sent_id", n=8))
    for result in (whole, some):
        ids: dict[str, set[str]] = {"A": set(), "B": set()}
        for index in set(result.items["sentence"].to_pylist()):
            ids[made[index].treebank].add(made[index].sent_id)
        assert ids["A"] == ids["B"]
        assert "n3" not in ids["A"]
        assert not ids["A"] & {f"n{i}" for i in range(35, 40)}
        counts = result.counts
        for name in ("A", "B"):
            assert counts["asked"][name] == counts["base_items"][name] + sum(counts["excluded"][name].values())
    assert whole.counts["excluded"]["A"]["not_aligned"] >= 5
    assert "not_drawn" not in whole.counts["excluded"]["A"]
    assert some.counts["base_items"] == {"A": 8, "B": 8}
    assert set(rows(some.items)) <= set(rows(whole.items))


def test_a_subset_gives_exactly_the_same_items() -> None:
    made = corpus(40)
    drawn = build_items(made, ItemSettings(n=9, seeds=(4, 2)))
    text = subset_text(subset_of(drawn.items, made))
    again = build_items(made[::-1], ItemSettings(subset=subset_rows(text), min_units=30))
    assert rows(again.items) == rows(drawn.items)
    assert again.counts["asked"] == again.counts["base_items"] == {"T": 18}


@given(
    st.lists(
        st.builds(
            SubsetRow,
            st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1),
            st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1),
            st.integers(-5, 99),
            st.integers(0, 99),
        ),
        unique_by=lambda r: (r.treebank, r.sent_id, r.seed),
    )
)
def test_subset_text_round_trip(made: list[SubsetRow]) -> None:
    assert subset_rows(subset_text(made)) == tuple(made)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "f.tsv:1"),
        ("treebank\tsent_id\tseed\n", "f.tsv:1"),
        ("treebank\tsent_id\tseed\ttarget\nT\ts\t0\n", "f.tsv:2"),
        ("treebank\tsent_id\tseed\ttarget\nT\ts\t0\t1\nT\ts\tx\t1\n", "f.tsv:3"),
        ("treebank\tsent_id\tseed\ttarget\nT\ts\t0\t1\n\nT\ts\t0\t2\n", "f.tsv:4"),
    ],
)
def test_subset_errors_name_the_line(text: str, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        subset_rows(text, where="f.tsv")
    assert caught.value.where == place


def test_subset_rows_that_are_not_there() -> None:
    made = corpus(3)
    for row in (SubsetRow("T", "nope", 0, 0), SubsetRow("T", "n0", 0, 999)):
        with pytest.raises(ConfigError, match=row.sent_id):
            build_items(made, ItemSettings(subset=(row,)))
    with pytest.raises(ConfigError, match="tab"):
        subset_text([SubsetRow("T", "a\tb", 0, 0)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"conditions": ("shuffle",)},
        {"seeds": ()},
        {"seeds": (1, 1)},
        {"seeds": (2**31,)},
        {"draws": 0},
        {"n": 0},
        {"min_units": 9, "max_units": 8},
        {"max_units": 40000},
        {"upos": ()},
        {"balance": ("genre",)},
        {"balance": ("upos",), "align": "sent_id"},
        {"subset": (), "n": 3},
    ],
)
def test_settings_that_cannot_be_used(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ItemSettings(**wrong)  # type: ignore[arg-type]


def test_orig_is_always_there_and_conditions_are_in_table_order() -> None:
    assert ItemSettings(conditions=("reverse", "full")).conditions == ("orig", "full", "reverse")


def test_a_sentence_read_twice_is_an_error() -> None:
    made = corpus(2)
    with pytest.raises(ConfigError, match="already"):
        build_items([*made, made[0]], ItemSettings())


def test_nothing_in_nothing_out() -> None:
    for other in (
        ItemSettings(),
        ItemSettings(align="sent_id", n=3),
        ItemSettings(balance=("upos",)),
        ItemSettings(n=2),
    ):
        for made in ([], [simple("too short")]):
            result = build_items(made, other)
            assert result.items.num_rows == 0
            assert result.items.schema == ITEMS
    assert sentences_table([]).schema == SENTENCES
    assert sentences_of(sentences_table([])) == []


@given(st.lists(sentences(max_units=5), max_size=4))
def test_sentences_table_round_trip(made: list[Sentence]) -> None:
    range_unit = Unit("a\u00a0b", None, "X", "", -2, "", False, True, "1-2")
    odd = Sentence("T", "x", "#1", "a\u00a0b", (range_unit,), "p:1", False, 2**64 - 1)
    table = sentences_table([*made, odd])
    assert table.schema == SENTENCES
    assert sentences_of(table) == [*made, odd]
    assert sentences_of(table.slice(len(made))) == [odd]
