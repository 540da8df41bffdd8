"""The scan names every flaw, with its line, and loses no sentence around it."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.treebank.check import check_file
from evaluator.treebank.scan import scan
from evaluator.treebank.structure import cycle_of

# name: (usable sentences, damaged sentences, codes of issues, codes of notes)
FLAWS = {
    "bom": (2, 0, "bom", ""),
    "bom_in_the_middle": (1, 1, "comment_inside_sentence field_count_1 sent_id_count_0", ""),
    "comment_after_words": (2, 0, "comment_inside_sentence", ""),
    "comment_inside": (2, 0, "comment_inside_sentence", ""),
    "comments_alone": (2, 0, "comments_without_tokens", ""),
    "compressed": (0, 0, "compressed_file", ""),
    "control_character": (3, 0, "", "control_character text_missing"),
    "cr_inside_a_form": (2, 1, "carriage_return", "text_missing"),
    "cr_only": (0, 0, "cr_line_ends", ""),
    "crlf": (2, 0, "crlf", ""),
    "crlf_in_one_line": (2, 0, "crlf", ""),
    "double_quote": (3, 0, "", "text_missing"),
    "eight_fields": (2, 1, "field_count_8", "text_missing"),
    "eleven_fields": (2, 1, "field_count_11", "text_missing"),
    "empty": (0, 0, "", ""),
    "empty_form": (2, 1, "empty_field", "text_missing"),
    "empty_lemma": (3, 0, "empty_field", "text_missing"),
    "empty_misc": (3, 0, "empty_field", "text_missing"),
    "empty_node_first": (3, 0, "", "text_missing"),
    "empty_node_of_later_word": (2, 1, "empty_node_sequence", "text_missing"),
    "empty_node_ten_without_nine": (2, 1, "empty_node_sequence", "text_missing"),
    "empty_node_zero": (2, 1, "empty_node_sequence", "text_missing"),
    "empty_nodes_ten": (3, 0, "", "text_missing"),
    "feats_malformed": (3, 0, "", "feats_malformed text_missing"),
    "head_cycle": (3, 0, "cycle", "text_missing"),
    "head_itself": (3, 0, "cycle", "text_missing"),
    "head_missing": (3, 0, "head_not_number", "text_missing"),
    "head_negative": (3, 0, "head_not_number", "text_missing"),
    "head_of_five_thousand_digits": (3, 0, "head_out_of_range", "text_missing"),
    "head_out_of_range": (3, 0, "head_out_of_range", "text_missing"),
    "head_superscript_digit": (3, 0, "head_not_number", "text_missing"),
    "id_gap": (2, 1, "id_sequence", "text_missing"),
    "id_negative": (2, 1, "id_format", "text_missing"),
    "id_not_a_number": (2, 1, "id_format", "text_missing"),
    "id_of_arabic_digits": (2, 1, "id_format", "text_missing"),
    "id_of_five_thousand_digits": (2, 1, "id_format", "text_missing"),
    "id_twice": (2, 1, "id_sequence", "text_missing"),
    "id_with_leading_zero": (2, 1, "id_sequence", "text_missing"),
    "id_zero": (2, 1, "id_sequence", "text_missing"),
    "latin1_byte": (2, 1, "bad_utf8", ""),
    "latin1_byte_in_comment": (2, 1, "bad_utf8", ""),
    "lemma_joined_by_underscores": (3, 0, "", "text_missing"),
    "line_break_in_form": (2, 1, "field_count_2 field_count_9", "text_missing"),
    "line_separator_in_form": (3, 0, "", "control_character text_missing"),
    "misc_look_alikes": (3, 0, "", ""),
    "missing_blank_line_between_sentences": (
        2,
        1,
        "comment_inside_sentence id_sequence sent_id_count_2",
        "text_missing",
    ),
    "no_final_blank_line": (2, 0, "no_final_blank_line", ""),
    "no_final_newline": (2, 0, "no_final_blank_line", ""),
    "no_root": (3, 0, "cycle roots_0", "text_missing"),
    "nul_byte": (3, 0, "nul_byte", "text_missing"),
    "only_comments": (0, 0, "comments_without_tokens no_final_blank_line", ""),
    "only_newlines": (0, 0, "", ""),
    "only_spaces": (0, 0, "whitespace_in_blank_line", ""),
    "range": (3, 0, "", "text_missing"),
    "range_after_its_words": (2, 1, "range_position", "text_missing"),
    "range_alone": (2, 1, "range_unfinished", "text_missing"),
    "range_inverted": (2, 1, "range_inverted", "text_missing"),
    "range_never_ends": (2, 1, "range_unfinished", "text_missing"),
    "range_of_one": (3, 0, "", "text_missing"),
    "range_repeated": (2, 1, "range_overlap", "text_missing"),
    "ranges_overlap": (2, 1, "range_overlap", "text_missing"),
    "sent_id_empty": (3, 0, "sent_id_count_0", "text_missing"),
    "sent_id_like_a_place": (3, 0, "sent_id_count_0", "text_missing"),
    "sent_id_look_alikes": (3, 0, "", "text_missing"),
    "sent_id_missing": (3, 0, "sent_id_count_0", "text_missing"),
    "sent_id_repeated": (3, 0, "sent_id_repeated", "text_missing"),
    "sent_id_two": (3, 0, "sent_id_count_2", "text_missing"),
    "sound": (2, 0, "", ""),
    "space_inside_form": (3, 0, "", ""),
    "spaces_for_tabs": (2, 1, "field_count_1", "text_missing"),
    "surrogate_bytes": (2, 1, "bad_utf8", ""),
    "tab_in_blank_line": (2, 0, "whitespace_in_blank_line", ""),
    "text_differs": (3, 0, "", "text_mismatch"),
    "text_with_runs_of_spaces": (3, 0, "", ""),
    "text_withheld": (0, 2, "no_text", "text_missing"),
    "three_roots": (3, 0, "roots_3", "text_missing"),
    "underscore_is_a_word": (3, 0, "", ""),
    "unit_cycle": (3, 0, "", "text_missing units_not_a_tree"),
    "utf16": (0, 0, "not_utf8_utf16", ""),
    "utf16_without_bom": (0, 0, "not_utf8_utf16", ""),
    "utf32": (0, 0, "not_utf8_utf32", ""),
    "whitespace_form": (3, 0, "whitespace_form", "text_missing"),
}

# The codes that the cases write with the sentence in front ("sent2_cycle").
PER_SENTENCE = re.compile(r"cycle|roots_\d+|head_.*|sent_id_count_\d+")


def test_every_flaw_has_a_file_and_every_file_a_flaw(treebank_data: Path) -> None:
    assert {path.stem for path in treebank_data.glob("*.conllu")} == set(FLAWS)


@pytest.mark.parametrize("name", FLAWS)
def test_flaw(name: str, treebank_data: Path) -> None:
    report = check_file(treebank_data / f"{name}.conllu")
    usable, damaged, issues, notes = FLAWS[name]
    assert (report.counts.sentences, report.counts.bad_sentences) == (usable, damaged)
    assert {issue.code for issue in report.issues} == set(issues.split())
    assert {note.code for note in report.notes} == set(notes.split())
    assert sum(report.counts.excluded.values()) == damaged


@pytest.mark.parametrize(
    ("name", "code", "line", "sentence"),
    [
        ("eight_fields", "field_count_8", 8, 2),
        ("latin1_byte", "bad_utf8", 8, 2),
        ("latin1_byte_in_comment", "bad_utf8", 7, 2),
        ("crlf_in_one_line", "crlf", 4, None),
        ("tab_in_blank_line", "whitespace_in_blank_line", 6, None),
        ("comments_alone", "comments_without_tokens", 7, None),
        ("head_itself", "cycle", 9, 2),
        ("range_never_ends", "range_unfinished", 8, 2),
        ("sent_id_repeated", "sent_id_repeated", 8, 2),
        ("no_final_blank_line", "no_final_blank_line", 10, None),
        ("comment_inside", "comment_inside_sentence", 4, 1),
    ],
)
def test_issue_has_the_line_of_its_flaw(
    name: str, code: str, line: int, sentence: int | None, treebank_data: Path
) -> None:
    path = treebank_data / f"{name}.conllu"
    found = [issue for issue in scan(path.read_bytes(), str(path)).issues if issue.code == code]
    assert [(issue.line, issue.sentence) for issue in found] == [(line, sentence)]
    assert str(found[0]).startswith(f"{path}:{line}: ")
    assert "\n" not in str(found[0])


def test_neighbours_of_a_flaw_are_read_as_without_it(treebank_data: Path) -> None:
    sound = scan((treebank_data / "sound.conllu").read_bytes(), "").blocks
    for name in ("crlf", "bom", "no_final_newline", "tab_in_blank_line", "eight_fields", "latin1_byte", "id_gap"):
        blocks = scan((treebank_data / f"{name}.conllu").read_bytes(), "").blocks
        fields = [[row for _, row in block.rows] for block in blocks]
        assert fields[0] == [row for _, row in sound[0].rows]
        assert fields[-1] == [row for _, row in sound[1].rows]


def test_text_keeps_what_stands_after_the_first_equals_sign() -> None:
    data = b"# sent_id = p = q # r\n#text=x = y\n1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    block = scan(data, "").blocks[0]
    assert (block.sent_id, block.text) == ("p = q # r", "x = y")


def test_a_chain_of_words_longer_than_the_stack_is_a_tree() -> None:
    rows = "".join(f"{i}\tw\t_\t_\t_\t_\t{i - 1}\t_\t_\t_\n" for i in range(1, 20_001))
    structure = scan(f"{rows}\n".encode(), "").blocks[0].structure
    assert structure.is_tree and structure.words == 20_000


def test_a_sentence_too_long_for_its_columns_is_excluded() -> None:
    rows = "".join(f"{i}\tw\t_\t_\t_\t_\t0\t_\t_\t_\n" for i in range(1, 32_770))
    assert scan(f"{rows}\n".encode(), "").blocks[0].error == "too_many_words"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-1, 8), min_size=1, max_size=8))
def test_cycle_is_found_iff_some_word_reaches_itself(heads: list[int]) -> None:
    heads = [min(head, len(heads)) for head in heads]

    def reaches_itself(word: int) -> bool:
        at = heads[word - 1]
        for _ in heads:
            if at == word:
                return True
            if at <= 0:
                return False
            at = heads[at - 1]
        return False

    on_cycles = {word for word in range(1, len(heads) + 1) if reaches_itself(word)}
    found = cycle_of(heads)
    assert found in on_cycles if on_cycles else found is None


def test_expected_counts_of_the_cases(shared: Path) -> None:
    expected = json.loads((shared / "cases" / "EXPECTED.json").read_text(encoding="utf-8"))
    assert len(expected) > 40
    for name, counts in expected.items():
        report = check_file(shared / "cases" / name)
        codes = {
            f"sent{issue.sentence}_{issue.code}" if PER_SENTENCE.fullmatch(issue.code) else issue.code
            for issue in report.issues
        }
        found = {
            "sentences": report.counts.sentences + report.counts.bad_sentences,
            "bad_sentences": report.counts.bad_sentences,
            "words": report.counts.words,
            "ranges": report.counts.ranges,
            "empty": report.counts.empty,
            "issues": sorted(codes),
        }
        assert found == counts, name
