"""`morphorder audit RUN`: the invariants of a run, one line each."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from evaluator.audit.checks import CHECKS, audit
from evaluator.audit.finding import Finding, Status

MARKS: dict[Status, str] = {"holds": "✓", "violated": "✗", "not_checked": "–"}


def audit_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder: a path or s3://…")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Also what each check asks for.")] = False,
) -> None:
    """Check every invariant of a run from its tables, without trusting what its report says.

    `morphorder audit morphorder-run`

    `morphorder audit s3://bucket/results --json`

    Exit 0: all that could be checked hold. 1: one is violated. 2: there is no run.
    """
    findings = list(audit(run))
    violated = sum(f.status == "violated" for f in findings)
    if as_json:
        checks = [{**asdict(f), "rule": CHECKS[f.name].rule} for f in findings]
        print(json.dumps({"ok": not violated, "violated": violated, "checks": checks}, ensure_ascii=False))
    else:
        print("\n".join(line for f in findings for line in _lines(f, rules)))
        unchecked = sum(f.status == "not_checked" for f in findings)
        print(f"{len(findings) - violated - unchecked} hold, {violated} violated, {unchecked} not checked")
    if violated:
        raise typer.Exit(1)


def _lines(found: Finding, rules: bool) -> list[str]:
    line = f"{MARKS[found.status]} {found.name:<22} {found.found}"
    return [line, f"  {'':<22} {CHECKS[found.name].rule}"] if rules else [line]
