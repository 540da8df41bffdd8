"""A classifier scored on a real Ray gives the same outcomes as here."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'morphorder[cluster]'")

from evaluator.stages.finished import Finished

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def test_ray_and_local_agree(
    run: Callable[..., Finished], bundles: Callable[..., Path], single: Path, tmp_path: Path
) -> None:
    options = {"texts": ("sentence",), "draws": 2, "scoring": {"threads": 1, "shard_rows": 100}}
    here = run(single, [bundles("order")], out=str(tmp_path / "here"), **options)
    there = run(single, [bundles("order")], out=str(tmp_path / "there"), engine="ray", ray={"max_actors": 1}, **options)
    assert here.document["rows"] == there.document["rows"]
    files = [Path(r.folder) / "report/outcomes.parquet" for r in (here, there)]
    assert files[0].read_bytes() == files[1].read_bytes()
