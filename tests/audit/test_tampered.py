"""Each invariant, broken in a copy of a sound run, is found broken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.audit.checks import CHECKS, audit
from tests.audit.tampering import Rows, copied, outcome_rows, replace, report, shard_of, shard_rows

Tamper = Callable[[Path], None]
WAYS: list[tuple[str, Tamper]] = []
"""The check that must notice, and what is done to the run."""


def breaks(*names: str) -> Callable[[Tamper], Tamper]:
    def take(tamper: Tamper) -> Tamper:
        WAYS.extend((name, tamper) for name in names)
        return tamper

    return take


def first(rows: Rows, condition: str, **wanted: Any) -> dict[str, Any]:
    return next(r for r in rows if r["condition"] == condition and all(r[k] == v for k, v in wanted.items()))


def items(run: Path) -> Path:
    return shard_of(run, "items/*.arrow")


def encoded(run: Path, part: str = "rows") -> Path:
    """A shard of the model that shows whole sentences."""
    return shard_of(run, f"encoded/*/{part}-*.arrow", lambda rows: not rows[0].get("windowed"))


@breaks("files_whole")
def half_a_file(run: Path) -> None:
    path = shard_of(run, "scored/*/*.arrow")
    replace(path, path.read_bytes()[:-50])


@breaks("files_whole")
def no_outcomes(run: Path) -> None:
    (run / "report" / "outcomes.parquet").unlink()


@breaks("ids_distinct")
def id_twice(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        rows[1]["item_id"] = rows[0]["item_id"]


@breaks("ids_distinct")
def base_id_of_two_targets(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        rows[5]["target"] = (rows[5]["target"] + 1) % len(rows[5]["order"])


@breaks("same_base_items", "links_resolve", "outcomes_are_items")
def item_lost(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        del rows[3]


@breaks("orders_permute")
def unit_shown_twice(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        rows[4]["order"][0] = rows[4]["order"][1]


@breaks("perturbed_differ", "dose_recounted", "outcomes_are_items")
def scramble_that_changes_nothing(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        first(rows, "full")["order"].sort()


@breaks("head_swaps")
def swaps_that_chain(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        order = first(rows, "head_all")["order"]
        order[:3] = order[1], order[2], order[0]


@breaks("head_swaps")
def heads_that_are_none(run: Path) -> None:
    """The mirror image, twice: two units changed places, but neither is the other's head."""
    with shard_rows(items(run)) as rows:
        item = first(rows, "head")
        item["order"] = sorted(item["order"])[::-1]


@breaks("conditions_kept")
def function_words_permuted(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        item = first(rows, "partial")
        item["order"] = sorted(item["order"])[::-1]


@breaks("conditions_kept")
def window_too_wide(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        order = first(rows, "window3")["order"]
        order.append(order.pop(0))


@breaks("lemma_twins")
def other_order_with_lemmas(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        order = first(rows, "full", lemma=True)["order"]
        order[0], order[1] = order[1], order[0]


@breaks("dose_recounted")
def dose_of_another_order(run: Path) -> None:
    with shard_rows(items(run)) as rows:
        rows[7]["moved"] += 1


@breaks("rows_sorted")
def rows_out_of_order(run: Path) -> None:
    with shard_rows(encoded(run)) as rows:
        rows[0]["ids"], rows[-1]["ids"] = rows[-1]["ids"], rows[0]["ids"]


@breaks("rows_distinct")
def row_twice(run: Path) -> None:
    path = shard_of(run, "encoded/*/rows-*.arrow", lambda rows: len(rows[0]["ids"]) == len(rows[1]["ids"]))
    with shard_rows(path) as rows:
        rows[1]["ids"] = rows[0]["ids"]


@breaks("specials_at_ends")
def special_lost(run: Path) -> None:
    with shard_rows(encoded(run)) as rows:
        rows[2]["ids"][0] = rows[2]["ids"][1]


@breaks("masks_are_masks")
def mask_elsewhere(run: Path) -> None:
    with shard_rows(encoded(run)) as rows:
        row = rows[0]
        other = next(i for i in range(1, len(row["ids"]) - 1) if i not in row["mask_pos"])
        row["ids"][other] = row["ids"][row["mask_pos"][0]]


@breaks("masks_are_masks")
def mask_forgotten(run: Path) -> None:
    with shard_rows(encoded(run)) as rows:
        rows[0]["ids"][rows[0]["mask_pos"][0]] = rows[0]["ids"][1] + 1


@breaks("golds_fill_masks")
def gold_cut_to_its_first_piece(run: Path) -> None:
    path = shard_of(run, "encoded/*/rows-*.arrow", lambda rows: len(rows[0]["golds"][0]) > 1)
    with shard_rows(path) as rows:
        rows[0]["golds"][0] = rows[0]["golds"][0][:1]


@breaks("links_resolve")
def link_to_nowhere(run: Path) -> None:
    with shard_rows(encoded(run, "links")) as rows:
        rows[0]["row"] = 1 << 30


@breaks("links_resolve", "outcomes_are_answers")
def item_lost_for_an_unknown_reason(run: Path) -> None:
    with shard_rows(encoded(run, "links")) as rows:
        rows[0].update(row=None, gold=None, n_masks=None, n_pieces=None, reason="because")


@breaks("gold_same_everywhere", "gold_is_target")
def gold_of_another_word(run: Path) -> None:
    with shard_rows(encoded(run)) as rows:
        for row in rows[:20]:
            row["golds"][0][0] += 1


@breaks("nothing_cut_off", "outcomes_are_answers")
def windows_unsaid(run: Path) -> None:
    path = shard_of(run, "encoded/*/links-*.arrow", lambda rows: any(r["windowed"] for r in rows))
    with shard_rows(path) as rows:
        for row in rows:
            row["windowed"] = False


@breaks("rows_answered")
def answer_lost(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow")) as rows:
        del rows[-1]


@breaks("words_ranked")
def second_word_before_the_first(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow")) as rows:
        words = rows[0]["words"]
        words[0], words[1] = words[1], words[0]
        logp = rows[0]["word_logp"]
        logp[0], logp[1] = logp[1], logp[0]


@breaks("words_ranked")
def word_twice(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow")) as rows:
        rows[0]["words"][3] = rows[0]["words"][0]


@breaks("words_ranked")
def probability_that_is_none(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow")) as rows:
        rows[0]["word_logp"][0] = float("nan")


@breaks("hits_recomputed", "outcomes_are_answers")
def hit_that_was_none(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow", lambda rows: rows[0]["hit"][0] == 0)) as rows:
        rows[0]["hit"][0] = 1


@breaks("ties_flagged")
def tie_unsaid(run: Path) -> None:
    with shard_rows(shard_of(run, "scored/*/*.arrow")) as rows:
        rows[0]["word_logp"][1] = rows[0]["word_logp"][0]
        rows[0]["near_tie"] = False


@breaks("outcomes_are_items")
def outcome_lost(run: Path) -> None:
    with outcome_rows(run) as rows:
        del rows[10]


@breaks("outcomes_are_items")
def outcomes_twice(run: Path) -> None:
    """Loaded from two folders, one inside the other."""
    with outcome_rows(run) as rows:
        rows.extend([dict(row) for row in rows])


@breaks("outcomes_are_items")
def other_order_for_another_model(run: Path) -> None:
    with outcome_rows(run) as rows:
        item = first(rows, "full", model="short")
        item["order"] = item["order"][::-1]


@breaks("outcomes_are_answers")
def wrong_answer_counted_right(run: Path) -> None:
    with outcome_rows(run) as rows:
        next(r for r in rows if r["correct1"] is False).update(correct1=True, correct5=True, place=1)


@breaks("answers_in_lists")
def answers_spelled_in_two_ways(run: Path) -> None:
    with outcome_rows(run) as rows:
        next(r for r in rows if r["pred"])["pred"][0] += "▁"


@breaks("texts_keep_words")
def word_changed(run: Path) -> None:
    with outcome_rows(run) as rows:
        item = first(rows, "full", lemma=False)
        item["text"] = item["text"][:-1] + "ß"


@breaks("texts_keep_words")
def text_that_was_not_changed(run: Path) -> None:
    with outcome_rows(run) as rows:
        item = first(rows, "full", lemma=False)
        same = {"base_id": item["base_id"], "lemma": False, "model": item["model"]}
        item["text"] = first(rows, "orig", **same)["text"]


@breaks("reasons_named", "outcomes_are_answers")
def skipped_counted_as_wrong(run: Path) -> None:
    with outcome_rows(run) as rows:
        rows[0].update(status="skipped", reason="too_long", correct1=False)


@breaks("reasons_named")
def skipped_without_a_reason(run: Path) -> None:
    with outcome_rows(run) as rows:
        nulls = dict.fromkeys(("correct1", "correct5", "place", "near_tie", "pred", "pred_logp"))
        rows[0].update(nulls, status="skipped", reason=None, complete=False)


@breaks("complete_recomputed")
def complete_case_left_out(run: Path) -> None:
    with outcome_rows(run) as rows:
        rows[0]["complete"] = not rows[0]["complete"]


@breaks("items_accounted")
def items_that_vanished(run: Path) -> None:
    with report(run) as document:
        document["counts"]["scored"] -= 1


@breaks("items_accounted")
def reason_renamed(run: Path) -> None:
    with report(run) as document:
        (treebank,) = document["counts"]["treebanks"].values()
        treebank["skipped"]["other"] = 3


@breaks("counts_are_base_items", "cells_recomputed")
def n_counted_twice(run: Path) -> None:
    with report(run) as document:
        for cell in document["cells"]:
            cell["n"] *= 2


@breaks("top5_covers_top1")
def top5_below_top1(run: Path) -> None:
    with report(run) as document:
        document["cells"][0].update(top1=0.5, top5=0.25)


def number_changed(name: str) -> Tamper:
    def tamper(run: Path) -> None:
        with report(run) as document:
            cell = next(c for c in document["cells"] if c["condition"] == "full" and not c["lemma"])
            cell[name] = 0.123 if not isinstance(cell[name], list) else [0.1, 0.2]

    tamper.__name__ = f"{name}_changed"
    return tamper


VALUES = ("top1", "top5", "mean_gold_logp", "n_logp", "D", "S", "I", "I_logp", "I_range", "floor", "masks", "n_items")
WAYS.extend(("cells_recomputed", number_changed(name)) for name in VALUES)


@breaks("cells_recomputed")
def cell_lost(run: Path) -> None:
    with report(run) as document:
        del document["cells"][2]


@breaks("doses_recomputed")
def bin_of_other_accuracy(run: Path) -> None:
    with report(run) as document:
        document["doses"][-1]["top1"] += 0.01


@breaks("doses_recomputed")
def bin_lost(run: Path) -> None:
    with report(run) as document:
        del document["doses"][0]


@breaks("doses_recomputed")
def order_called_nearer_than_it_is(run: Path) -> None:
    with outcome_rows(run) as rows:
        next(row for row in rows if row["condition"] == "full")["kendall_tau"] += 0.01


@breaks("intervals_hold")
def interval_beside_its_estimate(run: Path) -> None:
    with report(run) as document:
        document["cells"][0]["top5_ci"] = [0.991, 0.992]


@breaks("nulls_explained", "cells_recomputed")
def no_data_shown_as_zero(run: Path) -> None:
    with report(run) as document:
        document["cells"][0].update(n=0, top1=0.0, top5=0.0)


@breaks("nulls_explained")
def null_without_a_reason(run: Path) -> None:
    with report(run) as document:
        cell = next(c for c in document["cells"] if c["condition"] == "full" and not c["lemma"])
        cell.update(S=None, reason=None)


@pytest.mark.parametrize(("name", "tamper"), WAYS, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_is_found(name: str, tamper: Tamper, good: Path, tmp_path: Path) -> None:
    run = copied(good, tmp_path / "run")
    tamper(run)
    found = {f.name: f for f in audit(str(run))}
    assert found[name].status == "violated", found[name]
    assert 0 < found[name].bad <= found[name].checked
    assert "first: " in found[name].found


def test_every_check_is_broken_by_something() -> None:
    assert {name for name, _ in WAYS} == set(CHECKS)
