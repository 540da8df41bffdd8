# ruff: noqa: E501  (the corpus and the rows read best unbroken)
"""A made-up run with believable numbers: a `report.json` and the OUTCOMES and SENTENCES tables it would come from."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.store.schemas import OUTCOMES, SENTENCES

LANGUAGES = ("de", "ru", "zh", "ar", "he", "hi", "ja")
CONDITIONS = ("orig", "full", "partial", "head", "ngram2")
MASK = "⟨mask⟩"

# form/lemma/upos, a trailing "_" on the form: written together with the next unit
CORPUS: dict[str, tuple[str, ...]] = {
    "de": ("Der/der/DET alte/alt/ADJ Mann/Mann/NOUN ging/gehen/VERB nach/nach/ADP Hause_/Haus/NOUN ./././PUNCT",
           "Die/der/DET Kinder/Kind/NOUN spielten/spielen/VERB gestern/gestern/ADV im/in/ADP großen/groß/ADJ Garten/Garten/NOUN"
           " hinter/hinter/ADP der/der/DET Schule_/Schule/NOUN ,/,/PUNCT während/während/SCONJ ihre/ihr/DET Eltern/Eltern/NOUN"
           " warteten_/warten/VERB ././PUNCT",
           "Anna/Anna/PROPN kauft/kaufen/VERB „_/„/PUNCT frische/frisch/ADJ Äpfel_/Apfel/NOUN “/“/PUNCT auf/auf/ADP dem/der/DET"
           " Markt_/Markt/NOUN ././PUNCT"),
    "ru": ("Старая/старый/ADJ учительница/учительница/NOUN медленно/медленно/ADV читала/читать/VERB детям/дитя/NOUN"
           " интересную/интересный/ADJ книгу_/книга/NOUN ././PUNCT",
           "Вчера/вчера/ADV мы/мы/PRON гуляли/гулять/VERB по/по/ADP берегу/берег/NOUN реки_/река/NOUN ././PUNCT"),
    "zh": ("我们_/我们/PRON 昨天_/昨天/NOUN 在_/在/ADP 图书馆_/图书馆/NOUN 学习_/学习/VERB 汉语_/汉语/NOUN 。/。/PUNCT",
           "这_/这/DET 个_/个/NOUN 问题_/问题/NOUN 很_/很/ADV 难_/难/ADJ 。/。/PUNCT"),
    "ar": ("ذهب/ذهب/VERB الرجل/رجل/NOUN العجوز/عجوز/ADJ إلى/إلى/ADP البيت/بيت/NOUN مساء_/مساء/NOUN ././PUNCT",
           "قرأت/قرأ/VERB الطالبة/طالبة/NOUN ثلاثة/ثلاثة/NUM كتب/كتاب/NOUN في/في/ADP المكتبة_/مكتبة/NOUN ././PUNCT"),
    "he": ("הילדה/ילדה/NOUN הקטנה/קטן/ADJ קראה/קרא/VERB ספר/ספר/NOUN מעניין_/מעניין/ADJ ././PUNCT",
           "אתמול/אתמול/ADV הלכנו/הלך/VERB לים/ים/NOUN עם/עם/ADP החברים_/חבר/NOUN ././PUNCT"),
    "hi": ("लड़का/लड़का/NOUN कल/कल/ADV बाज़ार/बाज़ार/NOUN से/से/ADP ताज़े/ताज़ा/ADJ फल/फल/NOUN लाया/ला/VERB ।/।/PUNCT",
           "वह/वह/PRON हर/हर/DET सुबह/सुबह/NOUN नदी/नदी/NOUN के/का/ADP किनारे/किनारा/NOUN दौड़ती/दौड़/VERB है/है/AUX ।/।/PUNCT"),
    "ja": ("彼女_/彼女/PRON は_/は/ADP 昨日_/昨日/NOUN 新しい_/新しい/ADJ 本_/本/NOUN を_/を/ADP 買っ_/買う/VERB た_/た/AUX 。/。/PUNCT",
           "子供_/子供/NOUN たち_/たち/NOUN が_/が/ADP 公園_/公園/NOUN で_/で/ADP 遊ん_/遊ぶ/VERB だ_/だ/AUX 。/。/PUNCT"),
}  # fmt: skip
EFFECT = {"orig": 1.0, "full": 0.08, "partial": 0.45, "head": 0.7, "ngram2": 0.35, "ngram1": 0.12, "ngram3": 0.5,
          "noun_swap": 0.85, "reverse": 0.1, "window3": 0.5, "subtree": 0.6, "head_all": 0.3}  # fmt: skip
FEATS = {"NOUN": "Case=Acc|Number=Plur", "VERB": "Number=Sing|VerbForm=Fin", "ADJ": "Case=Acc"}
CONTENT = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")


@dataclass(frozen=True)
class Run:
    report: dict[str, Any]
    outcomes: pa.Table
    sentences: pa.Table


@dataclass(frozen=True)
class Words:
    language: str
    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    together: list[bool]
    unspaced: bool

    def text(self, order: list[int], target: int, masks: int, lemma: bool) -> str:
        words = self.lemmas if lemma else self.forms
        out = ""
        for slot, unit in enumerate(order):
            before = order[slot - 1] if slot else None
            joined = (
                before is None or self.unspaced or (self.upos[unit] == "PUNCT" and unit and self.together[unit - 1])
            )
            joined = joined or (before is not None and before + 1 == unit and self.together[before])
            out += ("" if joined else " ") + (MASK * masks if unit == target else words[unit])
        return out


def parse(language: str, line: str) -> Words:
    rows = [token.rsplit("/", 2) if token.count("/") == 2 else [".", ".", "PUNCT"] for token in line.split()]
    return Words(language, [r[0].rstrip("_") for r in rows], [r[1] for r in rows], [r[2] for r in rows],
                 [r[0].endswith("_") for r in rows], language in ("zh", "ja"))  # fmt: skip


def make_run(
    languages: tuple[str, ...] = LANGUAGES,
    models: tuple[str, ...] = ("mlm-base", "mlm-large"),
    conditions: tuple[str, ...] = CONDITIONS,
    items: int = 60,
    seed: int = 0,
    evil: tuple[str, ...] = (),
    draws: int = 3,
) -> Run:
    """A run; with `evil`, those strings are put into words, answers, ids and names."""
    rng = np.random.default_rng(seed)
    sentences, outcomes = [], []
    for language in languages:
        for number in range(items):
            words = parse(language, CORPUS[language][number % len(CORPUS[language])])
            if evil:
                spot = int(rng.integers(len(words.forms)))
                words.forms[spot] = evil[number % len(evil)]
            index = len(sentences)
            sentences.append(_sentence_row(index, language, number, words))
            outcomes += _outcomes(rng, index, language, number, words, models, conditions, evil, draws)
    table = pa.Table.from_pylist(outcomes, schema=OUTCOMES)
    return Run(_report(rng, outcomes, languages, models, conditions, items, evil), table,
               pa.Table.from_pylist(sentences, schema=SENTENCES))  # fmt: skip


def _hash(*parts: Any) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def _sentence_row(index: int, language: str, number: int, words: Words) -> dict[str, Any]:
    n = len(words.forms)
    return {
        "sentence": index, "key": _hash(language, number), "treebank": f"{language}_pud", "language": language,
        "sent_id": f"n{number:05d}", "source": "x.conllu:1", "text": words.text(list(range(n)), -1, 0, False),
        "is_tree": True, "form": words.forms, "lemma": words.lemmas, "upos": words.upos, "deprel": ["dep"] * n,
        "head": [-1] + [0] * (n - 1), "feats": ["_"] * n, "space_after": [not t for t in words.together],
        "is_mwt": [False] * n, "word_id": [str(i + 1) for i in range(n)],
    }  # fmt: skip


def _outcomes(rng, index, language, number, words, models, conditions, evil, draws):  # type: ignore[no-untyped-def]
    rows = []
    n = len(words.forms)
    content = [i for i, u in enumerate(words.upos) if u in CONTENT]
    target = content[int(rng.integers(len(content)))]
    base = _hash(language, number, "base")
    ease = float(rng.uniform(0.1, 1.0))
    masks = {False: 1 + len(words.forms[target]) // 6, True: 1 + len(words.lemmas[target]) // 6}
    for condition in conditions:
        for draw in range(draws if condition != "orig" else 1):
            order = list(range(n))
            if condition != "orig":
                order = [int(i) for i in rng.permutation(n)]
            moved = sum(i != j for i, j in enumerate(order))
            for lemma in (False, True):
                gold = (words.lemmas if lemma else words.forms)[target]
                for m, model in enumerate(models):
                    p = ease * (0.45 + 0.2 * m) * EFFECT[condition] * (0.6 if lemma else 1.0)
                    hit, in5 = bool(rng.random() < p), bool(rng.random() < 0.4)
                    place = 1 if hit else (int(rng.integers(2, 6)) if in5 else 0)
                    others = [w for w in (*evil, *words.forms, "und", "42") if w != gold]
                    pred = [str(w) for w in rng.permutation(others)[:5]]
                    if place:
                        pred[min(place, len(pred)) - 1] = gold
                    logp = np.sort(-rng.exponential(2.0, len(pred)))[::-1]
                    skipped = number % 29 == 28
                    scored = not skipped
                    row = {
                        "model": model, "precision": "fp32", "treebank": f"{language}_pud", "language": language,
                        "sent_id": f"n{number:05d}", "sentence": index, "base_id": base,
                        "item_id": _hash(base, condition, draw, lemma), "condition": condition, "lemma": lemma, "seed": 1,
                        "draw": draw, "target": target, "upos": words.upos[target], "deprel": "obj", "feats": FEATS.get(words.upos[target], "_"),
                        "n_units": n, "n_pieces": 2 * n, "n_masks": masks[lemma], "moved": moved, "displacement": 1.5,
                        "neighbours_kept": 0.2, "kendall_tau": 0.1, "target_moved": True, "windowed": False, "order": order,
                        "text": words.text(order, target, masks[lemma], lemma), "gold": gold,
                        "gold_logp": float(np.log(p)) - 1 - float(rng.exponential(1)) if scored else None,
                        "gold_ranks": [int(rng.integers(0, 90))] * masks[lemma] if scored else None,
                        "place": place if scored else None, "correct1": hit if scored else None,
                        "correct5": bool(place) if scored else None, "near_tie": bool(rng.random() < 0.02) if scored else None,
                        "pred": pred if scored else None, "pred_logp": [float(x) for x in logp] if scored else None,
                        "status": "scored" if scored else "skipped", "reason": None if scored else "too_long",
                        "complete": scored,
                    }  # fmt: skip
                    rows.append(row)
    return rows


def _interval(rng: np.random.Generator, value: float, n: int) -> list[float]:
    half = 1.96 * (max(value * (1 - value), 0.002) / max(n, 1)) ** 0.5
    return [max(0.0, value - half), min(1.0, value + half)]


def _around(rng: np.random.Generator, value: float, half: float) -> list[float]:
    return [value - half * float(rng.uniform(0.8, 1.1)), value + half * float(rng.uniform(0.8, 1.1))]


def _report(rng, rows, languages, models, conditions, items, evil):  # type: ignore[no-untyped-def]
    done = [r for r in rows if r["status"] == "scored"]
    pools: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in done:
        pools.setdefault((row["model"], row["treebank"], row["condition"], row["lemma"]), []).append(row)
    mean = {key: float(np.mean([r["correct1"] for r in pool])) for key, pool in pools.items()}
    logp = {key: float(np.mean([r["gold_logp"] for r in pool])) for key, pool in pools.items()}
    cells, breakdowns, draws, comparisons = (
        [],
        {by: [] for by in ("upos", "deprel", "feats", "masks", "length")},
        [],
        [],
    )
    for (model, treebank, condition, lemma), pool in pools.items():

        def at(c, l, m=model, t=treebank):  # type: ignore[no-untyped-def]
            return mean[(m, t, c, l)]

        n, top1 = len(pool), at(condition, lemma)
        top5 = float(np.mean([r["correct5"] for r in pool]))
        a_orig = at("orig", False)
        plain = condition == "orig" and not lemma
        floor = a_orig < 0.12
        inter = (
            None
            if condition == "orig" or lemma
            else (a_orig - top1 + a_orig - at("orig", True) - (a_orig - at(condition, True)))
        )
        s = None if plain or a_orig == 0 else (a_orig - top1) / a_orig
        l_inter = (
            None
            if inter is None
            else sum(
                (
                    logp[(model, treebank, "orig", False)],
                    -logp[(model, treebank, condition, False)],
                    -logp[(model, treebank, "orig", True)],
                    logp[(model, treebank, condition, True)],
                )
            )
        )
        cells.append({
            "model": model, "treebank": treebank, "language": treebank[:2], "condition": condition, "lemma": lemma, "n": n,
            "n_sentences": n // len({r["draw"] for r in pool}), "top1": top1, "top1_ci": _interval(rng, top1, n), "top5": top5,
            "top5_ci": _interval(rng, top5, n), "mean_gold_logp": logp[(model, treebank, condition, lemma)], "n_logp": n,
            "D": None if plain else a_orig - top1, "D_ci": None if plain else _around(rng, a_orig - top1, 0.04), "S": s,
            "S_ci": None if s is None else _around(rng, s, 0.08), "I": inter,
            "I_ci": None if inter is None else _around(rng, inter, 0.05),
            "I_range": None if inter is None else [-min(0.6, a_orig), min(0.6, a_orig + 0.1)], "I_logp": l_inter,
            "I_logp_ci": None if l_inter is None else _around(rng, l_inter, 0.3), "floor": floor,
            "reason": f"A_orig {a_orig:.3f}, n⁺ = {round(a_orig * n)}" if floor else None, "masks": None,
        })  # fmt: skip
        for by, of in (("upos", lambda r: [r["upos"]]), ("deprel", lambda r: [r["deprel"]]),
                       ("feats", lambda r: r["feats"].split("|") if r["feats"] != "_" else []),
                       ("masks", lambda r: [str(r["n_masks"])]), ("length", lambda r: ["5–7" if r["n_units"] < 8 else "8–20"])):  # fmt: skip
            groups: dict[str, list[bool]] = {}
            for r in pool:
                for group in of(r):
                    groups.setdefault(group, []).append(r["correct1"])
            for group, hits in groups.items():
                value = float(np.mean(hits))
                breakdowns[by].append({
                    "model": model, "treebank": treebank, "language": treebank[:2], "condition": condition, "lemma": lemma,
                    "group": group, "n": len(hits), "top1": value, "top1_ci": _interval(rng, value, len(hits)),
                    "top5": min(1.0, value + 0.2), "top5_ci": _interval(rng, min(1.0, value + 0.2), len(hits)),
                })  # fmt: skip
        for draw in sorted({r["draw"] for r in pool}):
            hits = [r["correct1"] for r in pool if r["draw"] == draw]
            draws.append({"model": model, "treebank": treebank, "language": treebank[:2], "condition": condition,
                          "lemma": lemma, "seed": 1, "draw": draw, "n": len(hits), "top1": float(np.mean(hits)),
                          "top5": float(np.mean(hits)) + 0.1})  # fmt: skip
    doses = [
        {"model": model, "treebank": treebank, "language": treebank[:2], "tau": tau, "tau_min": tau - 0.05,
         "tau_max": tau + 0.05, "n": items, "n_sentences": items, "top1": 0.2 + tau / 5,
         "top1_ci": [0.15 + tau / 5, 0.25 + tau / 5]}
        for model, treebank in dict.fromkeys((c["model"], c["treebank"]) for c in cells)
        for tau in (-0.1, 0.2, 0.6, 0.9)
    ]  # fmt: skip
    for treebank in dict.fromkeys(c["treebank"] for c in cells):
        pairs = [("conditions", (models[0], "orig", False), (models[0], c, False)) for c in conditions if c != "orig"]
        if len(models) > 1:
            pairs += [("models", (models[0], c, False), (models[1], c, False)) for c in conditions]
        for family, a, b in pairs:
            delta = mean[(a[0], treebank, *a[1:])] - mean[(b[0], treebank, *b[1:])]
            p = float(min(1.0, np.exp(-abs(delta) * 40)))
            comparisons.append({
                "family": family, "treebank": treebank, "language": treebank[:2],
                "a": dict(zip(("model", "condition", "lemma"), a, strict=True)),
                "b": dict(zip(("model", "condition", "lemma"), b, strict=True)), "n": items, "delta": delta,
                "delta_ci": _around(rng, delta, 0.05), "only_a": round(items * max(delta, 0)) + 3,
                "only_b": round(items * max(-delta, 0)) + 3, "p": p, "p_holm": min(1.0, p * 8),
            })  # fmt: skip
    scored = len(done)
    return {
        "schema": 1, "run_id": "demo-2models" + (evil[0] if evil else ""), "cells": cells, "breakdowns": breakdowns,
        "draws": draws, "doses": doses, "comparisons": comparisons,
        "counts": {"base_items": items * len(languages), "items": len(rows), "scored": scored, "unique_rows": scored - 7,
                   "complete_base_items": (items - items // 29) * len(languages),
                   "skipped": {"too_long": len(rows) - scored} if len(rows) - scored else {}},
        "health": [{"name": "items = scored + skipped", "ok": True, "detail": f"{len(rows):,} items"},
                   {"name": "orders are permutations", "ok": True, "detail": ""},
                   {"name": "near ties", "ok": False, "detail": "41 answers within 1e-5 of the next" + (evil[1] if evil else "")}],
        "manifest": {
            "versions": {"morphorder": "0.1.0", "python": "3.11.9", "onnxruntime": "1.22.0", "numpy": "2.1.0"},
            "config": {"conditions": list(conditions), "sample": {"per_treebank": items, "max_units": 50}, "seeds": [1]},
            "config_diff": {"sample.per_treebank": items, "conditions": list(conditions)},
            "config_fingerprint": "9f2c1ab04d7e", "seeds": [1],
            "models": [{"name": m, "precision": "fp32", "source": f"example/{m}", "revision": "a1b2c3d", "architecture":
                        "BertForMaskedLM", "fingerprint": "77ab01", "provider": "CPUExecutionProvider",
                        "whole_text_equal": {f"{lang}_pud": 0.997 for lang in languages}} for m in models],
            "treebanks": [{"name": f"{lang}_pud", "language": lang, "sha256": hashlib.sha256(lang.encode()).hexdigest(),
                           "licence": "CC BY-SA 3.0", "sentences": 1000} for lang in languages],
            "wall_s": {"prepare": 0.81, "encode": 0.42, "score": 12.7, "report": 3.1},
            "command": "morphorder run pud.toml --out runs/pud",
        },
    }  # fmt: skip
