"""Attributions as tables, and those as page, Markdown, CSV and LaTeX, with formatter and page of the other reports."""

from collections.abc import Iterator
from typing import Any

from evaluator.report.blocks import folded, section
from evaluator.report.formats import count, interval, number
from evaluator.report.markup import Html, el
from evaluator.report.table_formats import records_csv, table_html, table_markdown
from evaluator.report.tables import Column, Entry, Table
from evaluator.wos.page import Report, Row, report_files

SHOWN = 50
"""Examples whose words the page shows; report.json and words-exact.csv hold all."""
DEFINITIONS = (
    ("weight", "weight",
     "What a word is worth for the class, by LIME (Ribeiro et al. 2016): ridge regression of the probability of the "
     "class on which words are there, over copies of the text that lack some; the same ones before and after."),
    ("agreement", "rank agreement",
     "Spearman's rank correlation of an example's weights before and after one shuffle of its words."),
    ("top", "top word", "The word with the largest weight; its share is |weight| over the sum of all |weights|."),
    ("polarity", "polarity",
     "Of examples whose top word the lexicon knows as positive or negative, the share of each class. Pham et al. 2021, "
     "section 3.4.1."),
)  # fmt: skip


def tables_of(document: Row) -> list[Table]:
    """Agreement of every model, polarity where a lexicon was given, and the examples shown."""
    columns = [Column("model", "model", "text"), Column("n", "n", "count")]
    columns += [Column("agreement", "rank agreement", has_ci=True, define="agreement")]
    columns += [Column("same", "same top word", has_ci=True, define="top")]
    columns += [Column("before", "top word's share", has_ci=True), Column("after", "shuffled", has_ci=True)]
    body = []
    for m in document["models"]:
        spreads = [m["rank_agreement"], m["top_share"]["orig"], m["top_share"]["ngram1"]]
        entries = [Entry(s["median"], ci=s["quartiles"], note="" if s["n"] else "no example is left") for s in spreads]
        note = "" if m["top_same"]["n"] else "no example is left"
        same = Entry(m["top_same"]["value"], ci=m["top_same"]["ci"], note=note)
        body.append((Entry(m["model"]), Entry(m["n"]), entries[0], same, *entries[1:]))
    caption = "Word weights before and after shuffling: medians with quartiles; share with its interval."
    tables = [Table("agreement", caption, tuple(columns), tuple(body), stub=1)]
    tables += [_polarity(i, m) for i, m in enumerate(document["models"]) if m["polarity"]]
    return tables


def _polarity(number_of: int, model: Row) -> Table:
    columns = (Column("polarity", "top word", "text", define="polarity"), Column("label", "class", "text"),
               Column("n", "n", "count"), Column("share", "share", has_ci=True))  # fmt: skip
    body = [
        (Entry(r["polarity"]), Entry(r["label"]), Entry(r["n"]),
         Entry(r["share"], ci=r["share_ci"], note="" if r["n"] else "no top word has this polarity"))
        for r in model["polarity"]
    ]  # fmt: skip
    caption = f"{model['model']}: class by polarity of the top word, unshuffled."
    return Table(f"m{number_of}-polarity", caption, columns, tuple(body), stub=2)


def findings(document: Row) -> list[str]:
    """One sentence per model."""
    said = []
    for m in document["models"]:
        if not m["n"]:
            said.append(f"{m['model']}: no example is left; see the sizes of every step in report.json.")
            continue
        agreement, same = m["rank_agreement"], m["top_same"]
        said.append(
            f"{m['model']}: over {count(m['n'])} examples the ranks of words' weights before and after shuffling agree "
            f"by {number(agreement['median'])} (median), and the top word stays in {number(same['value'])} "
            f"{interval(same['ci'])}."
        )
    return said


def render(document: Row) -> Iterator[tuple[str, bytes]]:
    """Every file of the report as (relative name, bytes)."""
    tables = tables_of(document)
    title = f"Word attribution: {document['task']}"
    report = Report("word attribution", title, findings(document), tables, DEFINITIONS)
    shown = [folded(f"{m['model']}: words of {min(SHOWN, m['n'])} examples", *_examples(m)) for m in document["models"]]
    sections = [
        section("results", "Results", [table_html(t) for t in tables]),
        section("examples", "Examples", shown),
    ]
    yield from report_files(document, report, sections, [table_markdown(t) for t in tables])
    yield "tables/words-exact.csv", records_csv(list(_words(document)))


def _words(document: Row) -> Iterator[dict[str, Any]]:
    """One row per word of every example."""
    for m in document["models"]:
        for row in m["examples"]:
            for i, word in enumerate(row["words"]):
                yield {
                    "model": m["model"], "example": row["example"], "label": row["label"], "place": i, "word": word,
                    "weight": row["weights"]["orig"][i], "weight_shuffled": row["weights"]["ngram1"][i],
                }  # fmt: skip


def _examples(model: Row) -> Iterator[Html]:
    """A line per example: its words with their weights before and after."""
    for row in model["examples"][:SHOWN]:
        before, after = row["weights"]["orig"], row["weights"]["ngram1"]
        parts = [f"{w} {number(a)}/{number(b)}" for w, a, b in zip(row["words"], before, after, strict=True)]
        yield el("p", el("b", f"{row['label']}: "), ", ".join(parts))
