"""Every construction guarantee as a named check, run at build and on any released file. A check holds, fails, or says
why the file cannot show it; nothing passes by default."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.cloze.dataset import CELLS, MARKER, ClozeData, cell_name, cell_split, prompt_of
from evaluator.cloze.splits import CEILING_CELL
from evaluator.cloze.tables import LanguageTable, cue_words
from evaluator.treebank.licences import UNKNOWN, known_licence, licence_of, treebank_code

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks look at: rows by split, the builder's own facts, and the language's table where it is known."""

    data: ClozeData
    rows: Mapping[str, list[Row]]
    """Each row once: train, dev, test."""
    table: LanguageTable | None
    caps: Mapping[str, int]
    """Caps the data set promises; empty when it promises none."""

    def all_rows(self) -> Iterable[tuple[str, Row]]:
        return ((split, row) for split, rows in self.rows.items() for row in rows)


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    name: str
    ok: bool | None
    """None: this file cannot show it."""
    detail: str


Finding = tuple[bool | None, str]


def audit(data: ClozeData, table: LanguageTable | None = None, caps: Mapping[str, int] | None = None) -> list[Check]:
    """Every check on a data set, in order. `caps` overlay those the data set states (lemma, person_number, ceiling)."""
    rows = {split: part.to_pylist() for split, part in data.main.items()}
    stated = {**(data.build.get("caps") or {}), **{k: v for k, v in (caps or {}).items() if v}}
    evidence = Evidence(data, rows, table, stated)
    return [Check(name, *check(evidence)) for name, check in CHECKS.items()]


def _verdict(failures: list[str], holds: str) -> Finding:
    if failures:
        more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        return False, f"{failures[0]}{more}"
    return True, holds


def _disjoint(evidence: Evidence, key: Callable[[Row], str], what: str) -> Finding:
    splits: dict[str, set[str]] = defaultdict(set)
    for split, row in evidence.all_rows():
        splits[key(row)].add(split)
    if len(evidence.rows) < 2:
        return None, "only one split"
    shared = [f"{what} {k[:60]!r} in {' and '.join(sorted(s))}" for k, s in sorted(splits.items()) if len(s) > 1]
    return _verdict(shared, f"{len(splits):,} in {len(evidence.rows)} splits, none shared")


def _lemmas(evidence: Evidence) -> Finding:
    return _disjoint(evidence, lambda row: row["lemma"].casefold(), "lemma")


def _sentences(evidence: Evidence) -> Finding:
    """Sentences are the same when their text is, the blank filled."""
    return _disjoint(evidence, lambda row: " ".join(row["context"].replace(MARKER, row["gold"]).split()), "sentence")


def _cue_words(evidence: Evidence) -> Finding:
    table = evidence.table
    if table is None or "table" not in evidence.data.build:
        return None, "how cues were found is not in the file"
    words = [w for p in table.phenomena for w in cue_words(p, table.auxiliaries)]
    return _verdict(words, "cues are relations and features only")


def _cap(evidence: Evidence, cap: str, key: Callable[[Row], tuple[str, ...] | None]) -> Finding:
    largest: Counter[tuple[str, ...]] = Counter()
    for split, row in evidence.all_rows():
        if (found := key(row)) is not None:
            largest[(split, row["cell"], *found)] += 1
    group, size = largest.most_common(1)[0] if largest else ((), 0)
    if cap not in evidence.caps:
        return None, f"no cap stated; largest group {size} ({', '.join(group)})"
    over = [f"{n} in {', '.join(g)}" for g, n in largest.most_common() if n > evidence.caps[cap]]
    return _verdict(over, f"at most {size}, cap {evidence.caps[cap]}")


def _cap_lemma(evidence: Evidence) -> Finding:
    return _cap(evidence, "lemma", lambda row: (row["phenomenon"], row["lemma"]))


def _cap_person(evidence: Evidence) -> Finding:
    return _cap(
        evidence,
        "person_number",
        lambda row: (row["phenomenon"], row["person_number"]) if row["person_number"] != "-" else None,
    )


def _cap_ceiling(evidence: Evidence) -> Finding:
    size = sum(row["cell"] == CEILING_CELL for row in evidence.rows.get("test", []))
    cap = evidence.caps.get("ceiling", 800)
    return size <= cap, f"{size} in test, cap {cap}"


def _marker_once(evidence: Evidence) -> Finding:
    wrong = [f"{row['context'].count(MARKER)} in {row['context'][:60]!r}" for _, row in evidence.all_rows()
             if row["context"].count(MARKER) != 1 or MARKER in row["gold"]]  # fmt: skip
    return _verdict(wrong, "each context holds the marker once")


def _marker_in_sources(evidence: Evidence) -> Finding:
    build = evidence.data.build
    if "markers_in_sources" not in build:
        return None, "the sources are not in the file"
    found = int(build["markers_in_sources"]) + int((build.get("corpus") or {}).get("markers", 0))
    return found == 0, f"{MARKER} occurs {found} times in treebanks and corpus"


def _other_freq(evidence: Evidence) -> Finding:
    """With paradigms: recounted. Without: form_freq + lemma_other_freq is one number per lemma iff the form is out."""
    wrong: list[str] = []
    recounted = 0
    totals: dict[str, set[int]] = defaultdict(set)
    for _, row in evidence.all_rows():
        gold = row["gold"].casefold()
        if row["paradigm"] is not None and row["paradigm_freq"] is not None:
            recounted += 1
            known = dict(zip(row["paradigm"], row["paradigm_freq"], strict=True))
            other = sum(n for form, n in known.items() if form != gold)
            if (row["lemma_other_freq"], row["form_freq"]) != (other, known.get(gold)):
                wrong.append(f"{row['lemma']} {gold}: {row['lemma_other_freq']}, recounted {other}")
        elif row["resource"] not in ("lemma", "treebank", "none", "no", "False"):
            totals[row["lemma"]].add(row["form_freq"] + row["lemma_other_freq"])
    wrong += [f"{lemma}: totals {sorted(t)}" for lemma, t in sorted(totals.items()) if len(t) > 1]
    if not recounted and not totals:
        return None, "no row says enough"
    return _verdict(wrong, f"{recounted:,} rows recounted, {len(totals):,} lemmas with one total")


def _rare_to_test(evidence: Evidence) -> Finding:
    wrong = [f"{row['lemma']} in {split}" for split, row in evidence.all_rows()
             if row["lemma_level"] == "low" and split in ("train", "dev")]  # fmt: skip
    if not {"train", "dev"} & set(evidence.rows):
        return None, "neither train nor dev is here"
    return _verdict(wrong, "no rare lemma outside test")


def _levels(evidence: Evidence) -> Finding:
    """Levels, cells and counts agree: there is one threshold on each axis, and cell = lem_<level>+form_<level>."""
    wrong = [f"{row['cell']} for lemma {row['lemma_level']}, form {row['form_level']}" for _, row in
             evidence.all_rows() if row["cell"] != cell_name(row["lemma_level"], row["form_level"])]  # fmt: skip
    for level, freq in (("form_level", "form_freq"), ("lemma_level", "lemma_other_freq")):
        low = [row[freq] for _, row in evidence.all_rows() if row[level] == "low"]
        high = [row[freq] for _, row in evidence.all_rows() if row[level] == "high"]
        if low and high and max(low) >= min(high):
            wrong.append(f"{freq} {max(low)} is low, {min(high)} is high")
    return _verdict(wrong, "levels follow the counts, cells the levels")


def _cells_make_test(evidence: Evidence) -> Finding:
    parts = {c: evidence.data.splits[cell_split(c)] for c in CELLS if cell_split(c) in evidence.data.splits}
    if not parts or "test" not in evidence.data.splits:
        return None, "the file has no cell splits beside test"
    wrong = [f"{c} row in {cell_split(name)}" for name, part in parts.items()
             for c in set(part["cell"].to_pylist()) - {name}]  # fmt: skip
    whole = Counter(evidence.data.splits["test"]["prompt"].to_pylist())
    if whole != sum((Counter(part["prompt"].to_pylist()) for part in parts.values()), Counter()):
        wrong.append("test is not the union of its cells")
    return _verdict(wrong, f"test is the union of {len(parts)} cells")


def _same_feats(evidence: Evidence) -> Finding:
    rows = [row for _, row in evidence.all_rows() if row["phenomenon"] == "ptcp_vs_past"]
    if not rows:
        return None, "no ptcp_vs_past here"
    given = sorted({row["feats"] for row in rows})
    classes = Counter(row["verbclass"] for row in rows)
    detail = f"{given[0]}: {', '.join(f'{n} {c}' for c, n in sorted(classes.items()))}"
    return len(given) == 1, detail if len(given) == 1 else f"feats {', '.join(given)}"


def _prompt(evidence: Evidence) -> Finding:
    wrong = [row["prompt"][:80] for _, row in evidence.all_rows()
             if row["prompt"] != prompt_of(row["lemma"], row["context"], row["feats"])]  # fmt: skip
    return _verdict(wrong, "prompt = lemma, context and feats")


def _closed_sets(evidence: Evidence) -> Finding:
    table = evidence.table
    wrong = [f"cell {row['cell']!r}" for _, row in evidence.all_rows() if row["cell"] not in CELLS]
    if table is not None:
        names = {p.name: p.feats for p in table.phenomena}
        for _, row in evidence.all_rows():
            if row["phenomenon"] not in names:
                wrong.append(f"phenomenon {row['phenomenon']!r}")
            elif not row["feats"].startswith(names[row["phenomenon"]]):
                wrong.append(f"feats {row['feats']!r} of {row['phenomenon']}")
    return _verdict(wrong, "phenomena, feats and cells are the table's" if table else "cells are the card's")


def _licence(evidence: Evidence) -> Finding:
    language = evidence.data.language
    bare: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for _, row in evidence.all_rows():
        code = treebank_code(row["source_treebank"])
        licence = row["licence"] or (licence_of(language, code) if language else known_licence(code))
        if not code or licence == UNKNOWN:
            bare[row["source_treebank"]] += 1
        found[licence] += 1
    wrong = [f"{n} rows of {code!r}" for code, n in bare.most_common()]
    return _verdict(wrong, ", ".join(f"{licence}: {n:,}" for licence, n in found.most_common()))


CHECKS: dict[str, Callable[[Evidence], Finding]] = {
    "lemma-disjoint splits": _lemmas,
    "sentence-disjoint splits": _sentences,
    "no hand-written cue words": _cue_words,
    "cap per phenomenon and lemma": _cap_lemma,
    "cap per phenomenon and person-number": _cap_person,
    "lem_high+form_high is capped": _cap_ceiling,
    "one marker per context": _marker_once,
    "marker in no source": _marker_in_sources,
    "lemma_other_freq excludes the form": _other_freq,
    "rare lemmas are in test": _rare_to_test,
    "levels and cells follow the counts": _levels,
    "test is the union of its cells": _cells_make_test,
    "ptcp_vs_past: one feats for both answers": _same_feats,
    "prompt is made of its fields": _prompt,
    "phenomena, feats and cells are known": _closed_sets,
    "every row has a treebank and a licence": _licence,
}
