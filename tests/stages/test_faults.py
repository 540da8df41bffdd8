"""Models and treebanks that do not work: named, counted, and no hindrance to the others."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evaluator.config import Config
from evaluator.errors import ConfigError, MorphorderError, TreebankError, UserError
from evaluator.progress import Reporter
from evaluator.score.bundle import MODEL_FILE, read_bundle, stamp_file, write_bundle
from evaluator.stages import prepare as prepare_stage
from evaluator.stages.run import run_all

GetConfig = Callable[..., Config]
GetBundle = Callable[..., str]
QUIET = Reporter("none")
CLS = 2
pytestmark = pytest.mark.usefixtures("plain_report")


def broken(folder: str, place: Path) -> str:
    """A copy of a bundle whose graph is not one, though its stamps are right."""
    shutil.copytree(folder, place)
    (place / MODEL_FILE).write_bytes(b"no graph")
    bundle = read_bundle(Path(folder))
    files = {**bundle.files, MODEL_FILE: stamp_file(place / MODEL_FILE)}
    write_bundle(place, bundle.model_copy(update={"name": place.name, "files": files}))
    return str(place)


def test_all_nan_model_beside_a_sound_one(config: GetConfig, bundle: GetBundle) -> None:
    result = run_all(config(models=(bundle("nan", nan_on=CLS), bundle())), QUIET)
    assert not result.complete
    cells = result.document["cells"]
    assert {c["model"] for c in cells} == {"nan", "alpha"}
    assert all(c["top1"] is None and c["n"] == 0 and c["reason"] for c in cells if c["model"] == "nan")
    outcomes = pq.read_table(Path(result.folder) / "report" / "outcomes.parquet").to_pylist()
    assert {(o["status"], o["reason"]) for o in outcomes if o["model"] == "nan"} == {("failed", "non_finite")}
    assert {o["status"] for o in outcomes if o["model"] == "alpha"} == {"scored"}
    assert result.document["counts"]["failed"] == sum(o["model"] == "nan" for o in outcomes)


def test_broken_graph_beside_a_sound_one(config: GetConfig, bundle: GetBundle, tmp_path: Path) -> None:
    bad = broken(bundle(), tmp_path / "bad")
    result = run_all(config(models=(bad, bundle())), QUIET)
    assert not result.complete
    (problem,) = result.problems
    assert problem.startswith("bad: ")
    assert "cannot load the graph" in problem
    sound = [c for c in result.document["cells"] if c["model"] == "alpha"]
    assert sound
    assert all(c["n"] > 0 and c["top1"] is not None for c in sound)


def test_graph_that_fails_while_it_runs(config: GetConfig, bundle: GetBundle, tmp_path: Path) -> None:
    """An embedding table smaller than the tokenizer: found only when a row shows such a piece."""
    small, large = Path(bundle("small")), tmp_path / "liar"
    shutil.copytree(small, large)
    shutil.copy(Path(bundle("tiny", "bytelevel")) / MODEL_FILE, large / MODEL_FILE)
    made = read_bundle(small)
    files = {**made.files, MODEL_FILE: stamp_file(large / MODEL_FILE)}
    write_bundle(large, made.model_copy(update={"name": "liar", "files": files}))
    result = run_all(config(models=(str(large), bundle())), QUIET)
    assert [p.split(":")[0] for p in result.problems] == ["liar"]
    with pytest.raises(MorphorderError, match="graph failed"):
        run_all(config(models=(str(large),), out=str(tmp_path / "alone")), QUIET)


def test_every_model_fails(config: GetConfig, bundle: GetBundle, tmp_path: Path) -> None:
    pair = tuple(broken(bundle(), tmp_path / name) for name in ("bad", "worse"))
    with pytest.raises(MorphorderError, match=r"no model could be scored: bad: .*; worse: "):
        run_all(config(models=pair), QUIET)


def test_k_that_the_graph_cannot_give(config: GetConfig, bundle: GetBundle) -> None:
    with pytest.raises(ConfigError, match="k = 20"):
        run_all(config(models=(bundle("narrow", top_k=10),), k=20), QUIET)


def test_treebank_of_which_everything_is_skipped(config: GetConfig, bundle: GetBundle) -> None:
    """A model that sees three pieces: no target fits between its specials."""
    result = run_all(config(models=(bundle("short", "bytelevel", max_pieces=2),)), QUIET)
    assert result.complete
    counts = result.document["counts"]
    assert counts["scored"] == 0
    assert sum(counts["skipped"].values()) == counts["items"] > 0
    assert all(c["top1"] is None and c["n"] == 0 for c in result.document["cells"])


def test_treebank_without_a_usable_sentence(config: GetConfig, treebanks: tuple[str, ...], tmp_path: Path) -> None:
    empty = tmp_path / "xx_none-ud-test.conllu"
    empty.write_text("# sent_id = 1\n# text = No\n1\tNo\tno\tINTJ\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    result = run_all(config(treebanks=(treebanks[0], str(empty))), QUIET)
    assert {c["treebank"] for c in result.document["cells"] if c["n"]} == {
        c["treebank"] for c in result.document["cells"] if "mini" in c["treebank"]
    }
    alone = config(treebanks=(str(empty),), out=str(tmp_path / "alone"))
    try:
        document = run_all(alone, QUIET).document
    except UserError as error:
        assert "sentence" in error.message
    else:
        assert document["counts"]["items"] == 0
        assert all(c["top1"] is None for c in document["cells"])


def test_shards_of_sentences_of_which_none_was_drawn(config: GetConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of many: most shards of sentences then hold no item."""
    monkeypatch.setattr(prepare_stage, "SENTENCES_PER_SHARD", 2)
    result = run_all(config(sample={"n": 1}), QUIET)
    assert result.complete
    assert {c["n"] for c in result.document["cells"]} == {1}


def test_treebank_that_is_not_there(config: GetConfig, tmp_path: Path) -> None:
    with pytest.raises(TreebankError):
        run_all(config(treebanks=(str(tmp_path / "nothing.conllu"),)), QUIET)


def test_subset_file_that_is_not_there(config: GetConfig, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"subset") as error:
        run_all(config(sample={"subset": str(tmp_path / "nothing.tsv")}), QUIET)
    assert error.value.hint
