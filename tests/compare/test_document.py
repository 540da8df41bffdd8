"""U11: a run against itself differs nowhere; row order changes nothing; other items are counted or refused."""

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from evaluator.compare.document import Compared, compare_runs, headline, paired_models
from evaluator.compare.match import match
from evaluator.compare.settings import changed
from evaluator.errors import ComparisonError, ConfigError
from evaluator.report.document import canonical_json
from tests.compare.conftest import altered


def test_a_run_against_itself_differs_nowhere(baseline: Compared) -> None:
    document = compare_runs([baseline, baseline])
    [pair] = document["pairs"]
    assert len(pair["cells"]) == 2 * 3 * 2
    for row in pair["cells"]:
        assert (row["delta"], row["p"], row["p_holm"], row["only_a"], row["only_b"]) == (0.0, 1.0, 1.0, 0, 0)
        assert row["decision"] == "undetected" and 0 < row["could_see"] <= 1
        assert all(row[key] in (None, 0.0) for key in ("delta_S", "delta_I", "delta_I_logp"))
    assert any(row["delta_S"] == 0.0 for row in pair["cells"])
    assert pair["examples"] == [] and document["settings"] == []
    assert pair["items"]["shared"] == baseline.outcomes.num_rows and pair["items"]["share"] == 1.0
    assert set(pair["lost"]) == {"incomplete"} and not any(any(only.values()) for only in pair["only"].values())
    json.loads(canonical_json(document))


def test_the_order_of_rows_changes_nothing(baseline: Compared, worse: Compared) -> None:
    rng = np.random.default_rng(5)
    mixed = [
        Compared(run.name, run.report, run.outcomes.take(pa.array(rng.permutation(run.outcomes.num_rows))))
        for run in (baseline, worse)
    ]
    assert canonical_json(compare_runs([baseline, worse])) == canonical_json(compare_runs(mixed))


def test_differences_and_flips_are_counted_as_by_hand(baseline: Compared, worse: Compared) -> None:
    [pair] = compare_runs([baseline, worse])["pairs"]
    b_right = {row["item_id"]: row["correct1"] for row in worse.outcomes.to_pylist()}
    rows = [row for row in baseline.outcomes.to_pylist() if row["complete"]]
    only_a, only_b, n = Counter[object](), Counter[object](), Counter[object]()
    for row in rows:
        keys = ((row["language"], row["condition"], row["lemma"]), row["upos"])
        for key in keys:
            n[key] += 1
            only_a[key] += row["correct1"] and not b_right[row["item_id"]]
            only_b[key] += not row["correct1"] and b_right[row["item_id"]]
    for cell in pair["cells"]:
        key = (cell["language"], cell["condition"], cell["lemma"])
        assert (cell["n"], cell["only_a"], cell["only_b"]) == (n[key], only_a[key], only_b[key])
        assert cell["delta"] == pytest.approx((only_b[key] - only_a[key]) / n[key])
        assert cell["delta"] == pytest.approx(cell["top1_b"] - cell["top1_a"])
        flips = only_a[key] + only_b[key]
        expected = binomtest(only_a[key], flips).pvalue if flips else 1.0  # one pair a sentence: McNemar's exact test
        assert cell["p"] == pytest.approx(expected)
    for row in pair["flips"]["upos"]:
        assert (row["n"], row["only_a"], row["only_b"]) == tuple(c[row["group"]] for c in (n, only_a, only_b))
    lost = next(c for c in pair["cells"] if (c["language"], c["condition"], c["lemma"]) == ("de", "orig", False))
    assert lost["decision"] == "lower" and lost["top1_b"] == 0.0 and lost["could_see"] is None


def test_interaction_in_log_probability_is_compared_as_by_hand(baseline: Compared, worse: Compared) -> None:
    """Each side's mean contrast, item by item; the interval against the normal one of the paired differences."""
    rng = np.random.default_rng(11)
    noise = [None if v is None else v - float(rng.exponential(1.0)) for v in baseline.outcomes["gold_logp"].to_pylist()]
    other = altered(worse, gold_logp=noise)
    [pair] = compare_runs([baseline, other])["pairs"]
    means, by_item = {}, {}
    for side, run in (("a", baseline), ("b", other)):
        logp: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for row in run.outcomes.to_pylist():
            if row["complete"]:
                logp[row["treebank"], row["base_id"], row["condition"], row["lemma"]].append(row["gold_logp"])
        at = {key: float(np.mean(values)) for key, values in logp.items()}
        for cell in (c for c in pair["cells"] if c["condition"] != "orig" and not c["lemma"]):
            name = cell["treebank"], cell["condition"]
            bases = sorted({key[1] for key in at if key[0] == cell["treebank"]}, key=str)
            four = (
                ("orig", False, 1),
                (cell["condition"], False, -1),
                ("orig", True, -1),
                (cell["condition"], True, 1),
            )
            found = [sum(sign * at[cell["treebank"], base, c, lemma] for c, lemma, sign in four) for base in bases]
            means[side, name], by_item[side, name] = float(np.mean(found)), np.array(found)
    assert len(means) == 2 * 2 * 2
    for cell in pair["cells"]:
        if cell["condition"] == "orig" or cell["lemma"]:
            assert cell["delta_I_logp"] is None
            continue
        name = cell["treebank"], cell["condition"]
        assert cell["I_logp_a"] == pytest.approx(means["a", name]) and cell["I_logp_b"] == pytest.approx(
            means["b", name]
        )
        assert cell["delta_I_logp"] == pytest.approx(means["b", name] - means["a", name])
        differences = by_item["b", name] - by_item["a", name]
        half = 1.96 * differences.std(ddof=1) / len(differences) ** 0.5
        low, high = cell["delta_I_logp_ci"]
        assert low <= cell["delta_I_logp"] <= high and high - low == pytest.approx(2 * half, rel=0.25, abs=1e-6)


def test_holm_is_over_every_cell_shown(baseline: Compared, worse: Compared) -> None:
    two = compare_runs([baseline, worse])
    three = compare_runs([baseline, worse, worse])
    first = [[row["p_holm"] for row in document["pairs"][0]["cells"]] for document in (two, three)]
    assert len(three["pairs"]) == 2 and three["pairs"][1]["run"] == "C"
    assert all(b >= a for a, b in zip(*first, strict=True)) and first[0] != first[1]
    smallest = min(row["p"] for row in two["pairs"][0]["cells"])
    assert min(first[0]) == pytest.approx(min(1.0, smallest * 12))
    lower = sum(row["decision"] == "lower" for row in two["pairs"][0]["cells"])
    assert lower and f"lower in {lower}," in headline(two)[0]


def test_examples_are_flips_from_every_direction(baseline: Compared, worse: Compared) -> None:
    [pair] = compare_runs([baseline, worse])["pairs"]
    right = {f"{row['item_id']:016x}": row["correct1"] for row in baseline.outcomes.to_pylist()}
    assert 0 < len(pair["examples"]) <= 60
    assert {row["side"] for row in pair["examples"]} == {"A", "B"}
    assert all(right[row["item_id"]] == (row["side"] == "A") for row in pair["examples"])


def test_other_items_are_left_out_with_their_number(baseline: Compared) -> None:
    sentence = baseline.outcomes["sent_id"].to_numpy(zero_copy_only=False)
    fewer = altered(baseline, keep=sentence >= "n00005")
    [pair] = compare_runs([baseline, fewer])["pairs"]
    gone = int((sentence < "n00005").sum())
    assert pair["lost"]["only_a"] == gone and pair["items"]["shared"] == len(sentence) - gone
    assert pair["items"]["share"] == pytest.approx(1 - gone / len(sentence))
    assert all(row["delta"] == 0 and row["n"] == 56 - 5 for row in pair["cells"])


def test_too_few_shared_items_are_refused_unless_asked_for(baseline: Compared) -> None:
    sentence = baseline.outcomes["sent_id"].to_numpy(zero_copy_only=False)
    few = altered(baseline, keep=sentence < "n00010")
    with pytest.raises(ComparisonError, match=r"asked 120 items alike, 17\.2 % of all, under 50 %") as error:
        compare_runs([baseline, few])
    assert error.value.exit_code == 1
    assert compare_runs([baseline, few], min_shared=0.1)["pairs"][0]["items"]["shared"] == 120
    foreign = altered(baseline, item_id=[row["item_id"] ^ 1 for row in baseline.outcomes.to_pylist()])
    with pytest.raises(ComparisonError):
        compare_runs([baseline, foreign], min_shared=0.0)


def test_an_item_asked_otherwise_is_not_the_same_item(baseline: Compared) -> None:
    rows = baseline.outcomes.to_pylist()
    perturbed = [i for i, row in enumerate(rows) if row["condition"] == "full"]
    orders = [row["order"][::-1] if i == perturbed[0] else row["order"] for i, row in enumerate(rows)]
    targets = [row["target"] + (i == perturbed[1]) for i, row in enumerate(rows)]
    texts = [row["text"] + (" " if i == perturbed[2] else "") for i, row in enumerate(rows)]
    golds = [row["gold"] + ("s" if i == perturbed[3] else "") for i, row in enumerate(rows)]
    other = altered(baseline, order=orders, target=targets, text=texts, gold=golds)
    found = match(baseline.outcomes, other.outcomes)
    assert {why: n for why, n in found.lost.items() if why.startswith("other_")} == {
        "other_target": 1, "other_order": 1, "other_text": 1, "other_gold": 1,
    }  # fmt: skip
    assert found.shared == len(rows) - 4 and found.share == pytest.approx((len(rows) - 4) / len(rows))


def test_a_report_without_text_can_be_compared(baseline: Compared, worse: Compared) -> None:
    bare = Compared("bare", worse.report, worse.outcomes.drop_columns(["text", "gold", "pred"]))
    document = compare_runs([baseline, bare])
    with_text = compare_runs([baseline, worse])
    assert document["pairs"][0]["cells"] == with_text["pairs"][0]["cells"]


def test_models_meet_by_name_or_as_told(baseline: Compared) -> None:
    renamed = altered(baseline, model=["other"] * baseline.outcomes.num_rows)
    assert paired_models(baseline, baseline, ()) == [("mlm-base", "mlm-base")]
    assert paired_models(baseline, renamed, ()) == [("mlm-base", "other")]
    assert paired_models(baseline, renamed, ["mlm-base:other"]) == [("mlm-base", "other")]
    with pytest.raises(ConfigError, match="no model 'x'"):
        paired_models(baseline, renamed, ["x"])


def test_only_changed_settings_are_listed() -> None:
    a = {"config": {"k": 5, "sample": {"n": 400}}, "models": [{"name": "m", "precision": "fp32"}], "wall_s": {"x": 1}}
    b = {"config": {"k": 5, "sample": {"n": 500}}, "models": [{"name": "m", "precision": "int8"}], "wall_s": {"x": 2}}
    assert changed([a, b]) == [
        {"key": "config.sample.n", "values": [400, 500]},
        {"key": "models.m.precision", "values": ["fp32", "int8"]},
    ]
    assert changed([a, a, a]) == []


def test_precision_that_differs_is_said(baseline: Compared) -> None:
    manifest = json.loads(json.dumps(baseline.report["manifest"]))
    manifest["models"][0]["precision"] = "int8"
    other = Compared("int8", {**baseline.report, "manifest": manifest}, baseline.outcomes)
    document = compare_runs([baseline, other])
    assert document["pairs"][0]["notes"] == ["precision: fp32 against int8"]
    assert [row["key"] for row in document["settings"]] == ["models.mlm-base.precision"]
