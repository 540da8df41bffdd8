"""Rows of every kind of file, and one line with file, line and column for what is wrong."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.errors import ConfigError, DatasetError
from evaluator.wos.published import published_of, published_tables
from evaluator.wos.settings import WosConfig, glue_tasks, read_settings
from evaluator.wos.table import read_task

ROWS = [("He left  early .", 'She "stayed" late', 1), ("Is it so?", "Yes", 0)]
EXPECTED = [(("He left early .", 'She "stayed" late'), "1"), (("Is it so?", "Yes"), "0")]


def config(path: Path | str, *texts: str, label: str = "y", **more: Any) -> WosConfig:
    return WosConfig(data=str(path), texts=texts, label=label, **more)


def read(path: Path) -> list[tuple[tuple[str, ...], str]]:
    return [(r.texts, r.label) for r in read_task(config(path, "a", "b")).rows]


def test_all_files_give_the_same_rows(tmp_path: Path) -> None:
    tsv = tmp_path / "t.tsv"
    tsv.write_text("id\ta\ty\tb\n" + "".join(f"0\t{a}\t{y}\t{b}\n" for a, b, y in ROWS), encoding="utf-8-sig")
    csv = tmp_path / "t.csv"
    quoted = [(a, b.replace('"', '""'), y) for a, b, y in ROWS]
    csv.write_text("a,b,y\n" + "".join(f'"{a}","{b}",{y}\n' for a, b, y in quoted), encoding="utf-8")
    lines = tmp_path / "t.jsonl"
    lines.write_text("\n".join(json.dumps({"a": a, "b": b, "y": y}) for a, b, y in ROWS), encoding="utf-8")
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [r[0] for r in ROWS], "b": [r[1] for r in ROWS], "y": [r[2] for r in ROWS]}), table)
    assert read(tsv) == read(csv) == read(lines) == read(table) == EXPECTED
    assert [r.source for r in read_task(config(tsv, "a", "b")).rows] == [f"{tsv}:2", f"{tsv}:3"]


def test_a_treebank_has_its_comments_as_columns(tmp_path: Path) -> None:
    file = tmp_path / "t.conllu"
    word = "{}\t{}\t{}\t{}\t_\t_\t0\troot\t_\t{}\n"
    first = word.format(1, "Cats", "cat", "NOUN", "_") + word.format(2, "!", "!", "PUNCT", "_")
    file.write_text(f"# sent_id = a\n# y = 1\n{first}\n# sent_id = b\n1\tbad\n\n# y = 0\n{first}\n", encoding="utf-8")
    rows = read_task(config(file, "text")).rows
    assert [(r.texts, r.label, r.units[0].upos, r.source) for r in rows] == [
        (("Cats !",), "1", "NOUN", f"{file}:3"), (("Cats !",), "0", "NOUN", f"{file}:10"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.tsv", "a\ty\nx\t1\n", r"t.tsv:1: no column 'b' \(name them with --columns; columns found: a, y\)"),
        ("t.tsv", "a\tb\ty\nx\t1\n", r"t.tsv:2: 2 fields, the header names 3"),
        ("t.tsv", "a\tb\ty\nx\t \t1\n", r"t.tsv:2: 'b' is empty"),
        ("t.jsonl", '{"a": "x", "b": "y", "y": 1}\n{', r"t.jsonl:2: not JSON"),
        ("t.jsonl", "[1]", r"t.jsonl:1: not a JSON object"),
        ("t.jsonl", '{"a": "x"}', r"t.jsonl:1: no column 'b'"),
        ("t.parquet", "no", r"t.parquet: not Parquet"),
        ("t.tsv", "a\tb\ty\n", r"t.tsv: holds no rows"),
        ("t.txt", "", r"t.txt: no such task or kind of file"),
        ("t.csv", b"\xff", r"t.csv: cannot be read"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DatasetError, match=said):
        read_task(config(file, "a", "b"))


def test_a_glue_name_is_read_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load_dataset(*given: Any, **named: Any) -> Any:
        asked.append((given, named))
        rows = [{"sentence": " Fine  film ", "label": 1, "idx": 0}, {"sentence": "No.", "label": 0, "idx": 1}]
        names = SimpleNamespace(names=["negative", "positive"])
        return SimpleNamespace(to_list=lambda: rows, features={"label": names})

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    task = read_task(WosConfig(data="sst2"))
    assert asked == [(("nyu-mll/glue", "sst2"), {"split": "validation"})]
    assert [(r.texts, r.label) for r in task.rows] == [(("Fine film",), "1"), (("No.",), "0")]
    assert task.label_names == ("negative", "positive")

    def offline(*given: Any, **named: Any) -> Any:
        raise ConnectionError("no route\nto host")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=offline))
    with pytest.raises(DatasetError, match=r"nyu-mll/glue:cola: cannot be loaded: no route \(or give"):
        read_task(WosConfig(data="cola"))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DatasetError, match="needs the package `datasets`"):
        read_task(WosConfig(data="cola"))


def test_defaults_are_the_published_ones() -> None:
    changed = {name: WosConfig(data=name).changed for name in glue_tasks()}
    assert changed == {
        "cola": "sentence", "sst2": "sentence", "mrpc": "sentence1", "qqp": "question1", "stsb": "sentence1",
        "qnli": "question", "rte": "sentence2", "wnli": "sentence2", "mnli": "hypothesis",
    }  # fmt: skip
    exempt = {name for name in glue_tasks() if not WosConfig(data=name).one_sentence}
    assert exempt == {"sst2", "mrpc", "stsb", "qnli", "rte"}
    assert WosConfig(data="rte", sentences="one").one_sentence and WosConfig(data="x.tsv").one_sentence
    with pytest.raises(ConfigError, match="'c' is none of the texts a, b"):
        _ = config("x.tsv", "a", "b", change="c").changed


def test_settings_files_are_read_from_their_folder(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('data = "d.tsv"\nmodels = ["m"]\ndraws = 3\nscoring = { shard_rows = 9 }\n', encoding="utf-8")
    found = read_settings(str(file), {"draws": 5, "scoring": {"threads": 1}})
    assert (found.data, found.models, found.draws) == (f"{tmp_path}/d.tsv", (f"{tmp_path}/m",), 5)
    assert (found.scoring.shard_rows, found.scoring.threads) == (9, 1)
    file.write_text("drawz = 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"t\.toml"):
        read_settings(str(file), {})
    with pytest.raises(ConfigError, match="no such file"):
        read_settings(str(tmp_path / "none.toml"), {})


def test_published_scores_follow_from_published_accuracies() -> None:
    """WOS = (100 − p) / 50, to the rounding of two places of both."""
    for table in published_tables():
        assert table["mark"] in "PRDS"
        for task, values in table["rows"].items():
            assert task in glue_tasks() and len(values) <= len(table["columns"])
        if table["name"].startswith("dev-r-") and "wos_ngram1" in table["columns"]:
            for values in table["rows"].values():
                for p, wos in zip(values[:3], values[3:], strict=True):
                    assert abs((100 - p) / 50 - wos) <= 0.0102, (table["name"], values)
    kept = next(t for t in published_tables() if t["name"] == "noun-swap-roberta")
    assert all(abs(100 * hits / n - share) < 0.06 for share, hits, n in kept["rows"].values())
    cola = {t["name"]: t["values"] for t in published_of("cola")}
    assert cola["dev-r-all"]["wos_ngram1"] == 0.99 and "baseline" in cola["full-bert"]
    assert "baseline" not in next(t for t in published_of("stsb") if t["name"] == "full-bert")["values"]
