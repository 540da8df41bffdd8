"""Heads: every winner, kept link and accuracy under silence worked out anew with transformers' own attention."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

from evaluator.errors import BundleError, ConfigError
from evaluator.score.attend import strongest_links
from evaluator.score.bundle import read_bundle
from evaluator.stages.finished import Finished
from evaluator.wos.cli import app
from evaluator.wos.heads import edit_distance, similarity
from evaluator.wos.heads_run import run_heads
from evaluator.wos.settings import WosConfig
from evaluator.wos.silence import silences
from export.build import build_bundle
from export.convert import quiet
from export.sentences import SENTENCES
from tests.export.tiny import save_classifier
from tests.wos.conftest import write_tsv

Words = list[str]
CLASSES = ("no", "yes")


class Plain:
    """transformers asked one pair at a time: logits, and per head the three strongest links between words."""

    def __init__(self, folder: Path) -> None:
        with quiet():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
            self.model = AutoModelForSequenceClassification.from_pretrained(
                str(folder), dtype=torch.float32, attn_implementation="eager"
            ).eval()
        self.shape = self.model.config.num_hidden_layers, self.model.config.num_attention_heads

    def ask(self, a: str, b: str, silenced: list[list[int]], swap: bool) -> tuple[int, list[list[tuple[str, str]]]]:
        encoded = self.tokenizer(a, b, return_tensors="pt", return_offsets_mapping=True)
        mask = torch.ones(self.shape)
        for layer, head in silenced:
            mask[layer, head] = 0
        given = {n: encoded[n] for n in ("input_ids", "attention_mask")}
        if self.model.config.type_vocab_size > 1:
            given["token_type_ids"] = encoded["token_type_ids"]
        with torch.inference_mode():
            out = self.model(**given, head_mask=mask, output_attentions=True)
        places: dict[tuple[int, int], list[int]] = {}
        for i, (side, (begin, end)) in enumerate(
            zip(encoded.sequence_ids(0), encoded["offset_mapping"][0].tolist(), strict=True)
        ):
            if side is not None:
                spelled = (a, b)[side][begin:end]
                word = len((a, b)[side][: begin + len(spelled) - len(spelled.lstrip())].split(" ")) - 1
                places.setdefault((side, word), []).append(i)
        start, goal = (1, 0) if swap else (0, 1)
        sides = {s: [w for t, w in sorted(places) if t == s] for s in (0, 1)}
        found = []
        for layer in out.attentions:
            for weights in layer[0].double().numpy():
                strength = {}
                for x, y in itertools.product(sides[start], sides[goal]):
                    strength[x, y] = np.mean([sum(weights[i, j] for j in places[goal, y]) for i in places[start, x]])
                best = sorted(strength, key=lambda xy, s=strength: (-round(float(s[xy]), 7), xy))[:3]
                found.append([((a, b)[start].split()[x], (a, b)[goal].split()[y]) for x, y in best])
        return int(out.logits[0].argmax()), found


@pytest.fixture(scope="module", params=["bert", "roberta"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    save_classifier(request.param, folder / "checkpoint", CLASSES, max_position_embeddings=256)
    build_bundle(folder / "checkpoint", folder / "bundle", name="tiny", task="attention")
    return request.param, folder


def pairs() -> list[tuple[str, str]]:
    short = [" ".join(s.split()[:5]) for s in SENTENCES if len(s.split()) > 5]
    return [(a, " ".join([*b.split()[:2], *a.split()[:3]])) for a, b in itertools.pairwise(short)]


def test_winners_links_and_silence_are_those_of_transformers(made: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = made
    plain = Plain(folder / "checkpoint")
    swap = kind == "roberta"
    said = {p: plain.ask(*p, [], swap) for p in pairs()}
    data = write_tsv(tmp_path / "t.tsv", ("a", "b", "y"), [[a, b, CLASSES[said[a, b][0]]] for a, b in pairs()])
    config = WosConfig(
        data=str(data), texts=("a", "b"), label="y", change="ab"[swap], models=(str(folder / "bundle"),),
        out=str(tmp_path / "run"), scoring={"threads": 1, "shard_rows": 7},
    )  # fmt: skip
    result = run_heads(config, [1, 2], [(1, 0)])
    found = result.document["models"][0]
    assert result.complete and found["n"] > 0 and found["n"] % 2 == 0

    items = [r for f in sorted((tmp_path / "run/items").glob("*.arrow")) for r in read_rows(f)]
    texts = {(r["example"], r["condition"]): (r["text"], r["other"]) for r in items}
    silenced = {row["silenced"]: row for row in found["silenced"]}
    assert silenced["none"]["accuracy"] == 1.0 and silenced["none"]["n"] == found["n"]
    assert silenced["chosen"]["heads"] == [[1, 0]] and len(silenced["all"]["heads"]) == 4
    chosen = dev_r(found, data, config)
    for row in found["silenced"]:
        hits = [plain.ask(*texts[e, "orig"], row["heads"], swap)[0] == said[texts[e, "orig"]][0] for e in chosen]
        assert row["accuracy"] == pytest.approx(np.mean(hits)), row["silenced"]
    winners: dict[str, list[int]] = {"orig": [], "ngram1": []}
    kept = []
    for e in chosen:
        links = {c: plain.ask(*texts[e, c], [], swap)[1] for c in winners}
        for c, of in winners.items():
            of.append(int(np.argmax([round(float(np.mean([similarity(*w) for w in h])), 9) for h in links[c]])))
        first = winners["orig"][-1]
        both = Counter(links["orig"][first]) & Counter(links["ngram1"][first])
        kept.append(both.total() / 3)
    counted = {r["layer"] * 2 + r["head"]: (r["before"], r["after"]) for r in found["winners"]}
    before, after = Counter(winners["orig"]), Counter(winners["ngram1"])
    assert counted == {h: (before[h], after[h]) for h in {*before, *after}}
    assert found["links_kept"] == pytest.approx(np.mean(kept))
    assert found["same_winner"] == pytest.approx(np.mean(np.equal(*winners.values())))
    made = {f: f.stat().st_mtime_ns for f in (tmp_path / "run").rglob("*.arrow")}
    again = run_heads(config, [1, 2], [(1, 0)])
    assert again.document == result.document
    assert {f: f.stat().st_mtime_ns for f in made} == made


def read_rows(file: Path) -> list[dict[str, Any]]:
    import pyarrow as pa

    rows: list[dict[str, Any]] = pa.ipc.open_file(file).read_all().to_pylist()
    return rows


def dev_r(found: dict[str, Any], data: Path, config: WosConfig) -> list[int]:
    """The examples that count: all are right by construction, so as many of each class as the rarer one has, by lot."""
    from evaluator.wos.run import run_wos

    folder = Path(config.out).parent
    build = folder / "classifier"
    if not build.exists():
        build_bundle(Path(config.models[0]).parent / "checkpoint", build, name="tiny")
    narrow = {"models": (str(build),), "out": str(folder / "wos"), "orders": ("ngram1",), "draws": 1, "both": False}
    result = run_wos(config.model_copy(update=narrow))
    table = pq.read_table(Path(result.folder) / "report/outcomes.parquet").to_pylist()
    return [r["example"] for r in table if r["dev_r"] and r["condition"] == "orig"]


def test_the_command(made: tuple[str, Path], tmp_path: Path) -> None:
    rows = [[a, b, CLASSES[i % 2]] for i, (a, b) in enumerate(pairs())]
    data = write_tsv(tmp_path / "t.tsv", ("a", "b", "y"), rows)
    arguments = ["heads", str(data), "-m", str(made[1] / "bundle"), "--columns", "a,b,y", "--threads", "1"]
    arguments += ["--out", str(tmp_path / "run"), "--silence", "1", "--progress", "none"]
    shown = CliRunner().invoke(app, [*arguments, "--json"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["models"][0]["layers"] == 2
    report = tmp_path / "run/report"
    assert {p.name for p in report.rglob("*.*")} >= {"report.html", "report.md", "report.json", "m0-winners.csv"}


def test_refusals(made: tuple[str, Path], tmp_path: Path) -> None:
    data = write_tsv(tmp_path / "t.tsv", ("a", "b", "y"), [[*pairs()[0], "no"]])
    config = WosConfig(
        data=str(data), texts=("a", "b"), label="y", models=(str(made[1] / "bundle"),), out=str(tmp_path)
    )
    with pytest.raises(ConfigError, match="tiny has 2 layers of 2 heads"):
        run_heads(config, [1], [(2, 0)])
    with pytest.raises(ConfigError, match="heads join the words of two texts"):
        run_heads(config.model_copy(update={"texts": ("a",)}))
    with pytest.raises(ConfigError, match="'x' is no whole number"):
        CliRunner().invoke(app, ["heads", str(data), "--heads", "x.1"], catch_exceptions=False)
    bundle = read_bundle(made[1] / "bundle")
    assert (bundle.kind, bundle.layers, bundle.heads) == ("attention", 2, 2)
    assert bundle.parity["max_abs_dattention"] < 1e-5
    checkpoint = save_classifier("modernbert", tmp_path / "modern", CLASSES)
    with pytest.raises(BundleError, match="heads of modernbert models cannot be silenced"):
        build_bundle(checkpoint, tmp_path / "bundle", task="attention")


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edit_distance_is_a_distance(a: str, b: str) -> None:
    distance = edit_distance(a, b)
    assert distance == edit_distance(b, a) and (distance == 0) == (a == b)
    assert abs(len(a) - len(b)) <= distance <= max(len(a), len(b))
    assert edit_distance(a + b, a) == len(b) and edit_distance("x" + a, "x" + b) == distance


def test_similarity_of_words() -> None:
    assert similarity("Cancer,", "cancer") == 1 and similarity(".", ".") == 0
    assert similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)


def test_links_of_less_than_three_words_and_of_none() -> None:
    attention = np.full((2, 3, 3), 1 / 3, np.float32)
    side, word = np.array([0, 1, -1]), np.array([0, 0, -1])
    start, goal, weight = strongest_links(attention, side, word)
    assert start.tolist() == goal.tolist() == [[0, -1, -1]] * 2 and weight[0, 0] == pytest.approx(1 / 3)
    assert strongest_links(attention, np.zeros(3, int), np.arange(3))[0].tolist() == [[-1] * 3] * 2


def test_what_is_silenced_is_addressed() -> None:
    found = silences([5, 1, 0], [1, 3, 9], 3, 4, seed=0)
    assert [s.name for s in found] == [
        "none", "1 that win most", "1 by lot", "3 that win most", "3 by lot", "9 by lot", "first layer", "all",
    ]  # fmt: skip
    assert found[1].heads == ((1, 1),) and found[3].heads == ((0, 0), (0, 1), (1, 1))
    assert set(found[2].heads) < set(found[4].heads) < set(found[5].heads) and len(set(found[5].heads)) == 9
    assert found[5].heads != silences([], [9], 3, 4, seed=1)[1].heads


def test_runs_are_a_type(made: tuple[str, Path]) -> None:
    assert Finished({"problems": ["x"]}, "").complete is False
