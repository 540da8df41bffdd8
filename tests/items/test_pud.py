"""Items on real parallel treebanks."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evaluator.items.build import ItemSettings, ItemsResult, build_items, sentences_of, sentences_table
from evaluator.items.conditions import CONDITIONS, order_of
from evaluator.items.views import view
from evaluator.treebank.read import read_treebank
from evaluator.types import Sentence

LANGUAGES = {"English": "en", "German": "de", "Chinese": "zh", "Arabic": "ar"}


@pytest.fixture(scope="module")
def pud(shared: Path) -> list[Sentence]:
    made: list[Sentence] = []
    for name, code in LANGUAGES.items():
        path = shared / "data" / "ud" / f"UD_{name}-PUD" / f"{code}_pud-ud-test.conllu"
        made += read_treebank([path], name=f"UD_{name}-PUD", language=code).sentences[:400]
    return made


@pytest.fixture(scope="module")
def whole(pud: list[Sentence]) -> ItemsResult:
    return build_items(pud, ItemSettings())


def test_orders_are_the_plain_ones(pud: list[Sentence], whole: ItemsResult) -> None:
    items = whole.items.filter(np.arange(whole.items.num_rows) % 2 == 0).to_pylist()[::37]
    for item in items:
        found = order_of(view(pud[item["sentence"]], lemma=True), item["target"], item["base_id"], item["condition"])
        assert found is not None
        assert item["order"] == found.tolist()


def test_no_text_equals_origs(pud: list[Sentence], whole: ItemsResult) -> None:
    columns = [whole.items[name].to_pylist() for name in ("sentence", "condition", "lemma", "order")]
    for sentence, condition, lemma, order in zip(*columns, strict=True):
        units = pud[sentence].units
        spelled = [u.lemma if lemma else u.form for u in units]
        assert ([spelled[i] for i in order] == spelled) == (condition == "orig")


def test_every_condition_has_the_same_base_items(whole: ItemsResult) -> None:
    cells: dict[tuple[str, bool], list[int]] = {}
    columns = [whole.items[name].to_pylist() for name in ("condition", "lemma", "base_id")]
    for condition, lemma, base in zip(*columns, strict=True):
        cells.setdefault((condition, lemma), []).append(base)
    assert len(cells) == 2 * len(CONDITIONS)
    assert len({tuple(bases) for bases in cells.values()}) == 1


def test_most_sentences_are_usable_and_all_are_counted(whole: ItemsResult) -> None:
    counts = whole.counts
    for name, asked in counts["asked"].items():
        assert asked == counts["sentences"][name] == counts["base_items"][name] + sum(counts["excluded"][name].values())
        assert counts["base_items"][name] > 0.9 * asked


def test_aligned_items_share_their_ids(pud: list[Sentence]) -> None:
    result = build_items(pud, ItemSettings(align="sent_id", n=50, conditions=("full", "head_all")))
    ids = Counter(pud[i].sent_id for i in set(result.items["sentence"].to_pylist()))
    assert len(ids) == 50
    assert set(ids.values()) == {len(LANGUAGES)}


def test_sentences_round_trip(pud: list[Sentence]) -> None:
    assert sentences_of(sentences_table(pud)) == pud
