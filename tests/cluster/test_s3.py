"""A run folder on S3: written by several workers, resumed, reported; against a server that the test starts."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
moto_server = pytest.importorskip("moto.server", reason="needs an S3 server: pip install 'moto[server]'")

from evaluator.errors import BundleError, StoreError  # noqa: E402  # after the skips
from evaluator.score.bundle import Bundle, read_bundle  # noqa: E402
from evaluator.score.fetch import local_bundle  # noqa: E402
from evaluator.store import schemas  # noqa: E402
from evaluator.store.location import Location  # noqa: E402
from evaluator.store.lock import LOCK_FILE, run_lock  # noqa: E402
from evaluator.store.shards import ShardSet  # noqa: E402
from tests.cluster.conftest import CREDENTIALS  # noqa: E402
from tests.cluster.jobs import answers, local_answers, make_job  # noqa: E402
from tests.cluster.small import write_treebank  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
Fake = tuple[Path, Bundle]


@pytest.fixture(scope="module")
def requests() -> list[str]:
    """The requests that the S3 server has answered, as "GET /path"."""
    return []


@pytest.fixture(scope="module")
def bucket(requests: list[str]) -> Iterator[str]:
    """A URI of an empty bucket, with a query that says how to reach it."""

    def note(handler: Any, *_: object) -> None:
        requests.append(f"{handler.command} {handler.path}")

    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        patch.setattr(moto_server.MotoRequestHandler, "log_request", note)
        port = server.get_host_and_port()[1]
        query = f"scheme=http&endpoint_override=127.0.0.1:{port}&region=eu-central-1&allow_bucket_creation=true"
        pafs.FileSystem.from_uri(f"s3://runs?{query}")[0].create_dir("runs")
        yield f"s3://runs/{{}}?{query}"
    server.stop()


def test_query_reaches_the_place_and_no_name(bucket: str) -> None:
    place = Location.of(bucket.format("a/")) / "b"
    place.write("x.json", b"{}")
    place.write("_hidden", b"")
    assert str(place) == "s3://runs/a/b"
    assert (Location.of(bucket.format("a")) / "b").names() == ["x.json"]
    assert place.exists("x.json")
    assert place.read("x.json").to_pybytes() == b"{}"
    place.delete("x.json")
    assert not place.exists("x.json")
    with pytest.raises(StoreError, match=r"s3://runs/a/b/x\.json"):
        place.read("x.json")


def test_second_run_is_refused(bucket: str) -> None:
    place = Location.of(bucket.format("locked"))
    with run_lock(place), pytest.raises(StoreError, match="another run works here"), run_lock(place):
        pass
    assert not place.exists(LOCK_FILE)


def test_bundle_is_fetched_once_and_checked(
    bucket: str, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORPHORDER_CACHE", str(tmp_path / "cache"))
    place = Location.of(bucket.format("bundle"))
    for file in fake[0].iterdir():
        place.write(file.name, file.read_bytes())
    folder = local_bundle(place.text)
    assert read_bundle(folder) == fake[1]
    place.write("model.onnx", b"altered since")
    assert local_bundle(place.text) == folder
    monkeypatch.setenv("MORPHORDER_CACHE", str(tmp_path / "other"))
    with pytest.raises(BundleError, match="differs from what"):
        local_bundle(place.text)
    assert not [p for p in (tmp_path / "other" / "bundles").iterdir() if p.is_dir()]


WRITER = """
import pickle, sys
from pathlib import Path
shards, tables = pickle.loads(Path(sys.argv[1]).read_bytes())
print(flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    for table in tables:
        shards.write(0, table)
"""


@pytest.mark.parametrize(("rows", "times"), [(20, 30), (200_000, 3)], ids=["one part", "many parts"])
def test_two_writers_of_a_shard_cannot_corrupt_it(
    bucket: str, rows: int, times: int, tmp_path: Path, requests: list[str]
) -> None:
    """Two processes write other contents to the same name at once: whoever reads gets one of the two, whole."""
    shards = ShardSet(Location.of(bucket.format(f"writers{rows}")), "rows", schemas.ROWS, "mark")
    tables = [
        pa.table([range(rows), [[n] * 8] * rows, [[0]] * rows, [[[n]]] * rows], schema=schemas.ROWS) for n in (1, 2)
    ]
    shards.write(0, tables[0])
    writers = []
    for number in range(2):
        path = tmp_path / f"writer{number}"
        path.write_bytes(pickle.dumps((shards, tables[number:] + tables[:number])))
        command = [sys.executable, "-c", WRITER, str(path), str(times)]
        writers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        writer.stdin.write("\n")
        writer.stdin.flush()
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(shards.read(0)["ids"][0].as_py()[0])
    seen.add(shards.read(0)["ids"][0].as_py()[0])
    for writer in writers:
        assert writer.wait() == 0
        writer.communicate()
    assert seen <= {1, 2}
    assert any(f"writers{rows}" in r and "partNumber=2" in r for r in requests) == (rows > 20)


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_bundle_is_fetched_once_per_node(bucket: str, fake: Fake, tmp_path: Path, requests: list[str]) -> None:
    from cluster.engine import run_ray

    bundle_dir = Location.of(bucket.format(f"fetched-{tmp_path.name}"))
    for file in fake[0].iterdir():
        bundle_dir.write(file.name, file.read_bytes())
    job = replace(make_job(tmp_path / "run", *fake, shards=6), bundle=bundle_dir.text)
    requests.clear()
    done = list(run_ray(job, range(6), {"min_actors": 2, "max_actors": 2}))
    assert len(done) == 6
    fetched = [r for r in requests if r.startswith("GET ") and r.endswith("/model.onnx")]
    assert len(fetched) == 1, fetched
    assert answers(job.scored, 6) == local_answers(replace(job, bundle=str(fake[0])), tmp_path / "local", 6)


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_two_workers_write_to_s3_and_a_rerun_goes_on(bucket: str, fake: Fake, tmp_path: Path) -> None:
    from cluster.engine import run_ray

    job = make_job(bucket.format("job"), *fake, shards=6)
    first = list(run_ray(job, range(3), {"max_actors": 2}))
    job.scored.location.write(job.scored.name(1), job.scored.location.read(job.scored.name(1)).to_pybytes()[:-40])
    pending = [s for s in range(6) if not job.scored.is_done(s)]
    assert (len(first), pending) == (3, [1, 3, 4, 5])
    list(run_ray(job, pending, {"max_actors": 2}))
    assert answers(job.scored, 6) == local_answers(job, tmp_path / "local", 6)


def test_whole_run_on_s3_equals_one_on_a_disk(bucket: str, fake: Fake, tmp_path: Path) -> None:
    from evaluator.config import Config, TreebankSpec
    from evaluator.stages.run import run_all

    settings = {
        "treebanks": (TreebankSpec(path=str(write_treebank(tmp_path))),),
        "models": (str(fake[0]),),
        "statistics": {"resamples": 100},
        "scoring": {"shard_rows": 16, "threads": 1},
    }
    documents = [
        run_all(Config.model_validate({**settings, "out": out})).document
        for out in (bucket.format("whole"), str(tmp_path / "disk"))
    ]
    assert documents[0]["cells"] == documents[1]["cells"]
    assert documents[0]["counts"] == documents[1]["counts"]
    again = run_all(Config.model_validate({**settings, "out": bucket.format("whole")})).document
    assert again["cells"] == documents[1]["cells"]
