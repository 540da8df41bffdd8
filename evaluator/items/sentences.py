"""Sentences as a table and back: the `sentences/` part of a run folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.store.schemas import SENTENCES
from evaluator.types import Sentence, Unit

_UNIT_COLUMNS = ("form", "lemma", "upos", "deprel", "head", "feats", "space_after", "is_mwt", "word_id")
_SENTENCE_COLUMNS = ("key", "treebank", "language", "sent_id", "source", "text", "is_tree")


def sentences_table(sentences: Sequence[Sentence]) -> pa.Table:
    """One row per sentence in the given order, schema `SENTENCES`; `sentence` is the row's number."""
    offsets = pa.array(np.cumsum([0, *(len(s.units) for s in sentences)], dtype=np.int32), pa.int32())
    columns: dict[str, pa.Array[Any]] = {"sentence": pa.array(np.arange(len(sentences), dtype=np.int32))}
    for name in _SENTENCE_COLUMNS:
        columns[name] = pa.array([getattr(s, name) for s in sentences], SENTENCES.field(name).type)
    for name in _UNIT_COLUMNS:
        kind: pa.DataType = SENTENCES.field(name).type.value_type
        values: pa.Array[Any] = pa.array([getattr(u, name) for s in sentences for u in s.units], kind)
        columns[name] = pa.ListArray.from_arrays(offsets, values)
    return pa.Table.from_arrays([columns[name] for name in SENTENCES.names], schema=SENTENCES)


def sentences_of(table: pa.Table) -> list[Sentence]:
    """The sentences of a `SENTENCES` table, in its order."""
    units = [table.column(name).to_pylist() for name in _UNIT_COLUMNS]
    fields = [table.column(name).to_pylist() for name in _SENTENCE_COLUMNS]
    return [
        Sentence(
            treebank=treebank,
            language=language,
            sent_id=sent_id,
            text=text,
            units=tuple(Unit(*values) for values in zip(*columns, strict=True)),
            source=source,
            is_tree=tree,
            key=key,
        )
        for (key, treebank, language, sent_id, source, text, tree), columns in zip(
            zip(*fields, strict=True), zip(*units, strict=True), strict=True
        )
    ]
