"""Where workers are: a GPU each, or an nth of one; threads to match; pools that grow and shrink."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from cluster.engine import run_ray
from cluster.placement import Demand, demand_of, room
from evaluator.config import RaySettings
from evaluator.errors import ConfigError, MorphorderError
from evaluator.score.bundle import Bundle
from tests.cluster.jobs import POISON, make_job
from tests.cluster.processes import workers_of_this_process
from tests.fake_bundle import make_fake_bundle

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]
Fake = tuple[Path, Bundle]


@pytest.fixture(scope="module")
def four_cpus(_ray_session: None) -> Iterator[None]:
    """A Ray of four logical CPUs and two logical GPUs, for these tests alone."""
    import ray

    ray.shutdown()
    ray.init("local", num_cpus=4, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def test_a_gpu_each_is_the_default_and_1_in_n_may_share_one() -> None:
    assert demand_of(RaySettings(), "cpu") == Demand(1, 0.0)
    assert demand_of(RaySettings(), "cuda") == Demand(1, 1.0)
    assert demand_of(RaySettings(gpus_per_actor=0.25, cpus_per_actor=3), "cuda") == Demand(3, 0.25)
    for waste in (0.4, 0.6, 0.75):
        with pytest.raises(ConfigError, match="leaves part of each GPU unused"):
            demand_of(RaySettings(gpus_per_actor=waste), "cuda")


@pytest.mark.usefixtures("four_cpus")
def test_as_many_workers_as_gpus_each_on_its_own(slow: Fake, tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *slow, shards=24)
    done = list(run_ray(job, range(24), {"gpus_per_actor": 1, "min_actors": 2}))
    assert {d.worker.partition(" ")[2] for d in done} == {"GPU 0", "GPU 1"}


@pytest.mark.usefixtures("four_cpus")
def test_four_workers_share_two_gpus(slow: Fake, tmp_path: Path) -> None:
    assert room(Demand(1, 0.5)) == 4
    assert room(Demand(2, 0.5)) == 2
    assert room(Demand(1, 1.0)) == 2
    job = make_job(tmp_path / "run", *slow, shards=32)
    seen = 0
    devices = set()
    for done in run_ray(job, range(32), {"gpus_per_actor": 0.5, "min_actors": 4}):
        seen = max(seen, len(workers_of_this_process()))
        devices.add(done.worker.partition(" ")[2])
    assert (seen, devices) == (4, {"GPU 0", "GPU 1"})


@pytest.mark.usefixtures("four_cpus")
def test_threads_are_the_cpus_that_were_reserved(fake: Fake, tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", *fake, shards=4)
    assert job.threads == 1
    done = list(run_ray(job, range(4), {"cpus_per_actor": 2, "max_actors": 1}))
    assert {d.worker.partition(" ")[2] for d in done} == {"2 CPU"}


@pytest.mark.usefixtures("four_cpus")
def test_worker_without_work_leaves(tmp_path: Path) -> None:
    """One shard hangs: the workers that have nothing left to do give their places back meanwhile."""
    bundle = make_fake_bundle(tmp_path / "hangs", hang_on=POISON)
    job = make_job(tmp_path / "run", tmp_path / "hangs", bundle, shards=8, poison=(20,))
    counts: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            counts.append(len(workers_of_this_process()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with pytest.raises(MorphorderError, match="no shard finished"):
            list(run_ray(job, range(8), {"min_actors": 1, "max_actors": 3, "stall_timeout_s": 15}))
    finally:
        over.set()
        watcher.join()
    assert max(counts) == 3
    assert 1 in counts[counts.index(3) :], "two of three had nothing to do, and kept their places"
