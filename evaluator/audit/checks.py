"""Every check of the audit, in the order in which data flows: a stable name, what it looks at, and how."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluator.audit import answers, inputs, joined, lengths, orders, reported
from evaluator.audit.finding import Finding, Outcome, Tally, finding
from evaluator.audit.tables import RunTables, read_tables


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant."""

    what: str
    """What it looks at, in the plural."""
    find: Callable[[RunTables], Outcome]

    @property
    def rule(self) -> str:
        """The rule in a sentence: the first line of the check's documentation."""
        return (self.find.__doc__ or "").strip().partition("\n")[0]


CHECKS: dict[str, Check] = {
    "files_whole": Check("files", orders.files_whole),
    "ids_distinct": Check("items", orders.ids_distinct),
    "orders_permute": Check("items", orders.orders_permute),
    "same_base_items": Check("base items", orders.same_base_items),
    "perturbed_differ": Check("items", orders.perturbed_differ),
    "head_swaps": Check("items of head and head_all", orders.head_swaps),
    "conditions_kept": Check("items of other conditions with a rule", orders.conditions_kept),
    "lemma_twins": Check("items with +L", orders.lemma_twins),
    "dose_recounted": Check("items", orders.dose_recounted),
    "rows_sorted": Check("rows", inputs.rows_sorted),
    "rows_distinct": Check("rows", inputs.rows_distinct),
    "specials_at_ends": Check("rows", inputs.specials_at_ends),
    "masks_are_masks": Check("rows", inputs.masks_are_masks),
    "golds_fill_masks": Check("rows", inputs.golds_fill_masks),
    "links_resolve": Check("links", inputs.links_resolve),
    "gold_same_everywhere": Check("items", inputs.gold_same_everywhere),
    "gold_is_target": Check("items", inputs.gold_is_target),
    "nothing_cut_off": Check("items", lengths.nothing_cut_off),
    "rows_answered": Check("rows", answers.rows_answered),
    "words_ranked": Check("rows", answers.words_ranked),
    "hits_recomputed": Check("golds", answers.hits_recomputed),
    "ties_flagged": Check("rows", answers.ties_flagged),
    "outcomes_are_items": Check("outcomes", joined.outcomes_are_items),
    "outcomes_are_answers": Check("outcomes", joined.outcomes_are_answers),
    "answers_in_lists": Check("scored outcomes", joined.answers_in_lists),
    "texts_keep_words": Check("outcomes without +L", joined.texts_keep_words),
    "reasons_named": Check("outcomes", joined.reasons_named),
    "complete_recomputed": Check("outcomes", reported.complete_recomputed),
    "items_accounted": Check("counts", reported.items_accounted),
    "counts_are_base_items": Check("counts", reported.counts_are_base_items),
    "top5_covers_top1": Check("cells and breakdowns", reported.top5_covers_top1),
    "cells_recomputed": Check("values", reported.cells_recomputed),
    "doses_recomputed": Check("correlations and bins of them", reported.doses_recomputed),
    "intervals_hold": Check("intervals", reported.intervals_hold),
    "nulls_explained": Check("cells", reported.nulls_explained),
}


def audit(place: str) -> Iterator[Finding]:
    """The findings on the run at `place`, one per check. Errors: StoreError when it is no run folder."""
    tables = read_tables(place)
    for name, check in CHECKS.items():
        yield finding(name, check.what, _outcome(check, tables))


def _outcome(check: Check, tables: RunTables) -> Outcome:
    """What the check finds; tables that do not fit together are a violation, never a crash."""
    try:
        return check.find(tables)
    except (IndexError, KeyError, TypeError, ValueError) as error:  # numpy and JSON raise these on what does not fit
        return Tally(1, 1, f"the tables do not fit together: {type(error).__name__}: {error}")
