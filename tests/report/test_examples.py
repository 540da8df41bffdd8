"""Examples: letters on units that changed places, no-ops that say so, pieces on demand, links from counts to items."""

import json
import re
from collections.abc import Sequence

import pyarrow as pa
import pytest

from evaluator.reduce.summary import report_data
from evaluator.report import render_report
from evaluator.report.lines import swap_letters
from evaluator.store.schemas import OUTCOMES
from tests.report.synthetic import Run, make_run


@pytest.mark.parametrize(
    ("order", "letters"),
    [
        ([0, 1, 2], {}),
        ([1, 0, 2], {0: "a", 1: "a"}),
        ([3, 4, 2, 0, 1], {0: "a", 3: "a", 1: "b", 4: "b"}),
        ([1, 2, 0], {}),
    ],
)
def test_units_that_changed_places_share_a_letter(order: list[int], letters: dict[int, str]) -> None:
    assert swap_letters(order) == letters


def test_there_are_letters_for_any_number_of_swaps() -> None:
    order = [unit ^ 1 for unit in range(120)]
    assert len(set(swap_letters(order).values())) == 60


@pytest.fixture(scope="module")
def swapped() -> Run:
    """A run whose `head` swaps the first two of three words, or leaves every second item as it was."""
    made = make_run(("de",), ("m",), ("orig", "head"), items=12, draws=1)
    rows = made.outcomes.to_pylist()
    for row in rows:
        still = row["condition"] == "orig" or row["sentence"] % 2 == 1
        row |= {"n_units": 3, "target": 2, "moved": 0 if still else 2, "order": [0, 1, 2] if still else [1, 0, 2]}
        row["text"] = "eins zwei ⟨mask⟩" if still else "zwei eins ⟨mask⟩"
    return Run(made.report, pa.Table.from_pylist(rows, schema=OUTCOMES), made.sentences)


@pytest.fixture(scope="module")
def page(swapped: Run) -> str:
    def pieces(model: str, items: Sequence[int]) -> dict[int, list[str]]:
        assert model == "m"
        return {item: ["[CLS]", "<b>", f"p{item}"] for item in items}

    compared = report_data(swapped.outcomes, resamples=100)["comparisons"]
    report = {**swapped.report, "comparisons": compared}
    return dict(render_report(report, swapped.outcomes, pieces=pieces))["report.html"].decode()


def test_letters_stand_in_both_lines(page: str) -> None:
    cards = re.findall(r"<article.*?</article>", page)
    moved = [card for card in cards if "moved 2/3" in card]
    assert moved and all(re.findall(r'data-i="(\w+)"', card) == ["1a", "2a", "3", "2a", "1a", "3"] for card in moved)


def test_items_left_as_they_were_say_so(page: str) -> None:
    still = [card for card in re.findall(r"<article.*?</article>", page) if "order unchanged" in card]
    assert still and not any(re.search(r'class="tok[^"]* mv', card) for card in still)


def test_pieces_are_folded_under_each_card(page: str, swapped: Run) -> None:
    cards = re.findall(r'<article.*?id="item-(\w{16})-0".*?</article>', page)
    shown = re.findall(r'<details><summary>pieces</summary><code dir="ltr">\[CLS\] &lt;b&gt; p(\d+)</code>', page)
    assert shown and [int(item, 16) for item in cards] == [int(item) for item in shown]
    bare = dict(render_report(swapped.report, swapped.outcomes, text=False, pieces=lambda m, i: {k: ["x"] for k in i}))
    assert b"<summary>pieces" not in bare["report.html"]


def test_counts_lead_to_items_that_are_there(page: str) -> None:
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    links = re.findall(r'<a href="#examples" data-show="([^"]*)">', page)
    assert links
    for link in links:
        wanted = json.loads(link.replace("&quot;", '"'))
        assert set(wanted) == {"o", "m", "l", "c"}
        assert {x["c"] for x in data if x["m"] == wanted["m"] and x["l"] == wanted["l"]} >= {wanted["c"]}
