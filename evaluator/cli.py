"""The `morphorder` command: settings in, stages called, answers on stdout, everything else on stderr."""

import json
import os
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from evaluator.audit.command import audit_command
from evaluator.compare.command import compare_command
from evaluator.config import Config, read_config
from evaluator.convert.command import convert_command
from evaluator.doctor import doctor_command
from evaluator.errors import ConfigError, MorphorderError
from evaluator.flags import name_variables, overlay
from evaluator.progress import ProgressStyle, Reporter
from evaluator.show import show_command
from evaluator.stages import run as stages
from evaluator.stages.encode import encode, open_models
from evaluator.stages.plan import estimate_of, plan_lines
from evaluator.stages.report import is_complete, report
from evaluator.stages.score import score
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from evaluator.store.run import RunFolder
from evaluator.treebank.check import check

app = typer.Typer(
    name="morphorder",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Do masked language models read word order or inflectional form?\n\n"
    "`morphorder run` — the embedded default: seven languages, two models, offline\n\n"
    "`morphorder run config.toml --out results` — your treebanks and models",
)

ConfigArgument = Annotated[
    Path | None, typer.Argument(help="Settings in TOML; without it, the embedded default.", show_default=False)
]
Out = Annotated[str | None, typer.Option("--out", "-o", envvar="MORPHORDER_OUT", help="Run folder: a path or s3://…")]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", envvar="MORPHORDER_MODEL", help="Bundle folder or bundled name; repeat for more."),
]
Treebanks = Annotated[
    list[str] | None,
    typer.Option("--treebank", "-t", envvar="MORPHORDER_TREEBANK", help="File, UD folder or glob; repeat for more."),
]
Count = Annotated[int | None, typer.Option("--n", envvar="MORPHORDER_N", help="Sentences per treebank and seed.")]
Seeds = Annotated[int | None, typer.Option("--seeds", envvar="MORPHORDER_SEEDS", help="How many seeds: 0, 1, 2, …")]
EngineName = Annotated[
    str | None, typer.Option("--engine", envvar="MORPHORDER_ENGINE", help="Where scoring runs: local, ray, …")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", envvar="MORPHORDER_THREADS", help="Threads per model; 0: all this process may use."),
]
Style = Annotated[str, typer.Option("--progress", envvar="MORPHORDER_PROGRESS", help="auto, bar, lines, json or none.")]
Json = Annotated[bool, typer.Option("--json", envvar="MORPHORDER_JSON", help="One JSON object on stdout.")]
NoText = Annotated[
    bool, typer.Option("--no-text", envvar="MORPHORDER_NO_TEXT", help="Keep sentences out of the report.")
]
DRY_RUN_PROBE_S = 3.0
STYLES: tuple[ProgressStyle, ...] = ("auto", "bar", "lines", "json", "none")


def _config(path: Path | None, **flags: Any) -> Config:
    return read_config(path, overlay(flags))


def _reporter(style: str) -> Reporter:
    found = next((s for s in STYLES if s == style), None)
    if found is None:
        raise ConfigError(f"no progress style {style!r}", where="--progress", hint=f"one of {', '.join(STYLES)}")
    return Reporter(found)


@app.command()
def run(
    config: ConfigArgument = None,
    out: Out = None,
    model: Models = None,
    treebank: Treebanks = None,
    n: Count = None,
    seeds: Seeds = None,
    engine: EngineName = None,
    threads: Threads = None,
    progress: Style = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Treebanks and models in, report out; continues where an earlier run stopped.

    `morphorder run`

    `morphorder run --treebank UD_German-PUD --model bundles/mbert --n 1000 --out mbert-de`
    """
    settings = _config(
        config, out=out, model=model, treebank=treebank, n=n, seeds=seeds, engine=engine, threads=threads
    )
    reporter = _reporter(progress)
    if dry_run:
        plan = estimate_of(settings, reporter, DRY_RUN_PROBE_S)
        print(json.dumps({"ok": True, "plan": plan}) if as_json else "\n".join(plan_lines(plan)))
        return
    result = stages.run_all(settings, reporter)
    for problem in result.problems:
        print(f"failed: {problem}", file=sys.stderr)
    _answer(result.document, result.folder, as_json=as_json, problems=result.problems)
    if not result.complete:
        raise typer.Exit(1)


@app.command("prepare")
def prepare_stage(
    config: ConfigArgument = None,
    out: Out = None,
    treebank: Treebanks = None,
    n: Count = None,
    seeds: Seeds = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Draw sentences and targets and make every order: the run folder's `items/`.

    `morphorder prepare config.toml --out results`
    """
    settings = _config(config, out=out, treebank=treebank, n=n, seeds=seeds)
    with run_lock(Location.of(settings.out)):
        folder = stages.prepare_timed(settings, _reporter(progress))
    _done({"items": str(folder.location)}, f"items are in {folder.location}/items", as_json)


@app.command("encode")
def encode_stage(
    config: ConfigArgument = None,
    out: Out = None,
    model: Models = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Cut the items of a run into pieces for each model's tokenizer.

    `morphorder encode config.toml --out results`
    """
    settings = _config(config, out=out, model=model)
    reporter = _reporter(progress)
    rows = {}
    with run_lock(Location.of(settings.out)):
        folder = stages.prepare_timed(settings, reporter)
        for opened in open_models(settings.models):
            facts = encode(
                folder, opened, spacing=settings.spacing, shard_rows=settings.scoring.shard_rows, reporter=reporter
            )
            rows[opened.bundle.name] = facts["rows"]
    _done({"rows": rows}, "\n".join(f"{name}: {count:,} distinct rows" for name, count in rows.items()), as_json)


@app.command("score")
def score_stage(
    config: ConfigArgument = None,
    out: Out = None,
    model: Models = None,
    engine: EngineName = None,
    threads: Threads = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Score the encoded rows of a run with each model; finished shards are kept.

    `morphorder score config.toml --out results --engine ray`
    """
    settings = _config(config, out=out, model=model, engine=engine, threads=threads)
    reporter = _reporter(progress)
    rows = {}
    with run_lock(Location.of(settings.out)):
        folder = stages.prepare_timed(settings, reporter)
        for opened in open_models(settings.models):
            encode(folder, opened, spacing=settings.spacing, shard_rows=settings.scoring.shard_rows, reporter=reporter)
            rows[opened.bundle.name] = score(folder, opened, settings, reporter)["rows"]
    _done({"rows": rows}, "\n".join(f"{name}: {count:,} rows scored" for name, count in rows.items()), as_json)


@app.command("report")
def report_stage(
    run_folder: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    no_text: NoText = False,
    excel: Annotated[bool, typer.Option("--excel", help="Each CSV also with BOM and guarded cells.")] = False,
    covariate: Annotated[
        Path | None,
        typer.Option("--covariate", help="Table (CSV, TSV) with `language` and numbers to plot A@1 against."),
    ] = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Make the report of a run anew, of whatever has been scored.

    `morphorder report results`

    `morphorder report results --covariate speakers.csv --no-text`
    """
    folder = RunFolder.open(run_folder)
    settings = stages.config_of(folder)
    models = open_models(settings.models)
    reporter = _reporter(progress)
    with run_lock(folder.location):
        document = report(folder, models, settings, reporter, text=not no_text, excel=excel, covariate=covariate)
    _answer(document, str(folder.location), as_json=as_json)
    if not is_complete(document):
        raise typer.Exit(1)


def _answer(document: dict[str, Any], folder: str, *, as_json: bool, problems: tuple[str, ...] = ()) -> None:
    if as_json:
        print(
            json.dumps(
                {
                    "ok": not problems and is_complete(document),
                    "report": f"{folder}/report/report.json",
                    "problems": problems,
                    "cells": document["cells"],
                }
            )
        )
        return
    from evaluator.report.summary import summary_lines, terminal_table  # the drawing libraries load only here

    Console(width=None if sys.stdout.isatty() else 160).print(terminal_table(document))
    print(summary_lines(document)[-1])
    print(f"report: {folder}/report/report.html")


def _done(facts: dict[str, Any], line: str, as_json: bool) -> None:
    print(json.dumps({"ok": True, **facts}) if as_json else line)


app.command("check")(check)
app.command("compare")(compare_command)
app.command("convert")(convert_command)
app.command("show")(show_command)
app.command("doctor")(doctor_command)
app.command("audit")(audit_command)


def _add_installed_commands() -> None:
    """Mounts what packages registered in the entry-point group `morphorder.commands`: a Typer app or a function.

    `group.name` adds a command to the group of another package: `wos.train-order` is `morphorder wos train-order`.
    """
    groups = {"": app}
    for entry in sorted(entry_points(group="morphorder.commands"), key=lambda e: e.name):
        group, _, name = entry.name.rpartition(".")
        if group not in groups:
            continue
        found = entry.load()
        if isinstance(found, typer.Typer):
            groups[name] = found
            groups[group].add_typer(found, name=name)
        else:
            groups[group].command(name)(found)


@app.callback(invoke_without_command=True)
def _root(show_version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if show_version:
        print(version("morphorder"))
        raise typer.Exit


def main() -> NoReturn:
    """Runs the command; a user's mistake is one line and exit code 2, a bug a traceback, Ctrl-C 130."""
    as_json = "--json" in sys.argv or os.environ.get("MORPHORDER_JSON", "") not in ("", "0", "false")
    _add_installed_commands()
    try:
        command = typer.main.get_command(app)
        name_variables(command)
        code = command(standalone_mode=False)
    except MorphorderError as error:
        sys.exit(_fail(error.code, error.message, error.where, error.hint, error.exit_code, as_json))
    except KeyboardInterrupt:
        sys.exit(_fail("interrupted", "stopped; finished shards are kept", "", "rerun to continue", 130, as_json))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:  # Typer carries its own copy of click: a usage error is known by its method
        usage = _usage_message(error)
        if usage is None:
            raise
        sys.exit(_fail("usage", usage, "", "morphorder --help", 2, as_json))
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: Exception) -> str | None:
    """The message of a command-line mistake; None for anything else. Typer carries its own copy of click."""
    message = getattr(error, "format_message", None)
    return str(message()) if callable(message) else None


def _fail(code: str, message: str, where: str, hint: str, exit_code: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"ok": False, "error": {"code": code, "message": message, "where": where, "hint": hint}}))
    else:
        place, remedy = (f"{where}: " if where else ""), (f" ({hint})" if hint else "")
        print(f"morphorder: {place}{message}{remedy}", file=sys.stderr)
    return exit_code
