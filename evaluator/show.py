"""`morphorder show RUN`: single items as text, one field per line, so that any script reads right in a terminal."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer

from evaluator.errors import ConfigError, StoreError
from evaluator.stages.encode import open_models
from evaluator.stages.pieces import pieces_read
from evaluator.stages.run import config_of
from evaluator.store.run import RunFolder


def show_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder with a report.")],
    language: Annotated[str | None, typer.Option("--language", "-l", help="Only this language.")] = None,
    condition: Annotated[
        str | None, typer.Option("--condition", "-c", help="Only this one, for instance full or full+L.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Only this model.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only items whose first answer is wrong.")] = False,
    right: Annotated[bool, typer.Option("--right", help="Only items whose first answer is right.")] = False,
    flipped: Annotated[bool, typer.Option("--flipped", help="Only items right in orig and wrong here.")] = False,
    sentence: Annotated[str | None, typer.Option("--sentence", "-s", help="Only this sent_id.")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Also the pieces that the model read.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="At most so many items.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Look at single items: what the model saw, what it answered, what was right.

    `morphorder show morphorder-run --language de --condition full --wrong`

    `morphorder show morphorder-run --sentence demo-007 --tokens`
    """
    if wrong and right:
        raise ConfigError("--wrong and --right exclude each other", where="show")
    folder = RunFolder.open(run)
    if not folder.location.exists("report/outcomes.parquet"):
        place = str(folder.location)
        raise StoreError("has no report yet", where=place, hint=f"run: morphorder report {place}")
    outcomes = pq.read_table(pa.BufferReader(folder.location.read("report/outcomes.parquet")))
    chosen = outcomes
    for column, value in (("language", language), ("model", model), ("sent_id", sentence)):
        chosen = _only(chosen, column, value, outcomes)
    if condition is not None:
        chosen = _only(chosen, "condition", condition.removesuffix("+L"), outcomes)
        chosen = chosen.filter(pc.equal(chosen["lemma"], condition.endswith("+L")))
    if flipped:
        chosen = chosen.filter(_is_flipped(chosen, outcomes))
    if wrong or right:
        chosen = chosen.filter(pc.equal(chosen["correct1"], right))
    rows = chosen.slice(0, max(limit, 0)).to_pylist()
    if as_json:
        print(json.dumps({"ok": True, "found": chosen.num_rows, "items": rows}, ensure_ascii=False))
        return
    for row in rows:
        pieces = _pieces(folder, row["model"], row["item_id"]) if tokens else []
        print("\n".join(item_lines(row, pieces)), end="\n\n")
    print(f"{len(rows)} of {chosen.num_rows:,} items")


def _only(table: pa.Table, column: str, value: str | None, everything: pa.Table) -> pa.Table:
    if value is None:
        return table
    known = sorted(set(everything[column].unique().to_pylist()))
    if value not in known:
        shown = ", ".join(known) if len(known) <= 12 else f"{', '.join(known[:12])}, …"
        raise ConfigError(f"no {column} {value!r} in this run", where="show", hint=f"there are: {shown}")
    return table.filter(pc.equal(table[column], value))


def _is_flipped(rows: pa.Table, everything: pa.Table) -> pa.Array:
    """Which rows are wrong where the same model was right on the same base item in the original order and spelling."""
    keys = ["model", "base_id", "lemma"]
    right = everything.filter(pc.and_(pc.equal(everything["condition"], "orig"), everything["correct1"]))
    known = {tuple(row.values()) for row in right.select(keys).to_pylist()}
    was_right = pa.array([tuple(row.values()) in known for row in rows.select(keys).to_pylist()], pa.bool_())
    return pc.fill_null(pc.and_(was_right, pc.invert(rows["correct1"].combine_chunks())), False)


def _pieces(folder: RunFolder, name: str, item_id: int) -> list[str]:
    model = next(m for m in open_models(config_of(folder).models) if m.bundle.name == name)
    return pieces_read(folder, model, [item_id]).get(item_id, [])


def item_lines(row: dict[str, Any], pieces: Sequence[str] = ()) -> list[str]:
    """One outcome as lines, and the pieces that the model read when they are given."""
    condition = row["condition"] + ("+L" if row["lemma"] else "")
    verdict = {True: "✓ right", False: "✗ wrong", None: f"– {row['status']}"}[row["correct1"]]
    if row["reason"]:
        verdict += f" ({row['reason']})"
    lines = [
        f"{row['language']} · {row['treebank']} · {row['sent_id']} · {condition} · seed {row['seed']}"
        f" · draw {row['draw']} · {row['model']}",
        f"  {verdict}",
        f"  text    {row.get('text', '(left out of this report)')}",
        f"  gold    {row.get('gold', '–')}   {row['upos']} {row['deprel']}, {row['n_masks']} masks",
    ]
    if row["gold_logp"] is not None:
        lines.append(f"  log p   {row['gold_logp']:.3f} nats; better pieces at each mask: {row['gold_ranks']}")
    answers = zip(row.get("pred") or (), row["pred_logp"] or (), strict=False)
    lines += [f"  {place}       {word}   {logp:.3f}" for place, (word, logp) in enumerate(answers, 1)]
    lines.append(f"  moved   {row['moved']} of {row['n_units']} units, {row['displacement']:.1f} slots on average")
    if pieces:
        lines.append(f"  read    {' '.join(pieces)}")
    return lines
