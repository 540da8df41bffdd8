"""`morphorder compare A B [C…]`: run folders in, what differs between them out."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.compare.document import MIN_SHARED, Compared, compare_runs, refused
from evaluator.compare.gate import parse_rule
from evaluator.errors import ConfigError, StoreError
from evaluator.frames import load_report
from evaluator.store.location import Location
from evaluator.store.run import RunFolder, read_stage


def compare_command(
    runs: Annotated[
        list[str], typer.Argument(metavar="A B [C…]", help="Run folders with a report; A is the baseline.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="NAME in all runs, or NAME:NAME for A's against the others'; repeatable."),
    ] = None,
    min_shared: Annotated[
        float, typer.Option("--min-shared", min=0, max=1, help="Refuse below this share of items asked alike.")
    ] = MIN_SHARED,
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", help='Exit 1 when surely so, for instance "top1[de,orig] < -0.01"; repeatable.'),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Folder for compare.html, .md, .tex, .json and the tables.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="MORPHORDER_JSON", help="One JSON object on stdout.")
    ] = False,
) -> None:
    """Compare runs on the items they share: settings, paired differences, flipped items.

    `morphorder compare baseline candidate`

    `morphorder compare baseline candidate --fail-if "top1[de,orig] < -0.01" --out comparison`
    """
    if len(runs) < 2:
        raise ConfigError("needs two runs or more", where="compare", hint="morphorder compare A B")
    rules = [parse_rule(rule) for rule in fail_if or []]
    document = compare_runs([open_run(place) for place in runs], models=model or [], min_shared=min_shared, rules=rules)
    if out is not None:
        from evaluator.compare.render import render_comparison  # the drawing libraries load only here

        for name, content in render_comparison(document, _sentences(runs[0], document)):
            Location.of(out).write(name, content)
    failed = refused(document)
    if as_json:
        print(json.dumps({"ok": not failed, "comparison": document}, ensure_ascii=False, allow_nan=False))
    else:
        from evaluator.compare.text import print_comparison

        print_comparison(document)
        if out is not None:
            print(f"comparison: {out}/compare.html")
    if failed:
        raise typer.Exit(1)


def open_run(place: str) -> Compared:
    """The run to compare in a run folder, or in its `report/` folder. Errors: StoreError when it has no report."""
    report = load_report(place)
    return Compared(Path(place.rstrip("/").removesuffix("/report")).name or "run", report.document, report.outcomes)


def _sentences(place: str, document: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Forms and lemmas of the sentences shown, by the baseline's number; nothing where only the report was kept."""
    shown = {row["sentence"] for pair in document["pairs"] for row in pair["examples"]}
    location = Location.of(place)
    if not shown or not location.exists("run.json"):
        return {}
    folder = RunFolder.open(location)
    prepared = read_stage(folder.items())
    if prepared is None:
        return {}
    try:
        rows = folder.sentences().read_all(int(prepared["shards"])).select(["sentence", "form", "lemma"])
    except StoreError as error:
        print(f"words are marked at spaces: {error}", file=sys.stderr)
        return {}
    return {row["sentence"]: row for row in rows.to_pylist() if row["sentence"] in shown}
