"""Treebanks and settings in; the run folder's sentences and items out."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.config import DEMO, Config, TreebankSpec
from evaluator.errors import ConfigError, TreebankError
from evaluator.items.build import build_items, sentences_table, subset_of
from evaluator.items.settings import ItemSettings
from evaluator.items.subset import subset_rows, subset_text
from evaluator.progress import Reporter
from evaluator.store.run import RunFolder, fingerprint, read_stage, write_stage
from evaluator.treebank.licences import licence_of, treebank_code
from evaluator.treebank.read import read_treebank
from evaluator.treebank.sources import Source, find_sources
from evaluator.types import Sentence

ITEMS_VERSION = 1
"""Raised whenever the same treebank and settings would give other items."""
SENTENCES_PER_SHARD = 2000
SUBSET_FILE = "subset.tsv"
"""The base items drawn, for `sample.subset` of another run."""


@dataclass(frozen=True, slots=True)
class FoundTreebank:
    """A treebank on disk: its files and the hash of their bytes."""

    name: str
    language: str
    files: tuple[Path, ...]
    sha256: str


def demo_folder() -> Path:
    """The folder of embedded sentences and models."""
    return Path(str(resources.files("evaluator"))) / "demo"


def find(config: Config) -> list[FoundTreebank]:
    """The treebanks a config names, hashed. Errors: TreebankError when one is not there or two share a name."""
    found = [
        _pinned(FoundTreebank(s.name, s.language, s.files, _hash(s.files)), spec.sha256)
        for spec in config.treebanks
        for s in sources_of(spec)
    ]
    names = [t.name for t in found]
    if repeated := next((n for n in names if names.count(n) > 1), None):
        raise TreebankError(
            f"two treebanks are called {repeated!r}",
            where="treebanks",
            hint='give one a name: {path = "…", name = "…"}',
        )
    return found


def sources_of(spec: TreebankSpec) -> list[Source]:
    """The treebanks that one entry of a config names. Errors: TreebankError when one is not there."""
    if spec.path == DEMO:
        files = sorted((demo_folder() / "sentences").glob("*.conllu"))
        return [Source(name=f"Demo-{f.stem}", language=f.stem, files=(f,)) for f in files]
    return find_sources([spec.path], split=spec.split, name=spec.name or None, language=spec.language or None)


def _pinned(treebank: FoundTreebank, sha256: str) -> FoundTreebank:
    """The treebank. Errors: TreebankError when it is another than the hash in the config is of."""
    if sha256 and treebank.sha256 != sha256:
        raise TreebankError(
            f"its hash is {treebank.sha256}, the config pins {sha256}",
            where=treebank.name,
            hint="get the release that was used, or leave out sha256",
        )
    return treebank


def _hash(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def prepare(config: Config, reporter: Reporter) -> RunFolder:
    """The run folder with its sentences and items, made now or found as an earlier run left them."""
    treebanks = find(config)
    settings = config.item_settings()
    identities = [[t.name, t.language, t.sha256] for t in treebanks]
    subset = _subset(config.sample.subset) if config.sample.subset else ""
    mark = fingerprint(ITEMS_VERSION, settings, identities, subset)
    run = RunFolder.create(config.out, mark, settings)
    done = read_stage(run.items())
    if done is not None and run.items().are_done(done["shards"]) and run.sentences().are_done(done["shards"]):
        return run

    sentences: list[Sentence] = []
    facts: list[dict[str, Any]] = []
    with reporter.stage("read treebanks", len(treebanks), "treebanks") as meter:
        for treebank in treebanks:
            read = read_treebank(treebank.files, name=treebank.name, language=treebank.language, strict=config.strict)
            sentences += read.sentences
            facts.append(
                {
                    "name": treebank.name,
                    "language": treebank.language,
                    "sha256": treebank.sha256,
                    "licence": licence_of(
                        treebank.language, treebank_code(treebank.name), Path(treebank.files[0]).parent
                    ),
                    "sentences": len(read.sentences),
                    "bad_sentences": read.counts.bad_sentences,
                    "issues": dict(sorted(Counter(issue.code for issue in read.issues).items())),
                }
            )
            meter.advance()
    with reporter.stage("draw and perturb", 1, "run") as meter:
        result = build_items(sentences, item_settings(config, subset))
        meter.advance()
    run.location.write(SUBSET_FILE, subset_text(subset_of(result.items, sentences)).encode())
    _write(run, sentences, result.items, {"treebanks": facts, **result.counts})
    return run


def _subset(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"subset file cannot be read: {error}", where=path, hint="give the subset.tsv of an earlier run"
        ) from error


def item_settings(config: Config, subset: str) -> ItemSettings:
    """The part of a config that decides the items."""
    return ItemSettings(
        seeds=config.seeds,
        draws=config.draws,
        conditions=config.conditions,
        lemma=config.lemma,
        n=config.sample.n,
        min_units=config.sample.min_units,
        max_units=config.sample.max_units,
        upos=config.sample.upos,
        balance=config.sample.balance,
        align=config.sample.align,
        subset=subset_rows(subset, where=config.sample.subset) if subset else None,
    )


def _write(run: RunFolder, sentences: Sequence[Sentence], items: pa.Table, facts: dict[str, Any]) -> None:
    table = sentences_table(sentences)
    shards = max(1, -(-table.num_rows // SENTENCES_PER_SHARD))
    sentence = items["sentence"].to_numpy()
    for shard in range(shards):
        first = shard * SENTENCES_PER_SHARD
        last = min(first + SENTENCES_PER_SHARD, table.num_rows)
        run.sentences().write(shard, table.slice(first, last - first))
        run.items().write(shard, items.filter(pa.array((sentence >= first) & (sentence < last))))
    write_stage(run.items(), {"shards": shards, "rows": items.num_rows, **facts})
