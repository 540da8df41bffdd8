"""`morphorder show RUN`: single items as text, one field per line, so that any script reads right in a terminal."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from evaluator.errors import ConfigError
from evaluator.frames import load_report
from evaluator.items.randomness import address, mix
from evaluator.report.formats import inert, markdown, number
from evaluator.stages.encode import open_models
from evaluator.stages.pieces import pieces_read
from evaluator.stages.run import config_of
from evaluator.store.run import RunFolder
from evaluator.types import Int64s

Form = Literal["text", "json", "md"]


def show_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder with a report.")],
    language: Annotated[str | None, typer.Option("--language", "-l", help="Only this language.")] = None,
    condition: Annotated[
        str | None, typer.Option("--condition", "-c", help="Only this one, for instance full or full+L.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Only this model.")] = None,
    upos: Annotated[str | None, typer.Option("--upos", "-u", help="Only masked words of this part of speech.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only items whose first answer is wrong.")] = False,
    right: Annotated[bool, typer.Option("--right", help="Only items whose first answer is right.")] = False,
    flipped: Annotated[bool, typer.Option("--flipped", help="Only items right in orig and wrong here.")] = False,
    sentence: Annotated[str | None, typer.Option("--sentence", "-s", help="Only this sent_id.")] = None,
    ids: Annotated[
        Path | None, typer.Option("--ids", help="Only the items whose item_id stands in this file, one a line.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="SEED", help="Drawn by lot with this seed, not the first ones.")
    ] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Also the pieces that the model read.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="At most so many items.")] = 10,
    form: Annotated[Form, typer.Option("--format", help="As text, as JSON or as Markdown.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout; as --format json.")] = False,
) -> None:
    """Look at single items: what the model saw, what it answered, what was right.

    `morphorder show morphorder-run --language de --condition full --wrong`

    `morphorder show morphorder-run --upos VERB --flipped --sample 1 --format md`
    """
    if wrong and right:
        raise ConfigError("--wrong and --right exclude each other", where="show")
    folder = RunFolder.open(run)
    outcomes = load_report(str(folder.location)).outcomes
    chosen = outcomes
    for column, value in (("language", language), ("model", model), ("sent_id", sentence), ("upos", upos)):
        chosen = _only(chosen, column, value, outcomes)
    if condition is not None:
        chosen = _only(chosen, "condition", condition.removesuffix("+L"), outcomes)
        chosen = chosen.filter(pc.equal(chosen["lemma"], condition.endswith("+L")))
    if ids is not None:
        chosen = chosen.filter(pc.is_in(chosen["item_id"], pa.array(_ids_in(ids), pa.uint64())))
    if flipped:
        chosen = chosen.filter(_is_flipped(chosen, outcomes))
    if wrong or right:
        chosen = chosen.filter(pc.equal(chosen["correct1"], right))
    taken = chosen if sample is None else chosen.take(_drawn(chosen["item_id"], sample))
    rows = taken.slice(0, max(limit, 0)).to_pylist()
    if as_json or form == "json":
        print(json.dumps({"ok": True, "found": chosen.num_rows, "items": rows}, ensure_ascii=False))
        return
    written = item_lines if form == "text" else item_markdown
    for row in rows:
        pieces = _pieces(folder, row["model"], row["item_id"]) if tokens else []
        print("\n".join(written(row, pieces)), end="\n\n")
    print(f"{len(rows)} of {chosen.num_rows:,} items")


def _ids_in(path: Path) -> list[int]:
    """The item ids in a file. Errors: ConfigError naming the line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from error
    found = []
    for place, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and int(text) < 1 << 64):
            hint = "one item_id a line, as --json prints them"
            raise ConfigError(f"not an item_id: {text[:40]!r}", where=f"{path}:{place}", hint=hint)
        found.append(int(text))
    return found


def _drawn(item_ids: pa.ChunkedArray, seed: int) -> Int64s:
    """Places of all rows in an order by lot that depends on seed and items, not on how rows are arranged."""
    keys = mix(item_ids.to_numpy(), address("show", seed))
    return np.argsort(keys, kind="stable")


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
    lines = [_heading(row), f"  {_verdict(row)}"]
    lines += [f"  {name:<7} {said}" for name, said in _facts(row, pieces)]
    return [inert(line) for line in lines]


def item_markdown(row: dict[str, Any], pieces: Sequence[str] = ()) -> list[str]:
    """The same as a heading and a list in GFM."""
    facts = [f"- {name}: {markdown(said)}" for name, said in _facts(row, pieces)]
    return [f"### {markdown(_heading(row))}", "", markdown(_verdict(row)), "", *facts]


def _heading(row: dict[str, Any]) -> str:
    condition = row["condition"] + ("+L" if row["lemma"] else "")
    return (
        f"{row['language']} · {row['treebank']} · {row['sent_id']} · {condition} · seed {row['seed']}"
        f" · draw {row['draw']} · {row['model']}"
    )


def _verdict(row: dict[str, Any]) -> str:
    said = {True: "✓ right", False: "✗ wrong", None: f"– {row['status']}"}[row["correct1"]]
    return f"{said} ({row['reason']})" if row["reason"] else said


def _facts(row: dict[str, Any], pieces: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "text", row.get("text", "(left out of this report)")
    yield "gold", f"{row.get('gold', '–')}   {row['upos']} {row['deprel']}, {row['n_masks']} masks"
    if row["gold_logp"] is not None:
        yield "log p", f"{row['gold_logp']:.3f} nats; better pieces at each mask: {row['gold_ranks']}"
    answers = zip(row.get("pred") or (), row["pred_logp"] or (), strict=False)
    for place, (word, logp) in enumerate(answers, 1):
        yield str(place), f"{word}   {logp:.3f}"
    slots, tau = row["displacement"], row["kendall_tau"]
    yield "moved", f"{row['moved']} of {row['n_units']} units, {slots:.1f} slots on average, τ {number(tau)}"
    if pieces:
        yield "read", " ".join(pieces)
