"""A data set by its hub id, through a stand-in for the `datasets` package: nothing is fetched here."""

import sys
from types import ModuleType
from typing import Any

import pytest

from evaluator.cloze.audit import audit
from evaluator.cloze.dataset import SCHEMA, ClozeData, read_dataset
from evaluator.cloze.tables import read_table
from evaluator.errors import DatasetError


class Split:
    """What the package gives for one split."""

    def __init__(self, rows: list[dict[str, Any]], column_names: list[str]) -> None:
        self.rows = rows
        self.column_names = column_names

    def to_list(self) -> list[dict[str, Any]]:
        return self.rows


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, english: ClozeData) -> dict[str, Any]:
    """The hub's content by (id, config), to be altered; the released schema has the documented columns only."""
    documented = [field.name for field in SCHEMA if not field.nullable]
    splits = {name: Split(part.select(documented).to_pylist(), documented) for name, part in english.splits.items()}
    found: dict[Any, Any] = {("someone/verbs", "en"): splits}

    def load_dataset(name: str, config: str | None) -> Any:
        if (name, config) not in found:
            raise FileNotFoundError(f"Dataset '{name}' doesn't exist on the Hub\nor cannot be accessed.")
        return found[name, config]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return found


def test_a_hub_id_is_read_like_a_folder(hub: dict[str, Any], english: ClozeData) -> None:
    data = read_dataset("someone/verbs:en")
    assert data.language == "en" and set(data.splits) == set(english.splits)
    for name, part in data.splits.items():
        assert part.schema == SCHEMA
        assert part["gold"].to_pylist() == english.splits[name]["gold"].to_pylist()
        assert part["paradigm"].null_count == part.num_rows
    assert all(check.ok is not False for check in audit(data, read_table("en")) if "licence" not in check.name)


def test_what_the_hub_lacks_is_one_line(hub: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match=r"cannot be loaded: Dataset 'someone/else' doesn't exist on the Hub$"):
        read_dataset("someone/else:de")
    rows = hub["someone/verbs", "en"]["test"].rows
    hub["someone/verbs", "xx"] = {"test": Split([{**row, "Gold": row["gold"]} for row in rows], [])}
    for row in hub["someone/verbs", "xx"]["test"].rows:
        del row["gold"]
    with pytest.raises(DatasetError, match=r"no column 'gold'") as error:
        read_dataset("someone/verbs:xx")
    assert error.value.where == "someone/verbs:xx/test" and error.value.hint == "rename 'Gold'"


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DatasetError, match="needs the package `datasets`"):
        read_dataset("someone/verbs:en")
