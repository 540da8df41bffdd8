"""`morphorder cloze build | audit | run | count`: the benchmark from treebank to report."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.cloze.audit import Check, audit
from evaluator.cloze.build import Resources, build, find_treebanks, read_treebanks, write_dataset
from evaluator.cloze.card import data_card
from evaluator.cloze.dataset import BUILD_FILE, read_dataset
from evaluator.cloze.frequencies import Frequencies, count_files, write_counts
from evaluator.cloze.paradigms import Paradigms, read_unimorph
from evaluator.cloze.report import findings
from evaluator.cloze.run import run_cloze
from evaluator.cloze.tables import LanguageTable, read_table, shipped
from evaluator.config import BUNDLED_MODELS, Config, ScoringSettings
from evaluator.errors import ConfigError, DatasetError
from evaluator.progress import ProgressStyle, Reporter
from evaluator.score.backend import usable_cpus

app = typer.Typer(
    no_args_is_help=True,
    help="Does a model inflect verbs it has rarely seen? Build the verb-inflection cloze, audit it, score models.\n\n"
    "`morphorder cloze build -t UD_English-EWT --unimorph eng.tsv --corpus corpus.txt --out cloze`\n\n"
    "`morphorder cloze run cloze:en --model bundles/mbert --out cloze-run`",
)

Json = Annotated[bool, typer.Option("--json", envvar="MORPHORDER_JSON", help="One JSON object on stdout.")]
Threads = Annotated[
    int, typer.Option("--threads", envvar="MORPHORDER_THREADS", help="CPUs to use; 0: all this process may use.")
]
CorpusHelp = "Plain text (also .xz, .gz, .bz2), or counts that `count` wrote; repeat for more."
Data = Annotated[str, typer.Argument(metavar="DATA", help="Folder, FOLDER:de, .parquet or .jsonl file, owner/name:de.")]


@app.command("build")
def build_command(
    treebank: Annotated[list[str], typer.Option("--treebank", "-t", help="File, UD folder or glob; repeat for more.")],
    corpus: Annotated[list[Path], typer.Option("--corpus", help=CorpusHelp)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; the language's splits go to OUT/<language>.")],
    language: Annotated[str, typer.Option("--language", help="de, en, es, fr, or a table of your own (.toml).")] = "",
    unimorph: Annotated[list[Path] | None, typer.Option("--unimorph", help="lemma TAB form TAB features.")] = None,
    lexicon: Annotated[
        list[Path] | None, typer.Option("--lexicon", help="form TAB lemma TAB UPOS [TAB count].")
    ] = None,
    licence: Annotated[str, typer.Option("--licence", help="any, or permissive: no NC treebanks.")] = "any",
    seed: Annotated[int, typer.Option("--seed", help="Decides lemma splits and what caps leave out.")] = 0,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Treebanks and a corpus in, a data set with its card out; every guarantee is checked before it is written.

    `morphorder cloze build -t UD_German-GSD --corpus de.txt.xz --lexicon de.tsv --out cloze`
    """
    if licence not in ("any", "permissive"):
        raise ConfigError(f"no licence filter {licence!r}", where="--licence", hint="any or permissive")
    sources = find_treebanks(treebank)
    table = read_table(language or sources[0].language)
    treebanks = read_treebanks(sources, table.code)
    frequencies = _frequencies(corpus, threads)
    resources = Resources(tuple(unimorph or ()), tuple(lexicon or ()))
    data = build(treebanks, table, resources, frequencies, seed=seed, permissive=licence == "permissive")
    checks = audit(data, table)
    folder = out / table.code
    if folder.is_dir() and any(folder.iterdir()) and not (folder / BUILD_FILE).is_file():
        raise DatasetError("folder holds other files", where=str(folder), hint="choose another --out")
    write_dataset(data, folder, data_card(data, table, checks))
    lines = [f"{split}: {part.num_rows:,} rows" for split, part in data.splits.items()]
    _answer({"data": str(folder), "rows": data.build["rows"]}, [*lines, f"data set: {folder}"], checks, as_json=as_json)


@app.command("audit")
def audit_command(
    data: Data,
    language: Annotated[str, typer.Option("--language", help="Table to check against; known from the folder.")] = "",
    lemma_cap: Annotated[int, typer.Option("--lemma-cap", help="Largest group per phenomenon and lemma.")] = 0,
    person_number_cap: Annotated[int, typer.Option("--person-number-cap", help="… per phenomenon and person.")] = 0,
    ceiling_cap: Annotated[int, typer.Option("--ceiling-cap", help="Largest lem_high+form_high in test.")] = 0,
    as_json: Json = False,
) -> None:
    """Check every construction guarantee on a data set, ours or any released one. Exit code 1 when one fails.

    `morphorder cloze audit morphbench-verb-cloze:de --person-number-cap 200`
    """
    found = read_dataset(data)
    caps = {"lemma": lemma_cap, "person_number": person_number_cap, "ceiling": ceiling_cap}
    checks = audit(found, _table(language or found.language), caps)
    _answer({"data": found.name, "rows": {s: t.num_rows for s, t in found.splits.items()}}, [], checks, as_json=as_json)


@app.command("run")
def run_command(
    data: Data,
    out: Annotated[str, typer.Option("--out", "-o", envvar="MORPHORDER_OUT", help="Run folder.")],
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help="Bundle folder or bundled name.")] = None,
    split: Annotated[str, typer.Option("--split", help="test, test_lemhigh_formlow, dev, …")] = "test",
    corpus: Annotated[list[Path] | None, typer.Option("--corpus", help=CorpusHelp)] = None,
    unimorph: Annotated[
        list[Path] | None, typer.Option("--unimorph", help="Paradigms, if the data holds none.")
    ] = None,
    decoder: Annotated[str, typer.Option("--decoder", help="both, or parallel: no left-to-right scores.")] = "both",
    engine: Annotated[str, typer.Option("--engine", help="Where scoring runs: local, ray, …")] = "local",
    threads: Threads = 0,
    progress: Annotated[str, typer.Option("--progress", help="auto, bar, lines, json or none.")] = "auto",
    as_json: Json = False,
) -> None:
    """Score models on a data set: reconstruction, choice among the lemma's forms, floors beside both; with a report.

    `morphorder cloze run cloze:en --model bundles/mbert --out cloze-run`
    """
    if decoder not in ("both", "parallel"):
        raise ConfigError(f"no decoder {decoder!r}", where="--decoder", hint="both or parallel")
    styles: tuple[ProgressStyle, ...] = ("auto", "bar", "lines", "json", "none")
    style = next((s for s in styles if s == progress), None)
    if style is None:
        raise ConfigError(f"no progress style {progress!r}", where="--progress", hint=f"one of {', '.join(styles)}")
    found = read_dataset(data)
    scoring = ScoringSettings(threads=threads)
    config = Config(models=tuple(model or BUNDLED_MODELS), out=out, engine=engine, scoring=scoring)
    paradigms = Paradigms()
    for path in unimorph or []:
        read_unimorph(paradigms, path)
    result = run_cloze(
        found,
        split,
        config,
        table=_table(found.language),
        paradigms=paradigms,
        frequencies=_frequencies(corpus, threads) if corpus else None,
        l2r=decoder == "both",
        reporter=Reporter(style),
    )
    where = f"{result.folder}/report/report"
    if as_json:
        facts: dict[str, Any] = {
            "ok": result.complete,
            "report": f"{where}.json",
            "problems": result.document["problems"],
        }
        print(json.dumps(facts | {"rows": [r for r in result.document["rows"] if r["by"] in ("all", "cell")]}))
    else:
        print("\n".join([*findings(result.document), f"report: {where}.html"]))
    for problem in result.document["problems"]:
        print(f"look: {problem}", file=sys.stderr)
    if not result.complete:
        raise typer.Exit(1)


@app.command("count")
def count_command(
    corpus: Annotated[list[Path], typer.Argument(help="Plain text, also .xz, .gz, .bz2.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Table of counts to write.")],
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Count the words of a corpus once, for builds and runs to come. A word is a maximal run of letters and digits.

    `morphorder cloze count corpus.txt.xz --out counts.tsv`
    """
    frequencies = _frequencies(corpus, threads)
    write_counts(frequencies, out)
    facts = {"tokens": frequencies.tokens, "types": len(frequencies.counts), "markers": frequencies.markers}
    said = f"{frequencies.tokens:,} words, {len(frequencies.counts):,} different: {out}"
    print(json.dumps({"ok": True, **facts, "counts": str(out)}) if as_json else said)


def _frequencies(paths: list[Path], threads: int) -> Frequencies:
    return count_files(paths, workers=threads or usable_cpus())


def _table(language: str) -> LanguageTable | None:
    """The language's table, where there is one: a data set of another language is read and scored without."""
    return read_table(language) if language in shipped() or language.endswith(".toml") else None


def _answer(facts: dict[str, Any], lines: list[str], checks: list[Check], *, as_json: bool) -> None:
    """Prints facts and checks; exit code 1 when a check fails."""
    failed = [c for c in checks if c.ok is False]
    if as_json:
        listed = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        print(json.dumps({"ok": not failed, **facts, "checks": listed}))
    else:
        marks = {True: "✓", False: "✗", None: "–"}
        print("\n".join([*(f"{marks[c.ok]} {c.name}: {c.detail}" for c in checks), *lines]))
    if failed:
        raise typer.Exit(1)
