"""`morphorder convert RUN --to eee|hub`: a finished run in other people's formats."""

import json
import os
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from evaluator.convert.eee import RELATIONSHIPS, eee_files
from evaluator.convert.hub import hub_files
from evaluator.errors import ConfigError
from evaluator.frames import Report, load_report
from evaluator.store.location import Location
from evaluator.store.schemas import TEXT_COLUMNS

FORMATS = ("eee", "hub")


def convert_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder with a report.")],
    to: Annotated[str, typer.Option("--to", help="eee: Every Eval Ever records; hub: a dataset folder with card.")],
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Folder for the files; RUN/eee or RUN/hub when not given.")
    ] = None,
    organization: Annotated[
        str, typer.Option("--organization", help="Who did the evaluation, as the record states it (eee).")
    ] = "unknown",
    relationship: Annotated[
        str, typer.Option("--relationship", help=f"To the model: {', '.join(RELATIONSHIPS)} (eee).")
    ] = "third_party",
    no_text: Annotated[
        bool, typer.Option("--no-text", envvar="MORPHORDER_NO_TEXT", help="Leave sentences and words out.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="MORPHORDER_JSON", help="One JSON object on stdout.")
    ] = False,
) -> None:
    """Write a finished run in other people's formats.

    `morphorder convert results --to eee --organization "University of X"`

    `morphorder convert results --to hub --out dataset`
    """
    if to not in FORMATS:
        raise ConfigError(f"no format {to!r}", where="--to", hint=f"one of {', '.join(FORMATS)}")
    if relationship not in RELATIONSHIPS:
        raise ConfigError(f"no relationship {relationship!r}", where="--relationship", hint=", ".join(RELATIONSHIPS))
    folder = Location.of(out) if out else Location.of(run) / to
    written = []
    for name, content in _files(load_report(run), to, organization, relationship, no_text):
        folder.write(name, content)
        written.append(name)
    if as_json:
        print(json.dumps({"ok": True, "folder": str(folder), "files": written}))
    else:
        print("\n".join(f"{folder}/{name}" for name in written))


def _files(report: Report, to: str, organization: str, relationship: str, no_text: bool) -> Iterator[tuple[str, bytes]]:
    outcomes = report.outcomes
    if no_text:
        outcomes = outcomes.drop_columns([name for name in TEXT_COLUMNS if name in outcomes.column_names])
    if to == "hub":
        return hub_files(report.document, outcomes)
    return eee_files(report.document, outcomes, retrieved=_now(), organization=organization, relationship=relationship)


def _now() -> int:
    """Seconds since 1970, or `SOURCE_DATE_EPOCH` where the bytes must be the same again."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
