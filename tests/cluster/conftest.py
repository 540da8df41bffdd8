"""A real Ray for the tests: two logical CPUs and GPUs, started once, and again when a test ended it."""

import gc
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # as cluster/placement.py has it; Ray reads it when it is first imported

from evaluator.score.bundle import Bundle
from tests.cluster.jobs import POISON

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")
pytest.importorskip("onnx", reason="needs onnx to make a model")

from tests.cluster.heads import Head, head_node
from tests.fake_bundle import make_fake_bundle  # after the skips

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
"""What the tests' S3 server accepts; set before Ray starts, so that its workers have them."""


@pytest.fixture(scope="session")
def _ray_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    import ray

    os.environ.update(CREDENTIALS, RAY_AUTH_MODE="disabled", PYTHONWARNINGS="ignore")
    # Ray makes its workers nice (15): on a busy machine they would get no turn at all.
    os.environ.update(RAY_worker_niceness="0", MORPHORDER_CACHE=str(tmp_path_factory.mktemp("cache")))
    yield
    ray.shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray kills its daemons and does not wait for them: Popen complains when freed
        gc.collect()


@pytest.fixture
def ray_cluster(_ray_session: None) -> None:
    """Ray, up."""
    import ray

    if not ray.is_initialized():
        ray.init("local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")


@pytest.fixture(scope="session")
def fake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle]:
    """A sound model that dies of POISON."""
    folder = tmp_path_factory.mktemp("fake")
    return folder, make_fake_bundle(folder, die_on=POISON)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle]:
    """A model that takes a fair part of a second for each batch."""
    folder = tmp_path_factory.mktemp("slow")
    return folder, make_fake_bundle(folder, name="slow", work=3000)


@pytest.fixture(scope="session")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A head node that lets everyone in."""
    with head_node(tmp_path_factory.mktemp("head")) as node:
        yield node
