"""The tokenizer's door: its template, its two cuts, and the words that pieces spell."""

import json
from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from evaluator.encode.tokenizer import PieceCutter
from evaluator.errors import BundleError
from tests.encode.conftest import FAKE, REAL
from tests.encode.plain import Cutter
from tests.fake_bundle import fake_tokenizer

GetCutter = Callable[[str], Cutter]


def door_of(tokenizer: Tokenizer) -> PieceCutter:
    return PieceCutter(tokenizer.to_str().encode(), mask_id=4)


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_cuts_of_neighbours_are_the_cut_of_their_text(cutter: GetCutter, name: str) -> None:
    """Where whole texts are cut at spaces, units after spaces are too."""
    words = ["la", "Haus", "de", "New", "York", "x1", "и"]
    door = cutter(name).door
    whole = door.cut_texts([" ".join(words)])[0]
    parts = [cutter(name).cut(w, spaced=i > 0 or door.starts_spaced) for i, w in enumerate(words)]
    assert [p for part in parts for p in part] == whole


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_spelling_with_a_space_is_cut_like_its_words(cutter: GetCutter, name: str) -> None:
    for spaced in (True, False):
        assert cutter(name).cut("New York", spaced) == cutter(name).cut("New", spaced) + cutter(name).cut("York", True)


def test_space_inside_a_spelling_survives_a_tokenizer_that_splits_at_spaces_first() -> None:
    tokenizer = fake_tokenizer("unigram", ["York"])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    door = door_of(tokenizer)
    assert door.pieces(door.cut(["N York"], after_space=False).pieces.tolist()) == ["N", "▁York"]
    assert door.pieces(door.cut(["N York"], after_space=True).pieces.tolist()) == ["▁N", "▁York"]


@pytest.mark.parametrize("name", [*FAKE, *REAL])
def test_no_lone_space_piece_where_no_space_is_written(cutter: GetCutter, name: str) -> None:
    for word in ("Haus", "我们", "。", "1999", "المـــاء", "x", "คน"):
        direct, spaced = (cutter(name).door.pieces(cutter(name).cut(word, s)) for s in (False, True))
        assert not direct or direct[0] != "▁"
        assert not spaced or spaced[0] != "▁" or word in ("Haus", "1999", "المـــاء", "x")


def test_a_space_that_is_a_piece_of_its_own_stays() -> None:
    tokenizer = Tokenizer(
        models.Unigram([("<unk>", 0.0), ("▁", -2.0), ("▁large", -1.0), ("bank", -1.0), ("我", -1.0)], 0)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    door = door_of(tokenizer)
    assert door.pieces(door.cut(["bank"], after_space=True).pieces.tolist()) == ["▁", "bank"]
    assert door.pieces(door.cut(["bank"], after_space=False).pieces.tolist()) == ["bank"]
    assert door.pieces(door.cut(["我"], after_space=True).pieces.tolist()) == ["我"]


def test_ids_with_holes_count_to_the_largest() -> None:
    described = json.loads(fake_tokenizer("wordpiece", []).to_str())
    size = len(described["model"]["vocab"])
    described["model"]["vocab"]["zzz"] = size + 100
    door = PieceCutter(json.dumps(described).encode(), mask_id=4)
    assert door.vocabulary_size() == size + 101


def test_truncation_and_padding_in_the_file_are_ignored() -> None:
    tokenizer = fake_tokenizer("bytelevel", [])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=12)
    assert len(door_of(tokenizer).cut(["Haus"], after_space=False).pieces) == 4


@pytest.mark.parametrize("content", [b"{}", b'{"model": {}}', b"[]", b"not json", b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_is_one_line(content: bytes) -> None:
    with pytest.raises(BundleError, match="not a tokenizer"):
        PieceCutter(content, mask_id=4, where="tokenizer.json")
