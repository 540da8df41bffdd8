"""The heads as tables, and those as page, Markdown, CSV and LaTeX, with formatter and page of the other reports."""

from collections.abc import Iterator

from evaluator.report.blocks import section
from evaluator.report.formats import count, interval, number
from evaluator.report.table_formats import table_html, table_markdown
from evaluator.report.tables import Column, Entry, Table
from evaluator.wos.page import Report, Row, report_files

DEFINITIONS = (
    ("link", "link",
     "From a word of the reordered text to a word of the other: attention summed over the pieces of the word attended "
     "to and averaged over those of the word attending (Clark et al. 2019). The three strongest of a head count."),
    ("wins", "wins",
     "Examples of dev-r in which the words that this head's links join are more alike than those of any other head: "
     "mean of 1 − edit distance / length of the longer, case aside; ties to the smaller head. Both count from 0."),
    ("silenced", "silenced",
     "Heads multiplied by 0 through an input of the graph, all else as it was; accuracy on dev-r unshuffled, which is "
     "1 with none silenced. By lot: as many heads drawn from all."),
)  # fmt: skip


def tables_of(document: Row) -> list[Table]:
    """Winners and silences, one table each per model."""
    tables = []
    for i, model in enumerate(document["models"]):
        labels = list(dict.fromkeys(label for row in model["winners"] for label in row["by_label"]))
        columns = [Column("layer", "layer", "text"), Column("head", "head", "text")]
        columns += [Column("before", "wins", "count", define="wins"), Column("after", "shuffled", "count")]
        columns += [Column(f"label_{j}", f"wins, {label}", "count") for j, label in enumerate(labels)]
        body = [
            (Entry(str(row["layer"])), Entry(str(row["head"])), Entry(row["before"]), Entry(row["after"]),
             *(Entry(row["by_label"][label]) for label in labels))
            for row in model["winners"]
        ]  # fmt: skip
        caption = f"{model['model']}: heads whose links join the most alike words, {count(model['n'])} examples."
        tables.append(Table(f"m{i}-winners", caption, tuple(columns), tuple(body), stub=2))
        columns = [Column("silenced", "silenced", "text", define="silenced"), Column("heads", "heads", "text")]
        columns += [Column("n", "n", "count"), Column("accuracy", "accuracy", has_ci=True)]
        body = [
            (Entry(row["silenced"]), Entry(" ".join(f"{a}.{b}" for a, b in row["heads"]) or "–"), Entry(row["n"]),
             Entry(row["accuracy"], ci=row["accuracy_ci"], note="" if row["n"] else "no example is left"))
            for row in model["silenced"]
        ]  # fmt: skip
        caption = f"{model['model']}: accuracy on dev-r with heads silenced."
        tables.append(Table(f"m{i}-silenced", caption, tuple(columns), tuple(body), stub=2))
    return tables


def findings(document: Row) -> list[str]:
    """One sentence per model."""
    said = []
    for model in document["models"]:
        if not model["n"]:
            said.append(f"{model['model']}: no example is left; see the sizes of every step in report.json.")
            continue
        best = model["winners"][0]
        most = next((r for r in reversed(model["silenced"]) if r["silenced"].endswith("that win most")), None)
        quiet = f"; with the {most['silenced']} silenced accuracy is {_with(most)}" if most else ""
        lot = next((r for r in model["silenced"] if most and r["silenced"] == f"{len(most['heads'])} by lot"), None)
        quiet += f", with as many by lot {_with(lot)}" if lot else ""
        said.append(
            f"{model['model']}: head {best['layer']}.{best['head']} wins most often ({count(best['before'])} of "
            f"{count(model['n'])}); shuffled, the winner is the same in {number(model['same_winner'])} and "
            f"{number(model['links_kept'])} of its links stay{quiet}."
        )
    return said


def _with(row: Row) -> str:
    return f"{number(row['accuracy'])} {interval(row['accuracy_ci'])}".strip()


def render(document: Row) -> Iterator[tuple[str, bytes]]:
    """Every file of the report as (relative name, bytes)."""
    tables = tables_of(document)
    title = f"Attention heads: {document['task']}"
    report = Report("attention heads", title, findings(document), tables, DEFINITIONS)
    results = section("results", "Results", [table_html(t) for t in tables])
    yield from report_files(document, report, [results], [table_markdown(t) for t in tables])
