"""The tables of a run folder as the audit reads them: whole, with what could not be read named."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.config import BUNDLED_MODELS
from evaluator.encode.tokenizer import PieceCutter
from evaluator.errors import BundleError, StoreError
from evaluator.score.bundle import TOKENIZER_FILE, Bundle, read_bundle, stamp_file
from evaluator.stages.prepare import demo_folder
from evaluator.store.run import RunFolder, read_json, read_stage
from evaluator.store.schemas import ORIGIN, OUTCOMES, TEXT_COLUMNS
from evaluator.store.shards import ShardSet

"""What `--no-text` leaves out of the outcomes."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokenizer behind an encoding, when a bundle with it is on this machine."""

    cutter: PieceCutter
    bundle: Bundle


@dataclass(frozen=True, slots=True)
class Encoded:
    """What one tokenizer made of the items."""

    tokenizer: str
    rows: pa.Table
    links: pa.Table
    vocabulary: Vocabulary | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What one model answered."""

    model: str
    encoded: Encoded
    scored: pa.Table


@dataclass(slots=True)
class RunTables:
    """A run folder, read. Tables that are not there, or not whole, are None or absent, and named in `damaged`."""

    run: RunFolder
    settings: dict[str, Any]
    sentences: pa.Table | None = None
    items: pa.Table | None = None
    encoded: list[Encoded] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    outcomes: pa.Table | None = None
    document: dict[str, Any] | None = None
    files: int = 0
    """Files read whole."""
    damaged: list[str] = field(default_factory=list)

    @property
    def k(self) -> int:
        """How many best words are kept per row."""
        k = self.settings.get("k")
        return k if isinstance(k, int) else 5


def read_tables(place: str) -> RunTables:
    """The tables of the run at `place`. Errors: StoreError when it is no run folder."""
    run = RunFolder.open(place)
    tables = RunTables(run, {})
    tables.settings = _json(tables, "config.json") or {}
    shards = _stage_shards(tables, run.items(), "items are not finished")
    if shards is not None:
        tables.sentences = _table(tables, run.sentences(), shards)
        tables.items = _table(tables, run.items(), shards)
        bundles = _bundles(tables.settings)
        for tokenizer in run.location.folders("encoded"):
            _read_encoded(tables, tokenizer, shards, bundles.get(tokenizer))
    tables.document = _json(tables, "report/report.json")
    names = _model_names(tables.document)
    for model in run.location.folders("scored"):
        _read_answers(tables, model, names)
    for absent in sorted(set(names.values()) - {a.model for a in tables.answered}):
        tables.damaged.append(f"the report names {absent}, of which there are no whole answers")
    tables.outcomes = _outcomes(tables)
    return tables


def _model_names(document: dict[str, Any] | None) -> dict[str, str]:
    """Fingerprint → name of the models that the report speaks of."""
    manifest = (document or {}).get("manifest")
    models = manifest.get("models") if isinstance(manifest, dict) else None
    listed = [m for m in models if isinstance(m, dict)] if isinstance(models, list) else []
    return {str(m.get("fingerprint")): str(m.get("name")) for m in listed}


def _read_encoded(tables: RunTables, tokenizer: str, item_shards: int, vocabulary: Vocabulary | None) -> None:
    run = tables.run
    shards = _stage_shards(tables, run.rows(tokenizer), f"encoded/{tokenizer} is not finished")
    if shards is None:
        return
    rows = _table(tables, run.rows(tokenizer), shards)
    links = _table(tables, run.links(tokenizer), item_shards)
    if rows is not None and links is not None:
        tables.encoded.append(Encoded(tokenizer, rows, links, vocabulary))


def _read_answers(tables: RunTables, model: str, names: dict[str, str]) -> None:
    """Reads a model's answers, if the report speaks of it: what an earlier list of models left is not this run's."""
    run = tables.run
    if names and model not in names:
        return
    facts = read_json(run.location / "scored" / model, "stage.json") or {}
    for encoded in tables.encoded:
        scored = run.scored(encoded.tokenizer, model, tables.k)
        if facts.get("fingerprint") != scored.fingerprint:
            continue
        stage = read_stage(run.rows(encoded.tokenizer)) or {}
        table = _table(tables, scored, int(stage["shards"]))
        if table is not None:
            tables.answered.append(Answered(names.get(model, model), encoded, table))
        return
    tables.damaged.append(f"scored/{model} is not finished")


def _stage_shards(tables: RunTables, shards: ShardSet, unfinished: str) -> int | None:
    try:
        facts = read_stage(shards)
    except StoreError as error:
        tables.damaged.append(str(error))
        return None
    if facts is None or not isinstance(facts.get("shards"), int):
        tables.damaged.append(unfinished)
        return None
    tables.files += 1
    return int(facts["shards"])


def _table(tables: RunTables, shards: ShardSet, count: int) -> pa.Table | None:
    parts = [shards.schema.empty_table()]
    for shard in range(count):
        try:
            parts.append(shards.read(shard))
            tables.files += 1
        except StoreError as error:
            tables.damaged.append(str(error))
    return pa.concat_tables(parts) if len(parts) == count + 1 else None


def _json(tables: RunTables, name: str) -> dict[str, Any] | None:
    try:
        found = read_json(tables.run.location, name)
    except StoreError as error:
        tables.damaged.append(str(error))
        return None
    if found is None:
        tables.damaged.append(f"{name} is not there")
    else:
        tables.files += 1
    return found


def _outcomes(tables: RunTables) -> pa.Table | None:
    name = "report/outcomes.parquet"
    if not tables.run.location.exists(name):
        tables.damaged.append(f"{name} is not there")
        return None
    try:
        table = pq.read_table(pa.BufferReader(tables.run.location.read(name)))
    except (pa.ArrowInvalid, OSError, StoreError) as error:
        tables.damaged.append(f"{name}: {error}")
        return None
    declared = [*ORIGIN, *OUTCOMES]
    kept = {f.name: f.type for f in declared if f.name in table.column_names or f.name not in TEXT_COLUMNS}
    if {f.name: f.type for f in table.schema} != kept:
        tables.damaged.append(f"{name}: its columns are not those of an outcomes table")
        return None
    tables.files += 1
    return table


def _bundles(settings: dict[str, Any]) -> dict[str, Vocabulary]:
    """Tokenizer fingerprint → the tokenizer, of the run's bundles that are still where they were, unaltered."""
    found: dict[str, Vocabulary] = {}
    models = settings.get("models")
    for name in map(str, models if isinstance(models, list) else []):
        folder = demo_folder() / "models" / name if name in BUNDLED_MODELS else Path(name)
        try:
            bundle = read_bundle(folder, verify=False)
            path = folder / TOKENIZER_FILE
            if stamp_file(path) != bundle.files[TOKENIZER_FILE]:
                continue
            cutter = PieceCutter(path.read_bytes(), mask_id=bundle.mask_id, where=str(path))
        except BundleError:
            continue
        found[bundle.tokenizer_fingerprint] = Vocabulary(cutter, bundle)
    return found
