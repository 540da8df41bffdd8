"""The paired comparisons as tables, one per Holm family: rows in dose order, the verdict in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.reduce.comparisons import decided
from evaluator.report.document import Document, condition_label, dose
from evaluator.report.strata import Outcome
from evaluator.report.tables import Column, Entry, Table
from evaluator.report.words import reason


def comparisons(document: Document) -> Iterator[tuple[str, Table]]:
    """Each family of comparisons with its table: paired Δ, interval, discordant counts, McNemar p, Holm p, verdict."""
    rows: Sequence[Mapping[str, Any]] = document.report.get("comparisons") or []
    columns = (
        Column("language", "language", "text"),
        Column("a", "A", "text"),
        Column("b", "B", "text"),
        Column("n", "n", "count", define="n"),
        Column("delta", "Δ = A − B", has_ci=True, define="delta"),
        Column("only_a", "A ✓ B ✗", "count", define="p"),
        Column("only_b", "A ✗ B ✓", "count", define="p"),
        Column("p", "p", "p", define="p"),
        Column("p_holm", "p Holm", "p", define="holm"),
        Column("verdict", "verdict", "text"),
    )
    for index, family in enumerate(dict.fromkeys(str(row["family"]) for row in rows), start=1):
        members = sorted((row for row in rows if str(row["family"]) == family), key=lambda row: _order(document, row))
        body = tuple(_comparison(document, row) for row in members)
        yield family, Table(f"comparisons-{index}", f"Paired comparisons: {family}.", columns, body, stub=3)


def _order(document: Document, row: Mapping[str, Any]) -> tuple[Any, ...]:
    treebank = (
        document.treebanks.index(row["treebank"]) if row["treebank"] in document.treebanks else len(document.treebanks)
    )
    sides = [(row[side]["model"], row[side]["lemma"], dose(row[side]["condition"])) for side in ("a", "b")]
    return (treebank, *sides)


def _comparison(document: Document, row: Mapping[str, Any]) -> tuple[Entry, ...]:
    a, b = row["a"], row["b"]
    same_model = a.get("model") == b.get("model")
    treebank = row["treebank"]
    place = document.place(treebank) if treebank in document.languages else str(row["language"])
    return (
        Entry(place),
        Entry(_side(a)),
        Entry(_side(b) if not same_model else condition_label(b["condition"], b["lemma"])),
        Entry(row.get("n")),
        Entry(row.get("delta"), row.get("delta_ci"), note=_why_empty(row)),
        Entry(row.get("only_a"), show=_examples(a, b, place, "gained") if row.get("only_a") else None),
        Entry(row.get("only_b"), show=_examples(a, b, place, "lost") if row.get("only_b") else None),
        Entry(row.get("p")),
        Entry(row.get("p_holm")),
        Entry(verdict(row)),
    )


def _examples(a: Mapping[str, Any], b: Mapping[str, Any], place: str, outcome: Outcome) -> dict[str, str] | None:
    """Filters of the examples of `a` against `b`, where `b` is the partner that an example stands beside."""
    plain = a["condition"] == "orig"
    partner = (a["model"], "orig", bool(a["lemma"]) and not plain)
    if (b["model"], b["condition"], bool(b["lemma"])) != partner or a == b:
        return None
    return {"o": outcome, "m": a["model"], "l": place, "c": condition_label(a["condition"], a["lemma"])}


def _why_empty(row: Mapping[str, Any]) -> str:
    return reason(row.get("reason"), "not computed") if row.get("delta") is None else ""


def _side(side: Mapping[str, Any]) -> str:
    return f"{side['model']}, {condition_label(side['condition'], side['lemma'])}"


def verdict(row: Mapping[str, Any]) -> str:
    """The comparison in words: `A higher`, `B higher`, `no difference detected` (Holm, .05) or `not comparable`."""
    found = decided(row.get("delta"), row.get("p_holm"))
    said = {"undetected": "no difference detected", "higher": "A higher", "lower": "B higher"}
    return said.get(found, found)
