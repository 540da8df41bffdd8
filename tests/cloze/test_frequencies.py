"""Counts equal those of the definition, however the text is cut and whoever counts."""

import lzma
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.cloze.frequencies import (
    Frequencies,
    count_block,
    count_files,
    count_text,
    read_counts,
    words_of,
    write_counts,
)
from evaluator.errors import DatasetError

TRICKY = "L'eau dit-elle, «naïve» n'est\u00a0pas e\u0301te\u0301 — don’t x_y 3rd Ünïcode 漢字かな\n\nالعربية fin."


@given(
    st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t'-_«—é\u0301aB1[x]")), max_size=80)
)
@settings(max_examples=200, deadline=None)
def test_the_fast_path_equals_the_definition(text: str) -> None:
    assert words_of(count_block(text.encode())[0]) == count_text(text)


@pytest.mark.parametrize("block_bytes", [16, 64, 1 << 20])
@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_and_workers_change_nothing(tmp_path: Path, block_bytes: int, workers: int) -> None:
    text = (TRICKY + " ") * 20
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(text.encode()))
    found = count_files([tmp_path / "a.txt", tmp_path / "b.txt.xz"], workers=workers, block_bytes=block_bytes)
    assert found.counts == count_text(text + "\n" + text)
    assert found.tokens == sum(found.counts.values())


def test_parts_of_a_block_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = words_of(count_block((TRICKY * 5).encode())[0])
    monkeypatch.setattr("evaluator.cloze.frequencies.PART_BYTES", 32)
    assert words_of(count_block((TRICKY * 5).encode())[0]) == expected == count_text(TRICKY * 5)


def test_bytes_that_are_no_text_separate(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\xfftwo one")
    assert count_files([tmp_path / "a.txt"]).counts == {"one": 2, "two": 1}


def test_the_marker_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("he [x] it [x].", encoding="utf-8")
    assert count_files([tmp_path / "a.txt"]).markers == 2


def test_counts_survive_writing_and_add_up(tmp_path: Path) -> None:
    counted = Frequencies(count_text("b a b"), 3, 0)
    write_counts(counted, tmp_path / "c.tsv")
    assert read_counts(tmp_path / "c.tsv") == Frequencies({"b": 2, "a": 1}, 3, 0)
    assert count_files([tmp_path / "c.tsv", tmp_path / "c.tsv"]).counts == {"a": 2, "b": 4}
    (tmp_path / "c.tsv").write_text("#morphorder-counts\t3\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="damaged table"):
        read_counts(tmp_path / "c.tsv")


def test_the_threshold_is_one_per_million() -> None:
    ten_million = Frequencies({}, 10_700_000)
    assert [ten_million.level(n, 1.0) for n in (0, 10, 11)] == ["low", "low", "high"]
    assert [Frequencies({}, 1000).level(n, 1.0) for n in (0, 1)] == ["low", "high"]


def test_a_missing_corpus_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nothing\.txt: cannot be read"):
        count_files([tmp_path / "nothing.txt"])


def test_it_is_not_slower_than_the_plain_script(tmp_path: Path) -> None:
    text = ("The quick brown foxes jumped over the lazy dog's house; " * 2000 + TRICKY) * 10
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    began = time.process_time()
    count_files([tmp_path / "a.txt"])
    fast = time.process_time() - began
    began = time.process_time()
    count_text(text)
    assert fast < time.process_time() - began
