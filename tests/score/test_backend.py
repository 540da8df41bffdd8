"""The door to onnxruntime and the bundle behind it: every fault of a model folder is one line with its remedy."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from evaluator.encode.tokenizer import PieceCutter
from evaluator.errors import BundleError, MorphorderError, UserError
from evaluator.score import backend
from evaluator.score.backend import Session
from evaluator.score.bundle import BUNDLE_FILE, MODEL_FILE, TOKENIZER_FILE, Bundle, read_bundle, stamp_file
from evaluator.stages.encode import ModelFolder, open_cutter, open_models
from tests.fake_bundle import fake_tokenizer, make_fake_bundle

GetFake = Callable[..., tuple[Path, Bundle]]


@pytest.fixture
def folder(fake: GetFake, tmp_path: Path) -> Path:
    """A bundle of its own that a test may damage."""
    return Path(shutil.copytree(fake()[0], tmp_path / "bundle"))


def describe(folder: Path, **changes: object) -> None:
    """Changes what bundle.json says, stamps renewed."""
    path = folder / BUNDLE_FILE
    described = json.loads(path.read_text())
    described["files"] = {name: stamp_file(folder / name).model_dump() for name in described["files"]}
    path.write_text(json.dumps({**described, **changes}))


def regraph(folder: Path, change: Callable[[onnx.ModelProto], None]) -> Bundle:
    model = onnx.load(folder / MODEL_FILE)
    change(model)
    onnx.save(model, folder / MODEL_FILE)
    describe(folder)
    return read_bundle(folder)


@pytest.mark.parametrize("name", [MODEL_FILE, TOKENIZER_FILE])
@pytest.mark.parametrize("damage", ["gone", "shorter", "one bit", "empty"])
def test_missing_or_altered_file(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        flipped = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        path.write_bytes({"shorter": content[:-1], "one bit": flipped, "empty": b""}[damage])
    with pytest.raises(BundleError, match=r"is missing|differs") as error:
        read_bundle(folder)
    assert error.value.where == str(path)
    assert error.value.hint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocab_size": 0}, "vocab_size"),
        ({"mask_id": 10**6}, "mask_id"),
        ({"pad_id": 10**6}, "pad_id"),
        ({"unk_id": 10**6}, "unk_id"),
        ({"mask_id": -1}, "mask_id"),
        ({"top_k": 10**6}, "top_k"),
        ({"precision": "fp8"}, "precision"),
        ({"schema_version": 2}, "schema"),
        ({"surprise": 1}, "surprise"),
        ({"files": {}}, "model.onnx"),
        ({"files": {"model.onnx": {"size": 0, "sha256": ""}}}, "tokenizer.json"),
    ],
)
def test_manifest_that_cannot_be_right(folder: Path, changes: dict[str, object], said: str) -> None:
    describe(folder, **changes)
    with pytest.raises(BundleError, match=said):
        read_bundle(folder)


def test_file_names_stay_in_the_folder(folder: Path) -> None:
    described = json.loads((folder / BUNDLE_FILE).read_text())["files"]
    describe(folder, files={**described, "../../secret": {"size": 0, "sha256": ""}})
    with pytest.raises(BundleError, match="leaves the bundle folder"):
        read_bundle(folder)


def test_manifest_that_is_no_json(folder: Path) -> None:
    (folder / BUNDLE_FILE).write_text("{")
    with pytest.raises(BundleError, match=r"bundle\.json"):
        read_bundle(folder)
    (folder / BUNDLE_FILE).unlink()
    with pytest.raises(BundleError, match="not a model bundle"):
        read_bundle(folder)


def test_two_models_of_one_name(fake: GetFake, folder: Path) -> None:
    with pytest.raises(BundleError, match="two models are called 'fake'"):
        open_models((str(fake()[0]), str(folder)))


def test_graph_that_is_no_graph(folder: Path) -> None:
    (folder / MODEL_FILE).write_bytes(b"not a graph" * 50)
    describe(folder)
    with pytest.raises(BundleError, match="cannot load the graph"):
        Session(folder, read_bundle(folder), threads=1)


def test_graph_with_an_input_more(folder: Path) -> None:
    extra = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["B"])
    bundle = regraph(folder, lambda m: m.graph.input.append(extra))
    with pytest.raises(BundleError, match="pixel_values"):
        Session(folder, bundle, threads=1)


def test_graph_with_an_output_less(folder: Path) -> None:
    """As a plain fill-mask or classification export has it."""
    bundle = regraph(folder, lambda m: m.graph.output.pop())
    with pytest.raises(BundleError, match="gold_rank"):
        Session(folder, bundle, threads=1)


def test_graph_with_an_input_less(folder: Path) -> None:
    def drop(model: onnx.ModelProto) -> None:
        kept = [i for i in model.graph.input if i.name != "gold_row"]
        del model.graph.input[:]
        model.graph.input.extend(kept)
        value = helper.make_tensor("gold_row", TensorProto.INT64, [1], [0])
        model.graph.initializer.append(value)

    bundle = regraph(folder, drop)
    with pytest.raises(BundleError, match="gold_row"):
        Session(folder, bundle, threads=1)


def test_token_types_are_fed_when_wanted(folder: Path) -> None:
    types = helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, ["B", "L"])
    bundle = regraph(folder, lambda m: m.graph.input.append(types))
    ids = np.array([[2, 7, 4, 3]])
    answers = Session(folder, bundle, threads=1).run(
        ids, np.ones_like(ids), np.array([2]), np.array([0]), np.array([9])
    )
    assert answers.topk_ids.shape == (1, bundle.top_k)


def test_ids_outside_the_model_are_one_line(fake: GetFake) -> None:
    folder, bundle = fake()
    ids = np.array([[2, bundle.vocab_size + 7, 4, 3]])
    with pytest.raises(MorphorderError, match="graph failed") as error:
        Session(folder, bundle, threads=1).run(ids, np.ones_like(ids), np.array([2]), np.array([0]), np.array([9]))
    assert error.value.where == "fake"


def test_tokenizer_larger_than_the_model(folder: Path) -> None:
    fake_tokenizer("wordpiece", ["extra", "more"]).save(str(folder / TOKENIZER_FILE))
    describe(folder)
    with pytest.raises(BundleError, match="tokenizer has"):
        open_cutter(ModelFolder(folder, read_bundle(folder)))


def test_tokenizer_whose_one_id_is_beyond_the_model(folder: Path) -> None:
    described = json.loads((folder / TOKENIZER_FILE).read_text())
    vocabulary = described["model"]["vocab"]
    vocabulary["z"] = len(vocabulary) + 1000
    (folder / TOKENIZER_FILE).write_text(json.dumps(described))
    describe(folder)
    with pytest.raises(BundleError, match="tokenizer has"):
        open_cutter(ModelFolder(folder, read_bundle(folder)))


def test_tokenizer_smaller_than_the_model_is_fine(tmp_path: Path) -> None:
    make_fake_bundle(tmp_path / "b", vocab=["padding", "rows"])
    fake_tokenizer("wordpiece", []).save(str(tmp_path / "b" / TOKENIZER_FILE))
    describe(tmp_path / "b")
    assert isinstance(open_cutter(ModelFolder(tmp_path / "b", read_bundle(tmp_path / "b"))), PieceCutter)


def test_provider_that_is_not_there(fake: GetFake) -> None:
    if "CUDAExecutionProvider" in backend.providers():
        pytest.skip("this onnxruntime has CUDA")
    with pytest.raises(UserError, match="no CUDAExecutionProvider") as error:
        Session(*fake(), provider="cuda")
    assert "morphorder[gpu]" in error.value.hint


def test_provider_that_fell_back(fake: GetFake, monkeypatch: pytest.MonkeyPatch) -> None:
    class FellBack:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def get_providers(self) -> list[str]:
            return ["CPUExecutionProvider"]

    ort = backend._onnxruntime()
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setattr(ort, "InferenceSession", FellBack)
    with pytest.raises(UserError, match="asked for CUDAExecutionProvider, got CPUExecutionProvider"):
        Session(*fake(), provider="cuda")


def test_both_distributions_installed(fake: GetFake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "installed", lambda: {"onnxruntime": "1.22.0", "onnxruntime-gpu": "1.22.0"})
    with pytest.raises(UserError, match="both installed") as error:
        Session(*fake())
    assert "pip uninstall" in error.value.hint


def test_no_distribution_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(backend.importlib, "import_module", absent)
    with pytest.raises(UserError, match="no onnxruntime is installed"):
        backend.providers()


def test_fingerprints_follow_the_content(fake: GetFake, folder: Path) -> None:
    before = fake()[1]
    assert read_bundle(folder).fingerprint == before.fingerprint
    fake_tokenizer("wordpiece", ["extra"]).save(str(folder / TOKENIZER_FILE))
    describe(folder)
    after = read_bundle(folder)
    assert after.fingerprint != before.fingerprint
    assert after.tokenizer_fingerprint != before.tokenizer_fingerprint
    describe(folder, max_pieces=64)
    assert read_bundle(folder).tokenizer_fingerprint != after.tokenizer_fingerprint


def test_bound_outputs_are_the_plain_ones_on_mixed_shapes(fake: GetFake) -> None:
    """The GPU's way of running, on the CPU's memory: shapes change from call to call, and nothing of a call stays."""
    folder, bundle = fake()
    session = Session(folder, bundle, threads=1)
    session._device = "cpu"
    rng = np.random.default_rng(0)
    for rows, length in ((1, 3), (7, 40), (2, 5), (1, 3), (30, 12)):
        ids = rng.integers(5, bundle.vocab_size, (rows, length))
        at, golds = np.arange(rows) * length + 1, rng.integers(5, bundle.vocab_size, rows)
        feeds = (ids, np.ones_like(ids), at, np.arange(rows), golds)
        bound, plain = session.run(*feeds), session.run_plainly(*feeds)
        for name in backend.OUTPUTS:
            np.testing.assert_array_equal(getattr(bound, name), getattr(plain, name))


@pytest.mark.parametrize(
    ("flags", "refused"), [("avx2 avx512f", True), ("avx2 avx_vnni", False), ("avx512_vnni", False)]
)
def test_int8_only_where_products_do_not_saturate(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, refused: bool
) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text(f"processor : 0\nflags : fpu {flags}\n")
    monkeypatch.setattr(backend, "CPU_FACTS", facts)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    Session(folder, read_bundle(folder))
    describe(folder, precision="int8")
    if refused:
        with pytest.raises(UserError, match=r"has no VNNI.*fp32") as error:
            Session(folder, read_bundle(folder))
        assert error.value.exit_code == 2
    else:
        Session(folder, read_bundle(folder))


def test_processors_of_which_nothing_is_known_are_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(backend, "CPU_FACTS", tmp_path / "none")
    assert not backend.saturates_int8()
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert not backend.saturates_int8()
