"""Every code that a run can leave an item, a sentence or a number with, each with one sentence: the only list of them.

python -m evaluator.reasons     prints them as the tables in README
"""

from collections.abc import Mapping

from evaluator import errors
from evaluator.reduce.block import REASONS as CELL_REASONS
from evaluator.wos.measures import REASONS as WOS_REASONS

ITEM_REASONS: dict[str, str] = {
    "not_expressible": "the word holds a piece unknown to the model: scored, never a hit",
    "no_pieces": "the tokenizer makes nothing of the word: skipped",
    "special_token_text": "the sentence's text is cut into a special piece such as `[SEP]`: skipped",
    "too_long": "the word alone does not fit the model: skipped (a long sentence is shown as a window around its word)",
    "non_finite": "the model answered NaN or infinity: failed; see precision and hardware",
    "not_scored": "its shard was never finished: failed; give the same command again",
    "worker_died": "the row killed the process that scored it, alone and repeatedly: failed",
    "worker_error": "the graph raised an error on this row alone: failed",
}
"""Reasons of items, in the outcomes and `counts.skipped`."""

BASE_ITEM_REASONS: dict[str, str] = {
    "withheld": "every form is `_`: the treebank comes without its text",
    "too_short": "fewer units than `sample.min_units`",
    "too_long": "more units than `sample.max_units`, or more than any order can hold",
    "lemma_missing": "+L is asked and a unit has no lemma",
    "no_target": "no unit of the parts of speech in `sample.upos` outside multiword tokens, with a lemma",
    "unperturbable:CONDITION": "no order under this condition changes the text: the base item leaves all cells",
    "not_aligned": "lacking or unusable in another of the parallel treebanks",
    "not_drawn": "usable, and not among the n that were drawn",
}
"""Reasons of (sentence, seed) pairs without items, in `manifest.excluded`."""

EXAMPLE_REASONS: dict[str, str] = {
    "too_short": "the input that is reordered has at most three words",
    "several_sentences": "it seems to hold more than one sentence, and `sentences` is one",
    "unchangeable": "a block order of the run cannot change it",
    "too_long": "one of its orders is longer than the model can read: nothing is cut, the example leaves as a whole",
    "failed": "the model gave no finite answer to one of its orders",
}
"""Reasons of examples of a classification task that take no part in shuffling, in `steps` and `counts.excluded`."""

DAMAGE: dict[str, str] = {
    "bad_utf8": "bytes that are not UTF-8",
    "carriage_return": "a carriage return inside a line",
    "field_count_N": "N fields instead of 10; only TAB separates",
    "empty_field": "an ID or FORM of no characters (any other empty field is read as missing)",
    "id_format": "an ID that is no number, `n-m` or `n.k`",
    "id_sequence": "word IDs that do not count 1, 2, 3 …",
    "range_overlap": "multiword ranges that overlap",
    "range_inverted": "a range that ends before it starts",
    "range_position": "a range that does not stand before its first word",
    "range_unfinished": "a range that ends after the last word",
    "empty_node_sequence": "empty nodes that do not count n.1, n.2 …",
    "no_words": "lines, and no word among them",
    "too_many_words": "more words than an order can hold (32,767)",
}
"""Reader codes of sentences that are excluded."""

REFUSALS: dict[str, str] = {
    "compressed_file": "an archive: unpack it first",
    "not_utf8_utf16": "UTF-16: save it as UTF-8",
    "not_utf8_utf32": "UTF-32: save it as UTF-8",
    "cr_line_ends": "CR line ends only: save it with LF",
    "no_text": "every FORM is `_`: get the licensed text first",
}
"""Reader codes of files that are not read at all."""

REMARKS: dict[str, str] = {
    "bom": "a byte order mark, dropped",
    "crlf": "CR LF line ends, read as LF",
    "no_final_blank_line": "no empty line at the end; the last sentence is kept",
    "whitespace_in_blank_line": "white space in a blank line, read as the end of a sentence",
    "comments_without_tokens": "comments that belong to no sentence",
    "comment_inside_sentence": "a comment between words; the sentence is not split",
    "nul_byte": "a NUL byte, kept",
    "control_character": "a control character, kept",
    "whitespace_form": "a FORM of white space, never a target",
    "sent_id_count_N": "N sent_id comments instead of 1",
    "sent_id_repeated": "a sent_id used before: the sentence is named by its place",
    "text_missing": "no `# text`: built from the forms",
    "text_repeated": "several `# text`: built from the forms",
    "text_mismatch": "`# text` differs from the forms, which count",
    "feats_malformed": "FEATS that are not Name=Value items, kept",
    "head_not_number": "a HEAD that is no number: unattached",
    "head_out_of_range": "a HEAD beyond the sentence: unattached",
    "cycle": "heads in a cycle: not a tree",
    "roots_N": "N roots instead of 1: not a tree",
    "units_not_a_tree": "a tree of words whose units are none",
}
"""Reader codes of sentences that are kept; what needs a tree passes those that are none by."""


COMMAND_CODES: dict[str, str] = {
    "usage": "exit 2: a command, argument or flag that does not exist",
    "interrupted": "exit 130: stopped by Ctrl-C; finished shards are kept",
}
"""Codes of errors that come from the command line itself."""


def error_codes() -> dict[str, str]:
    """Code → what it says, of every error class a user can meet, in the order of the tree in `evaluator.errors`."""
    base = errors.MorphorderError
    found = {base.code: f"exit {base.exit_code}: something failed that is not your doing"}
    waiting: list[type[errors.MorphorderError]] = base.__subclasses__()
    while waiting:
        kind = waiting.pop(0)
        said = (kind.__doc__ or "").splitlines()[0].rstrip(".")
        found.setdefault(kind.code, f"exit {kind.exit_code}: {said[:1].lower()}{said[1:]}")
        waiting[:0] = [k for k in kind.__subclasses__() if k.__module__ == errors.__name__]
    return found | COMMAND_CODES


def tables() -> dict[str, Mapping[str, str]]:
    """Every table by its caption, in the order in which somebody would meet them."""
    return {
        "A command that ends with an error (`error.code` under `--json`)": error_codes(),
        "A file that `check` refuses": REFUSALS,
        "A sentence that is excluded": DAMAGE,
        "A sentence that is kept, with a remark": REMARKS,
        "A sentence without items (`manifest.excluded`)": BASE_ITEM_REASONS,
        "An item (`reason` in the outcomes, `counts.skipped`)": ITEM_REASONS,
        "A cell or a number that is null (`reason` in `cells`)": {
            str(reason): meaning for reason, meaning in CELL_REASONS.items()
        },
        "An example of a classifier's task that is left out (`steps`)": EXAMPLE_REASONS,
        "A figure of a classifier that is null (`reason` in `rows`)": WOS_REASONS,
    }


def markdown() -> str:
    """The tables as README shows them."""
    parts = []
    for caption, codes in tables().items():
        rows = [f"| `{code}` | {meaning.replace('|', chr(92) + '|')} |" for code, meaning in codes.items()]
        parts.append("\n".join([f"{caption}:", "", "| | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
