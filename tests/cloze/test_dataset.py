"""The documented schema: a made-up file with each column is read; one with a column missing or misspelt is one line."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.cloze.dataset import DOCUMENTED, OURS, cell_split, read_dataset
from evaluator.errors import DatasetError

ROW: dict[str, Any] = {
    "prompt": "cloze lemma=walk context=She [x] home. feats=V;IND;PRS ->",
    "gold": "walks",
    "lemma": "walk",
    "context": "She [x] home.",
    "feats": "V;IND;PRS",
    "phenomenon": "agree_pres",
    "cell": "lem_high+form_high",
    "form_freq": 12,
    "lemma_other_freq": 40,
    "form_level": "high",
    "lemma_level": "high",
    "person_number": "3sg",
    "verbclass": "s_reg",
    "resource": "form",
    "source_treebank": "UD_ewt",
}


def write(folder: Path, row: dict[str, Any], kind: str) -> Path:
    path = folder / f"test.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist([row]), path)
    else:
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def test_the_row_has_each_documented_column() -> None:
    assert list(ROW) == DOCUMENTED.names


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_file_with_the_documented_columns_is_read(tmp_path: Path, kind: str) -> None:
    (row,) = read_dataset(str(write(tmp_path, ROW, kind))).splits["test"].to_pylist()
    assert row == ROW | dict.fromkeys(OURS.names)


@pytest.mark.parametrize("name", DOCUMENTED.names)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_missing_column_is_named(tmp_path: Path, kind: str, name: str) -> None:
    path = write(tmp_path, {k: v for k, v in ROW.items() if k != name}, kind)
    with pytest.raises(DatasetError) as error:
        read_dataset(str(path))
    assert error.value.message == f"no column {name!r}"
    assert error.value.where == str(path)
    assert error.value.hint.startswith("columns found: ")


@pytest.mark.parametrize("name", DOCUMENTED.names)
@pytest.mark.parametrize("misspell", [str.title, lambda n: n + "s", lambda n: n[1] + n[0] + n[2:]])
def test_a_misspelt_column_is_recognised(tmp_path: Path, name: str, misspell: Any) -> None:
    wrong = misspell(name)
    path = write(tmp_path, {wrong if k == name else k: v for k, v in ROW.items()}, "parquet")
    with pytest.raises(DatasetError) as error:
        read_dataset(str(path))
    assert error.value.message == f"no column {name!r}"
    assert error.value.hint == f"rename {wrong!r}"


@pytest.mark.parametrize(("name", "value"), [("form_freq", "many"), ("form_freq", 1.5), ("lemma", ["walk"])])
def test_a_column_of_another_kind_is_named(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(DatasetError, match=f"column '{name}' is .*, expected"):
        read_dataset(str(write(tmp_path, ROW | {name: value}, "parquet")))


def test_an_empty_value_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW | {"gold": None}) + "\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="column 'gold' is empty in row 1"):
        read_dataset(str(path))


def test_a_folder_of_languages_and_split_files_in_parts(tmp_path: Path) -> None:
    folder = tmp_path / "de"
    folder.mkdir()
    for name in ("train-00000-of-00002", "train-00001-of-00002", cell_split(ROW["cell"])):
        pq.write_table(pa.Table.from_pylist([ROW]), folder / f"{name}.parquet")
    data = read_dataset(f"{tmp_path}:de")
    assert (data.language, {k: v.num_rows for k, v in data.splits.items()}) == (
        "de",
        {"test_lemhigh_formhigh": 1, "train": 2},
    )
    assert data.split("test").num_rows == 1
    with pytest.raises(DatasetError, match="no split 'dev'"):
        data.split("dev")
    with pytest.raises(DatasetError, match=r"give one of its languages, as .*:de"):
        read_dataset(str(tmp_path))


def test_what_is_no_data_set_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "broken.jsonl").write_text("{}\n[", encoding="utf-8")
    with pytest.raises(DatasetError, match="not Parquet"):
        read_dataset(str(tmp_path / "broken.parquet"))
    with pytest.raises(DatasetError, match=r"broken\.jsonl:2: not JSON"):
        read_dataset(str(tmp_path / "broken.jsonl"))
    with pytest.raises(DatasetError, match="no such data set"):
        read_dataset(str(tmp_path / "nothing"))
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(DatasetError, match="needs the package `datasets`"):
        read_dataset("owner/name:de")


def test_a_hub_is_read_through_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hub:
        @staticmethod
        def load_dataset(name: str, config: str) -> dict[str, Any]:
            assert (name, config) == ("owner/name", "en")
            return {"test": type("Split", (), {"to_list": staticmethod(lambda: [ROW])})}

    monkeypatch.setitem(__import__("sys").modules, "datasets", Hub)
    data = read_dataset("owner/name:en")
    assert (data.language, data.splits["test"].num_rows) == ("en", 1)
