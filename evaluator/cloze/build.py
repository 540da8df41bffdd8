"""Treebanks, word lists and a corpus in; one language's data set with its card and the audit of its guarantees out."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.cloze.candidates import find_candidates
from evaluator.cloze.dataset import (
    BUILD_FILE,
    CELLS,
    MARKER,
    SCHEMA,
    ClozeData,
    cell_split,
    prompt_of,
)
from evaluator.cloze.frequencies import Frequencies
from evaluator.cloze.paradigms import Paradigms, add_treebank, read_lexicon, read_unimorph
from evaluator.cloze.splits import Item, assign, with_frequencies
from evaluator.cloze.tables import LanguageTable
from evaluator.errors import ConfigError, TreebankError
from evaluator.store.location import Location
from evaluator.store.run import fingerprint, json_bytes
from evaluator.store.shards import parquet_bytes
from evaluator.treebank.licences import is_permissive, licence_of, treebank_code
from evaluator.treebank.read import read_treebank
from evaluator.treebank.sources import Source, Split, find_sources
from evaluator.types import Sentence

BUILD_VERSION = 1


@dataclass(frozen=True, slots=True)
class Treebank:
    """A treebank's sentences and where they come from."""

    code: str
    language: str
    licence: str
    sentences: list[Sentence]
    sha256: str


@dataclass(frozen=True, slots=True)
class Resources:
    """What a build reads besides its treebanks."""

    unimorph: tuple[Path, ...] = ()
    lexicons: tuple[Path, ...] = ()


def find_treebanks(patterns: Sequence[str]) -> list[Source]:
    """The treebanks that the patterns name, a folder with all its splits. Errors: TreebankError."""
    found: dict[str, list[Source]] = {}
    for pattern in patterns:
        splits: tuple[Split, ...] = ("train", "dev", "test")
        sources: list[Source] = []
        problem: TreebankError | None = None
        for split in splits:
            try:
                sources += [s for s in find_sources([pattern], split=split) if s not in sources]
            except TreebankError as error:
                problem = error
        if problem is not None and not sources:
            raise problem
        for source in sources:
            found.setdefault(source.name, []).append(source)
    return [
        Source(name, parts[0].language, tuple(dict.fromkeys(f for p in parts for f in p.files)))
        for name, parts in found.items()
    ]


def read_treebanks(sources: Sequence[Source], language: str) -> list[Treebank]:
    """The treebanks, read. Errors: ConfigError when one is of another language than the table."""
    treebanks = []
    for source in sources:
        if source.language != language:
            raise ConfigError(
                f"is {source.language}, the table is {language}", where=source.name, hint="build one language at a time"
            )
        code = treebank_code(source.name)
        read = read_treebank(source.files, name=code, language=language)
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in source.files)).hexdigest()
        licence = licence_of(language, code, source.files[0].parent)
        treebanks.append(Treebank(code, language, licence, read.sentences, digest))
    return treebanks


def build(
    treebanks: Sequence[Treebank],
    table: LanguageTable,
    resources: Resources,
    frequencies: Frequencies,
    *,
    seed: int = 0,
    permissive: bool = False,
) -> ClozeData:
    """The data set. Same inputs, same rows; `build` holds settings, counts and what was left out and why."""
    used = [t for t in treebanks if not permissive or is_permissive(t.licence)]
    paradigms = Paradigms()
    for treebank in used:
        add_treebank(paradigms, treebank.sentences)
    for path in resources.unimorph:
        read_unimorph(paradigms, path)
    lemmas = set(paradigms.attested)
    for path in resources.lexicons:
        read_lexicon(paradigms, path, lemmas)
    sentences = [s for t in used for s in t.sentences]
    candidates, left_out = find_candidates(sentences, table, paradigms)
    found = Counter(c.phenomenon for c in candidates)
    items = with_frequencies(candidates, table, paradigms, frequencies)
    chosen, dropped = assign(items, table, seed)
    licences = {t.code: t.licence for t in used}
    splits = {split: items_table(rows, licences) for split, rows in chosen.items()}
    splits |= {cell_split(c): items_table([i for i in chosen["test"] if i.cell == c], licences) for c in CELLS}
    facts = _facts(treebanks, used, table, resources, frequencies, seed)
    facts["verbs_left_out"] = dict(sorted(left_out.items()))
    facts["candidates"] = {p.name: found[p.name] for p in table.phenomena}
    facts["candidates_left_out"] = dict(sorted(dropped.items()))
    facts["rows"] = {split: rows.num_rows for split, rows in splits.items()}
    return ClozeData(table.code, table.code, splits, facts)


def _facts(
    treebanks: Sequence[Treebank],
    used: Sequence[Treebank],
    table: LanguageTable,
    resources: Resources,
    frequencies: Frequencies,
    seed: int,
) -> dict[str, Any]:
    """What made the data set: no path, only names and hashes."""
    tables = table.model_dump(mode="json")
    identities = [[t.code, t.sha256] for t in used]
    return {
        "version": BUILD_VERSION,
        "language": table.code,
        "seed": seed,
        "table": tables,
        "caps": table.caps.model_dump(),
        "threshold_per_million": table.threshold_per_million,
        "corpus": {"tokens": frequencies.tokens, "types": len(frequencies.counts), "markers": frequencies.markers},
        "markers_in_sources": sum(MARKER in s.text for t in used for s in t.sentences),
        "unimorph": [p.name for p in resources.unimorph],
        "lexicons": [p.name for p in resources.lexicons],
        "treebanks": [
            {"code": t.code, "licence": t.licence, "sentences": len(t.sentences), "sha256": t.sha256, "used": t in used}
            for t in treebanks
        ],
        "fingerprint": fingerprint(BUILD_VERSION, tables, identities, seed, frequencies.tokens),
    }


def items_table(items: Sequence[Item], licences: dict[str, str]) -> pa.Table:
    """The items as a table of the documented schema."""
    rows = []
    for item in items:
        c = item.candidate
        rows.append(
            {
                "prompt": prompt_of(c.lemma, c.context, c.feats),
                "gold": c.gold,
                "lemma": c.lemma,
                "context": c.context,
                "feats": c.feats,
                "phenomenon": c.phenomenon,
                "cell": item.cell,
                "form_freq": item.form_freq,
                "lemma_other_freq": item.lemma_other_freq,
                "form_level": item.form_level,
                "lemma_level": item.lemma_level,
                "person_number": c.person_number,
                "verbclass": c.verbclass,
                "resource": item.resource,
                "source_treebank": c.sentence.treebank,
                "licence": licences[c.sentence.treebank],
                "sent_id": c.sentence.sent_id,
                "paradigm": list(item.forms),
                "paradigm_freq": list(item.form_freqs),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def write_dataset(data: ClozeData, folder: Path, card: str) -> None:
    """Writes the splits as Parquet, the card, and `build.json` last, so that a folder without it is unfinished."""
    location = Location.of(folder)
    for split, table in data.splits.items():
        location.write(f"{split}.parquet", parquet_bytes(table))
    location.write("README.md", card.encode())
    location.write(BUILD_FILE, json_bytes(dict(data.build)))
