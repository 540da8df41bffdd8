"""The shape of `report.json`, and the questions every renderer asks of it.

Everything the report shows is read from this one dictionary (examples and the log-probability curves aside, which need
`outcomes`). The same contract for other languages is `report.schema.json`; `SCHEMA_VERSION` is bumped on any change.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypedDict, cast

SCHEMA_VERSION = 1

DOSE_ORDER = (
    "orig", "noun_swap", "partial", "head", "head_all", "window3", "subtree", "ngram3", "ngram2", "ngram1",
    "reverse", "full",
)  # fmt: skip
"""Order in which conditions are shown everywhere: roughly by how much they move, never alphabetical."""

CONDITION_LABELS = {
    "orig": "orig", "noun_swap": "noun swap", "partial": "part", "head": "head", "head_all": "head all",
    "window3": "window 3", "subtree": "subtree", "ngram3": "3-gram", "ngram2": "2-gram", "ngram1": "1-gram",
    "reverse": "reverse", "full": "full",
}  # fmt: skip

Interval = Sequence[float] | None


class Cell(TypedDict, total=False):
    """One (model, treebank, condition, ±L): its metrics over complete cases, null where there is no answer."""

    model: str
    treebank: str
    language: str
    condition: str
    lemma: bool
    n: int
    n_sentences: int
    top1: float | None
    top1_ci: Interval
    top5: float | None
    top5_ci: Interval
    mean_gold_logp: float | None
    n_logp: int
    D: float | None
    D_ci: Interval
    S: float | None
    S_ci: Interval
    I: float | None
    I_ci: Interval
    I_range: Interval
    I_logp: float | None
    I_logp_ci: Interval
    floor: bool
    S_floor: bool
    reason: str | None
    masks: Any


Key = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class Document:
    """`report.json` with its cells indexed by (model, treebank, condition, lemma)."""

    report: Mapping[str, Any]
    models: tuple[str, ...]
    treebanks: tuple[str, ...]
    languages: Mapping[str, str]
    """Language of each treebank."""
    conditions: tuple[str, ...]
    """The conditions present, in dose order."""
    cells: Mapping[Key, Cell]

    def cell(self, model: str, treebank: str, condition: str, lemma: bool) -> Cell:
        """The cell, or an empty one (every metric missing) where the report has none."""
        return self.cells.get((model, treebank, condition, lemma)) or cast(Cell, {"reason": "not in this run"})

    def interaction(self, model: str, treebank: str, condition: str) -> Cell:
        """The cell that carries I(condition): the `form` cell, or the +L cell where only that one has it."""
        form = self.cell(model, treebank, condition, False)
        lemma = self.cell(model, treebank, condition, True)
        return lemma if form.get("I") is None and lemma.get("I") is not None else form

    def place(self, treebank: str) -> str:
        """Label of a treebank: its language, with the treebank's name only where a language has several."""
        return place_label(treebank, self.languages)

    def level(self) -> str:
        """The level of every interval, as printed: `95 %`."""
        confidence = (self.report.get("intervals") or {}).get("confidence")
        return f"{100 * (confidence or 0.95):.3g} %"

    def has_lemma(self) -> bool:
        """True iff any cell is under +L."""
        return any(lemma for _, _, _, lemma in self.cells)

    def strongest(self) -> str | None:
        """The perturbation the headline speaks about: `full`, else the last in dose order; None if only `orig` ran."""
        perturbed = [name for name in self.conditions if name != "orig"]
        return perturbed[-1] if perturbed else None


def open_document(report: Mapping[str, Any]) -> Document:
    """The report, indexed; models and treebanks keep the order in which the report names them."""
    cells: list[Cell] = list(report.get("cells") or [])
    present = {cell["condition"] for cell in cells}
    known = [name for name in DOSE_ORDER if name in present]
    return Document(
        report=report,
        models=tuple(dict.fromkeys(cell["model"] for cell in cells)),
        treebanks=tuple(dict.fromkeys(cell["treebank"] for cell in cells)),
        languages={cell["treebank"]: cell["language"] for cell in cells},
        conditions=tuple(known + sorted(present - set(known))),
        cells={(c["model"], c["treebank"], c["condition"], bool(c["lemma"])): c for c in cells},
    )


def place_label(treebank: str, languages: Mapping[str, str]) -> str:
    """A treebank's language, with the treebank's name only where `languages` gives that language to several."""
    language = languages[treebank]
    several = sum(other == language for other in languages.values()) > 1
    return f"{language} {treebank}" if several else language


def condition_label(condition: str, lemma: bool = False) -> str:
    """The condition as readers see it: `part`, `full +L`; `+L` alone for the unperturbed order in lemmas."""
    label = CONDITION_LABELS.get(condition, condition)
    if not lemma:
        return label
    return "+L" if condition == "orig" else f"{label} +L"


def at_floor(cell: Cell, metric: str) -> bool:
    """Whether the cell says that S (or I) cannot be read off it, for lack of right answers to lose."""
    return bool(cell.get("S_floor", cell.get("floor")) if metric == "S" else cell.get("floor"))


def dose(condition: str) -> tuple[int, str]:
    """Sort key that puts conditions in dose order, unknown ones last by name."""
    return (DOSE_ORDER.index(condition) if condition in DOSE_ORDER else len(DOSE_ORDER), condition)


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A file-name-safe, distinct, ≤ 60-character slug for each name."""
    taken: dict[str, str] = {}
    for name in names:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:50] or "model"
        slug, serial = base, 2
        while slug.lower() in {used.lower() for used in taken.values()}:
            slug, serial = f"{base}-{serial}", serial + 1
        taken[name] = slug
    return taken


def report_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every `report.json` obeys."""
    path = resources.files("evaluator.report").joinpath("report.schema.json")
    return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))


def canonical_json(value: Any) -> bytes:
    """`value` as UTF-8 JSON with sorted keys and a final newline; NaN and infinities are refused, never written."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
    return (re.sub(r"[\ud800-\udfff]", "\ufffd", text) + "\n").encode("utf-8")
