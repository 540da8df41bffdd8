"""Files, folders and globs become named treebanks, or one line that says why not."""

from pathlib import Path

import pytest

from evaluator.errors import TreebankError
from evaluator.treebank.sources import find_sources


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with four treebanks."""
    for name in (
        "UD_German-PUD/de_pud-ud-test.conllu",
        "UD_Chinese-PUD/zh_pud-ud-test.conllu",
        "UD_Chinese-PUD/zh_pud_t2s-ud-test.conllu",
        "UD_English-Big/en_big-ud-dev.conllu",
        "UD_English-Big/en_big-ud-train-a.conllu",
        "UD_English-Big/en_big-ud-train-b.conllu",
        "UD_English-Big/README.md",
        "demo/fr.conllu",
        "demo/my_notes.conllu",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def test_folder_gives_its_test_file_its_name_and_language(home: Path) -> None:
    (source,) = find_sources([home / "UD_German-PUD"])
    assert (source.name, source.language) == ("UD_German-PUD", "de")
    assert source.files == (home / "UD_German-PUD" / "de_pud-ud-test.conllu",)


def test_folder_gives_all_files_of_a_split(home: Path) -> None:
    (source,) = find_sources([home / "UD_English-Big"], split="train")
    assert [path.name for path in source.files] == ["en_big-ud-train-a.conllu", "en_big-ud-train-b.conllu"]


def test_glob_gives_treebanks_in_order_of_name(home: Path) -> None:
    assert [s.name for s in find_sources([str(home / "UD_*-PUD")])] == ["UD_Chinese-PUD", "UD_German-PUD"]
    assert [s.name for s in find_sources([str(home / "UD_C*" / "*_pud*.conllu")])] == [
        "zh_pud-ud-test",
        "zh_pud_t2s-ud-test",
    ]


def test_version_with_the_folders_own_name_is_taken_and_the_other_said(home: Path) -> None:
    folder = home / "UD_Chinese-PUD"
    (source,) = find_sources([folder])
    assert source.files == (folder / "zh_pud-ud-test.conllu",)
    assert source.left_out == (folder / "zh_pud_t2s-ud-test.conllu",)
    both = find_sources([folder, folder / "zh_pud_t2s-ud-test.conllu"])
    assert [s.name for s in both] == ["UD_Chinese-PUD", "zh_pud_t2s-ud-test"]


def test_name_and_language_can_be_given(home: Path) -> None:
    (source,) = find_sources([home / "demo" / "my_notes.conllu"], name="notes", language="en")
    assert (source.name, source.language) == ("notes", "en")
    assert find_sources([home / "demo" / "fr.conllu"])[0].language == "fr"


def test_folder_with_brackets_in_its_name_stands_for_itself(home: Path) -> None:
    odd = (home / "UD_German-PUD").rename(home / "UD_German-[PUD]")
    assert find_sources([str(odd)])[0].name == "UD_German-[PUD]"


def fail(patterns: list[str | Path], message: str, **options: str) -> None:
    with pytest.raises(TreebankError, match=message) as caught:
        find_sources(patterns, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_mistakes_are_one_line(home: Path) -> None:
    german = home / "UD_German-PUD"
    fail([home / "none*"], "no such treebank")
    fail(["a\0b"], "cannot be a path|no such treebank")
    fail(["x" * 5000], "cannot be a path")
    fail([german], r"no file \*-ud-dev.* de_pud-ud-test.conllu; give", split="dev")
    fail([home / "UD_English-Big" / "README.md"], "not a .conllu file")
    fail([home / "demo" / "my_notes.conllu"], "does not tell the language")
    fail([german, home / "UD_Chinese-PUD"], "one name", name="x")
    fail([german, german], "already given")
    fail([german, german / "de_pud-ud-test.conllu"], "already given")


def test_same_file_under_two_names_is_refused(home: Path) -> None:
    original = home / "UD_German-PUD" / "de_pud-ud-test.conllu"
    (home / "demo" / "de.conllu").symlink_to(original)
    fail([original, home / "demo" / "de.conllu"], "already given, as .*de_pud-ud-test.conllu")


def test_same_name_for_two_treebanks_is_refused(home: Path) -> None:
    twin = home / "demo" / "UD_German-PUD"
    twin.mkdir()
    (twin / "de_pud-ud-test.conllu").touch()
    fail([home / "UD_German-PUD", twin], "two treebanks are called UD_German-PUD")


def test_file_outside_its_folder_is_refused(home: Path) -> None:
    folder = home / "UD_French-X"
    folder.mkdir()
    (folder / "fr_x-ud-test.conllu").symlink_to(home / "demo" / "fr.conllu")
    fail([folder], "lies outside its folder")


def test_folder_with_versions_of_other_names_is_refused(home: Path) -> None:
    (home / "UD_Chinese-PUD").rename(home / "UD_Chinese-Mine")
    fail([home / "UD_Chinese-Mine"], "several treebanks in one folder: zh_pud, zh_pud_t2s")


def test_shared_parallel_treebanks_are_found(shared: Path) -> None:
    found = find_sources([str(shared / "data" / "ud" / "UD_*-PUD")])
    assert len(found) >= 9
    assert {source.language for source in found} >= {"ar", "cs", "de", "en", "es", "fi", "fr", "ru", "tr", "zh"}
