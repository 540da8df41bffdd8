"""Small synthetic outcomes with known structure; not a test."""

from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.store.schemas import OUTCOMES

UPOS = ("NOUN", "VERB", "ADJ", "PROPN")
DEPRELS = ("nsubj", "obj", "root", "amod", "obl")
FEATS = (
    "_", "Case=Acc|Number=Plur", "Case=Nom|Number=Sing", "Gender=Fem,Masc|Number=Sing|Number[psor]=Plur", "Sing",
    "Case=Acc|Case=Acc", "A=b=c|Number=Plur|",
)  # fmt: skip
"""Sound and malformed, as a treebank may have them."""


def outcome(**values: Any) -> dict[str, Any]:
    """One scored row; values override."""
    row: dict[str, Any] = {
        "model": "m1", "precision": "fp32", "treebank": "T", "language": "xx", "sent_id": "s1", "sentence": 0,
        "base_id": 1, "item_id": 1, "condition": "orig", "lemma": False, "seed": 0, "draw": 0, "target": 0,
        "upos": "NOUN", "deprel": "nsubj", "feats": "_", "n_units": 8, "n_pieces": 12, "n_masks": 1, "moved": 0,
        "displacement": 0.0, "neighbours_kept": 1.0, "kendall_tau": 1.0, "target_moved": False,
        "windowed": False, "order": [0], "text": "⟨mask⟩", "gold": "w", "gold_logp": -1.0, "gold_ranks": [0],
        "place": 1, "correct1": True, "correct5": True, "near_tie": False, "pred": ["w"], "pred_logp": [-1.0],
        "status": "scored", "reason": None, "complete": False,
    }  # fmt: skip
    return row | values


def skipped(reason: str, **values: Any) -> dict[str, Any]:
    """One row that was not scored."""
    nulls = dict.fromkeys(("gold_logp", "gold_ranks", "place", "correct1", "correct5", "near_tie", "pred", "pred_logp"))
    return outcome(**nulls, status="skipped", reason=reason, n_masks=None) | values


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows as OUTCOMES."""
    return pa.Table.from_pylist(rows, schema=OUTCOMES)


def run(
    *,
    treebanks: tuple[str, ...] = ("T",),
    models: tuple[str, ...] = ("m1", "m2"),
    conditions: tuple[str, ...] = ("orig", "full", "partial"),
    lemmas: tuple[bool, ...] = (False, True),
    sentences: int = 20,
    seeds: tuple[int, ...] = (0,),
    draws: dict[str, int] | None = None,
    skip: float = 0.0,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Rows of a run whose hits depend on sentence, condition and spelling; a share `skip` of items is skipped."""
    rows = []
    for t, treebank in enumerate(treebanks):
        rng = np.random.default_rng([seed, t])
        for s in range(sentences):
            ease = rng.normal()
            for run_seed in seeds:
                base_id = int(rng.integers(1, 2**63)) * 2 + 1
                upos, deprel = str(rng.choice(UPOS)), str(rng.choice(DEPRELS))
                for condition in conditions:
                    for lemma in lemmas:
                        for draw in range((draws or {}).get(condition, 1)):
                            item = int(rng.integers(0, 2**63))
                            lost = rng.random() < skip
                            for model in models:
                                base = {
                                    "model": model, "treebank": treebank, "language": treebank.lower(),
                                    "sent_id": f"s{s:05d}", "sentence": s, "base_id": base_id, "item_id": item,
                                    "condition": condition, "lemma": lemma, "seed": run_seed, "draw": draw,
                                    "upos": upos, "deprel": deprel, "n_units": 5 + (s * 7) % 45,
                                    "feats": FEATS[base_id // 8 % len(FEATS)],
                                }  # fmt: skip
                                if lost:
                                    rows.append(skipped("too_long", **base))
                                    continue
                                hardness = 0.3 + 0.9 * (condition != "orig") + 0.4 * lemma
                                place = int(max(0.0, rng.normal(2 * (hardness - ease), 1.5)))
                                expressible = rng.random() > 0.03
                                rows.append(
                                    outcome(
                                        **base,
                                        n_masks=1 + (base_id // 2 + lemma) % 4,
                                        correct1=place == 0 and expressible,
                                        correct5=place < 5 and expressible,
                                        gold_logp=-0.7 - place - float(rng.random()) if expressible else None,
                                        reason=None if expressible else "not_expressible",
                                    )
                                )
    return rows
