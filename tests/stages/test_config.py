"""Where the paths of a config point: those in the file to its folder, those in flags to where the user stands."""

from pathlib import Path

import pytest

from evaluator.config import read_config


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "settings" / "config.toml"
    path.parent.mkdir()
    path.write_text('treebanks = ["a.conllu"]\nmodels = ["mbert", "wordpiece"]\nsample = {subset = "subset.tsv"}\n')
    return path


def test_paths_in_the_file_are_beside_it(toml: Path) -> None:
    config = read_config(toml)
    assert config.treebanks[0].path == str(toml.parent / "a.conllu")
    assert config.models == (str(toml.parent / "mbert"), "wordpiece")
    assert config.sample.subset == str(toml.parent / "subset.tsv")


def test_paths_in_flags_are_where_the_user_stands(toml: Path) -> None:
    config = read_config(toml, {"treebanks": ["b.conllu"], "models": ["xlmr"], "sample": {"n": 3}})
    assert config.treebanks[0].path == "b.conllu"
    assert config.models == ("xlmr",)
    assert config.sample.subset == str(toml.parent / "subset.tsv")
    assert read_config(None, {"models": ["xlmr"]}).models == ("xlmr",)
