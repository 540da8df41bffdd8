"""The comparison as the report's tables: settings, items, differences, contrasts, flips."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evaluator.compare.match import LOST_IN_WORDS
from evaluator.report.document import condition_label, place_label
from evaluator.report.tables import Column, Entry, Table
from evaluator.report.words import reason, redacted

Document = Mapping[str, Any]
LETTERS = "A is the baseline. Δ = B − A throughout, B being the run named in the row."
GROUP_TITLES = {"treebank": "language", "condition": "condition", "upos": "UPOS"}


def all_tables(document: Document) -> Iterator[Table]:
    """Every table that has rows, in the order of reading."""
    for table in (settings(document), items(document), differences(document), contrasts(document)):
        if table.rows:
            yield table
    for group in GROUP_TITLES:
        table = flips(document, group)
        if table.rows:
            yield table


def slim(table: Table) -> Table:
    """The table without those of its `run` and `models` columns that say the same in every row, for reading."""
    constant = {i for i in (0, 1) if i < table.stub - 1 and len({row[i].value for row in table.rows}) == 1}
    kept = [i for i in range(len(table.columns)) if i not in constant]
    columns = tuple(table.columns[i] for i in kept)
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return replace(table, columns=columns, rows=rows, stub=table.stub - len(constant))


def settings(document: Document) -> Table:
    """What was set differently, one column per run."""
    letters = [run["letter"] for run in document["runs"]]
    columns = (Column("key", "setting", "text"), *(Column(letter, letter, "text") for letter in letters))
    rows = tuple(
        (Entry(row["key"]), *(Entry(_plain(redacted(value))) for value in row["values"]))
        for row in document["settings"]
    )
    return Table("compare-settings", "Settings, versions, models and treebanks that differ.", columns, rows)


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def items(document: Document) -> Table:
    """How many items are compared, and how many are not, by reason."""
    columns = (
        Column("run", "run", "text"),
        Column("models", "models", "text"),
        Column("what", "items", "text"),
        Column("n", "n", "count"),
    )
    rows = []
    for pair in document["pairs"]:
        head = (Entry(pair["run"]), Entry(_models(pair)))
        asked = pair["items"]
        listed = [("of A", asked["a"]), (f"of {pair['run']}", asked["b"]), ("asked alike", asked["shared"])]
        listed += [(LOST_IN_WORDS[why].replace("in B", f"in {pair['run']}"), n) for why, n in pair["lost"].items()]
        rows += [(*head, Entry(what), Entry(n)) for what, n in listed]
    return Table("compare-items", "Items asked alike, and those that are not compared.", columns, tuple(rows), stub=3)


def differences(document: Document) -> Table:
    """Per cell: both accuracies, paired Δ with interval, flips, p, Holm, the verdict in words."""
    columns = (
        Column("run", "run", "text"),
        Column("models", "models", "text"),
        Column("language", "language", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count", define="n"),
        Column("top1_a", "A@1 of A", has_ci=True, define="A"),
        Column("top1_b", "A@1 of B", has_ci=True, define="A"),
        Column("delta", "Δ = B − A", has_ci=True, define="delta"),
        Column("verdict", "verdict", "text"),
        Column("could_see", "could have seen ≥", define="could"),
        Column("only_a", "A ✓ B ✗", "count", define="p"),
        Column("only_b", "A ✗ B ✓", "count", define="p"),
        Column("p", "p", "p", define="p"),
        Column("p_holm", "p Holm", "p", define="holm"),
    )
    said = {"undetected": "no difference detected"}
    languages, rows = languages_of(document), []
    for pair in document["pairs"]:
        for row in pair["cells"]:
            why = reason(row["reason"], "not computed") if row["delta"] is None else ""
            rows.append((
                Entry(pair["run"]), Entry(_models(pair)), Entry(place_label(row["treebank"], languages)),
                Entry(condition_label(row["condition"], row["lemma"])), Entry(row["n"]),
                Entry(row["top1_a"], row["top1_a_ci"]), Entry(row["top1_b"], row["top1_b_ci"]),
                Entry(row["delta"], row["delta_ci"], note=why), Entry(said.get(row["decision"], row["decision"])),
                Entry(row["could_see"]), Entry(row["only_a"]),
                Entry(row["only_b"]), Entry(row["p"]), Entry(row["p_holm"]),
            ))  # fmt: skip
    caption = "A@1 of both sides over the same items; B stands for the run named in the row."
    return Table("compare-differences", caption, columns, tuple(rows), stub=4)


def contrasts(document: Document) -> Table:
    """ΔS and ΔI where neither side is at the floor, ΔI in log-probability everywhere."""
    columns = (
        Column("run", "run", "text"),
        Column("models", "models", "text"),
        Column("language", "language", "text"),
        Column("condition", "condition", "text"),
        Column("S_a", "S of A", define="S"),
        Column("S_b", "S of B", define="S"),
        Column("delta_S", "ΔS", has_ci=True, define="S"),
        Column("I_a", "I of A", define="I"),
        Column("I_b", "I of B", define="I"),
        Column("delta_I", "ΔI", has_ci=True, define="I"),
        Column("I_logp_a", "I log p of A", define="Ilog"),
        Column("I_logp_b", "I log p of B", define="Ilog"),
        Column("delta_I_logp", "ΔI in log p", has_ci=True, define="Ilog"),
    )
    languages, rows = languages_of(document), []
    for pair in document["pairs"]:
        for row in pair["cells"]:
            if all(row[key] is None for key in ("delta_S", "delta_I", "delta_I_logp")):
                continue
            both_s, both_i = row["delta_S"] is not None, row["delta_I"] is not None
            rows.append((
                Entry(pair["run"]), Entry(_models(pair)), Entry(place_label(row["treebank"], languages)),
                Entry(condition_label(row["condition"], row["lemma"])), Entry(row["S_a"] if both_s else None),
                Entry(row["S_b"] if both_s else None),
                Entry(row["delta_S"], row["delta_S_ci"]), Entry(row["I_a"] if both_i else None),
                Entry(row["I_b"] if both_i else None), Entry(row["delta_I"], row["delta_I_ci"]),
                Entry(row["I_logp_a"]), Entry(row["I_logp_b"]), Entry(row["delta_I_logp"], row["delta_I_logp_ci"]),
            ))  # fmt: skip
    caption = (
        "ΔS and ΔI = B − A, paired intervals, only where neither side is at the floor; ΔI in log p, in nats, has no "
        "floor. Not adjusted."
    )
    return Table("compare-contrasts", caption, columns, tuple(rows), stub=4)


def flips(document: Document, group: str) -> Table:
    """Items that one side alone got right, by treebank, condition or UPOS."""
    title = GROUP_TITLES[group]
    columns = (
        Column("run", "run", "text"),
        Column("models", "models", "text"),
        Column("group", title, "text"),
        Column("n", "n", "count"),
        Column("only_a", "A ✓ B ✗", "count", define="p"),
        Column("only_b", "A ✗ B ✓", "count", define="p"),
    )
    languages, rows = languages_of(document), []
    for pair in document["pairs"]:
        for row in pair["flips"][group]:
            name = place_label(row["group"], languages) if group == "treebank" else row["group"]
            counts = (Entry(row[key]) for key in ("n", "only_a", "only_b"))
            rows.append((Entry(pair["run"]), Entry(_models(pair)), Entry(name), *counts))
    return Table(f"compare-flips-{group}", f"Items that flipped, by {title}.", columns, tuple(rows), stub=3)


def languages_of(document: Document) -> dict[str, str]:
    """Language of each treebank compared."""
    return {row["treebank"]: row["language"] for pair in document["pairs"] for row in pair["cells"]}


def _models(pair: Mapping[str, Any]) -> str:
    return str(pair["a"]) if pair["a"] == pair["b"] else f"{pair['a']} → {pair['b']}"


def gate_lines(document: Document) -> list[str]:
    """One line per `--fail-if` rule."""
    return [f"{'✗ failed' if g['failed'] else '✓ held'}: {g['rule']} ({g['why']})" for g in document["gates"]]


def note_lines(document: Document) -> list[str]:
    """What one side alone holds, and what differs without keeping items from being compared."""
    lines = []
    for pair in document["pairs"]:
        for side, letter in (("A", "A"), ("B", pair["run"])):
            for what, names in pair["only"][side].items():
                if names:
                    lines.append(f"{what}s only in {letter}: {', '.join(names)}")
        lines += [f"A against {pair['run']}, {note}" for note in pair["notes"]]
    return list(dict.fromkeys(lines))
