"""Word attribution: LIME's weights by another way, on classifiers of which it is known what a word is worth."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from typer.testing import CliRunner

from evaluator.errors import ConfigError, DatasetError
from evaluator.stages.finished import Finished
from evaluator.wos.attribution import Words, rank_agreement, samples_of, top_word, word_weights
from evaluator.wos.attribution_run import run_attribution
from evaluator.wos.cli import app
from evaluator.wos.lexicon import read_lexicon
from evaluator.wos.settings import WosConfig
from evaluator.wos.words import units_of
from tests.wos.conftest import made_up, write_tsv
from tests.wos.fake_classifiers import Rule, class_of, score_of

Bundles = Callable[..., Path]


def plain_weights(kept: np.ndarray, probability: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The same weights as one least-squares problem: weighted rows, then a row of penalty per word, none for a."""
    rows, target = [], []
    full = np.ones(kept.shape[1])
    for z, p in zip(kept.astype(float), probability, strict=True):
        cosine = z @ full / (np.linalg.norm(z) * np.linalg.norm(full)) if z.any() else 0.0
        root = np.exp(-((100 * (1 - cosine)) ** 2) / 25**2) ** 0.25
        rows.append(root * np.array([1, *z]))
        target.append(root * p)
    for i in range(kept.shape[1]):
        rows.append(np.eye(kept.shape[1] + 1)[i + 1])
        target.append(0.0)
    solution: np.ndarray = np.linalg.lstsq(np.array(rows), np.array(target), rcond=None)[0]  # type: ignore[type-arg]
    return solution[1:]


@given(st.integers(1, 9), st.integers(0, 2**32), st.integers(5, 60))
def test_weights_are_those_of_least_squares(words: int, key: int, samples: int) -> None:
    kept = samples_of(np.uint64(key), words, samples)
    probability = np.random.default_rng(key).random(samples)
    assert word_weights(kept, probability) == pytest.approx(plain_weights(kept, probability), abs=1e-9)


def test_samples_are_addressed_and_uniform_in_number() -> None:
    kept = samples_of(np.uint64(7), 6, 3000)
    assert kept[0].all() and np.array_equal(kept[:100], samples_of(np.uint64(7), 6, 100))
    sizes = Counter((~kept[1:]).sum(axis=1).tolist())
    assert sorted(sizes) == [1, 2, 3, 4, 5, 6] and all(abs(n - 500) < 110 for n in sizes.values())
    assert np.abs(kept[1:].mean(axis=0) - kept[1:].mean()).max() < 0.04
    assert not np.array_equal(kept, samples_of(np.uint64(8), 6, 3000))


def test_texts_lack_words_and_keep_punctuation() -> None:
    words = Words.of(units_of("He left, at last."), [3, 1, 0, 2, 4])
    kept = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert words.forms == ("He", "left,", "at", "last")
    assert words.texts(kept, shuffled=False) == ["He left, at last.", "left, last.", "."]
    assert words.texts(kept, shuffled=True) == ["last left, He at.", "last left,.", "."]


def run(data: Path, bundle: Path, out: Path, **options: Any) -> Finished:
    settings = {"data": str(data), "models": (str(bundle),), "out": str(out), "scoring": {"threads": 1}}
    lexicon = options.pop("lexicon", None)
    samples, n = options.pop("samples", 40), options.pop("n", 12)
    return run_attribution(WosConfig.model_validate({**settings, **options}), samples=samples, n=n, lexicon=lexicon)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Rule], Path]:
    folder = tmp_path_factory.mktemp("data")

    def get(rule: Rule) -> Path:
        rows = [[" ".join(w) + " .", class_of(rule, w)] for w in made_up(60, 11)]
        return write_tsv(folder / f"{rule}.tsv", ("text", "label"), rows)

    return get


def test_words_of_a_bag_are_worth_the_same_in_any_order(
    bundles: Bundles, data: Callable[[Rule], Path], tmp_path: Path
) -> None:
    result = run(data("bag"), bundles("bag"), tmp_path / "run")
    found = result.document["models"][0]
    assert found["n"] == 12 and found["top_same"]["value"] == 1.0
    assert found["rank_agreement"]["median"] == pytest.approx(1.0)
    assert all(r["weights"]["orig"] == r["weights"]["ngram1"] for r in found["examples"])


def test_every_weight_from_the_texts_alone(bundles: Bundles, data: Callable[[Rule], Path], tmp_path: Path) -> None:
    lexicon = {"alpha": "positive", "beta": "negative"}
    result = run(data("bag"), bundles("bag"), tmp_path / "run", lexicon=lexicon)
    found = result.document["models"][0]
    files = sorted((tmp_path / "run/samples-bag/items").glob("*.arrow"))
    items = [r for f in files for r in pa.ipc.open_file(f).read_all().to_pylist()]
    for row in found["examples"]:
        own = [i["text"].split() for i in items if (i["example"], i["condition"]) == (row["example"], "ngram1")]
        assert len(own) == 40 and Counter(own[0]) == Counter([*row["words"], "."])
        kept = np.array([[w in text for w in row["words"]] for text in own])
        score = np.array([score_of("bag", text) for text in own])
        p_yes = np.exp(score) / (np.exp(score) + np.exp(0.25))
        weights = plain_weights(kept, p_yes if row["label"] == "yes" else 1 - p_yes)
        assert row["weights"]["ngram1"] == pytest.approx(weights, abs=1e-5)
        assert row["top"]["orig"] == row["words"][top_word(np.array(row["weights"]["orig"]))]
    tops = [(lexicon.get(r["top"]["orig"]), r["label"]) for r in found["examples"]]
    for row in found["polarity"]:
        own = [label for polarity, label in tops if polarity == row["polarity"]]
        assert row["n"] == len(own)
        assert row["share"] == (own.count(row["label"]) / len(own) if own else None)
    again = run(data("bag"), bundles("bag"), tmp_path / "run", lexicon=lexicon)
    assert again.document == result.document
    page = (tmp_path / "run/report/report.html").read_text("utf-8")
    assert "Word attribution" in page and "rank agreement" in page


def test_words_of_an_order_change_their_worth(bundles: Bundles, data: Callable[[Rule], Path], tmp_path: Path) -> None:
    found = run(data("order"), bundles("order"), tmp_path / "run", samples=200).document["models"][0]
    assert found["rank_agreement"]["median"] < 0.95
    assert {r["top"]["orig"] for r in found["examples"]} & {"alpha", "beta"}


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=3, max_size=8))
def test_agreement_is_spearmans(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(c).round(12) for c in zip(*pairs, strict=True))
    found = rank_agreement(a, b)
    if len(set(a.tolist())) == 1 or len(set(b.tolist())) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(a, b).statistic)


def test_the_command_and_its_mistakes(bundles: Bundles, data: Callable[[Rule], Path], tmp_path: Path) -> None:
    words = tmp_path / "words.tsv"
    words.write_text("; a comment\nAlpha\tpositive\nbeta\tnegative\n", encoding="utf-8")
    assert read_lexicon(words) == {"alpha": "positive", "beta": "negative"}
    arguments = ["attribute", str(data("bag")), "-m", str(bundles("bag")), "--out", str(tmp_path / "run"), "--n", "4"]
    arguments += ["--samples", "20", "--lexicon", str(words), "--threads", "1", "--progress", "none", "--json"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    answer = json.loads(shown.stdout)
    assert answer["ok"] and len(answer["models"][0]["polarity"]) == 4 and "examples" not in answer["models"][0]
    words.write_text("alpha\tgood\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"words.tsv:1: 'alpha\\tgood' is no word with its polarity"):
        read_lexicon(words)
    words.write_text("alpha\tpositive\nALPHA\tnegative\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"words.tsv:2: 'ALPHA' is both positive and negative"):
        read_lexicon(words)
    with pytest.raises(ConfigError, match="predicts a number, and no class"):
        run(data("bag"), bundles("number", labels=("distance",)), tmp_path / "numbers")
