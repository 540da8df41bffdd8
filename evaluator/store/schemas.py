"""The declared Arrow schema of every table in a run folder, in the order in which data flows.

`sentences` and `items` are written by prepare, `rows` and `links` by encode, `scored` by score; `outcomes` is the
join of all of them, one row per item and model, written by report.
"""

import pyarrow as pa

NATS = {"unit": "nat"}
"""Of a field of log-probabilities: the logarithm's base is e."""

SENTENCES = pa.schema(
    [
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("key", pa.uint64(), nullable=False),
        pa.field("treebank", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("sent_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("is_tree", pa.bool_(), nullable=False),
        pa.field("form", pa.list_(pa.string()), nullable=False),
        pa.field("lemma", pa.list_(pa.string()), nullable=False),
        pa.field("upos", pa.list_(pa.string()), nullable=False),
        pa.field("deprel", pa.list_(pa.string()), nullable=False),
        pa.field("head", pa.list_(pa.int16()), nullable=False),
        pa.field("feats", pa.list_(pa.string()), nullable=False),
        pa.field("space_after", pa.list_(pa.bool_()), nullable=False),
        pa.field("is_mwt", pa.list_(pa.bool_()), nullable=False),
        pa.field("word_id", pa.list_(pa.string()), nullable=False),
    ]
)

ITEMS = pa.schema(
    [
        pa.field("item_id", pa.uint64(), nullable=False),
        pa.field("base_id", pa.uint64(), nullable=False),
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("seed", pa.int32(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("draw", pa.int16(), nullable=False),
        pa.field("lemma", pa.bool_(), nullable=False),
        pa.field("target", pa.int16(), nullable=False),
        pa.field("order", pa.list_(pa.int16()), nullable=False),
        pa.field("moved", pa.int16(), nullable=False),
        pa.field("displacement", pa.float32(), nullable=False),
        pa.field("neighbours_kept", pa.float32(), nullable=False),
        pa.field("target_moved", pa.bool_(), nullable=False),
    ]
)
"""One item: `order[j]` is the unit shown at slot j. Dose: units moved, mean displacement in slots, share of `orig`'s
neighbour pairs still neighbours in the same order, whether the target moved."""

ROWS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("ids", pa.list_(pa.int32()), nullable=False),
        pa.field("mask_pos", pa.list_(pa.int16()), nullable=False),
        pa.field("golds", pa.list_(pa.list_(pa.int32())), nullable=False),
    ]
)
"""One distinct model input: piece ids with specials, where its masks are, and the gold piece tuples asked of it."""

LINKS = pa.schema(
    [
        pa.field("item_id", pa.uint64(), nullable=False),
        pa.field("row", pa.int64()),
        pa.field("gold", pa.int16()),
        pa.field("n_pieces", pa.int16()),
        pa.field("n_masks", pa.int16()),
        pa.field("windowed", pa.bool_(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)
"""Which row and which of its golds answers an item; `row` is null and `reason` set when it is skipped.
`reason = not_expressible` with a row: scored, never a hit."""

SCORED = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("words", pa.list_(pa.list_(pa.int32())), nullable=False),
        pa.field("word_logp", pa.list_(pa.float64()), nullable=False),
        pa.field("gold_logp", pa.list_(pa.float64()), nullable=False),
        pa.field("gold_ranks", pa.list_(pa.list_(pa.int32())), nullable=False),
        pa.field("hit", pa.list_(pa.int8()), nullable=False),
        pa.field("near_tie", pa.bool_(), nullable=False),
        pa.field("failed", pa.string()),
    ]
)
"""One row's answer: its k best words (piece tuples, best first) with natural-log probabilities; per gold its
log-probability, the number of strictly better pieces at each mask, and its 1-based place among the k best (0: none)."""

EXAMPLES = pa.schema(
    [
        pa.field("example", pa.int32(), nullable=False),
        pa.field("key", pa.uint64(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("other", pa.large_string()),
        pa.field("changed_first", pa.bool_(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("pairable", pa.bool_(), nullable=False),
    ]
)
"""One example of a classification task: `text` is the input that is changed, `other` the one beside it, if any;
`reason` says why it takes no part in shuffling, `pairable` that its other input can be shuffled as well."""

TEXT_ITEMS = pa.schema(
    [
        pa.field("item_id", pa.uint64(), nullable=False),
        pa.field("example", pa.int32(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("both", pa.bool_(), nullable=False),
        pa.field("draw", pa.int16(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("other", pa.large_string()),
    ]
)
"""One input of a classifier: an example under one order and draw, `both`: its other input shuffled too."""

TEXT_ROWS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("ids", pa.list_(pa.int32()), nullable=False),
        pa.field("types", pa.list_(pa.int8()), nullable=False),
    ]
)
"""One distinct input of a classifier: piece ids with specials, and which of two texts each piece belongs to."""

WORD_ROWS = pa.schema(
    [
        *TEXT_ROWS,
        pa.field("side", pa.list_(pa.int8()), nullable=False),
        pa.field("word", pa.list_(pa.int16()), nullable=False),
    ]
)
"""A TEXT_ROWS row with, per piece, its text (0 or 1, as the model reads them; -1: a special piece) and the number of
its space-separated word there."""

TEXT_LINKS = pa.schema(
    [
        pa.field("item_id", pa.uint64(), nullable=False),
        pa.field("row", pa.int64()),
        pa.field("n_pieces", pa.int32(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)
"""Which row answers an item; `row` is null and `reason` set when it is skipped."""

LOGITS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("logits", pa.list_(pa.float32()), nullable=False),
        pa.field("failed", pa.string()),
    ]
)
"""One row's logits, in the order of the bundle's labels; empty when it failed."""

ATTENDED = pa.schema(
    [
        *LOGITS,
        pa.field("from_word", pa.list_(pa.int16()), nullable=False),
        pa.field("to_word", pa.list_(pa.int16()), nullable=False),
        pa.field("weight", pa.list_(pa.float32()), nullable=False),
    ]
)
"""One row's logits, and head after head its strongest links from a word of one text to a word of the other:
`LINKS_PER_HEAD` of each (`evaluator.score.attend`), strongest first, -1 where there are fewer."""

OUTCOMES = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),
        pa.field("precision", pa.string(), nullable=False),
        pa.field("treebank", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("sent_id", pa.string(), nullable=False),
        pa.field("sentence", pa.int32(), nullable=False),
        pa.field("base_id", pa.uint64(), nullable=False),
        pa.field("item_id", pa.uint64(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("lemma", pa.bool_(), nullable=False),
        pa.field("seed", pa.int32(), nullable=False),
        pa.field("draw", pa.int16(), nullable=False),
        pa.field("target", pa.int16(), nullable=False),
        pa.field("upos", pa.string(), nullable=False),
        pa.field("deprel", pa.string(), nullable=False),
        pa.field("feats", pa.string(), nullable=False),
        pa.field("n_units", pa.int16(), nullable=False),
        pa.field("n_pieces", pa.int16()),
        pa.field("n_masks", pa.int16()),
        pa.field("moved", pa.int16(), nullable=False),
        pa.field("displacement", pa.float32(), nullable=False),
        pa.field("neighbours_kept", pa.float32(), nullable=False),
        pa.field("kendall_tau", pa.float32(), nullable=False),
        pa.field("target_moved", pa.bool_(), nullable=False),
        pa.field("windowed", pa.bool_(), nullable=False),
        pa.field("order", pa.list_(pa.int16()), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("gold", pa.string(), nullable=False),
        pa.field("gold_logp", pa.float64(), metadata=NATS),
        pa.field("gold_ranks", pa.list_(pa.int32())),
        pa.field("place", pa.int8()),
        pa.field("correct1", pa.bool_()),
        pa.field("correct5", pa.bool_()),
        pa.field("near_tie", pa.bool_()),
        pa.field("pred", pa.list_(pa.string())),
        pa.field("pred_logp", pa.list_(pa.float64()), metadata=NATS),
        pa.field("status", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("complete", pa.bool_(), nullable=False),
    ]
)
"""One item under one model. `text` is what the model saw, the target written as ⟨mask⟩ (once, whatever its pieces);
`correct*` are null unless status is scored; `complete`: every cell of the base item was scored by every model, so it
counts in the cells."""

TEXT_COLUMNS = ("text", "gold", "pred")
"""Columns of OUTCOMES that a report written without text lacks."""

ORIGIN = (
    pa.field("run_id", pa.string(), nullable=False),
    pa.field("model_id", pa.string(), nullable=False),
    pa.field("model_revision", pa.string()),
)
"""Columns before those of OUTCOMES in a file, which may travel alone: the same in every row of a run's model."""

TEXT_OUTCOMES = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),
        pa.field("precision", pa.string(), nullable=False),
        pa.field("example", pa.int32(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("both", pa.bool_(), nullable=False),
        pa.field("draw", pa.int16(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("other", pa.large_string()),
        pa.field("label", pa.string(), nullable=False),
        pa.field("predicted", pa.string()),
        pa.field("p_predicted", pa.float64()),
        pa.field("p_label", pa.float64()),
        pa.field("value", pa.float64()),
        pa.field("correct", pa.bool_()),
        pa.field("dev_r", pa.bool_(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)
"""One input of a classifier under one model: what it was given, what it said. `value` is the number that a model of one
label predicts, else null; `dev_r`: its example is among those that the model gets right unshuffled, balanced."""
