"""A data set and models in; the run folder with its report out. What an earlier run left there is used."""

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import pyarrow as pa

from evaluator.cloze.audit import audit
from evaluator.cloze.dataset import ClozeData
from evaluator.cloze.frequencies import Frequencies
from evaluator.cloze.inputs import Question, question_of
from evaluator.cloze.outcomes import outcomes_of
from evaluator.cloze.paired import style_tests
from evaluator.cloze.paradigms import Paradigms
from evaluator.cloze.report import render
from evaluator.cloze.results import result_rows
from evaluator.cloze.scoring import score_questions
from evaluator.cloze.tables import LanguageTable
from evaluator.config import Config
from evaluator.progress import Reporter
from evaluator.stages.encode import ModelFolder, open_models
from evaluator.stages.finished import Finished
from evaluator.stages.manifest import versions
from evaluator.store.location import Location
from evaluator.store.lock import run_lock
from evaluator.store.run import RunFolder, fingerprint
from evaluator.store.shards import parquet_bytes

RUN_VERSION = 1


def with_paradigms(
    data: ClozeData, rows: Sequence[Mapping[str, Any]], paradigms: Paradigms, frequencies: Frequencies | None
) -> list[dict[str, Any]]:
    """The rows, each with a paradigm: the data set's own, else UniMorph's, else the lemma and its golds in any split.

    Counts are the data set's, else the corpus's; without either `paradigm_freq` stays null.
    """
    golds: dict[str, set[str]] = {}
    for part in data.main.values():
        for lemma, gold in zip(part["lemma"].to_pylist(), part["gold"].to_pylist(), strict=True):
            golds.setdefault(lemma.casefold(), {lemma.casefold()}).add(gold.casefold())
    out = []
    for row in rows:
        new = dict(row)
        lemma = str(row["lemma"]).casefold()
        if row["paradigm"] is None:
            new["paradigm"] = sorted({*(paradigms.forms(lemma) or golds[lemma]), str(row["gold"]).casefold()})
            new["paradigm_freq"] = None
        if new["paradigm_freq"] is None and frequencies is not None:
            new["paradigm_freq"] = [frequencies.counts.get(form, 0) for form in new["paradigm"]]
        out.append(new)
    return out


def run_cloze(
    data: ClozeData,
    split: str,
    config: Config,
    *,
    table: LanguageTable | None,
    paradigms: Paradigms | None = None,
    frequencies: Frequencies | None = None,
    l2r: bool = True,
    reporter: Reporter | None = None,
) -> Finished:
    """The result of scoring the models of `config` on a split, written with its report to `config.out`."""
    reporter = reporter or Reporter()
    models = open_models(config.models)
    rows = with_paradigms(data, data.split(split).to_pylist(), paradigms or Paradigms(), frequencies)
    questions = [question_of(i, row, row["paradigm"]) for i, row in enumerate(rows)]
    settings = {"kind": "cloze", "split": split, "data": data.name}
    asked = [[q.context, q.prompt, list(q.forms), q.gold] for q in questions]
    mark = fingerprint(RUN_VERSION, settings, asked)
    with run_lock(Location.of(config.out)):
        run = RunFolder.create(config.out, mark, settings)
        outcomes, facts = _outcomes(run, models, rows, questions, config, l2r=l2r, reporter=reporter)
        with reporter.stage("report", 1, "report") as meter:
            document = document_of(data, split, outcomes, table, mark, config.statistics.confidence)
            document["models"] = [m.bundle.name for m in models]
            document["manifest"] = _manifest(data, split, models, facts, l2r=l2r)
            run.location.write("report/outcomes.parquet", parquet_bytes(outcomes))
            for name, content in render(document):
                run.location.write(f"report/{name}", content)
            meter.advance()
        return Finished(document, str(run.location))


def _outcomes(
    run: RunFolder,
    models: Sequence[ModelFolder],
    rows: Sequence[Mapping[str, Any]],
    questions: Sequence[Question],
    config: Config,
    *,
    l2r: bool,
    reporter: Reporter,
) -> tuple[pa.Table, dict[str, float]]:
    parts, wall_s = [], {}
    for model in models:
        began = perf_counter()
        scores = score_questions(run, model, questions, config, l2r=l2r, reporter=reporter)
        parts.append(outcomes_of(model.bundle.name, rows, questions, scores))
        wall_s[model.bundle.name] = round(perf_counter() - began, 3)
    return pa.concat_tables(parts), wall_s


def document_of(
    data: ClozeData, split: str, outcomes: pa.Table, table: LanguageTable | None, mark: str, confidence: float
) -> dict[str, Any]:
    """The report document: `rows` of figures, counts, the audit of the data set, problems; items = scored + skipped."""
    states, said = outcomes["status"].to_pylist(), outcomes["reason"].to_pylist()
    status = Counter(states)
    reasons = Counter(reason or state for reason, state in zip(said, states, strict=True) if state != "scored")
    if sum(status.values()) != outcomes.num_rows:
        raise AssertionError("items vanished")
    problems = [f"{status['failed']} outcomes failed"] if status["failed"] else []
    checks = audit(data, table)
    problems += [f"audit: {c.name}: {c.detail}" for c in checks if c.ok is False]
    return {
        "schema": 1,
        "kind": "cloze",
        "run_id": mark,
        "data": data.name,
        "language": data.language,
        "split": split,
        "rows": result_rows(outcomes, table, confidence),
        "tests": style_tests(outcomes, table.not_reported if table else (), confidence=confidence),
        "counts": {
            "items": data.split(split).num_rows,
            "outcomes": outcomes.num_rows,
            "scored": status["scored"],
            "skipped": dict(sorted(reasons.items())),
            "not_expressible": said.count("not_expressible"),
            "windowed": sum(outcomes["windowed"].to_pylist()),
        },
        "audit": [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in checks],
        "problems": problems,
    }


def _manifest(
    data: ClozeData, split: str, models: Sequence[ModelFolder], wall_s: dict[str, float], *, l2r: bool
) -> dict[str, Any]:
    asked = [f"morphorder cloze run {data.name} --split {split}", *(f"-m {m.bundle.name}" for m in models)]
    build = {
        k: data.build[k] for k in ("fingerprint", "corpus", "unimorph", "lexicons", "treebanks") if k in data.build
    }
    return {
        "versions": versions(),
        "command": " ".join(asked),
        "data": build,
        "decoders": ["parallel", *(["l2r"] if l2r else [])],
        "models": [
            {
                "name": m.bundle.name,
                "source": m.bundle.source,
                "precision": m.bundle.precision,
                "fingerprint": m.bundle.fingerprint,
                "parameters": m.bundle.parameters,
            }
            for m in models
        ],
        "wall_s": wall_s,
    }
