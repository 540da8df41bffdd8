"""Building a bundle: what it takes, what it writes, what it refuses; a refused build leaves nothing behind."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification

from evaluator.errors import BundleError
from evaluator.score.backend import Session as EvaluatorSession
from evaluator.score.bundle import Bundle, read_bundle
from export import build
from export.build import build_bundle
from export.convert import export_graph, load_model, quiet
from export.graph import load_graph
from export.source import find_source
from tests.export.tiny import FAMILIES, make_model, save_checkpoint, train_tokenizer

Checkpoint = Callable[[str], Path]
Built = Callable[[str], tuple[Path, Bundle]]


def _refused(source: Path, out: Path, says: str, **options: object) -> None:
    with pytest.raises(BundleError, match=says) as caught:
        build_bundle(source, out, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert not out.exists()
    assert not [path for path in out.parent.iterdir() if path.name.startswith(f".{out.name}.")]


@pytest.mark.parametrize("kind", FAMILIES)
def test_bundle_says_what_the_model_is(kind: str, built: Built, checkpoint: Checkpoint) -> None:
    folder, bundle = built(kind)
    assert read_bundle(folder) == bundle
    tokenizer = train_tokenizer(FAMILIES[kind].tokenizer)
    assert (bundle.mask_id, bundle.pad_id, bundle.max_pieces) == (tokenizer.mask_token_id, tokenizer.pad_token_id, 64)
    assert bundle.unk_id == tokenizer.unk_token_id
    assert bundle.vocab_size == len(tokenizer)
    assert (bundle.source, bundle.name, bundle.architecture, bundle.opset) == (kind, kind, kind, 18)
    assert sorted(path.name for path in folder.iterdir()) == ["bundle.json", "model.onnx", "tokenizer.json"]
    assert bundle.parity["max_abs_dlogp_nats"] <= 1e-4
    assert all(shape in bundle.parity["shapes"] for shape in ([1, 3], [2, 16], [5, 1], [1, 64]))
    assert str(checkpoint(kind).parent) not in (folder / "bundle.json").read_text()
    assert bundle.files["model.onnx"].size <= 1.1 * 4 * bundle.parameters + 300_000


def test_the_evaluator_opens_it(built: Built) -> None:
    folder, bundle = built("xlm-roberta")
    ids = np.array([[0, 7, bundle.mask_id, 9, 2]])
    none = np.zeros(0, np.int64)
    answers = EvaluatorSession(folder, bundle, threads=1).run(ids, np.ones_like(ids), np.array([2]), none, none)
    assert answers.topk_ids.shape == (1, bundle.top_k)


def test_a_table_beside_the_graph_stays_there(
    checkpoint: Checkpoint, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be overridden, so the runtime packs no copy of it; it is no input that must be fed."""
    monkeypatch.setattr("export.graph.EXTERNAL_ABOVE_BYTES", 1000)
    bundle = build_bundle(checkpoint("xlm-roberta"), tmp_path / "out")
    options = {"providers": ["CPUExecutionProvider"]}
    beside = onnxruntime.InferenceSession(str(tmp_path / "out" / "model.onnx"), **options)
    assert [i.shape for i in beside.get_overridable_initializers()] == [[bundle.vocab_size, 32]]
    inside = onnxruntime.InferenceSession(str(built("xlm-roberta")[0] / "model.onnx"), **options)
    assert not inside.get_overridable_initializers()
    ids = np.array([[0, 7, bundle.mask_id, 9, 2]])
    asked = (ids, np.ones_like(ids), np.array([2]), np.zeros(3, np.int64), np.arange(3))
    a = EvaluatorSession(tmp_path / "out", bundle, threads=1).run(*asked)
    b = EvaluatorSession(*built("xlm-roberta"), threads=1).run(*asked)
    np.testing.assert_allclose(a.gold_logp, b.gold_logp, atol=1e-5)
    assert a.topk_ids.tolist() == b.topk_ids.tolist()


def test_same_source_same_bundle(checkpoint: Checkpoint, built: Built, tmp_path: Path) -> None:
    again = build_bundle(checkpoint("bert"), tmp_path / "again")
    assert again.fingerprint == built("bert")[1].fingerprint


def test_existing_folders_are_kept(checkpoint: Checkpoint, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(BundleError, match="exists and is not a model bundle"):
        build_bundle(checkpoint("bert"), out, force=True)
    assert (out / "thesis.txt").read_text() == "mine"
    (out / "thesis.txt").unlink()
    first = build_bundle(checkpoint("bert"), out, name="first")
    with pytest.raises(BundleError, match="already holds a bundle"):
        build_bundle(checkpoint("bert"), out)
    assert read_bundle(out) == first
    assert build_bundle(checkpoint("bert"), out, name="second", force=True).name == read_bundle(out).name == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_takes_a_file_of_optimum_cli_unmodified(checkpoint: Checkpoint, built: Built, tmp_path: Path) -> None:
    exported = tmp_path / "exported"
    command = [
        sys.executable,
        "-m",
        "optimum.commands.optimum_cli",
        "export",
        "onnx",
        "--model",
        str(checkpoint("roberta")),
    ]
    subprocess.run([*command, "--task", "fill-mask", str(exported)], check=True, capture_output=True)
    reference = built("roberta")[1]
    for given in (exported, exported / "model.onnx"):
        bundle = build_bundle(given, tmp_path / "out", name="x", force=True)
        assert bundle.parity["reference"] == "the given ONNX graph"
        assert bundle.parity["max_abs_dlogp_nats"] <= 1e-4
        assert bundle.source == "exported"
        assert (bundle.vocab_size, bundle.mask_id, bundle.max_pieces) == (
            reference.vocab_size, reference.mask_id, reference.max_pieces,
        )  # fmt: skip
    (exported / "config.json").unlink()
    _refused(exported / "model.onnx", tmp_path / "none", "no config.json beside")


@pytest.fixture(scope="session")
def full_graph(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Copies, into a new folder, a full-logits graph beside its config and tokenizer."""
    root = tmp_path_factory.mktemp("full")

    def get(kind: str, target: Path) -> Path:
        if not (root / kind).exists():
            export_graph(load_model(find_source(str(checkpoint(kind)))), root / kind)
            for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
                shutil.copy(checkpoint(kind) / name, root / kind)
        return Path(shutil.copytree(root / kind, target))

    return get


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_position_ids_and_int32_inputs_are_settled(
    kind: str, full_graph: Callable[[str, Path], Path], built: Built, tmp_path: Path
) -> None:
    """A graph that wants position_ids, and ids as int32, gives what the plain one gives."""
    folder = full_graph(kind, tmp_path / "graph")
    model = load_graph(folder / "model.onnx")
    graph = model.graph
    table = next(t.name for t in graph.initializer if "position_embeddings" in t.name)
    gather = next(node for node in graph.node if table in node.input and node.op_type == "Gather")
    gather.input[1] = "position_ids"
    graph.input.append(onnx.helper.make_tensor_value_info("position_ids", onnx.TensorProto.INT32, ["b", "l"]))
    ids = next(value for value in graph.input if value.name == "attention_mask")
    ids.type.tensor_type.elem_type = onnx.TensorProto.INT32
    for node in list(graph.node):
        for i, value in enumerate(node.input):
            if value == "attention_mask":
                node.input[i] = "mask64"
    graph.node.insert(0, onnx.helper.make_node("Cast", ["attention_mask"], ["mask64"], to=onnx.TensorProto.INT64))
    onnx.save_model(model, folder / "model.onnx")
    bundle = build_bundle(folder, tmp_path / "out")
    plain_folder, plain = built(kind)
    rng = np.random.default_rng(1)
    rows = rng.integers(5, plain.vocab_size, (3, 11))
    attention = np.ones_like(rows)
    rows[1, 6:], attention[1, 6:] = plain.pad_id, 0
    feeds = (rows, attention, np.array([3, 12, 30]), np.array([0, 1, 2]), np.array([9, 8, 7]))
    a = EvaluatorSession(plain_folder, plain, threads=1).run(*feeds)
    b = EvaluatorSession(tmp_path / "out", bundle, threads=1).run(*feeds)
    np.testing.assert_allclose(a.gold_logp, b.gold_logp, atol=1e-5)
    np.testing.assert_array_equal(a.topk_ids, b.topk_ids)


def test_graph_flaws_are_named(full_graph: Callable[[str, Path], Path], tmp_path: Path) -> None:
    def broken(name: str, change: Callable[[onnx.ModelProto], None]) -> Path:
        folder = full_graph("bert", tmp_path / name)
        model = load_graph(folder / "model.onnx")
        change(model)
        onnx.save_model(model, folder / "model.onnx")
        return folder

    def other_task(model: onnx.ModelProto) -> None:
        model.graph.output[0].name = "last_hidden_state"
        model.graph.node[-1].output[0] = "last_hidden_state"

    def frozen_length(model: onnx.ModelProto) -> None:
        shape = numpy_helper.from_array(np.array([1, 16], np.int64), "frozen")
        model.graph.initializer.append(shape)
        model.graph.node.insert(0, onnx.helper.make_node("Reshape", ["input_ids", "frozen"], ["fixed_ids"]))
        for node in model.graph.node[1:]:
            for i, value in enumerate(node.input):
                node.input[i] = "fixed_ids" if value == "input_ids" else value

    def unknown_input(model: onnx.ModelProto) -> None:
        model.graph.input.append(onnx.helper.make_tensor_value_info("bbox", onnx.TensorProto.INT64, ["b", "l", 4]))

    def no_attention(model: onnx.ModelProto) -> None:
        model.graph.input.remove(next(value for value in model.graph.input if value.name == "attention_mask"))

    for name, change, says in (
        ("other_task", other_task, "another task"),
        ("frozen_length", frozen_length, r"fails on input of shape"),
        ("unknown_input", unknown_input, "inputs nobody can give: bbox"),
        ("no_attention", no_attention, "no input attention_mask"),
    ):
        _refused(broken(name, change), tmp_path / "out", says)
    truncated = full_graph("bert", tmp_path / "truncated") / "model.onnx"
    truncated.write_bytes(truncated.read_bytes()[:5000])
    _refused(truncated, tmp_path / "out", "not an ONNX model|no graph")


def test_external_data_are_read_and_must_stay_in_the_folder(
    full_graph: Callable[[str, Path], Path], built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = full_graph("bert", tmp_path / "graph")
    model = load_graph(folder / "model.onnx")
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=True, location="w.data", size_threshold=0)
    monkeypatch.setattr("export.graph.EXTERNAL_ABOVE_BYTES", 1000)
    bundle = build_bundle(folder, tmp_path / "out")
    assert sorted(bundle.files) == ["model.onnx", "model.onnx.data", "tokenizer.json"]
    read_bundle(tmp_path / "out")
    assert bundle.files["model.onnx.data"].size > bundle.files["model.onnx"].size
    with (folder / "w.data").open("r+b") as file:
        file.truncate(100)
    _refused(folder, tmp_path / "other", "truncated")
    (folder / "w.data").unlink()
    _refused(folder, tmp_path / "other", "missing")
    (tmp_path / "secret").write_bytes(b"\0" * 10**6)
    (folder / "w.data").symlink_to(tmp_path / "secret")
    _refused(folder, tmp_path / "other", "leave the model's folder")


def test_wrong_models_are_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    tokenizer = train_tokenizer("wordpiece")
    config = AutoConfig.from_pretrained(checkpoint("bert"))
    for name, model, says in (
        ("headless", AutoModel.from_config(config), "would be random: cls.predictions"),
        ("classifier", AutoModelForSequenceClassification.from_config(config), "would be random: cls.predictions"),
        (
            "gpt2",
            AutoModelForCausalLM.from_config(
                AutoConfig.for_model("gpt2", n_embd=16, n_layer=1, n_head=2, vocab_size=474)
            ),
            "not loadable as a masked language model",
        ),
    ):
        with quiet():
            model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        _refused(tmp_path / name, tmp_path / "out", says, task="fill-mask")


def test_tokenizer_larger_than_the_model_is_refused(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("wordpiece")
    make_model("bert", tokenizer).save_pretrained(tmp_path / "m")
    tokenizer.add_tokens(["<extra>"])
    tokenizer.save_pretrained(tmp_path / "m")
    _refused(tmp_path / "m", tmp_path / "out", "475 pieces, the model only 474")


def test_untied_table_is_kept_as_it_is(tmp_path: Path) -> None:
    save_checkpoint("bert", tmp_path / "untied", tie_word_embeddings=False)
    bundle = build_bundle(tmp_path / "untied", tmp_path / "out")
    assert bundle.parity["tied"] is False


def test_a_graph_that_differs_makes_no_bundle(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One weight off by a hundredth is found by the parity gate, at both depths of the cut."""

    def skewed(model: object, folder: Path) -> Path:
        path = export_graph(model, folder)
        graph = load_graph(path)
        bias = next(t for t in graph.graph.initializer if t.name == "cls.predictions.transform.dense.bias")
        bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) + np.float32(0.01), bias.name))
        onnx.save_model(graph, path)
        return path

    monkeypatch.setattr(build, "export_graph", skewed)
    _refused(checkpoint("bert"), tmp_path / "out", "differs from transformers")


def test_altered_or_missing_files_are_noticed(built: Built, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(built("bert")[0], tmp_path / "copy"))
    data = bytearray((folder / "model.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "model.onnx").write_bytes(data)
    with pytest.raises(BundleError, match=r"differs from what bundle\.json promises"):
        read_bundle(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(BundleError, match="missing"):
        read_bundle(folder)


def test_top_k_and_storage_limits(checkpoint: Checkpoint, tmp_path: Path) -> None:
    _refused(checkpoint("bert"), tmp_path / "out", "but the vocabulary has 474", k=500)
    _refused(
        checkpoint("bert"), tmp_path / "out", "storage fp16 goes with precision fp32", storage="fp16", precision="int8"
    )
    assert build_bundle(checkpoint("bert"), tmp_path / "three", k=3).top_k == 3


def test_untested_versions_are_refused(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("export.convert.TESTED", {"transformers": "5.1"})
    _refused(checkpoint("bert"), tmp_path / "out", r"transformers 4\.\S+ is installed, exports are tested with 5.1")


def test_model_length_below_the_tokenizers_is_found(tmp_path: Path) -> None:
    """RoBERTa kinds lose pad_id + 1 positions of their table; the tokenizer's own figure may promise more."""
    save_checkpoint("roberta", tmp_path / "m", max_position_embeddings=42)
    config = json.loads((tmp_path / "m/tokenizer_config.json").read_text())
    (tmp_path / "m/tokenizer_config.json").write_text(json.dumps({**config, "model_max_length": 10**30}))
    assert build_bundle(tmp_path / "m", tmp_path / "out").max_pieces == 40
