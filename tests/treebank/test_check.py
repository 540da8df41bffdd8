"""`check` says on stdout what is in the files, and by its exit code whether they can be used."""

import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from evaluator.treebank.check import SHOWN_ISSUES, check, check_file, check_files

app = typer.Typer()
app.command()(check)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_json_holds_the_counts_of_each_file(treebank_data: Path) -> None:
    code, out, err = run("--json", treebank_data / "range.conllu", treebank_data / "id_gap.conllu")
    assert json.loads(out)["ok"] is False
    sound, damaged = json.loads(out)["files"]
    keys = ("sentences", "bad_sentences", "words", "ranges", "empty", "units")
    assert [sound[key] for key in keys] == [3, 0, 8, 1, 0, 7]
    assert [damaged[key] for key in keys] == [2, 1, 7, 0, 0, 5]
    (issue,) = damaged["issues"]
    assert (issue["code"], issue["line"], issue["sentence"]) == ("id_sequence", 9, 2)
    assert damaged["excluded"] == {"id_sequence": 1}
    assert code == 1
    assert err == f"{treebank_data / 'id_gap.conllu'}: 1 of 3 sentences are damaged\n"


def test_facts(treebank_data: Path) -> None:
    facts = check_file(treebank_data / "sound.conllu").facts
    assert (facts.units, facts.distinct_texts, facts.not_a_tree, facts.lemma_coverage) == (5, 2, 0, 1.0)
    assert facts.inflected == 2 / 4  # Boats and Owls differ from their lemmas, drift and listen do not
    assert facts.scripts == {"Latin": 20}


def test_scripts_are_counted_by_letters(tmp_path: Path) -> None:
    path = tmp_path / "mixed.conllu"
    path.write_text("1\tаб\t_\tX\t_\t_\t0\troot\t_\t_\n2\t山5\t_\tX\t_\t_\t1\tdep\t_\t_\n\n", encoding="utf-8")
    assert check_file(path).facts.scripts == {"Cyrillic": 2, "Han": 1}


def test_path_that_is_no_unicode_is_printable(tmp_path: Path, treebank_data: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.conllu"))
    path.write_bytes((treebank_data / "sound.conllu").read_bytes())
    for options in ([], ["--json"]):
        code, out, _ = run(*options, path)
        assert code == 0 and "udcff.conllu" in out


def test_nothing_to_count_is_none_not_zero(treebank_data: Path) -> None:
    facts = check_file(treebank_data / "empty.conllu").facts
    assert (facts.lemma_coverage, facts.inflected) == (None, None)


@pytest.mark.parametrize(
    ("name", "options", "code", "error"),
    [
        ("sound", [], 0, ""),
        ("crlf", [], 0, ""),
        ("crlf", ["--strict"], 1, "1 issues"),
        ("text_differs", ["--strict"], 0, ""),
        ("empty", [], 1, "no sentences"),
        ("only_comments", [], 1, "no sentences"),
        ("utf16", [], 1, "UTF-16"),
        ("text_withheld", [], 1, "withheld"),
        ("latin1_byte", [], 1, "1 of 3 sentences"),
    ],
)
def test_exit_code(name: str, options: list[str], code: int, error: str, treebank_data: Path) -> None:
    for flags in (options, [*options, "--json"]):
        found, out, err = run(*flags, treebank_data / f"{name}.conllu")
        assert found == code and error in err and bool(err) == bool(code)
        assert out
        assert "\n" not in err.rstrip("\n")


def test_mistakes_exit_2_with_one_line_and_no_answer(tmp_path: Path) -> None:
    for path in (tmp_path / "none.conllu", tmp_path):
        code, out, err = run(path)
        assert (code, out) == (2, "")
        assert err.startswith(f"{path}: ") and err.count("\n") == 1
        code, out, err = run(path, "--json")
        said = json.loads(out)
        assert (code, err, said["ok"], said["error"]["where"]) == (2, "", False, str(path))


def test_text_names_each_issue_by_path_and_line(treebank_data: Path) -> None:
    path = treebank_data / "eight_fields.conllu"
    _, out, _ = run(path)
    assert f"{path}:8: 8 fields instead of 10" in out
    assert "[field_count_8]" in out


def test_many_issues_are_tallied(tmp_path: Path) -> None:
    path = tmp_path / "many.conllu"
    path.write_text("1\tmist\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 50, encoding="utf-8")
    _, out, _ = run(path)
    assert f"… {100 - SHOWN_ISSUES} more" in out and "sent_id_count_0 50" in out


def test_folder_stands_for_its_files(treebank_data: Path) -> None:
    reports = check_files([treebank_data])
    assert len(reports) == len(list(treebank_data.glob("*.conllu")))
    assert reports[0].path == str(treebank_data / "bom.conllu")
