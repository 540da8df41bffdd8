"""Flipped items for the page: the sentence as the models saw it, and what each side answered."""

from collections.abc import Iterator, Mapping
from typing import Any

from evaluator.compare.tables import languages_of
from evaluator.report.answers import Answers, probability, rank_of, words_of
from evaluator.report.cards import answers_table, line_html
from evaluator.report.document import condition_label, place_label
from evaluator.report.examples import Example, line_of
from evaluator.report.formats import visible
from evaluator.report.lines import direction, language_tag
from evaluator.report.markup import Html, el


def flip_cards(document: Mapping[str, Any], sentences: Mapping[int, Mapping[str, Any]]) -> Html | None:
    """The flipped items that were chosen, each as a card; None when nothing flipped."""
    languages = languages_of(document)
    cards = [
        _card(pair, row, f"flip-{index}-{number}", place_label(row["treebank"], languages), sentences)
        for index, pair in enumerate(document["pairs"], start=1)
        for number, row in enumerate(pair["examples"], start=1)
    ]
    total = sum(row["only_a"] + row["only_b"] for pair in document["pairs"] for row in pair["flips"]["condition"])
    if not cards:
        return el("p", "No item flipped.", class_="soft") if document["pairs"] else None
    rule = (
        f"Showing {len(cards)} of {total:,} flipped items: in turns from every language, condition and direction, by "
    )
    return el("div", el("h3", "Examples"), el("p", rule, "hash of the item.", class_="soft"), cards)


def _card(
    pair: Mapping[str, Any], row: Mapping[str, Any], anchor: str, place: str, sentences: Mapping[int, Mapping[str, Any]]
) -> Html:
    example = _example(pair, row, anchor, place, sentences)
    right, wrong = ("A", pair["run"]) if row["side"] == "A" else (pair["run"], "A")
    line = (
        el("dl", el("dt", "shown"), el("dd", line_html(example["b"], example)), class_="lines")
        if example["b"]
        else None
    )
    return el(
        "article",
        el(
            "header",
            el("h3", el("a", f"{place} · {example['s']}", href=f"#{anchor}")),
            el("span", example["c"], class_="cond"),
            el("span", f"{example['u']} · {example['n']}", class_="meta"),
            el("strong", f"{right} ✓ {wrong} ✗", class_="yes" if row["side"] == "B" else "no"),
        ),
        line,
        answers_table(example),
        class_="ex",
        id=anchor,
        tabindex="-1",
    )


def _example(
    pair: Mapping[str, Any], row: Mapping[str, Any], anchor: str, place: str, sentences: Mapping[int, Mapping[str, Any]]
) -> Example:
    text = row.get("text") or ""
    return {
        "id": anchor,
        "m": pair["b"],
        "l": place,
        "s": f"{row['treebank']} {row['sent_id']}",
        "c": condition_label(row["condition"], row["lemma"]),
        "n": f"seed {row['seed']} · draw {row['draw']} · item {row['item_id']}",
        "u": row["upos"],
        "k": 0,
        "t": "none",
        "o": "lost" if row["side"] == "A" else "gained",
        "d": 0.0,
        "v": "",
        "dir": direction(text),
        "lang": language_tag(row["language"], text),
        "g": visible(row["gold"]) if row.get("gold") is not None else "",
        "a": None,
        "b": line_of(row, sentences) if text else None,
        "q": list(_columns(pair, row)),
    }


def _columns(pair: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[Answers]:
    for side, letter in (("a", "A"), ("b", pair["run"])):
        answer = row[side]
        words = words_of(answer) if answer.get("pred") and answer.get("gold") is not None else []
        yield {
            "h": f"{letter} {pair[side]}",
            "w": words,
            "g": f"{rank_of(answer)} · {probability(answer['gold_logp'])}",
        }
