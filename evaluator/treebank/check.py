"""`morphorder check`: what is in CoNLL-U files and what is wrong with them, before any run."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.errors import TreebankError, UserError
from evaluator.treebank.issues import Issue
from evaluator.treebank.read import Counts, read_bytes, read_scan
from evaluator.treebank.scan import scan
from evaluator.types import CONTENT_UPOS, Sentence

SHOWN_ISSUES = 20
"""Issues and notes written out per file for people; `--json` holds all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the usable sentences of a file are like. Shares are None where nothing could be counted."""

    units: int
    distinct_texts: int
    not_a_tree: int
    lemma_coverage: float | None
    """Share of units with a lemma."""
    inflected: float | None
    """Share of content words (outside multiword tokens, with a lemma) whose form is not the lemma, case included."""
    upos: dict[str, int]
    scripts: dict[str, int]
    """Letters per script, most frequent first."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """All about one file."""

    path: str
    counts: Counts
    facts: Facts
    issues: list[Issue]
    notes: list[Issue]
    refused: str | None
    """Why the whole file cannot be used."""

    @property
    def is_fine(self) -> bool:
        """Whether it holds sentences and all of them are usable."""
        return self.refused is None and self.counts.sentences > 0 and self.counts.bad_sentences == 0

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON types; `issues` are about the format, `notes` about text and annotation."""
        counts = self.counts
        return {
            "path": self.path,
            "sentences": counts.sentences,
            "bad_sentences": counts.bad_sentences,
            "words": counts.words,
            "ranges": counts.ranges,
            "empty": counts.empty,
            "usable_words": counts.usable_words,
            "excluded": dict(sorted(counts.excluded.items())),
            "refused": self.refused,
            "issues": [_issue_dict(issue) for issue in self.issues],
            "notes": [_issue_dict(issue) for issue in self.notes],
            **asdict(self.facts),
        }


def check_file(path: str | Path) -> FileReport:
    """The report on one file; TreebankError when it cannot be opened."""
    scanned = scan(read_bytes(path), str(path))
    result = read_scan(scanned, name=Path(path).stem, language="und")
    facts = facts_of(result.sentences)
    refused = scanned.refused.message if scanned.refused else None
    return FileReport(str(path), result.counts, facts, result.issues, result.notes, refused)


def check_files(paths: Sequence[str | Path]) -> list[FileReport]:
    """The reports on files, in order; a folder stands for the .conllu files in it. TreebankError if one is missing."""
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob("*.conllu")) if path.is_dir() else [path]
        if not inside:
            raise TreebankError("no .conllu file in this folder", where=str(path))
        files.extend(inside)
    return [check_file(path) for path in files]


def facts_of(sentences: Iterable[Sentence]) -> Facts:
    """The facts of some sentences."""
    texts: set[str] = set()
    letters: Counter[str] = Counter()
    upos: Counter[str] = Counter()
    units = with_lemma = content = inflected = not_a_tree = 0
    for sentence in sentences:
        texts.add(sentence.text)
        letters.update(sentence.text)
        not_a_tree += not sentence.is_tree
        for unit in sentence.units:
            units += 1
            upos[unit.upos] += 1
            if unit.lemma is not None:
                with_lemma += 1
                if unit.upos in CONTENT_UPOS and not unit.is_mwt:
                    content += 1
                    inflected += unit.form != unit.lemma
    return Facts(
        units,
        len(texts),
        not_a_tree,
        with_lemma / units if units else None,
        inflected / content if content else None,
        dict(upos.most_common()),
        _scripts(letters),
    )


def _scripts(letters: Counter[str]) -> dict[str, int]:
    """Letters per script, by the first word of each letter's Unicode name (Latin, Han, Arabic, …)."""
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        if letter.isalpha():
            name = unicodedata.name(letter, "UNNAMED").split(" ")[0]
            scripts["Han" if name == "CJK" else name.capitalize()] += count
    return dict(scripts.most_common())


def _issue_dict(issue: Issue) -> dict[str, Any]:
    return {
        "code": issue.code,
        "line": issue.line,
        "sentence": issue.sentence,
        "severity": issue.severity,
        "message": issue.message,
    }


def render(report: FileReport) -> str:
    """The report on one file as lines for people."""
    counts, facts = report.counts, report.facts
    lines = [
        report.path,
        f"  sentences  {counts.sentences:,} usable, {counts.bad_sentences:,} damaged, "
        f"{facts.distinct_texts:,} distinct texts, {facts.not_a_tree:,} not a tree",
        f"  words      {counts.words:,} words, {counts.ranges:,} ranges, {counts.empty:,} empty nodes, "
        f"{facts.units:,} units",
        f"  lemmas     {_percent(facts.lemma_coverage)} of units have one; "
        f"{_percent(facts.inflected)} of content words differ from theirs",
        f"  scripts    {', '.join(f'{name} {count:,}' for name, count in facts.scripts.items()) or 'no letters'}",
    ]
    if report.refused:
        lines.append(f"  refused    {report.refused}")
    elif not counts.sentences and not counts.bad_sentences:
        lines.append("  no sentences")
    findings = [*report.issues, *report.notes]
    lines += [f"  {issue}" for issue in findings[:SHOWN_ISSUES]]
    if len(findings) > SHOWN_ISSUES:
        tally = ", ".join(f"{code} {n:,}" for code, n in Counter(issue.code for issue in findings).most_common())
        lines.append(f"  … {len(findings) - SHOWN_ISSUES:,} more (--json lists all): {tally}")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILES…", help="CoNLL-U files, or folders of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on any issue, warnings included.")] = False,
) -> None:
    """Read CoNLL-U files and say what is in them and what is wrong.

    Exit 0: all sentences are usable. 1: a sentence is damaged, or a file has none. 2: a file cannot be opened.
    """
    try:
        reports = check_files(files)
    except UserError as error:
        _say(json.dumps(error.as_dict(), ensure_ascii=False) if as_json else str(error), err=not as_json)
        raise typer.Exit(error.exit_code) from None
    failed = [report for report in reports if not report.is_fine or (strict and report.issues)]
    if as_json:
        answer = {"ok": not failed, "files": [report.as_dict() for report in reports]}
        _say(json.dumps(answer, ensure_ascii=False, indent=1))
    else:
        _say("\n".join(render(report) for report in reports))
    for report in failed:
        _say(f"{report.path}: {_verdict(report)}", err=True)
    if failed:
        raise typer.Exit(1)


def _say(text: str, *, err: bool = False) -> None:
    """Nothing; writes the text. A file name that is no Unicode is written with escapes."""
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"), err=err)


def _verdict(report: FileReport) -> str:
    """Why a file is not fine, in a few words."""
    if report.refused:
        return report.refused
    if report.counts.bad_sentences:
        total = report.counts.sentences + report.counts.bad_sentences
        return f"{report.counts.bad_sentences} of {total} sentences are damaged"
    return f"{len(report.issues)} issues" if report.counts.sentences else "no sentences"
