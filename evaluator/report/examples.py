"""The examples of the page: which items are shown, each as one small record for Python and the page's script.

Which ones: `strata`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.report.answers import Answers, probability, rank_of, words_of
from evaluator.report.document import Document, condition_label, dose
from evaluator.report.formats import count, number, visible, well_formed
from evaluator.report.lines import SWAPS, Line, cut, direction, language_tag, swap_letters
from evaluator.report.strata import Outcome, Pair, choose_pairs, outcome_of

MAX_BYTES = 1_000_000
"""Cap of all examples as the page holds them, which shows fewer where its tables and figures take the room."""
AT_LEAST = 50
"""Examples kept however long the page is."""

OUTCOMES_IN_WORDS: dict[Outcome, tuple[str, str]] = {
    "lost": ("✗", "wrong; right in the original order"),
    "gained": ("✓", "right; wrong in the original order"),
    "kept": ("✓", "right, as in the original order"),
    "missed": ("✗", "wrong, as in the original order"),
}


class Example(TypedDict):
    """One item beside its partner in the original order; short keys because a page holds up to 2,000."""

    id: str
    m: str
    l: str
    s: str
    c: str
    n: str
    u: str
    k: int
    o: Outcome
    t: str
    d: float
    v: str
    dir: str
    lang: str
    g: str
    a: Line | None
    b: Line | None
    q: list[Answers]
    z: NotRequired[str]
    """The pieces that the model read."""
    h: NotRequired[list[int]]
    """By unit the unit that is its head, −1 for none."""
    e: NotRequired[list[str]]
    """By unit its relation to its head."""


Pieces = Callable[[str, Sequence[int]], Mapping[int, Sequence[str]]]
"""What a model, by name, read for items, by id."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The chosen examples, how many pairs there were to choose from, and from what."""

    examples: tuple[Example, ...]
    pairs: int
    of: str

    def rule(self) -> str:
        """What is shown of how much, and why these."""
        return (
            f"showing {count(len(self.examples))} of {count(self.pairs)} {self.of}: taken in turns from every model × "
            "language × condition × outcome, the largest changes in log p(gold) first, then by hash; among them the "
            "surest errors and near-ties of every model and language"
        )


def choose(
    document: Document,
    rows: pa.Table,
    total: int,
    sentences: pa.Table | None,
    *,
    with_text: bool,
    pieces: Pieces | None = None,
) -> Sample:
    """The examples among `rows` (scored outcomes, whole base items); `sentences` gives exact unit boundaries.

    `total` is the number of outcomes in the run; `pieces` tells what the models read. Without text: ids, UPOS, ranks
    and probabilities only.
    """
    pairs, total_pairs = choose_pairs(document, rows)
    chosen = [(pair.partner, pair.row) for pair in pairs]
    partners = _by_key(rows, [index for pair in chosen for index in pair])
    spelt = _spellings(rows, chosen, sentences) if with_text else {}
    models = {name: i for i, name in enumerate(document.models)}
    records = rows.take(pa.array([index for pair in chosen for index in pair], pa.int64())).to_pylist()
    read: dict[str, Mapping[int, Sequence[str]]] = {}
    for model in document.models if pieces and with_text else ():
        read[model] = pieces(model, [r["item_id"] for r in records[1::2] if r["model"] == model]) if pieces else {}
    examples: list[Example] = []
    for pair, before, after in zip(pairs, records[::2], records[1::2], strict=True):
        examples.append(_example(document, pair, before, after, partners, spelt, models, with_text))
        if found := read.get(after["model"], {}).get(after["item_id"]):
            examples[-1]["z"] = well_formed(" ".join(found))
    of = "changed items" if rows.num_rows >= total * 0.5 else "changed items of a fixed hash sample"
    return Sample(tuple(examples), total_pairs, of)


AnswerKey = tuple[str, int, str, bool, int]


def _by_key(rows: pa.Table, wanted: Sequence[int]) -> dict[AnswerKey, dict[str, Any]]:
    """Answers of every item of the wanted rows' base items by (model, base, condition, lemma, draw)."""
    bases = rows["base_id"].take(pa.array(wanted, pa.int64())).unique() if wanted else pa.array([], pa.uint64())
    names = ["model", "base_id", "condition", "lemma", "draw"]
    names += ["pred", "pred_logp", "place", "gold", "gold_ranks", "gold_logp", "reason"]
    found = rows.filter(pc.is_in(rows["base_id"], bases)).select(names).to_pylist()
    return {(r["model"], r["base_id"], r["condition"], r["lemma"], r["draw"]): r for r in found}


def _spellings(
    rows: pa.Table, chosen: Sequence[tuple[int, int]], sentences: pa.Table | None
) -> dict[int, Mapping[str, Any]]:
    if sentences is None or not chosen:
        return {}
    wanted = rows["sentence"].take(pa.array([index for _, index in chosen])).unique()
    kept = sentences.filter(pc.is_in(sentences["sentence"], wanted)).select(
        ["sentence", "form", "lemma", "head", "deprel"]
    )
    return {row["sentence"]: row for row in kept.to_pylist()}


def _example(
    document: Document,
    pair: Pair,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    partners: Mapping[AnswerKey, Mapping[str, Any]],
    spelt: Mapping[int, Mapping[str, Any]],
    models: Mapping[str, int],
    with_text: bool,
) -> Example:
    label = condition_label(after["condition"], after["lemma"])
    outcome = outcome_of(before["correct1"], after["correct1"])
    text = before["text"]
    sentence = spelt.get(after["sentence"])
    letters = swap_letters(after["order"]) if after["condition"] in SWAPS else {}
    tau = number(after["kendall_tau"])
    moved = f"moved {after['moved']}/{after['n_units']} · τ {tau}" if after["moved"] else "order unchanged"
    example: Example = {
        "id": f"item-{after['item_id']:016x}-{models[after['model']]}",
        "m": after["model"],
        "l": document.place(after["treebank"]),
        "s": f"{after['treebank']} {after['sent_id']}",
        "c": label,
        "n": f"seed {after['seed']} · draw {after['draw']} · {moved}" + (f" · {pair.remark}" if pair.remark else ""),
        "t": pair.remark or "none",
        "u": after["upos"],
        "k": after["n_masks"] or 0,
        "o": outcome,
        "d": round((after["gold_logp"] or 0.0) - (before["gold_logp"] or 0.0), 3),
        "v": f"gold {rank_of(after)}",
        "dir": direction(text),
        "lang": language_tag(after["language"], text),
        "g": visible(after["gold"]) if with_text else "",
        "a": line_of(before, spelt, letters) if with_text else None,
        "b": line_of(after, spelt, letters) if with_text else None,
        "q": _answers(document, after, partners, with_text),
    }
    if sentence is not None and example["b"] and example["b"]["u"]:
        example |= {"h": sentence["head"], "e": [well_formed(relation) for relation in sentence["deprel"]]}
    return example


def line_of(
    row: Mapping[str, Any], spelt: Mapping[int, Mapping[str, Any]], letters: Mapping[int, str] | None = None
) -> Line:
    """The row's text cut at its units; `spelt` holds forms and lemmas by sentence, `letters` those of swapped units."""
    sentence = spelt.get(row["sentence"])
    forms = sentence["form"] if sentence else None
    words = [lemma or form for lemma, form in zip(sentence["lemma"], forms or [], strict=True)] if sentence else None
    words = words if row["lemma"] else forms
    line = cut(row["text"], row["order"], row["target"], words, forms)
    found: Line = {
        "t": [well_formed(piece) for piece in line["t"]],
        "u": line["u"],
        "r": [well_formed(form) for form in line["r"]],
    }
    if letters and line["u"]:
        found["p"] = [letters.get(unit, "") for unit in line["u"]]
    return found


def _answers(
    document: Document, row: Mapping[str, Any], partners: Mapping[AnswerKey, Mapping[str, Any]], with_text: bool
) -> list[Answers]:
    """One column per condition in the item's spelling; +L alone stands beside the original."""
    alone = row["condition"] == "orig"
    asked = (
        [("orig", False), ("orig", True)]
        if alone
        else [(c, row["lemma"]) for c in sorted(document.conditions, key=dose)]
    )
    columns: list[Answers] = []
    for condition, lemma in asked:
        draw = 0 if condition == "orig" else row["draw"]
        found = partners.get((row["model"], row["base_id"], condition, lemma, draw))
        if found is None:
            continue
        words = words_of(found) if with_text else []
        columns.append(
            {
                "h": condition_label(condition, lemma),
                "w": words,
                "g": f"{rank_of(found)} · {probability(found['gold_logp'])}",
            }
        )
    return columns
