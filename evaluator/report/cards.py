"""One example as HTML; beyond the first 50, the page's script builds the same card from the same record."""

from evaluator.report.answers import Answers
from evaluator.report.examples import OUTCOMES_IN_WORDS, Example
from evaluator.report.formats import invisibles
from evaluator.report.lines import MASK_RUN, Line
from evaluator.report.markup import Html, el


def card(example: Example) -> Html:
    """The card: where the item is from, both orders of its sentence, the answers in every condition, gold always."""
    return el(
        "article",
        _head(example),
        _lines(example),
        answers_table(example),
        el("details", el("summary", "pieces"), el("code", example["z"], dir="ltr")) if "z" in example else None,
        class_=f"ex {example['o']}",
        id=example["id"],
        tabindex="-1",
    )


def _head(example: Example) -> Html:
    glyph, words = OUTCOMES_IN_WORDS[example["o"]]
    return el(
        "header",
        el("h3", el("a", f"{example['l']} · {example['s']}", href=f"#{example['id']}")),
        el("span", example["c"], class_="cond"),
        el("span", f"{example['m']} · {example['u']} · {example['n']}", class_="meta"),
        el("strong", f"{glyph} {words} ({example['v']})", class_="yes" if glyph == "✓" else "no"),
    )


def _lines(example: Example) -> Html | None:
    if example["a"] is None or example["b"] is None:
        return None
    return el(
        "dl",
        el("dt", "orig"),
        el("dd", line_html(example["a"], example)),
        el("dt", "shown"),
        el("dd", line_html(example["b"], example)),
        class_="lines",
    )


def line_html(line: Line, example: Example) -> Html:
    """The sentence: its text nodes joined (ruby annotations aside) are exactly the text the model saw.

    Unit numbers, invisible characters and the mask's pill are drawn by CSS from `data-` attributes: never copied.
    """
    if not line["u"]:
        return el("p", *line["t"], class_="line", lang=example["lang"], dir=example["dir"])
    children: list[Html | str] = []
    for slot, unit in enumerate(line["u"]):
        separator, word = line["t"][2 * slot], line["t"][2 * slot + 1]
        pair = line["p"][slot] if "p" in line else ""
        children += [separator, _token(word, unit, slot, line["r"][slot], pair, example)]
    return el("p", *children, line["t"][-1], class_="line", lang=example["lang"], dir=example["dir"])


def _token(word: str, unit: int, slot: int, form: str, pair: str, example: Example) -> Html:
    moved = " mv" if unit != slot else ""
    if MASK_RUN.fullmatch(word):
        pieces = word.count("⟨")
        said = f"masked word, {pieces} {'piece' if pieces == 1 else 'pieces'}"
        pill = "MASK" if pieces == 1 else f"MASK ×{pieces}"
        return el(
            "bdi", word, class_=f"tok mask{moved}", dir="ltr", role="img", aria_label=said, data_i=f"{unit + 1}{pair}",
            data_k=pill,
        )  # fmt: skip
    inner = el("ruby", word, el("rt", form)) if form else word
    return el(
        "span",
        inner,
        class_=f"tok{moved}",
        dir=example["dir"],
        data_i=f"{unit + 1}{pair}",
        data_x=invisibles(word) or None,
    )


def answers_table(example: Example) -> Html:
    """The five best words of each column, and the gold word's rank and p under them."""
    columns = example["q"]
    depth = max((len(column["w"]) for column in columns), default=0)
    head = el("tr", el("th", "rank", scope="col"), (el("th", column["h"], scope="col") for column in columns))
    body = [
        el("tr", el("th", str(rank + 1), scope="row"), (_answer(column, rank, example) for column in columns))
        for rank in range(depth)
    ]
    gold_word = el("bdi", example["g"], lang=example["lang"]) if example["g"] else None
    gold = el(
        "tr", el("th", "gold ", gold_word, scope="row"), (el("td", column["g"]) for column in columns), class_="gold"
    )
    table = el(
        "table", el("caption", "Answers, best first"), el("thead", head), el("tbody", body, gold), class_="answers"
    )
    return el("div", table, class_="scroll")


def _answer(column: Answers, rank: int, example: Example) -> Html:
    if rank >= len(column["w"]):
        return el("td")
    word, probability, hit = column["w"][rank]
    right = el("b", " ✓") if hit else None
    return el("td", el("bdi", word, lang=example["lang"]), " ", el("small", probability), right)
