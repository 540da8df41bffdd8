"""What a user knows of the languages, from a small table: numbers to plot accuracy against, a word to sort by."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.errors import ConfigError

KEYS = ("treebank", "language")
EXPECTED = "a header with `language` or `treebank` and at least one more column, tab- or comma-separated"


def read_covariates(text: str, languages: Mapping[str, str], where: str) -> dict[str, Any]:
    """`{"numbers": [{"name", "values": {treebank: x}}], "groups": {"name", "values"} or None}` of a table's text.

    A column whose every value is a number is a covariate; the first other one groups the treebanks (by family, say).
    `languages`: the language of each treebank of the run. Errors: ConfigError with the line.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter="\t" if "\t" in (lines or [""])[0] else ","))
    header = [name.strip() for name in rows[0]] if rows else []
    key = next((name for name in KEYS if name in header), None)
    if key is None or len(header) < 2:
        raise ConfigError("no such columns", where=where, hint=EXPECTED)
    records = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != len(header):
            raise ConfigError(
                f"{len(row)} fields, the header has {len(header)}", where=f"{where}:{number}", hint=EXPECTED
            )
        records[row[header.index(key)].strip()] = dict(zip(header, (field.strip() for field in row), strict=True))
    chosen = {t: records[name] for t, name in _names(languages, key).items() if name in records}
    if not chosen:
        known = ", ".join(sorted(set(_names(languages, key).values())))
        raise ConfigError(f"names no {key} of this run", where=where, hint=f"there are: {known}")
    columns = {name: {t: r[name] for t, r in chosen.items() if r[name]} for name in header if name not in KEYS}
    numbers = [{"name": name, "values": found} for name, values in columns.items() if (found := _numbers(values))]
    groups = [{"name": name, "values": values} for name, values in columns.items() if values and not _numbers(values)]
    return {"numbers": numbers, "groups": groups[0] if groups else None}


def _names(languages: Mapping[str, str], key: str) -> dict[str, str]:
    return {treebank: language if key == "language" else treebank for treebank, language in languages.items()}


def _numbers(values: Mapping[str, str]) -> dict[str, float] | None:
    """The values as numbers; None unless all of them are finite ones."""
    try:
        found = {treebank: float(value) for treebank, value in values.items()}
    except ValueError:
        return None
    return found if found and all(abs(x) < float("inf") for x in found.values()) else None


def correlations(cells: Iterable[Mapping[str, Any]], values: Mapping[str, float]) -> list[dict[str, Any]]:
    """Per model and condition (word forms) Spearman's ρ of A@1 with the covariate, and over how many treebanks.

    Null under three treebanks, or where either side does not vary. Source: Spearman 1904; ties at mean ranks.
    """
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in cells:
        if not cell["lemma"] and cell["top1"] is not None and cell["treebank"] in values:
            pairs.setdefault((cell["model"], cell["condition"]), []).append((values[cell["treebank"]], cell["top1"]))
    return [
        {"model": model, "condition": condition, "n": len(found), "rho": _spearman(found)}
        for (model, condition), found in pairs.items()
    ]


def _spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    xs, ys = zip(*pairs, strict=True)
    if len(pairs) < 3 or len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    from scipy.stats import spearmanr  # half a second to load, for whoever asks for any other command

    return float(spearmanr(xs, ys).statistic)


def add_covariates(report: Mapping[str, Any], text: str, where: str) -> dict[str, Any]:
    """The report with `covariates`: what the table says of its treebanks, and how A@1 goes with it."""
    languages = {cell["treebank"]: cell["language"] for cell in report["cells"]}
    found = read_covariates(text, languages, where)
    for one in found["numbers"]:
        one["correlations"] = correlations(report["cells"], one["values"])
    return {**report, "covariates": found}
