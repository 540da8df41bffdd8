"""The settings of a run over a classifier: a GLUE name, a file of rows, or a TOML file; flags overlay it."""

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evaluator.config import Config, RaySettings, ScoringSettings, StatisticsSettings, read_toml, refused
from evaluator.errors import ConfigError
from evaluator.types import Condition

TextCondition = Literal["ngram1", "ngram2", "ngram3", "noun_swap"]
ORDERS: tuple[TextCondition, ...] = ("ngram1", "ngram2", "ngram3", "noun_swap")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GlueTask(_Part):
    """A GLUE task as Pham et al. (2021) shuffle it."""

    texts: tuple[str, ...]
    change: str
    one_sentence: bool
    split: str = "validation"


class WosConfig(_Part):
    """One task, one or more classifiers, and how the task's inputs are reordered."""

    data: str
    """A GLUE name, or a .tsv, .csv, .jsonl, .parquet or .conllu file."""
    texts: Annotated[tuple[str, ...], Field(max_length=2)] = ()
    """Columns of the one or two texts, in the order in which the model reads them."""
    label: str = "label"
    """Column of the class or the number to be predicted."""
    labels: dict[str, str] = {}
    """What the data call a class → what the model calls it, where they differ."""
    change: str = ""
    """Column of the input that is reordered; the published one for GLUE names, else the first text."""
    sentences: Literal["one", "any"] | None = None
    """Whether that input must be one sentence. As in the authors' code for GLUE names, else one."""
    orders: tuple[TextCondition, ...] = ORDERS
    draws: Annotated[int, Field(ge=1, le=1000)] = 10
    seed: int = 0
    both: bool = True
    """Pairs also with both inputs reordered."""
    tags: str = ""
    """Treebank whose most frequent tag of a word says whether it is a noun, for texts without tags."""
    published: str = ""
    """GLUE task whose published numbers are shown beside these."""
    models: tuple[str, ...] = ()
    engine: str = "local"
    out: str = "morphorder-wos"
    scoring: ScoringSettings = ScoringSettings()
    statistics: StatisticsSettings = StatisticsSettings()
    ray: RaySettings = RaySettings()

    @field_validator("orders")
    @classmethod
    def _not_empty(cls, value: tuple[TextCondition, ...]) -> tuple[TextCondition, ...]:
        if not value:
            raise ValueError("needs at least one order")
        return tuple(o for o in ORDERS if o in value)

    @property
    def glue(self) -> GlueTask | None:
        """The GLUE task that `data` names, if it does."""
        return glue_tasks().get(self.data)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the texts."""
        return self.texts or (self.glue.texts if self.glue else ("text",))

    @property
    def changed(self) -> str:
        """The column that is reordered. Errors: ConfigError when it is none of the texts."""
        found = self.change or (self.glue.change if self.glue and not self.texts else self.columns[0])
        if found not in self.columns:
            raise ConfigError(f"{found!r} is none of the texts {', '.join(self.columns)}", where="change")
        return found

    @property
    def one_sentence(self) -> bool:
        """Whether the reordered input must be one sentence."""
        if self.sentences is not None:
            return self.sentences == "one"
        return self.glue.one_sentence if self.glue else True

    @property
    def ngrams(self) -> tuple[Condition, ...]:
        """The block shuffles among the orders: an example that one of them cannot change takes part in none."""
        return tuple(o for o in self.orders if o != "noun_swap")

    def item_settings(self) -> dict[str, Any]:
        """Everything beside the data that decides the items."""
        return {
            "kind": "wos", "texts": list(self.columns), "label": self.label, "change": self.changed, "seed": self.seed,
            "one_sentence": self.one_sentence, "orders": list(self.orders), "draws": self.draws, "both": self.both,
            "labels": self.labels,
        }  # fmt: skip

    def scoring_config(self) -> Config:
        """What the stages of the rest need to know of this run."""
        return Config(
            models=self.models, engine=self.engine, out=self.out, scoring=self.scoring, statistics=self.statistics,
            ray=self.ray,
        )  # fmt: skip


@cache
def glue_tasks() -> dict[str, GlueTask]:
    """The GLUE tasks by name."""
    text = resources.files("evaluator").joinpath("wos/tasks.toml").read_text(encoding="utf-8")
    return {name: GlueTask.model_validate(task) for name, task in tomllib.loads(text).items()}


def require_models(
    config: WosConfig, hint: str = "give a bundle made by: morphorder export MODEL --out FOLDER"
) -> None:
    """Nothing. Errors: ConfigError with the hint when no model is given."""
    if not config.models:
        raise ConfigError("no model", where="--model", hint=hint)


def read_settings(place: str, overlay: dict[str, Any]) -> WosConfig:
    """The settings of a task: a TOML file's, or those of a data file or GLUE name, overlaid by flags.

    Paths in a TOML file are as seen from its folder. Errors: ConfigError with file, key and what was expected.
    """
    settings: dict[str, Any] = {"data": place}
    if place.endswith(".toml"):
        settings = read_toml(Path(place), "give a data file, a GLUE name or a .toml")
        for key in ("data", "tags"):
            if key in settings and settings[key] not in glue_tasks():
                settings[key] = str(Path(place).parent / settings[key])
        settings["models"] = [m if "://" in m else str(Path(place).parent / m) for m in settings.get("models", [])]
    for key, value in overlay.items():
        settings[key] = {**settings.get(key, {}), **value} if isinstance(value, dict) else value
    try:
        return WosConfig.model_validate(settings)
    except ValidationError as error:
        hint = f"settings: {', '.join(WosConfig.model_fields)}"
        raise ConfigError(refused(error)[1], where=place, hint=hint) from error
