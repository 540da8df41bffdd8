"""The declared schemas hold what long runs need: no dictionary whose index could overflow, wide offsets for text."""

import pyarrow as pa
import pytest

from evaluator.store import schemas

DECLARED = {name: value for name, value in vars(schemas).items() if isinstance(value, pa.Schema)}


def kinds(kind: pa.DataType) -> list[pa.DataType]:
    """A type and all the types inside it."""
    return [kind, *(inner for i in range(kind.num_fields) for inner in kinds(kind.field(i).type))]


@pytest.mark.parametrize("name", DECLARED)
def test_no_dictionaries(name: str) -> None:
    assert not [f.name for f in DECLARED[name] for k in kinds(f.type) if pa.types.is_dictionary(k)]


@pytest.mark.parametrize("name", ["SENTENCES", "OUTCOMES", "EXAMPLES", "TEXT_ITEMS", "TEXT_OUTCOMES"])
def test_text_has_64_bit_offsets(name: str) -> None:
    assert pa.types.is_large_string(DECLARED[name].field("text").type)


def test_every_table_is_declared() -> None:
    masked = {"SENTENCES", "ITEMS", "ROWS", "LINKS", "SCORED", "OUTCOMES"}
    whole_texts = {
        "EXAMPLES",
        "TEXT_ITEMS",
        "TEXT_ROWS",
        "WORD_ROWS",
        "TEXT_LINKS",
        "LOGITS",
        "ATTENDED",
        "TEXT_OUTCOMES",
    }
    assert set(DECLARED) == masked | whole_texts
