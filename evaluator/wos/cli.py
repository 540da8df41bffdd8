"""`morphorder wos run | attribute | heads`: what a classifier makes of reordered inputs; `export` adds train-order."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.errors import ConfigError
from evaluator.progress import ProgressStyle, Reporter
from evaluator.stages.finished import Finished
from evaluator.wos.attribution_report import findings as attribution_findings
from evaluator.wos.attribution_run import run_attribution
from evaluator.wos.heads_report import findings as heads_findings
from evaluator.wos.heads_run import run_heads
from evaluator.wos.lexicon import read_lexicon
from evaluator.wos.report import findings
from evaluator.wos.run import run_wos
from evaluator.wos.settings import WosConfig, read_settings

app = typer.Typer(
    no_args_is_help=True,
    help="How much of what a classifier gets right survives when its words are reordered?\n\n"
    "`morphorder wos run dev.tsv --columns sentence,label --model bundles/sst2 --out wos-sst2`\n\n"
    "`morphorder wos run cola --model bundles/cola` — a GLUE task by name, from the hub",
)
STYLES: tuple[ProgressStyle, ...] = ("auto", "bar", "lines", "json", "none")

Task = Annotated[
    str, typer.Argument(metavar="TASK", help="GLUE name, .tsv .csv .jsonl .parquet .conllu file, or settings (.toml).")
]
Out = Annotated[str | None, typer.Option("--out", "-o", envvar="MORPHORDER_OUT", help="Run folder: a path or s3://…")]
Models = Annotated[list[str] | None, typer.Option("--model", "-m", help="Bundle of a classifier; repeat for more.")]
Columns = Annotated[str, typer.Option("--columns", help="One or two texts and the label: premise,hypothesis,label.")]
Change = Annotated[
    str, typer.Option("--change", help="The text that is reordered; default: as published, or the first.")
]
Draws = Annotated[int | None, typer.Option("--draws", help="Orders drawn per example.")]
Tags = Annotated[str, typer.Option("--tags", help="Treebank whose tags say which words are nouns.")]
EngineName = Annotated[
    str, typer.Option("--engine", envvar="MORPHORDER_ENGINE", help="Where scoring runs: local, ray, …")
]
Threads = Annotated[
    int | None, typer.Option("--threads", envvar="MORPHORDER_THREADS", help="Threads per model; 0: all there are.")
]
Style = Annotated[str, typer.Option("--progress", help="auto, bar, lines, json or none.")]
Json = Annotated[bool, typer.Option("--json", envvar="MORPHORDER_JSON", help="One JSON object on stdout.")]


@app.command("run")
def run_command(
    task: Task,
    out: Out = None,
    model: Models = None,
    columns: Columns = "",
    change: Change = "",
    draws: Draws = None,
    tags: Tags = "",
    engine: EngineName = "",
    threads: Threads = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Reorder a task's inputs and see which correct predictions stay; continues where an earlier run stopped.

    `morphorder wos run pairs.jsonl --columns question1,question2,label --model bundles/qqp --out wos-qqp`
    """
    config = settings_of(task, out=out, model=model, columns=columns, change=change, draws=draws, tags=tags,
                         engine=engine, threads=threads)  # fmt: skip
    result = run_wos(config, reporter_of(progress))
    facts = {key: result.document[key] for key in ("rows", "kept", "steps")}
    _answer(result, findings(result.document), facts, as_json=as_json)


def _answer(result: Finished, lines: Sequence[str], facts: dict[str, Any], *, as_json: bool) -> None:
    """Prints what a run came to, and ends with 1 where it has problems."""
    where, problems = f"{result.folder}/report/report", result.document["problems"]
    if as_json:
        print(json.dumps({"ok": result.complete, "report": f"{where}.json", "problems": problems, **facts}))
    else:
        print("\n".join([*lines, f"report: {where}.html"]))
    for problem in problems:
        print(f"look: {problem}", file=sys.stderr)
    if not result.complete:
        raise typer.Exit(1)


def settings_of(task: str, **flags: Any) -> WosConfig:
    """The settings that a command's flags come to."""
    plain = {"out": "out", "model": "models", "change": "change", "draws": "draws", "tags": "tags", "engine": "engine"}
    overlay: dict[str, Any] = {key: flags[flag] for flag, key in plain.items() if flags.get(flag)}
    if flags.get("threads") is not None:
        overlay["scoring"] = {"threads": flags["threads"]}
    if flags.get("columns"):
        *texts, label = [name.strip() for name in flags["columns"].split(",")]
        if not 1 <= len(texts) <= 2:
            raise ConfigError(
                f"{len(texts)} texts in {flags['columns']!r}",
                where="--columns",
                hint="one or two texts, then the label",
            )
        overlay |= {"texts": texts, "label": label}
    return read_settings(str(Path(task)) if "://" not in task else task, overlay)


def reporter_of(progress: str) -> Reporter:
    """A reporter of the style named."""
    style = next((s for s in STYLES if s == progress), None)
    if style is None:
        raise ConfigError(f"no progress style {progress!r}", where="--progress", hint=f"one of {', '.join(STYLES)}")
    return Reporter(style)


@app.command("heads")
def heads_command(
    task: Task,
    out: Out = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Bundle made with --task attention; repeat for more.")
    ] = None,
    columns: Columns = "",
    change: Change = "",
    silence: Annotated[str, typer.Option("--silence", help="How many heads are silenced, in turn.")] = "1,3,5,9",
    heads: Annotated[str, typer.Option("--heads", help="Heads of your own choice: 0.7,1.9 (layer.head from 0).")] = "",
    engine: EngineName = "",
    threads: Threads = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """Find the attention heads that join equal or similar words of a pair; shuffle; silence them.

    `morphorder wos heads pairs.tsv --columns question,sentence,label --model bundles/qnli-heads --out qnli-heads`
    """
    config = settings_of(task, out=out, model=model, columns=columns, change=change, engine=engine, threads=threads)
    counts = [_whole(part, "--silence") for part in silence.split(",") if part.strip()]
    result = run_heads(config, counts, _heads_of(heads), reporter_of(progress))
    _answer(result, heads_findings(result.document), {"models": result.document["models"]}, as_json=as_json)


def _heads_of(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        if part.strip():
            layer, _, head = part.partition(".")
            found.append((_whole(layer, "--heads"), _whole(head, "--heads")))
    return found


def _whole(text: str, where: str) -> int:
    if not text.strip().isdecimal():
        raise ConfigError(f"{text!r} is no whole number", where=where, hint="1,3,5 or, for heads, 0.7,1.9")
    return int(text)


@app.command("attribute")
def attribute_command(
    task: Task,
    out: Out = None,
    model: Models = None,
    columns: Columns = "",
    change: Change = "",
    samples: Annotated[int, typer.Option("--samples", min=10, max=30000, help="Inputs per example and order.")] = 1000,
    n: Annotated[int, typer.Option("--n", min=1, help="Examples of dev-r, by lot.")] = 100,
    lexicon: Annotated[str, typer.Option("--lexicon", help="word TAB positive|negative, for the polarity table.")] = "",
    threads: Threads = None,
    progress: Style = "auto",
    as_json: Json = False,
) -> None:
    """What each word is worth to the classifier, before and after a shuffle (LIME, through the same engine).

    `morphorder wos attribute dev.tsv --columns sentence,label --model bundles/sst2 --lexicon words.tsv --out why`
    """
    config = settings_of(task, out=out, model=model, columns=columns, change=change, threads=threads)
    words = read_lexicon(Path(lexicon)) if lexicon else None
    result = run_attribution(config, samples=samples, n=n, lexicon=words, reporter=reporter_of(progress))
    kept = [{k: v for k, v in m.items() if k != "examples"} for m in result.document["models"]]
    _answer(result, attribution_findings(result.document), {"models": kept}, as_json=as_json)
