"""Trains small classifiers on tasks of known order sensitivity, and checks what `morphorder wos` says of them.

python -m tests.wos.demonstration --checkpoint FOLDER --treebanks data/ud --work WORK [--epochs N]

Every prediction is compared with transformers, one input at a time. Prints one JSON line per task.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter

from evaluator.wos.run import run_wos
from evaluator.wos.settings import read_settings
from export.build import build_bundle
from export.finetune import Tuning, fine_tune
from tests.wos.brute_force import disagreements
from tests.wos.known_tasks import LANGUAGES, KnownTask, language_task, order_task, pair_task, sentences

TRAIN = {
    "de": "UD_German-GSD/de_gsd-ud-test.conllu",
    "en": "UD_English-EWT/en_ewt-ud-test.conllu",
    "es": "UD_Spanish-GSD/es_gsd-ud-test.conllu",
    "fr": "UD_French-GSD/fr_gsd-ud-test.conllu",
}
TEST = {"de": "UD_German-PUD", "en": "UD_English-PUD", "es": "UD_Spanish-PUD", "fr": "UD_French-PUD"}


def tasks(treebanks: Path, n: int) -> list[KnownTask]:
    """The tasks, each with about `n` examples to be measured on."""
    test = {lang: sentences(next((treebanks / TEST[lang]).glob("*-ud-test.conllu")))[: n // 4] for lang in LANGUAGES}
    train = {lang: sentences(treebanks / TRAIN[lang])[:400] for lang in LANGUAGES}
    english = sentences(treebanks / "UD_English-EWT/en_ewt-ud-train_rebuilt.conllu")
    pud = sentences(next((treebanks / TEST["en"]).glob("*-ud-test.conllu")))[: n // 2]
    return [language_task(train, test), pair_task(train, test), order_task(english, pud)]


def main() -> None:
    """Runs every task and prints what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--treebanks", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for task in tasks(arguments.treebanks, arguments.n):
        if arguments.only and task.name not in arguments.only.split(","):
            continue
        work = arguments.work / task.name
        work.mkdir(parents=True, exist_ok=True)
        began = perf_counter()
        tuning = Tuning(epochs=arguments.epochs, learning_rate=arguments.rate)
        if not (work / "checkpoint/config.json").is_file():
            fine_tune(arguments.checkpoint, task.labelled(), work / "checkpoint", tuning)
        trained_s = perf_counter() - began
        build_bundle(work / "checkpoint", work / "bundle", name=task.name, force=True)
        data = task.write(work / "test.jsonl")
        settings = {"texts": task.columns, "models": (str(work / "bundle"),), "out": str(work / "run")}
        result = run_wos(read_settings(str(data), settings))
        count, differ, worst = disagreements(work / "run/report/outcomes.parquet", work / "checkpoint", task.name)
        rows = result.document["rows"]
        print(
            json.dumps(
                {
                    "task": task.name,
                    "train": len(task.train),
                    "trained_s": round(trained_s),
                    "steps": {s["step"]: s["n"] for s in result.document["steps"]},
                    "full_original": rows[0]["full_original"],
                    "wos": {r["condition"] + "+both" * r["both"]: (r["n"], r["wos"], r["wos_ci"]) for r in rows},
                    "outcomes": count,
                    "predictions_that_differ": differ,
                    "largest_difference_p": worst,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
