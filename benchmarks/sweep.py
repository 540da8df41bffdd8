"""Rows scored per item when orders are drawn several times: `python -m benchmarks.sweep [--json]`.

With targets fixed, `orig` and `orig+L` are the same for all draws and are scored once; so is every order that another
draw, condition or spelling gives again. Bar: rows scored = distinct encoded rows, exactly, counted here a second way.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encode import LIMIT, cutter_of, toy_tokenizer_file
from benchmarks.machine import machine_facts
from evaluator.encode.pieces import cut_units
from evaluator.encode.rows import encode_slots, slots_of
from evaluator.encode.tokenizer import PieceCutter
from evaluator.encode.unique import batch_of, unique_rows
from evaluator.items.build import build_items
from evaluator.items.settings import ItemSettings
from evaluator.stages.prepare import demo_folder
from evaluator.treebank.read import read_treebank
from evaluator.types import Sentence


def main() -> int:
    """Runs the benchmark and prints it; 1 when rows are not exactly the distinct inputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebank", nargs="*", type=Path, default=[], help="CoNLL-U files, each its own treebank")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json or bundle folder")
    parser.add_argument("--n", type=int, help="base items per treebank; default: all")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    files = given.treebank or sorted((demo_folder() / "sentences").glob("*.conllu"))
    with tempfile.TemporaryDirectory() as folder:
        cutter = cutter_of(given.tokenizer or toy_tokenizer_file(Path(folder)))
    treebanks = [
        sweep(file.stem, read_treebank([file], name=file.stem, language=file.stem[:2]).sentences, cutter, given)
        for file in files
    ]
    exact = all(facts["rows"] == facts["distinct"] for t in treebanks for facts in (t["once"], t["drawn"]))
    document = {
        "benchmark": "sweep",
        "machine": machine_facts(),
        "draws": given.draws,
        "treebanks": treebanks,
        "rows_are_the_distinct_inputs": exact,
    }
    if given.json:
        print(json.dumps(document))
    else:
        print(
            f"{'treebank':<28}{'items':>9}{'rows':>9}{'rows/items':>12}{'cost of 10 draws':>18}{'+L rows shared':>16}"
        )
        for facts in treebanks:
            drawn = facts["drawn"]
            print(
                f"{facts['treebank']:<28}{drawn['items']:>9}{drawn['rows']:>9}{drawn['rows_per_item']:>12}"
                f"{facts['cost_of_draws']:>14}{drawn['lemma_rows_shared']:>11}"
            )
        print(f"rows are exactly the distinct inputs: {exact}")
    return 0 if exact else 1


def sweep(name: str, sentences: list[Sentence], cutter: PieceCutter, given: argparse.Namespace) -> dict[str, Any]:
    """A treebank's items and rows with one draw and with several."""
    units = cut_units(sentences, cutter, unknown_id=None)
    once, drawn = (
        _counts(sentences, units, cutter, ItemSettings(draws=draws, n=given.n)) for draws in (1, given.draws)
    )
    return {"treebank": name, "once": once, "drawn": drawn, "cost_of_draws": round(drawn["rows"] / once["rows"], 2)}


def _counts(sentences: list[Sentence], units: Any, cutter: PieceCutter, settings: ItemSettings) -> dict[str, Any]:
    items = build_items(sentences, settings).items
    inputs = encode_slots(slots_of(items), units, cutter, limit=LIMIT, spacing="natural")
    unique = unique_rows([batch_of(items["item_id"].to_numpy(), inputs)])
    ids, offsets = inputs.ids.tobytes(), inputs.offsets * inputs.ids.itemsize
    texts = [ids[offsets[i] : offsets[i + 1]] for i in range(items.num_rows)]  # the second way: no hash, no sort
    condition, lemma = items["condition"].to_pylist(), items["lemma"].to_numpy()
    of_forms = {text for text, is_lemma in zip(texts, lemma, strict=True) if not is_lemma}
    of_lemmas = {text for text, is_lemma in zip(texts, lemma, strict=True) if is_lemma and text}
    by_condition: dict[str, list[int]] = {}
    for name in dict.fromkeys(condition):
        of_it = [t for t, c in zip(texts, condition, strict=True) if c == name and t]
        by_condition[name] = [len(of_it), len(set(of_it))]
    return {
        "items": items.num_rows,
        "rows": unique.count,
        "distinct": len({t for t in texts if t}),
        "rows_per_item": round(unique.count / items.num_rows, 3),
        "lemma_rows_shared": round(len(of_lemmas & of_forms) / max(1, len(of_lemmas)), 3),
        "items_and_rows_by_condition": by_condition,
        "skipped": int(np.sum(np.diff(inputs.offsets) == 0)),
    }


if __name__ == "__main__":
    sys.exit(main())
