"""The matrix products of a graph, alone: what they cost bounds everything that scores the same batches exactly."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from benchmarks.material import Material
from evaluator.score.backend import usable_cpus
from evaluator.score.batches import FlatRows, plan_batches
from evaluator.score.bundle import read_bundle
from evaluator.score.shard import ScoreSettings

ROWS_PREFIX = "morphorder/rows/"
"""Values behind the masked head's gather: one row per mask instead of one per piece."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The shape of one batch: rows, longest, masks."""

    rows: int
    longest: int
    masks: int


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix product with a stored table (inner × columns), applied to each piece or to each mask."""

    inner: int
    columns: int
    per_mask: bool


def products_of(path: Path) -> tuple[list[Product], int]:
    """The graph's products with stored tables, and how many products of two computed values (attention) it has."""
    graph = onnx.load_model(str(path), load_external_data=False).graph
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    renamed = {n.output[0]: n.input[0] for n in graph.node if n.op_type in {"Identity", "Cast"}}
    behind: set[str] = set()
    products, free = [], 0
    for node in graph.node:
        if any(v in behind for v in node.input) or any(o.startswith(ROWS_PREFIX) for o in node.output):
            behind.update(node.output)
        if node.op_type == "MultiHeadAttention":
            free += 2  # queries with keys, weights with values
        if node.op_type not in {"MatMul", "Gemm"}:
            continue
        table = node.input[1]
        shape = shapes.get(renamed.get(table, table))
        if shape is None or len(shape) != 2:
            free += 1
            continue
        flipped = any(a.name == "transB" and a.i for a in node.attribute)
        inner, columns = reversed(shape) if flipped else shape
        products.append(Product(inner, columns, node.output[0] in behind))
    return products, free


def batches_of(material: Material) -> list[Batch]:
    """The batches that scoring makes, shard by shard."""
    settings = ScoreSettings()
    budget = settings.max_head_bytes // (4 * read_bundle(material.work / "fp32", verify=False).vocab_size)
    found = []
    for shard in range(material.shards):
        rows = FlatRows.of(material.row_shards().read(shard))
        lengths, masks = np.diff(rows.id_offsets), np.diff(rows.mask_offsets)
        spans = plan_batches(lengths, masks, max_batch_pieces=settings.max_batch_pieces, max_batch_masks=budget)
        found += [Batch(b - a, int(lengths[a:b].max()), int(masks[a:b].sum())) for a, b in spans]
    return found


def flop(batch: Batch, products: list[Product], free: int) -> int:
    """Multiplications and additions of all products for one batch; attention's are 2 · rows · longest² · width each."""
    width = min(p.inner for p in products)
    pieces = batch.rows * batch.longest
    stored = sum(2 * p.inner * p.columns * (batch.masks if p.per_mask else pieces) for p in products)
    return stored + free * 2 * batch.rows * batch.longest**2 * width


def bare_seconds(batches: list[Batch], products: list[Product], free: int, heads: int) -> float:
    """Time of all products of all batches, each alone in onnxruntime."""
    counts, width = Counter(products), min(p.inner for p in products)
    total = 0.0
    for product, count in counts.items():
        session = _stored_product(product)
        for batch in batches:
            rows = batch.masks if product.per_mask else batch.rows * batch.longest
            total += count * _best(session, {"a": _random(rows, product.inner)})
    session = _free_product()
    for batch in batches:
        deep = width // heads
        scores = {
            "a": _random(batch.rows, heads, batch.longest, deep),
            "b": _random(batch.rows, heads, deep, batch.longest),
        }
        values = {
            "a": _random(batch.rows, heads, batch.longest, batch.longest),
            "b": _random(batch.rows, heads, batch.longest, deep),
        }
        total += free / 2 * (_best(session, scores) + _best(session, values))
    return total


def _best(session: Any, feeds: dict[str, Any], repeats: int = 3) -> float:
    walls = []
    for _ in range(repeats):
        began = time.perf_counter()
        session.run(None, feeds)
        walls.append(time.perf_counter() - began)
    return median(walls)


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _stored_product(product: Product) -> Any:
    table = numpy_helper.from_array(_random(product.inner, product.columns), "b")
    return _session([helper.make_node("MatMul", ["a", "b"], ["c"])], ["a"], [table])


def _free_product() -> Any:
    return _session([helper.make_node("MatMul", ["a", "b"], ["c"])], ["a", "b"], [])


def _session(nodes: list[Any], inputs: list[str], tables: list[Any]) -> Any:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in inputs]
    output = helper.make_tensor_value_info("c", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "product", values, [output], tables)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
