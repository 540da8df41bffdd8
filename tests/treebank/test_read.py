"""Files become sentences: nothing lost, ids unique, damage counted, token lists in and out."""

import re
from pathlib import Path

import conllu
import pytest

from evaluator.errors import TreebankError
from evaluator.items.randomness import address
from evaluator.treebank import read
from evaluator.treebank.read import read_treebank, sentence_from_tokenlist, tokenlist_of, tokenlists
from evaluator.treebank.scan import scan
from evaluator.treebank.structure import FIELDS


def ids(folder: Path, *names: str) -> list[str]:
    files = [folder / f"{name}.conllu" for name in names]
    return [sentence.sent_id for sentence in read_treebank(files, name="T", language="xx").sentences]


def test_sentence_carries_where_it_comes_from(treebank_data: Path) -> None:
    path = treebank_data / "sound.conllu"
    sentence = read_treebank([path], name="T", language="xx").sentences[1]
    assert (sentence.treebank, sentence.language, sentence.sent_id) == ("T", "xx", "owls")
    assert (sentence.source, sentence.text, sentence.is_tree) == (f"{path}:9", "Owls listen", True)
    assert sentence.key == address("T", "owls")


def test_key_does_not_depend_on_the_order_of_files(treebank_data: Path) -> None:
    files = [treebank_data / "sound.conllu", treebank_data / "range.conllu"]
    first = {s.sent_id: s.key for s in read_treebank(files[:1], name="T", language="xx").sentences}
    both = {s.sent_id: s.key for s in read_treebank(files[::-1], name="T", language="xx").sentences}
    assert first.items() <= both.items()
    other = {s.sent_id: s.key for s in read_treebank(files[:1], name="U", language="xx").sentences}
    assert not set(first.values()) & set(other.values())


def test_missing_and_repeated_ids_are_named_by_place(treebank_data: Path) -> None:
    assert ids(treebank_data, "sent_id_missing") == ["boats", "#2", "owls"]
    assert ids(treebank_data, "sent_id_repeated") == ["boats", "#2", "owls"]
    assert ids(treebank_data, "sent_id_two") == ["boats", "p", "owls"]
    assert ids(treebank_data, "sent_id_like_a_place") == ["boats", "#3", "##3"]
    assert ids(treebank_data, "eight_fields", "sound") == ["boats", "owls", "#4", "#5"]


def test_ids_repeated_across_files_are_reported_with_both_places(treebank_data: Path) -> None:
    path = treebank_data / "sound.conllu"
    copies = [path, treebank_data / "crlf.conllu"]
    issues = [i for i in read_treebank(copies, name="T", language="xx").issues if i.code == "sent_id_repeated"]
    assert [f"{path}:3" in issue.message for issue in issues] == [True, False]


@pytest.mark.parametrize("name", ["utf16", "compressed", "text_withheld", "cr_only"])
def test_unreadable_file_is_one_line(name: str, treebank_data: Path) -> None:
    path = treebank_data / f"{name}.conllu"
    with pytest.raises(TreebankError) as caught:
        read_treebank([path], name="T", language="xx")
    assert re.fullmatch(re.escape(str(path)) + r":[12]: .+ \(.+\)", str(caught.value))


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="No such file"):
        read_treebank([tmp_path / "none.conllu"], name="T", language="xx")


def test_strict_stops_at_damage_but_not_at_warnings(treebank_data: Path) -> None:
    with pytest.raises(TreebankError, match=r"id_gap.conllu:9: .*strict"):
        read_treebank([treebank_data / "id_gap.conllu"], name="T", language="xx", strict=True)
    assert read_treebank([treebank_data / "crlf.conllu"], name="T", language="xx", strict=True).counts.sentences == 2


def test_empty_file_gives_no_sentences(treebank_data: Path) -> None:
    result = read_treebank([treebank_data / "empty.conllu"], name="T", language="xx")
    assert (result.sentences, result.issues, result.counts.sentences) == ([], [], 0)


def test_package_and_own_fields_give_the_same_token_list(treebank_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = treebank_data / "range.conllu"
    blocks = scan(path.read_bytes(), "").blocks
    through_package = [tokenlist_of(block) for block in blocks]

    def forbidden(*_: object) -> None:
        raise AssertionError("the package was asked")

    monkeypatch.setattr(read, "parse_token_and_metadata", forbidden)
    with pytest.raises(AssertionError):
        tokenlist_of(blocks[0])
    for block, expected in zip(blocks, through_package, strict=True):
        padded = tuple(line + " " if line[0] == "#" else line for line in block.lines)
        object.__setattr__(block, "lines", padded)  # a space at a line's end takes the other way
        assert tokenlist_of(block) == expected


def test_token_lists_written_and_read_are_the_same(treebank_data: Path, tmp_path: Path) -> None:
    for name in (
        "range",
        "empty_nodes_ten",
        "feats_malformed",
        "misc_look_alikes",
        "space_inside_form",
        "double_quote",
    ):
        path = treebank_data / f"{name}.conllu"
        copy = tmp_path / path.name
        copy.write_bytes("".join(tokens.serialize() for tokens in tokenlists(path)).encode())
        first, second = (read_treebank([p], name="T", language="xx").sentences for p in (path, copy))
        assert [(s.sent_id, s.text, s.units, s.key) for s in first] == [
            (s.sent_id, s.text, s.units, s.key) for s in second
        ]


def test_sentence_of_a_token_list_parsed_or_raw(treebank_data: Path) -> None:
    path = treebank_data / "range.conllu"
    expected = read_treebank([path], name="T", language="xx").sentences
    parsed = conllu.parse(path.read_text(encoding="utf-8"))
    for token_list in (parsed, list(tokenlists(path))):
        found = [sentence_from_tokenlist(tokens, name="T", language="xx") for tokens in token_list]
        assert [(s.units, s.text, s.key, s.is_tree) for s in found] == [
            (s.units, s.text, s.key, s.is_tree) for s in expected
        ]


def test_damaged_token_list_is_one_line() -> None:
    tokens = conllu.TokenList([conllu.Token(zip(FIELDS, ["2", "mist", *"_______", "_"], strict=True))])
    with pytest.raises(TreebankError, match=r"^#1: token list: ID 2 where 1 was expected"):
        sentence_from_tokenlist(tokens, name="T", language="xx")
    with pytest.raises(TreebankError, match="0 sentences"):
        sentence_from_tokenlist(conllu.TokenList([]), name="T", language="xx")
