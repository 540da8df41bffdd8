"""Recomputes every statistic of a finished run from its outcomes, slowly and plainly, and compares with report.json.

`python tests/oracle_stats.py RUN_FOLDER [--resamples N --confidence C --seed S]` reads `report/outcomes.parquet` and
`report/report.json`, prints each figure that differs and exits 1 if any does. It imports nothing from the package:
pandas loops and scipy where the package has integer sums on grids.
"""

import argparse
import hashlib
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from scipy import stats

Row = dict[str, Any]
COLUMNS = [
    "model", "treebank", "language", "sent_id", "base_id", "item_id", "condition", "lemma", "seed", "draw", "upos",
    "deprel", "feats", "n_units", "n_masks", "gold_logp", "correct1", "correct5", "status", "reason", "complete",
]  # fmt: skip
DIMENSIONS = ("upos", "deprel", "feats", "masks", "length")
ROLES = ("orig", "c", "orig+L", "c+L")


class Treebank:
    """One treebank's outcomes, its complete cases and its resampled sentences."""

    def __init__(self, frame: pd.DataFrame, resamples: int, confidence: float, seed: int) -> None:
        self.frame, self.confidence = frame, confidence
        self.name, self.language = frame["treebank"].iloc[0], min(frame["language"])
        scored = frame[frame["status"] == "scored"]
        self.models_in = set(scored["model"])
        self.cells_in = set(zip(scored["condition"], scored["lemma"], strict=True))
        slots = {
            key
            for key in zip(frame["condition"], frame["lemma"], frame["draw"], strict=True)
            if key[:2] in self.cells_in
        }
        need = {(model, *slot) for model in self.models_in for slot in slots}
        self.complete = set()
        for base_id, rows in scored.groupby("base_id"):
            have = set(zip(rows["model"], rows["condition"], rows["lemma"], rows["draw"], strict=True))
            if need and need <= have:
                self.complete.add(base_id)
        self.rows = scored[scored["base_id"].isin(self.complete)].copy()
        self.rows["correct1"] = self.rows["correct1"].astype(int)
        self.rows["correct5"] = self.rows["correct5"].astype(int)
        self.sentences = sorted(set(self.rows["sent_id"]))
        self.base_sentence = self.rows.groupby("base_id")["sent_id"].first()
        key = hashlib.blake2b(f"{seed}\0{self.name}".encode(), digest_size=16).digest()
        rng = np.random.Generator(np.random.Philox(key=np.frombuffer(key, "<u8")))
        k = len(self.sentences)
        self.drawn = [rng.integers(0, k, size=k) for _ in range(resamples)] if k else []
        self.pseudo = rng.gamma(0.5, size=(resamples, 4))

    def cell(self, model: str, condition: str, lemma: bool) -> pd.DataFrame:
        rows = self.rows
        return rows[(rows["model"] == model) & (rows["condition"] == condition) & (rows["lemma"] == lemma)]

    def per_base(self, model: str, condition: str, lemma: bool, value: str = "correct1") -> pd.Series:
        """Mean over draws of each base item; NaN when any draw is."""
        return self.cell(model, condition, lemma).groupby("base_id")[value].apply(lambda v: v.mean(skipna=False))

    def by_sentence(self, values: pd.Series) -> np.ndarray:
        return values.groupby(self.base_sentence).sum().reindex(self.sentences, fill_value=0).to_numpy(float)

    def interval(self, values: np.ndarray, point: float) -> list[float] | None:
        values = values[np.isfinite(values)]
        if len(self.sentences) < 2 or not len(values):
            return None
        low, high = np.quantile(values, [0.5 - self.confidence / 2, 0.5 + self.confidence / 2])
        return [min(low, point), max(high, point)]

    def resampled(self, per_base: pd.Series, role: int) -> np.ndarray:
        hits = self.by_sentence(per_base)
        sizes = self.by_sentence(pd.Series(1.0, index=per_base.index))
        s = len(per_base) / len(self.sentences)
        return np.array(
            [
                (hits[i].sum() + s * g) / (sizes[i].sum() + s)
                for i, g in zip(self.drawn, self.pseudo[:, role], strict=True)
            ]
        )


def wilson(rows: pd.DataFrame, value: str, confidence: float) -> list[float]:
    """Wilson with the effective sample size; scipy's where each sentence has one item."""
    hits, n = int(rows[value].sum()), len(rows)
    clusters = rows.groupby("sent_id")[value].agg(["sum", "count"])
    if (clusters["count"] == 1).all():
        found = stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
        return [found.low, found.high]
    p, k = hits / n, len(clusters)
    if hits in (0, n):
        m = float(k)
    elif k == 1:
        m = 1.0
    else:
        residuals = clusters["sum"] - p * clusters["count"]
        variance = k / (k - 1) * (residuals**2).sum() / n**2
        m = n / max(1.0, variance / (p * (1 - p) / (n - 1)))
    z = stats.norm.ppf(0.5 + confidence / 2)
    roots = np.roots([1 + z * z / m, -(2 * p + z * z / m), p * p])  # (p − x)² = z² x(1 − x)/m
    low, high = sorted(float(np.real(x)) for x in roots)
    return [0.0 if hits == 0 else max(0.0, low), 1.0 if hits == n else min(1.0, high)]


def cells(t: Treebank) -> list[Row]:
    out = []
    keys = t.frame[["model", "condition", "lemma"]].drop_duplicates().itertuples(index=False)
    for model, condition, lemma in keys:
        row: Row = {"model": model, "treebank": t.name, "language": t.language, "condition": condition, "lemma": lemma}
        row["n"] = row["n_items"] = row["n_sentences"] = 0
        names = ("top1 top1_ci top5 top5_ci mean_gold_logp n_logp D D_ci S S_ci I I_ci I_range I_range_no_gain I_logp "
                 "I_logp_ci floor S_floor reason masks masks_changed")  # fmt: skip
        row |= dict.fromkeys(names.split())
        out.append(row)
        if model not in t.models_in or (condition, lemma) not in t.cells_in or not t.complete:
            row["reason"] = (
                "model_not_scored" if model not in t.models_in
                else "cell_not_scored" if (condition, lemma) not in t.cells_in else "no_complete_items"
            )  # fmt: skip
            continue
        rows = t.cell(model, condition, lemma)
        row |= {"n": rows["base_id"].nunique(), "n_sentences": rows["sent_id"].nunique()}
        row["n_items"] = rows["item_id"].nunique()
        for k in ("1", "5"):
            row[f"top{k}"] = rows[f"correct{k}"].mean()
            row[f"top{k}_ci"] = wilson(rows, f"correct{k}", t.confidence)
        logp = rows["gold_logp"].dropna()
        row |= {
            "mean_gold_logp": logp.mean() if len(logp) else None,
            "n_logp": len(logp),
            "masks": rows["n_masks"].mean(),
        }
        if lemma and (condition, False) in t.cells_in:
            first = rows.sort_values("draw").groupby("base_id")["n_masks"].first()
            form = t.cell(model, condition, False).sort_values("draw").groupby("base_id")["n_masks"].first()
            row["masks_changed"] = (first != form).mean()
        contrasts(t, row)
    return out


def contrasts(t: Treebank, row: Row) -> None:
    model, condition, lemma = row["model"], row["condition"], row["lemma"]
    if ("orig", False) not in t.cells_in:
        row["reason"] = "no_orig"
        return
    a = {cell: t.per_base(model, *cell) for cell in t.cells_in}
    n, orig = len(t.complete), a["orig", False].mean()
    few = [orig * n < 5 - 1e-9]
    for spelling in (False, True):
        if (condition, spelling) in a:
            here = a[condition, spelling].mean()
            reference = a["orig", spelling].mean() if ("orig", spelling) in a else here
            few += [here * n < 5 - 1e-9, here < reference / 10 - 1e-12]
    row |= {"floor": any(few), "S_floor": few[0]}
    if (condition, lemma) == ("orig", False):
        return
    x = a[condition, lemma].mean()
    orig_drawn, x_drawn = t.resampled(a["orig", False], 0), t.resampled(a[condition, lemma], 1)
    row |= {"D": orig - x, "D_ci": t.interval(orig_drawn - x_drawn, orig - x)}
    if orig > 0:
        row |= {"S": (orig - x) / orig, "S_ci": t.interval((orig_drawn - x_drawn) / orig_drawn, (orig - x) / orig)}
    else:
        row["reason"] = "orig_zero"
    if lemma or condition == "orig":
        return
    four = [("orig", False), (condition, False), ("orig", True), (condition, True)]
    if not set(four) <= t.cells_in:
        row["reason"] = row["reason"] or "no_lemma"
        return
    o, c, o_l, c_l = (a[cell].mean() for cell in four)
    drawn = [t.resampled(a[cell], role) for role, cell in enumerate(four)]
    row["I"] = (o - c) + (o - o_l) - (o - c_l)
    row["I_ci"] = t.interval((drawn[0] - drawn[1]) + (drawn[0] - drawn[2]) - (drawn[0] - drawn[3]), row["I"])
    ranges = [row["I"] - c_l + possible for possible in (0, 1, min(c, o_l))]
    row |= {"I_range": ranges[:2], "I_range_no_gain": [ranges[0], ranges[2]]}
    lp = [t.per_base(model, *cell, "gold_logp") for cell in four]
    contrast = (lp[0] - lp[1] - lp[2] + lp[3]).dropna()
    if len(contrast):
        sums, counts = t.by_sentence(contrast), t.by_sentence(pd.Series(1.0, index=contrast.index))
        with np.errstate(all="ignore"):
            values = np.array([sums[i].sum() / counts[i].sum() for i in t.drawn])
        row |= {"I_logp": contrast.mean(), "I_logp_ci": t.interval(values, contrast.mean())}


def breakdowns(t: Treebank) -> dict[str, list[Row]]:
    if not t.complete:
        return {name: [] for name in DIMENSIONS}
    rows = t.rows.copy()
    edges = [(1, 9), (10, 14), (15, 19), (20, 29), (30, 39)]
    rows["length"] = rows["n_units"].map(lambda n: next((f"{a}-{b}" for a, b in edges if n <= b), "40+"))
    first = rows.sort_values("draw").groupby(["model", "base_id", "condition", "lemma"])["n_masks"].first()

    def masks(model: str, base_id: int) -> str:
        n = first.get((model, base_id, "orig", False))
        return "unknown" if n is None or np.isnan(n) else "5+" if n >= 5 else str(int(n))

    rows["masks"] = [masks(m, b) for m, b in zip(rows["model"], rows["base_id"], strict=True)]
    out: dict[str, list[Row]] = {}
    for dimension in DIMENSIONS:
        out[dimension] = []
        members = one_row_a_feature(rows) if dimension == "feats" else rows
        for (model, condition, lemma, group), part in members.groupby(["model", "condition", "lemma", dimension]):
            row: Row = {"model": model, "treebank": t.name, "language": t.language, "condition": condition}
            row |= {"lemma": lemma, "group": group, "n": part["base_id"].nunique()}
            for k in ("1", "5"):
                row |= {f"top{k}": part[f"correct{k}"].mean(), f"top{k}_ci": wilson(part, f"correct{k}", t.confidence)}
            if dimension == "masks":
                pairs = [
                    (first.get((model, b, "orig", False)), first.get((model, b, "orig", True)))
                    for b in set(part["base_id"])
                ]
                both = ("orig", False) in t.cells_in and ("orig", True) in t.cells_in
                row["masks_changed"] = float(np.mean([x != y for x, y in pairs])) if both else None
            out[dimension].append(row)
    return out


def one_row_a_feature(rows: pd.DataFrame) -> pd.DataFrame:
    """Each row again for every feature of its word; a word without features has none."""
    apart = rows.assign(feats=rows["feats"].str.split("|")).explode("feats")
    apart = apart[apart["feats"].str.fullmatch(r"[A-Za-z][A-Za-z0-9]*(\[[a-z0-9]+\])?=[^=\s]+")]
    return apart.drop_duplicates(["model", "item_id", "feats"])


def draws(t: Treebank) -> list[Row]:
    out = []
    for key, part in t.rows.groupby(["model", "condition", "lemma", "seed", "draw"]):
        row = dict(zip(("model", "condition", "lemma", "seed", "draw"), key, strict=True))
        row |= {"treebank": t.name, "language": t.language, "n": len(part)}
        out.append(row | {"top1": part["correct1"].mean(), "top5": part["correct5"].mean()})
    return out


def comparisons(t: Treebank) -> list[Row]:
    keys = sorted(set(t.frame[["model", "condition", "lemma"]].itertuples(index=False, name=None)))
    pairs = []
    for (m, c, l), (m2, c2, l2) in itertools.permutations(keys, 2):
        if m == m2 and l == l2 and c2 == "orig":
            pairs.append((("conditions", m), (m, c, l), (m2, c2, l2)))
        if m == m2 and c == c2 and l and not l2:
            pairs.append((("inflection", m), (m, c, l), (m2, c2, l2)))
        if m < m2 and (c, l) == (c2, l2):
            pairs.append((("models", ""), (m, c, l), (m2, c2, l2)))
    out, families = [], {}
    for family, a, b in pairs:
        row: Row = {"family": family[0], "treebank": t.name, "language": t.language, "n": 0}
        row |= {side: dict(zip(("model", "condition", "lemma"), x, strict=True)) for side, x in (("a", a), ("b", b))}
        row |= dict.fromkeys(("delta", "delta_ci", "only_a", "only_b", "p", "p_mid", "p_holm", "reason"))
        out.append(row)
        for side in (a, b):
            if row["reason"] is None and side[0] not in t.models_in:
                row["reason"] = "model_not_scored"
            elif row["reason"] is None and side[1:] not in t.cells_in:
                row["reason"] = "cell_not_scored"
            elif row["reason"] is None and not t.complete:
                row["reason"] = "no_complete_items"
        if row["reason"] is None:
            compare(t, row, a, b)
            families.setdefault(family, []).append(row)
    for rows in families.values():
        rows.sort(key=lambda r: r["p"])
        for i, row in enumerate(rows):
            row["p_holm"] = max(min(1.0, (len(rows) - j) * rows[j]["p"]) for j in range(i + 1))
    return out


def compare(t: Treebank, row: Row, a: tuple[str, str, bool], b: tuple[str, str, bool]) -> None:
    x, y = t.per_base(*a), t.per_base(*b)
    row["delta"] = x.mean() - y.mean()
    row["delta_ci"] = t.interval(t.resampled(x, 0) - t.resampled(y, 1), row["delta"])
    left, right = (t.cell(*s)[["base_id", "draw", "sent_id", "correct1"]] for s in (a, b))
    single = left["draw"].nunique() == 1 or right["draw"].nunique() == 1
    joined = left.merge(right, on=["base_id"] if single else ["base_id", "draw"], suffixes=("", "_b"))
    row |= {"n": len(joined), "only_a": int((joined["correct1"] > joined["correct1_b"]).sum())}
    row["only_b"] = int((joined["correct1"] < joined["correct1_b"]).sum())
    scale = math.lcm(left["draw"].nunique(), right["draw"].nunique())
    differences = [round(d * scale) for d in t.by_sentence(x - y)]
    ways = {0: 1}  # exact: how many sign patterns give each sum
    for d in differences:
        if d:
            ways = {s: ways.get(s - d, 0) + ways.get(s + d, 0) for s in {k + e for k in ways for e in (d, -d)}}
    total, seen = sum(ways.values()), abs(sum(differences))
    more = sum(n for s, n in ways.items() if abs(s) > seen)
    equal = sum(n for s, n in ways.items() if abs(s) == seen)
    row |= {"p": max((more + equal) / total, 1e-40), "p_mid": max((2 * more + equal) / (2 * total), 1e-40)}
    if len(joined) == len(t.sentences):
        n = row["only_a"] + row["only_b"]
        assert math.isclose(row["p"], max(stats.binomtest(row["only_a"], n).pvalue if n else 1.0, 1e-40), rel_tol=1e-9)
    if not any(differences):
        row["p_mid"] = 1.0


def counts(frame: pd.DataFrame, treebanks: list[Treebank]) -> Row:
    lost = frame[frame["status"] != "scored"]
    return {
        "base_items": int(frame.groupby("treebank")["base_id"].nunique().sum()),
        "items": len(frame),
        "scored": int((frame["status"] == "scored").sum()),
        "skipped": lost["reason"].fillna("unstated").value_counts().to_dict(),
        "complete_base_items": sum(len(t.complete) for t in treebanks),
    }


def expected(outcomes: Path, resamples: int, confidence: float, seed: int) -> tuple[Row, list[str]]:
    """All statistics, and what is wrong with the outcomes themselves."""
    frame = pq.read_table(outcomes, columns=COLUMNS).to_pandas()
    treebanks = [Treebank(part, resamples, confidence, seed) for _, part in frame.groupby("treebank")]
    problems = []
    for t in treebanks:
        flagged = t.frame[t.frame["complete"]]
        if len(flagged) != len(t.rows) or set(flagged["item_id"]) != set(t.rows["item_id"]):
            problems.append(f"{t.name}: complete marks {len(flagged)} rows, recomputed {len(t.rows)}")
    broken = [breakdowns(t) for t in treebanks]
    found = {
        "cells": [row for t in treebanks for row in cells(t)],
        "draws": [row for t in treebanks for row in draws(t)],
        "comparisons": [row for t in treebanks for row in comparisons(t)],
        "breakdowns": {name: [row for b in broken for row in b[name]] for name in DIMENSIONS},
        "counts": counts(frame, treebanks),
    }
    return found, problems


def same(a: Any, b: Any, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=tolerance)
    return bool(a == b)


def compare_rows(name: str, mine: list[Row], theirs: list[Row]) -> list[str]:
    def key(row: Row) -> str:
        fields = ("family", "model", "treebank", "condition", "lemma", "group", "seed", "draw", "a", "b")
        return json.dumps([row[f] for f in fields if f in row], default=int, sort_keys=True)

    problems = []
    left, right = {key(row): row for row in mine}, {key(row): row for row in theirs}
    if len(left) != len(mine) or len(right) != len(theirs):
        problems.append(f"{name}: repeated rows")
    problems += [f"{name}: only in one of the two: {k}" for k in sorted(left.keys() ^ right.keys())]
    for k in sorted(left.keys() & right.keys()):
        for field, value in left[k].items():
            # Resampled log-probabilities are rounded to 2⁻²⁰ nats in the report.
            if not same(value, right[k].get(field), 1e-5 if field == "I_logp_ci" else 1e-9):
                problems.append(f"{name} {k} {field}: report {right[k].get(field)!r}, recomputed {value!r}")
    return problems


def check(
    outcomes: Path, report: Path, resamples: int | None = None, confidence: float | None = None, seed: int | None = None
) -> list[str]:
    """Every difference between the report and its recomputation, as lines."""
    document = json.loads(report.read_text())
    settings = {"resamples": 2000, "confidence": 0.95, "seed": 0} | document.get("intervals", {})
    given = {"resamples": resamples, "confidence": confidence, "seed": seed}
    settings |= {name: value for name, value in given.items() if value is not None}
    mine, problems = expected(outcomes, settings["resamples"], settings["confidence"], settings["seed"])
    for name in ("cells", "draws", "comparisons"):
        problems += compare_rows(name, mine[name], document[name])
    for name, rows in mine["breakdowns"].items():
        problems += compare_rows(f"breakdowns.{name}", rows, document["breakdowns"][name])
    for name, value in mine["counts"].items():
        if document["counts"][name] != value:
            problems.append(f"counts.{name}: report {document['counts'][name]!r}, recomputed {value!r}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Recompute a run's statistics and compare them with its report.")
    parser.add_argument("run", type=Path, help="run folder, or its report folder")
    parser.add_argument("--resamples", type=int)
    parser.add_argument("--confidence", type=float)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    folder = given.run / "report" if (given.run / "report").is_dir() else given.run
    problems = check(folder / "outcomes.parquet", folder / "report.json", given.resamples, given.confidence, given.seed)
    for line in problems:
        print(line)
    print(f"{len(problems)} differences" if problems else "every statistic agrees", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
