"""The results as tables, and those as page, Markdown, CSV and LaTeX, with formatter and page of the other reports."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.cloze.results import FEW
from evaluator.report.blocks import folded, section
from evaluator.report.document import canonical_json
from evaluator.report.formats import count, interval, markdown, number
from evaluator.report.joined import Joined
from evaluator.report.markup import Html, el
from evaluator.report.page import page_script, shell
from evaluator.report.table_formats import preamble_tex, records_csv, table_csv, table_html, table_markdown, table_tex
from evaluator.report.tables import Column, Entry, Table

Row = Mapping[str, Any]
FILES = ("report.json", "report.md", "outcomes.parquet", "tables/rows-exact.csv")
CONTENTS = (
    ("results", "Results"),
    ("breakdowns", "Breakdowns"),
    ("definitions", "Definitions"),
    ("manifest", "Manifest"),
)
GROUPINGS = {
    "all": "all items",
    "cell": "cell",
    "phenomenon": "phenomenon",
    "person_number": "person and number",
    "verbclass": "verb class",
    "cell_phenomenon": "cell and phenomenon",
}
RECONSTRUCTION = (
    ("context.first", "context", "first"),
    ("context.first_exact", "context, exact", "exact"),
    ("prompt.first", "prompt", "first"),
    ("prompt.first_exact", "prompt, exact", "exact"),
    ("prompt.five", "prompt, five", "five"),
    ("copy_lemma", "copy the lemma", "copy"),
    ("copy_lemma_exact", "copy, exact", "copy"),
    ("frequent_form", "most frequent form", "frequent"),
)
CHOICE = (
    ("context.joint", "context", "joint"),
    ("context.joint_l2r", "context, left to right", "l2r"),
    ("prompt.joint", "prompt", "joint"),
    ("prompt.joint_l2r", "prompt, left to right", "l2r"),
    ("copy_lemma", "copy the lemma", "copy"),
    ("frequent_form", "most frequent form", "frequent"),
    ("chance", "chance", "chance"),
)
RULES = (
    ("prompt.joint", "joint", "joint"),
    ("prompt.per_piece", "per piece", "per-piece"),
    ("prompt.equal", "equal masks", "equal"),
    ("prompt.joint_l2r", "joint, left to right", "l2r"),
    ("prompt.per_piece_l2r", "per piece, left to right", "per-piece"),
    ("prompt.equal_l2r", "equal masks, left to right", "equal"),
)
DEFINITIONS = (
    ("cloze-first", "first answer",
     "Share of items whose most probable word, all masks filled at once, is the gold, case-folded. The model is told "
     "how many pieces the gold has: it sees that many masks."),
    ("cloze-exact", "exact", "The same, but the answer must be the gold's own pieces, case included."),
    ("cloze-five", "five", "The gold, case-folded, is among the five most probable words."),
    ("cloze-styles", "context, prompt",
     "context: the model reads the sentence alone. prompt: it reads `cloze lemma=… context=… feats=… ->`, the blank "
     "masked in both."),
    ("cloze-joint", "choice, joint",
     "argmax over the lemma's known forms of log p(form) = Σ log p(piece), each form under its own number of masks. "
     "Forms of different lengths are compared by the probability of the whole word, which favours short ones."),
    ("cloze-per-piece", "choice, per piece", "The same by log p(form) divided by its pieces, which favours long ones."),
    ("cloze-equal", "choice, equal masks",
     "The joint rule among the forms with as many pieces as the gold: no length is favoured. Only items with at least "
     "two such forms count."),
    ("cloze-l2r", "left to right",
     "log p(form) = Σ_j log p(piece j | pieces before it shown, it and the later ones masked): PLL-word-l2r of Kauf "
     "and Ivanova 2023."),
    ("cloze-copy", "copy the lemma", "Floor without a model: answer the lemma. Its exact variant heeds case."),
    ("cloze-frequent", "most frequent form",
     "Floor without a model: answer the form of the lemma that the corpus holds most often."),
    ("cloze-chance", "chance", "Mean of 1 / number of known forms, over the items that have at least two."),
    ("cloze-n", "n",
     "Items scored in both styles. Intervals: Wilson, 95 %, with Kish's effective size over sentences."),
    ("cloze-prompt", "prompt − context",
     "Share right with the prompt minus share right without it, over the same items; interval: paired bootstrap over "
     "sentences; p: exact sign-flip test over sentences (McNemar's where a sentence has one item); Holm over all rows "
     "of a model."),
)  # fmt: skip


def tables_of(document: Row) -> list[Table]:
    """Every table: per model and grouping, reconstruction and choice; the rules of choice once per model."""
    found = []
    for i, model in enumerate(document["models"]):
        for by, label in GROUPINGS.items():
            rows = [r for r in document["rows"] if r["model"] == model and r["by"] == by]
            what = f"{model}, by {label}" if by != "all" else model
            found.append(_table(f"m{i}-reconstruction-{by}", f"{what}: reconstruction.", by, RECONSTRUCTION, rows))
            found.append(_table(f"m{i}-choice-{by}", f"{what}: choice among the lemma's forms.", by, CHOICE, rows))
            if by in ("all", "cell"):
                caption = f"{what}: rules for forms of different lengths, with the prompt."
                found.append(_table(f"m{i}-rules-{by}", caption, by, RULES, rows))
        found.append(_prompt_table(document, model, i))
    return found


def _prompt_table(document: Row, model: str, number: int) -> Table:
    """What the prompt changes, with its test, per measure for all items and by cell."""
    columns = (
        Column("group", "items", "text"),
        Column("measure", "measure", "text"),
        Column("n", "n", "count", define="cloze-n"),
        Column("delta", "prompt − context", has_ci=True, define="cloze-prompt"),
        Column("only_prompt", "prompt alone right", "count", define="cloze-prompt"),
        Column("only_context", "context alone right", "count", define="cloze-prompt"),
        Column("p", "p", "p", define="cloze-prompt"),
        Column("p_holm", "p Holm", "p", define="cloze-prompt"),
        Column("decision", "verdict", "text"),
    )
    said = {"undetected": "no difference detected", "higher": "prompt helps", "lower": "prompt harms"}
    rows = []
    for row in document.get("tests") or []:
        if row["model"] == model:
            why = "" if row["n"] else "no items"
            shade = "few" if row["n"] < FEW else ""
            rows.append((
                Entry(row["group"]), Entry({"first": "first answer", "joint": "choice"}[row["measure"]]),
                Entry(row["n"], shade=shade), Entry(row["delta"], row["delta_ci"], note=why, shade=shade),
                Entry(row["only_prompt"]), Entry(row["only_context"]), Entry(row["p"]), Entry(row["p_holm"]),
                Entry(said.get(row["decision"], row["decision"])),
            ))  # fmt: skip
    caption = f"{model}: with lemma and features in the prompt against the sentence alone, the same items."
    return Table(f"m{number}-prompt", caption, columns, tuple(rows), stub=2)


def _table(name: str, caption: str, by: str, measures: Sequence[tuple[str, str, str]], rows: Sequence[Row]) -> Table:
    columns = [Column("group", GROUPINGS[by], "text"), Column("n", "n", "count", define="cloze-n")]
    columns += [
        Column(k.replace(".", "_"), label, has_ci=k != "chance", define=f"cloze-{d}") for k, label, d in measures
    ]
    body = []
    for row in rows:
        shade = "few" if row["few"] else ""
        small = "fewer than 30 items" if row["few"] and not row["note"] else ""
        entries = [Entry(row["group"]), Entry(row["n"], note=row["note"] or small, shade=shade)]
        for key, _, _ in measures:
            measure = row["measures"][key]
            why = "" if measure["value"] is not None or row["note"] else _absent(key)
            entries.append(Entry(measure["value"], ci=measure["ci"], note=why, shade=shade))
        body.append(tuple(entries))
    return Table(name, caption, tuple(columns), tuple(body), stub=1)


def _absent(key: str) -> str:
    if key == "frequent_form":
        return "the data set holds no counts of the lemma's forms"
    if key.endswith("_l2r"):
        return "left to right was not asked for, or no item allows it"
    return "no item allows it"


def findings(document: Row) -> list[str]:
    """One sentence per model, figures and floors together."""
    said = []
    for model in document["models"]:
        row = next(r for r in document["rows"] if r["model"] == model and r["by"] == "all")
        m = row["measures"]

        def of(key: str, m: Mapping[str, Any] = m) -> str:
            return f"{number(m[key]['value'])} {interval(m[key]['ci'])}".strip()

        said.append(
            f"{model}: with lemma and features in the prompt it reconstructs {of('prompt.first')} of {count(row['n'])} "
            f"verbs, from the sentence alone {of('context.first')}; copying the lemma gets {of('copy_lemma')}. Among "
            f"the lemma's forms it picks the right one in {of('prompt.joint')}; the most frequent form is right in "
            f"{of('frequent_form')}, chance {of('chance')}."
        )
    return said


def render(document: Row) -> Iterator[tuple[str, bytes]]:
    """Every file of the report as (relative name, bytes): report.json, .html, .md, tables/*.csv and *.tex."""
    tables = tables_of(document)
    yield "report.json", canonical_json(dict(document))
    yield "report.html", shell(f"{document['run_id']} · verb-inflection cloze", _body(document))
    yield "report.md", _markdown(document, tables)
    for table in tables:
        yield f"tables/{table.name}.csv", table_csv(table)
        yield f"tables/{table.name}.tex", table_tex(table, f"{document['run_id']}")
    yield "tables/preamble.tex", preamble_tex()
    yield "tables/rows-exact.csv", records_csv(list(_flat(document)))
    yield "tables/tests-exact.csv", records_csv(document.get("tests") or [])


def _flat(document: Row) -> Iterator[dict[str, Any]]:
    for row in document["rows"]:
        for key, measure in row["measures"].items():
            yield {
                "model": row["model"], "by": row["by"], "group": row["group"], "measure": key, "n": measure["n"],
                "value": measure["value"], "value_ci": measure["ci"], "note": row["note"],
            }  # fmt: skip


def _title(document: Row) -> str:
    return f"Verb-inflection cloze: {document['data']}, {document['split']}"


def joined(document: Row) -> Joined:
    """The results as a block of a page, their tables first for all items and by cell."""
    tables = tables_of(document)
    shown = tuple(t for t in tables if t.name.rpartition("-")[2] in ("all", "cell", "prompt"))
    folded = tuple(t for t in tables if t not in shown)
    return Joined("results", _title(document), tuple(findings(document)), shown, folded, DEFINITIONS)


def _body(document: Row) -> Html:
    block = joined(document)
    ok = not document["problems"]
    badge = "✓ complete" if ok else f"✗ {'; '.join(document['problems'])}"
    files = [part for name in FILES for part in (", ", el("a", name, href=name))][1:]
    top = el(
        "header",
        el("p", "morphorder · verb-inflection cloze", class_="kicker"),
        el("h1", _title(document)),
        el("div", (el("p", sentence) for sentence in block.findings), class_="findings"),
        el("p", badge, class_=f"badge {'yes' if ok else 'no'}"),
        el("p", "Run again ", el("code", document["manifest"]["command"], class_="command")),
        el("p", "Beside this page: ", files, class_="soft"),
        el("p", f"Run {document['run_id']}", class_="soft"),
        class_="top",
    )
    terms = [(el("dt", term, id=f"def-{anchor}"), el("dd", said)) for anchor, term, said in DEFINITIONS]
    main = el(
        "main",
        _health(document),
        section("results", "Results", [el("div", table_html(t), class_="fig") for t in block.shown]),
        section("breakdowns", "Breakdowns", [folded(t.caption, table_html(t)) for t in block.folded]),
        section("definitions", "Definitions", el("dl", terms, class_="defs")),
        section("manifest", "Manifest", el("pre", canonical_json(document["manifest"]).decode())),
    )
    links = [el("a", name, href=f"#{anchor}") for anchor, name in CONTENTS]
    return el("body", top, el("nav", links, class_="contents", aria_label="Contents"), main, page_script())


def _health(document: Row) -> Html:
    checks = [
        el("li", el("b", f"{_glyph(c['ok'])}", class_="yes" if c["ok"] is not False else "no"), f" {c['name']}",
           el("span", f" {c['detail']}", class_="soft"))
        for c in document["audit"]
    ]  # fmt: skip
    counts = document["counts"]
    skipped = ", ".join(f"{reason.replace('_', ' ')} {count(n)}" for reason, n in counts["skipped"].items()) or "none"
    facts = [("items", count(counts["items"])), ("skipped or failed, styles × models", skipped)]
    facts += [("windowed inputs", count(counts["windowed"]))]
    pairs = el("dl", (el("div", el("dt", k), el("dd", v)) for k, v in facts), class_="facts")
    return section("health", "Health", el("ul", checks, class_="checks"), pairs)


def _glyph(ok: bool | None) -> str:
    return {True: "✓ holds", False: "✗ fails", None: "– cannot be seen"}[ok]


def _markdown(document: Row, tables: Sequence[Table]) -> bytes:
    parts = [f"# {markdown(_title(document))}", "\n".join(f"- {markdown(s)}" for s in findings(document))]
    failed = [c for c in document["audit"] if c["ok"] is False]
    parts += ["\n".join(f"- ✗ {markdown(c['name'])}: {markdown(c['detail'])}" for c in failed)] if failed else []
    parts += ["## Results", *(table_markdown(t) for t in tables)]
    parts += ["## Definitions", "\n".join(f"- **{markdown(t)}**: {markdown(s)}" for _, t, s in DEFINITIONS)]
    return ("\n\n".join(p.rstrip("\n") for p in parts) + "\n").encode()
