"""An example as the page's data holds it: the same content as the card, each word once; `page.js` reads it back."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evaluator.report.answers import Answers
from evaluator.report.examples import AT_LEAST, Example, Sample
from evaluator.report.formats import json_for_script
from evaluator.report.lines import Line


def packed(example: Example) -> dict[str, Any]:
    """The example with its lines and answers packed.

    `w`: words by unit, as the item shows them; `r`: by unit the form that a lemma stands for; `p`: by unit the letter
    of its swap; `a`, `b`: the lines. Of an answer column, `p` is in thousandths and `k` the place of the right word.
    """
    kept: dict[str, Any] = {key: value for key, value in example.items() if key not in ("a", "b", "q")}
    shown = example["b"]
    words = _by_unit(shown["t"][1::2], shown["u"]) if shown and shown["u"] else None
    if shown and words is not None:
        forms, letters = shown["r"], shown.get("p") or []
        kept |= {"w": words} | ({"r": _by_unit(forms, shown["u"])} if any(forms) else {})
        kept |= {"p": _by_unit(letters, shown["u"])} if any(letters) else {}
    for side, line in (("a", example["a"]), ("b", shown)):
        kept[side] = _line(line, words) if line else None
    return {key: value for key, value in kept.items() if value is not None} | {"q": [_answers(q) for q in example["q"]]}


def record_bytes(example: Example) -> int:
    """Bytes that the example takes in the page's data, with the comma after it."""
    return len(json_for_script(packed(example)).encode("utf-8")) + 1


def within(sample: Sample, max_bytes: int) -> Sample:
    """The sample cut to as many leading examples as fit, never under `AT_LEAST`."""
    kept, size = 0, 0
    for example in sample.examples:
        size += record_bytes(example)
        if size > max_bytes and kept >= AT_LEAST:
            break
        kept += 1
    return replace(sample, examples=sample.examples[:kept])


def _by_unit(at_slots: Sequence[str], order: Sequence[int]) -> list[str]:
    found = [""] * len(order)
    for value, unit in zip(at_slots, order, strict=True):
        found[unit] = value
    return found


def _line(line: Line, words: list[str] | None) -> dict[str, Any]:
    if not line["u"]:
        return {"t": "".join(line["t"])}
    separators = line["t"][0::2]
    plain = all(separator in ("", " ") for separator in separators)
    found: dict[str, Any] = {"s": "".join(s or "0" for s in separators) if plain else [s or "0" for s in separators]}
    if line["u"] != sorted(line["u"]):
        found["u"] = line["u"]
    own = _by_unit(line["t"][1::2], line["u"])
    return found if own == words else found | {"w": own}


def _answers(column: Answers) -> dict[str, Any]:
    right = next((place for place, (_, _, hit) in enumerate(column["w"], start=1) if hit), None)
    found = {
        "h": column["h"],
        "w": [word for word, _, _ in column["w"]],
        "p": [_thousandths(probability) for _, probability, _ in column["w"]],
        "g": column["g"],
    }
    return found | ({"k": right} if right else {})


def _thousandths(shown: str) -> int | str:
    """A probability as printed, `.041`, as 41; anything else as it is."""
    if shown == "1.00":
        return 1000
    return int(shown[1:]) if re.fullmatch(r"\.\d{3}", shown) else shown
