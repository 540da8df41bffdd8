"""The settings of a run: a TOML file, overlaid by flags; with neither, the embedded default."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evaluator.errors import ConfigError
from evaluator.types import CONTENT_UPOS, Condition, Spacing

PAPER_CONDITIONS: tuple[Condition, ...] = ("orig", "full", "partial", "head", "head_all")
BUNDLED_MODELS = ("wordpiece", "unigram")
DEMO = "demo"
"""The name under which the embedded treebanks are known."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TreebankSpec(_Part):
    """One treebank, or several by a pattern."""

    path: str
    """A .conllu file, a UD folder, a glob over either, or `ud://2.15/UD_German-PUD`; `demo` for the embedded ones."""
    name: str = ""
    language: str = ""
    split: Literal["test", "dev", "train"] = "test"
    sha256: str = ""
    """The treebank's hash in the manifest of an earlier run: another treebank is refused."""


class SampleSettings(_Part):
    """Which sentences are drawn."""

    n: Annotated[int, Field(gt=0)] | None = None
    """Sentences per treebank and seed; all usable ones when not given."""
    min_units: Annotated[int, Field(ge=1)] = 5
    max_units: Annotated[int, Field(ge=1)] = 50
    upos: tuple[str, ...] = CONTENT_UPOS
    """Parts of speech of the masked word."""
    balance: tuple[Literal["upos", "length"], ...] = ()
    align: Literal["", "sent_id"] = ""
    subset: str = ""
    """A subset file written by an earlier run: exactly its sentences and targets."""


class ScoringSettings(_Part):
    """How rows are scored: nothing here changes an outcome beyond the last bits."""

    provider: Literal["cpu", "cuda"] = "cpu"
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads per model; 0 takes every CPU this process may use."""
    max_batch_pieces: Annotated[int, Field(ge=0)] = 0
    """Longest row times rows of one batch; 0 takes what was measured best for the provider."""
    shard_rows: Annotated[int, Field(gt=0)] = 2048


class StatisticsSettings(_Part):
    """How intervals are made."""

    resamples: Annotated[int, Field(ge=100)] = 2000
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    seed: int = 0


class RaySettings(_Part):
    """How scoring is placed when `engine = "ray"`."""

    address: str = ""
    """A running cluster (`auto`, `host:6379`); the one this job runs on, or a new local one, when not given."""
    min_actors: Annotated[int, Field(ge=1)] = 1
    max_actors: Annotated[int, Field(ge=0)] = 0
    """The pool grows up to this; 0: as many as the cluster holds."""
    cpus_per_actor: Annotated[int, Field(ge=1)] = 1
    """CPUs reserved for each model; it computes with as many threads."""
    gpus_per_actor: Annotated[float, Field(ge=0, le=1)] = 0
    """GPU of each model: 1, or a fraction 1/n to share one. 0 with provider cuda means 1."""
    retries: Annotated[int, Field(ge=0)] = 2
    """How often a shard whose worker died is given to another before its rows are examined one by one."""
    max_worker_deaths: Annotated[int, Field(ge=1)] = 100
    """After this many the run stops: something is wrong with the cluster, not with a row."""
    placement_timeout_s: Annotated[float, Field(gt=0)] = 120
    stall_timeout_s: Annotated[float, Field(gt=0)] = 1800
    """Stop when no shard has finished for so long."""


class Config(_Part):
    """A whole run."""

    treebanks: tuple[TreebankSpec, ...] = (TreebankSpec(path=DEMO),)
    models: tuple[str, ...] = BUNDLED_MODELS
    """Bundle folders, or names of bundled models."""
    conditions: tuple[Condition, ...] = PAPER_CONDITIONS
    lemma: bool = True
    """Each condition also with every unit replaced by its lemma (+L)."""
    seeds: tuple[int, ...] = (0,)
    draws: Annotated[int, Field(ge=1, le=1000)] = 1
    """Orders drawn per base item and random condition."""
    spacing: Spacing = "natural"
    k: Annotated[int, Field(ge=5, le=50)] = 5
    """How many best words are kept per item; A@1 and A@5 need five."""
    sample: SampleSettings = SampleSettings()
    scoring: ScoringSettings = ScoringSettings()
    statistics: StatisticsSettings = StatisticsSettings()
    ray: RaySettings = RaySettings()
    engine: str = "local"
    out: str = "morphorder-run"
    strict: bool = False
    """Stop at the first damaged sentence instead of excluding it."""

    @field_validator("treebanks", mode="before")
    @classmethod
    def _paths_are_treebanks(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        return [{"path": v} if isinstance(v, str) else v for v in value] if isinstance(value, list | tuple) else value

    @field_validator("seeds", "models", "conditions", "treebanks")
    @classmethod
    def _not_empty_nor_repeated(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError("needs at least one value")
        if repeated := [v for i, v in enumerate(value) if v in value[:i]]:
            raise ValueError(f"names {repeated[0]!r} twice")
        return value

    @field_validator("conditions")
    @classmethod
    def _orig_first(cls, value: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return ("orig", *(c for c in value if c != "orig"))

    def item_settings(self) -> dict[str, Any]:
        """Everything that decides the items: what a run folder's fingerprint is made of, with the treebanks' hashes."""
        kept = self.model_dump(mode="json", include={"conditions", "lemma", "seeds", "draws", "sample"})
        return {**kept, "spacing": self.spacing}

    def anchored(self) -> "Config":
        """The same settings with every path absolute, so that they mean the same from any folder."""
        treebanks = tuple(t.model_copy(update={"path": _absolute(t.path)}) for t in self.treebanks)
        models = tuple(m if m in BUNDLED_MODELS else _absolute(m) for m in self.models)
        return self.model_copy(update={"treebanks": treebanks, "models": models})

    def differences(self) -> dict[str, Any]:
        """The settings that differ from the embedded default, `section.key` → value."""
        return dict(_differences(self.model_dump(mode="json"), Config().model_dump(mode="json"), ""))


def demo_config() -> Config:
    """The embedded default: seven languages, two bundled models, several targets per sentence."""
    return Config(seeds=(0, 1, 2, 3, 4))


def read_config(path: Path | None, overlay: dict[str, Any] | None = None) -> Config:
    """The settings in a TOML file overlaid by `overlay` (`{"sample": {"n": 5}}`), or the embedded default.

    Errors: ConfigError with file, key and what was expected.
    """
    if path is None:
        settings = demo_config().model_dump(mode="json") if not (overlay or {}).get("treebanks") else {}
    else:
        settings = read_toml(path)
    where = str(path) if path else "flags"
    try:
        config = Config.model_validate(_overlaid(settings, overlay or {}))
    except ValidationError as error:
        key, said = refused(error)
        raise ConfigError(said, where=where, hint=_known(key)) from error
    beside = path.parent if path else Path()
    flags = overlay or {}
    treebanks, models = (Path() if key in flags else beside for key in ("treebanks", "models"))
    subset = config.sample.subset and _beside(
        Path() if "subset" in flags.get("sample", {}) else beside, config.sample.subset
    )
    return config.model_copy(
        update={
            "treebanks": tuple(t.model_copy(update={"path": _beside(treebanks, t.path)}) for t in config.treebanks),
            "models": tuple(m if m in BUNDLED_MODELS else _beside(models, m) for m in config.models),
            "sample": config.sample.model_copy(update={"subset": subset}),
        }
    )


def refused(error: ValidationError) -> tuple[str, str]:
    """The first setting that was refused, and what is wrong with it, its name before it."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return key, f"{key}: {message[:1].lower()}{message[1:]}"


def read_toml(path: Path, hint: str = "morphorder run --help shows an example") -> dict[str, Any]:
    """The content of a settings file. Errors: ConfigError, with the hint when there is no such file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError("no such file", where=str(path), hint=hint) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", where=str(path)) from error


def _beside(base: Path, place: str) -> str:
    """A path as seen from the folder of the file that names it; URIs, `demo` and absolute paths stay."""
    if place == DEMO or "://" in place or Path(place).is_absolute():
        return place
    return str(base / Path(place).expanduser()) if base != Path() else place


def _absolute(place: str) -> str:
    return place if place == DEMO or "://" in place else str(Path(place).absolute())


def _overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlaid(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def _differences(value: Any, default: Any, prefix: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and isinstance(default, dict):
        return [d for k in value for d in _differences(value[k], default.get(k), f"{prefix}{k}.")]
    return [] if value == default else [(prefix.rstrip("."), value)]


def _known(key: str) -> str:
    section: type[BaseModel] = Config
    for part in key.split(".")[:-1]:
        kind = section.model_fields[part].annotation if part in section.model_fields else None
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            section = kind
    return f"settings here: {', '.join(section.model_fields)}"
