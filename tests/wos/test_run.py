"""The whole flow on classifiers whose answers follow from the words: every figure is worked out anew from the texts."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from evaluator.errors import BundleError, ConfigError, DatasetError, StoreError
from evaluator.stages.finished import Finished
from evaluator.wos.labels import golds_of
from evaluator.wos.settings import WosConfig
from tests.fake_bundle import make_fake_bundle
from tests.wos.conftest import made_up, write_tsv, wrong_some
from tests.wos.fake_classifiers import Rule, class_of, make_classifier, score_of

Run = Callable[..., Finished]
Bundles = Callable[..., Path]


def outcomes(result: Finished) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(Path(result.folder) / "report/outcomes.parquet").to_pylist()
    return rows


def row(result: Finished, condition: str, *, both: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = next(
        r for r in result.document["rows"] if r["condition"] == condition and r["both"] == both
    )
    return found


def words(text: str) -> list[str]:
    return text.replace(" .", "").split()


@pytest.mark.parametrize(("rule", "low", "high"), [("bag", 0.0, 0.0), ("order", 0.8, 1.2)])
def test_sensitivity_is_what_the_rule_makes_it(
    run: Run, bundles: Bundles, tmp_path: Path, rule: Rule, low: float, high: float
) -> None:
    texts = made_up(160, 2)
    rows = [[" ".join(w) + " .", wrong_some(class_of(rule, w), i)] for i, w in enumerate(texts)]
    data = write_tsv(tmp_path / "t.tsv", ("sentence", "label"), rows)
    result = run(data, [bundles(rule)], texts=("sentence",))
    assert result.complete
    found = row(result, "ngram1")
    assert low <= found["wos"] <= high and found["wos_ci"][0] <= found["wos"] <= found["wos_ci"][1]
    assert found["chance"] == 0.5 and found["original"] == 1.0


def test_every_figure_from_the_texts_alone(run: Run, bundles: Bundles, single: Path) -> None:
    result = run(single, [bundles("order")], texts=("sentence",), draws=4)
    said = outcomes(result)
    for o in said:
        if "alpha" in o["text"]:
            assert o["predicted"] == ("no", "yes")[class_of("order", words(o["text"]))], o["text"]
        assert o["correct"] == (o["predicted"] == ("no", "yes")[int(o["label"])])
        assert (o["p_label"] == o["p_predicted"]) == o["correct"]
    orig = {o["example"]: o for o in said if o["condition"] == "orig"}
    shuffled = [o for o in said if o["condition"] == "ngram2"]
    assert Counter(o["example"] for o in shuffled) == dict.fromkeys(range(117), 4)
    right = {e for e, o in orig.items() if o["correct"] and e < 117}
    by_class = Counter(orig[e]["label"] for e in right)
    dev_r = {o["example"] for o in said if o["dev_r"]}
    assert dev_r <= right
    assert Counter(orig[e]["label"] for e in dev_r) == dict.fromkeys(by_class, min(by_class.values()))
    p = np.mean([o["correct"] for o in shuffled if o["example"] in dev_r])
    found = row(result, "ngram2")
    assert found["n"] == len(dev_r) and found["shuffled"] == pytest.approx(p)
    assert found["wos"] == pytest.approx((100 - 100 * p) / 50)
    assert np.mean(found["per_draw"]) == pytest.approx(p) and len(found["per_draw"]) == 4
    assert found["full_n"] == 117
    assert found["full_original"] == pytest.approx(np.mean([orig[e]["correct"] for e in range(117)]))
    assert found["full_shuffled"] == pytest.approx(np.mean([o["correct"] for o in shuffled]))
    for kept in result.document["kept"]:
        if kept["condition"] == "ngram2":
            label = str(("no", "yes").index(kept["label"]))
            own = [o["correct"] for o in shuffled if o["example"] in right and o["label"] == label]
            assert kept["kept"] == pytest.approx(np.mean(own)) and kept["n"] == by_class[label]
    steps = {s["step"]: s["n"] for s in result.document["steps"]}
    assert list(steps.values()) == [120, 119, 118, 117, 117, 117, len(right), len(dev_r)]
    assert result.document["counts"]["excluded"] == {"several_sentences": 1, "too_short": 1, "unchangeable": 1}


def test_results_do_not_depend_on_shards_batches_or_a_second_start(
    run: Run, bundles: Bundles, single: Path, tmp_path: Path
) -> None:
    whole = run(single, [bundles("order")], texts=("sentence",), draws=2, out=str(tmp_path / "whole"))
    small = {"threads": 1, "shard_rows": 50, "max_batch_pieces": 40}
    parts = run(single, [bundles("order")], texts=("sentence",), draws=2, scoring=small, out=str(tmp_path / "parts"))
    assert whole.document["rows"] == parts.document["rows"]
    shards = sorted(Path(parts.folder).glob("scored/*/part-*.arrow"))
    assert len(shards) > 2
    before = {s: s.stat().st_mtime_ns for s in shards}
    shards[1].unlink()
    content = bytearray(shards[0].read_bytes())
    content[len(content) // 2] ^= 0xFF
    shards[0].write_bytes(content)
    again = run(single, [bundles("order")], texts=("sentence",), draws=2, scoring=small, out=str(tmp_path / "parts"))
    assert again.document["rows"] == whole.document["rows"]
    assert [s for s in shards if s.stat().st_mtime_ns == before[s]] == shards[2:]


def test_equal_inputs_are_scored_once(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    data = write_tsv(tmp_path / "t.tsv", ("text", "label"), [["alpha w1 w2 beta", 1]] * 5)
    result = run(data, [bundles("order")], draws=20, orders=("ngram3",))
    distinct = {o["text"] for o in outcomes(result)}
    assert result.document["counts"]["unique_rows"] == {"order": len(distinct)}
    assert distinct == {"alpha w1 w2 beta", "beta alpha w1 w2"}


def test_pairs_change_the_input_that_is_named_and_both(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    one, two = made_up(60, 5), made_up(60, 6)
    rows = [[" ".join(a), " ".join(b), class_of("bag", a + b)] for a, b in zip(one, two, strict=True)]
    data = write_tsv(tmp_path / "p.tsv", ("first", "second", "y"), rows)
    result = run(data, [bundles("bag")], texts=("first", "second"), label="y", change="second", draws=3)
    for o in outcomes(result):
        first, second = one[o["example"]], two[o["example"]]
        assert Counter(o["text"].split()) == Counter(first) and Counter(o["other"].split()) == Counter(second)
        assert (o["text"].split() != first) == o["both"]
        assert (o["other"].split() != second) == (o["condition"] != "orig")
    assert {(r["condition"], r["both"], r["wos"]) for r in result.document["rows"]} >= {
        ("ngram1", False, 0.0), ("ngram1", True, 0.0), ("ngram3", True, 0.0)
    }  # fmt: skip
    assert all(r["full_shuffled"] == r["full_original"] for r in result.document["rows"])


def test_more_than_two_classes_have_another_chance(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    labels = ("nought", "one", "two", "three")
    texts = made_up(200, 7)
    rows = [[" ".join(w), labels[class_of("order", w, 4)]] for w in texts]
    data = write_tsv(tmp_path / "t.tsv", ("text", "label"), rows)
    result = run(data, [bundles("order", labels=labels)], draws=5)
    found = row(result, "ngram1")
    assert found["classes"] == 4 and found["chance"] == 0.25 and found["n"] % 4 == 0
    dev_r = [o for o in outcomes(result) if o["dev_r"] and o["condition"] == "ngram1"]
    p = np.mean([labels[class_of("order", o["text"].split(), 4)] == o["label"] for o in dev_r])
    assert found["wos"] == pytest.approx((1 - p) / 0.75)


def test_regression_loses_rank_correlation(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    texts = made_up(80, 8)
    rng = np.random.default_rng(0)
    rows = [[" ".join(w), f"{score_of('order', w) + rng.normal():.3f}"] for w in texts]
    data = write_tsv(tmp_path / "t.tsv", ("text", "label"), rows)
    numbers = bundles("number", labels=("distance",))
    result = run(data, [numbers], draws=3, statistics={"resamples": 200})
    found = row(result, "ngram1")
    gold = [float(r[1]) for r in rows]
    before = spearmanr([score_of("order", w) for w in texts], gold).statistic
    by_draw = []
    for draw in range(3):
        own = sorted(
            (o["example"], o["text"]) for o in outcomes(result) if (o["condition"], o["draw"]) == ("ngram1", draw)
        )
        by_draw.append(spearmanr([score_of("order", t.split()) for _, t in own], gold).statistic)
    assert found["measure"] == "spearman" and found["original"] == pytest.approx(before)
    assert found["per_draw"] == pytest.approx(by_draw)
    assert found["wos"] == pytest.approx((before - np.mean(by_draw)) / before)
    assert found["wos_ci"][0] < found["wos"] < found["wos_ci"][1]
    assert "Spearman" in (Path(result.folder) / "report/report.md").read_text("utf-8")


def test_what_does_not_fit_or_fails_is_counted_and_takes_no_part(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    texts = [*made_up(30, 9), ["alpha", "beta", *(f"w{i}" for i in range(12))]]
    data = write_tsv(tmp_path / "t.tsv", ("text", "label"), [[" ".join(w), class_of("order", w)] for w in texts])
    short = bundles("order", max_pieces=13, name="short")
    result = run(data, [short], draws=2, out=str(tmp_path / "short"))
    counts = result.document["counts"]
    longest = [w for w in texts if len(w) > 11]
    assert counts["skipped"] == {"too_long": len([o for o in outcomes(result) if len(o["text"].split()) > 11])}
    assert row(result, "ngram1")["full_n"] == len(texts) - len(longest)
    broken = run(data, [bundles("order", nan_on="w3", name="broken")], draws=2, out=str(tmp_path / "broken"))
    assert not broken.complete and broken.document["problems"] == [
        f"{broken.document['counts']['failed']} inputs failed"
    ]
    assert {o["reason"] for o in outcomes(broken) if "w3" in o["text"].split()} == {"non_finite"}
    assert row(broken, "ngram1")["full_n"] == sum("w3" not in w for w in texts)


def test_two_models_are_measured_side_by_side(run: Run, bundles: Bundles, single: Path) -> None:
    result = run(single, [bundles("bag"), bundles("order")], texts=("sentence",), draws=2)
    assert [r["model"] for r in result.document["rows"]] == ["bag"] * 4 + ["order"] * 4
    report = Path(result.folder) / "report"
    names = {p.relative_to(report).as_posix() for p in report.rglob("*") if p.is_file()}
    assert {"report.json", "report.html", "report.md", "outcomes.parquet", "tables/rows-exact.csv"} <= names
    assert {f"tables/{t}.{s}" for t in ("sensitivity", "unfiltered", "kept", "steps") for s in ("csv", "tex")} <= names
    assert json.loads((report / "report.json").read_text("utf-8"))["rows"] == result.document["rows"]


def test_nouns_of_a_treebank_are_swapped_by_their_tags(run: Run, bundles: Bundles, tmp_path: Path) -> None:
    tagged = [("alpha", "NOUN"), ("w1", "VERB"), ("beta", "NOUN"), ("w2", "ADP"), ("w3", "NOUN"), (".", "PUNCT")]
    lines = "".join(f"{i}\t{w}\t{w}\t{t}\t_\t_\t{i - 1}\tdep\t_\t_\n" for i, (w, t) in enumerate(tagged, 1))
    data = tmp_path / "t.conllu"
    data.write_text(f"# sent_id = 1\n# label = yes\n{lines}\n", encoding="utf-8")
    result = run(data, [bundles("order")], draws=20)
    assert result.document["nouns"] == "the treebank's own tags"
    swapped = {o["text"] for o in outcomes(result) if o["condition"] == "noun_swap"}
    assert swapped == {"beta w1 alpha w2 w3 .", "w3 w1 beta w2 alpha .", "alpha w1 w3 w2 beta ."}
    kept = next(k for k in result.document["kept"] if (k["condition"], k["label"]) == ("noun_swap", "yes"))
    own = [class_of("order", words(o["text"])) for o in outcomes(result) if o["condition"] == "noun_swap"]
    assert kept["kept"] == pytest.approx(np.mean(own)) and row(result, "ngram1")["reason"] == "one_class"


@pytest.mark.parametrize(
    ("labels", "names", "model", "expected"),
    [
        (["0", "1"], (), ("LABEL_0", "LABEL_1"), [0, 1]),
        (["1.0", "0"], (), ("no", "yes"), [1, 0]),
        (["Yes", "no"], (), ("no", "yes"), [1, 0]),
        (
            ["0", "1", "2"],
            ("entailment", "neutral", "contradiction"),
            ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
            [2, 1, 0],
        ),
        (["0", "1"], ("a", "b"), ("LABEL_0", "LABEL_1"), [0, 1]),
        (["1", "0"], (), ("1", "0"), [0, 1]),
    ],
)
def test_labels_are_matched_by_name_then_by_number(
    labels: list[str], names: tuple[str, ...], model: tuple[str, ...], expected: list[int], tmp_path: Path
) -> None:
    bundle = make_classifier(tmp_path, "bag", labels=model)
    examples = pa.table({"label": labels, "source": [f"f:{i}" for i in range(len(labels))]})
    assert golds_of(examples, bundle, WosConfig(data="x.tsv"), names).tolist() == expected


def test_published_numbers_stand_beside_ours(run: Run, bundles: Bundles, single: Path) -> None:
    result = run(single, [bundles("order")], texts=("sentence",), draws=1, published="cola")
    page = (Path(result.folder) / "report/report.html").read_text("utf-8")
    assert "Published for cola" in page and "public repository" in page and "50.69" in page


def test_mistakes_are_one_line(run: Run, bundles: Bundles, single: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model"):
        run(single, [], texts=("sentence",))
    make_fake_bundle(tmp_path / "masked")
    with pytest.raises(BundleError, match="a bundle of kind fill-mask, expected text-classification"):
        run(single, [tmp_path / "masked"], texts=("sentence",))
    run(single, [bundles("bag")], texts=("sentence",), draws=1)
    with pytest.raises(StoreError, match=r"other settings \(draws differ"):
        run(single, [bundles("bag")], texts=("sentence",), draws=2)
    data = write_tsv(
        tmp_path / "t.tsv", ("text", "label"), [["alpha beta w1 w2", "yes"], ["alpha beta w1 w2", "perhaps"]]
    )
    with pytest.raises(DatasetError, match=r"t.tsv:3: label 'perhaps' is none of bag's classes no, yes"):
        run(data, [bundles("bag")], out=str(tmp_path / "other"))
    mended = run(data, [bundles("bag")], out=str(tmp_path / "mended"), labels={"perhaps": "no"})
    assert [o["label"] for o in outcomes(mended) if o["condition"] == "orig"] == ["yes", "perhaps"]
    with pytest.raises(DatasetError, match=r"t.tsv:2: label 'yes' is no number"):
        run(data, [bundles("number", labels=("distance",))], out=str(tmp_path / "number"))
