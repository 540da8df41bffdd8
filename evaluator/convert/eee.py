"""Every Eval Ever 0.3.0: one record per model with every cell's scores and intervals, and a line per scored item.

Their schema and validator are the package `every-eval-ever`, which needs Python 3.12: the tests ask its command where
there is one. All values of `additional_details` and `metadata` are strings there.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.reduce.cells import Row
from evaluator.report.document import canonical_json
from evaluator.score.bundle import model_id
from evaluator.store.schemas import TEXT_COLUMNS

SCHEMA_VERSION = "0.3.0"
COLLECTION = "morphorder"
METRICS: tuple[tuple[str, str, str, dict[str, int], float | str, float], ...] = (
    ("top1", "accuracy", "A@1: share of masked words that are the first answer", {"k": 1}, 0, 1),
    ("top5", "accuracy", "A@5: share of masked words among the first five answers", {"k": 5}, 0, 1),
    ("S", "sensitivity", "S = (A(orig) - A(c)) / A(orig): share of the original accuracy lost", {}, "-Infinity", 1),
    ("I", "interaction", "I = D(c) + D(orig+L) - D(c+L), D(x) = A(orig) - A(x): overlap of the two cues", {}, -2, 2),
)
"""(column of the cells, metric kind, description, parameters, lowest, highest value)."""
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
INSTANCE_METRIC = "top1"
"""The score that an item's line belongs to."""


def eee_files(
    report: Mapping[str, Any], outcomes: pa.Table, *, retrieved: int, organization: str, relationship: str
) -> Iterator[tuple[str, bytes]]:
    """Yields (path, bytes): `data/morphorder/<developer>/<model>/<uuid>.json` and `<uuid>_samples.jsonl` per model.

    `retrieved`: seconds since 1970. The items are those that count in the cells; without texts (a report made under
    `--no-text`) there are no items. Same input, same bytes.
    """
    for model in dict.fromkeys(cell["model"] for cell in report["cells"]):
        identity = _identity(report, model)
        name = str(_uuid(str(report.get("run_id")), identity["id"], str(retrieved)))
        developer, _, short = identity["id"].partition("/")
        folder = f"data/{COLLECTION}/{developer}/{short.replace('/', '_')}"
        evaluation_id = f"{COLLECTION}/{identity['id']}/{retrieved}"
        record = _record(report, model, identity, evaluation_id, retrieved)
        record["source_metadata"] |= {
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        }
        lines = list(_samples(outcomes, model, identity["id"], evaluation_id))
        if lines:
            samples = "".join(f"{line}\n" for line in lines).encode("utf-8")
            path = f"{folder}/{name}_samples.jsonl"
            record["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": path,
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(samples).hexdigest(),
                "total_rows": len(lines),
            }
            yield path, samples
        yield f"{folder}/{name}.json", canonical_json(record)


def _uuid(*parts: str) -> uuid.UUID:
    """A UUID of version 4's shape, the same for the same parts."""
    return uuid.UUID(bytes=hashlib.sha256("\0".join(parts).encode()).digest()[:16], version=4)


def _identity(report: Mapping[str, Any], model: str) -> Row:
    manifest = report.get("manifest") or {}
    described: Mapping[str, Any] = next((m for m in manifest.get("models") or [] if m.get("name") == model), {})
    versions: Mapping[str, Any] = manifest.get("versions") or {}
    facts = {key: described.get(key) for key in ("revision", "architecture", "precision", "fingerprint", "provider")}
    return {
        "name": model,
        "id": model_id(str(described.get("source") or ""), model),
        "inference_engine": {"name": "onnxruntime", "version": str(versions.get("onnxruntime", "unknown"))},
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "unknown",
            **{key: str(value) for key, value in facts.items() if value},
        },
    }


def _record(report: Mapping[str, Any], model: str, identity: Row, evaluation_id: str, retrieved: int) -> Row:
    manifest = report.get("manifest") or {}
    details = {
        "run_id": report.get("run_id"),
        "config_fingerprint": manifest.get("config_fingerprint"),
        "config": json.dumps(manifest.get("config") or {}, sort_keys=True, ensure_ascii=False),
        "command": manifest.get("command"),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "retrieved_timestamp": str(retrieved),
        "source_metadata": {"source_name": "morphorder run", "source_type": "evaluation_run"},
        "eval_library": {
            "name": "morphorder",
            "version": str((manifest.get("versions") or {}).get("morphorder", "unknown")),
            "additional_details": {key: str(value) for key, value in details.items() if value},
        },
        "model_info": identity,
        "evaluation_results": [
            _result(report, cell, metric)
            for cell in report["cells"]
            if cell["model"] == model
            for metric in METRICS
            if cell.get(metric[0]) is not None
        ],
    }


def _result(
    report: Mapping[str, Any], cell: Mapping[str, Any], metric: tuple[str, str, str, dict[str, int], float | str, float]
) -> Row:
    key, kind, said, parameters, low, high = metric
    treebanks: list[Mapping[str, Any]] = (report.get("manifest") or {}).get("treebanks") or []
    treebank: Mapping[str, Any] = next((t for t in treebanks if t.get("name") == cell["treebank"]), {})
    facts = {
        "language": cell["language"],
        **{key: str(treebank[key]) for key in ("sha256", "licence") if treebank.get(key)},
    }
    score: Row = {"score": cell[key], "details": {"n": str(cell["n"]), "n_sentences": str(cell.get("n_sentences"))}}
    uncertainty: Row = {"num_samples": cell["n"]}
    intervals: Mapping[str, Any] = report.get("intervals") or {}
    if cell.get(f"{key}_ci"):
        wilson = key.startswith("top")
        uncertainty["confidence_interval"] = {
            "lower": cell[f"{key}_ci"][0],
            "upper": cell[f"{key}_ci"][1],
            "confidence_level": intervals.get("confidence", 0.95),
            "method": "Wilson, effective n, clusters: sentences" if wilson else "paired bootstrap over sentences",
        }
        if not wilson and intervals.get("resamples"):
            uncertainty["num_bootstrap_samples"] = intervals["resamples"]
    return {
        "evaluation_result_id": _result_id(cell, key),
        "evaluation_name": evaluation_name(cell),
        "source_data": {"dataset_name": cell["treebank"], "source_type": "other", "additional_details": facts},
        "metric_config": {
            "metric_id": f"morphorder.{key}",
            "metric_name": key,
            "metric_kind": kind,
            "metric_unit": "proportion",
            "evaluation_description": said,
            "metric_parameters": parameters | {"condition": cell["condition"], "lemma": bool(cell["lemma"])},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": low,
            "max_score": high,
        },
        "score_details": score | {"uncertainty": uncertainty},
    }


def evaluation_name(cell: Mapping[str, Any]) -> str:
    """`morphorder.de_pud.full+L`: the treebank and the condition, in one name."""
    return f"morphorder.{cell['treebank']}.{cell['condition']}{'+L' if cell['lemma'] else ''}"


def _result_id(cell: Mapping[str, Any], metric: str) -> str:
    return f"{evaluation_name(cell)}.{metric}"


def sample_hash(text: str, gold: str) -> str:
    """What tells whether two instances are the same: SHA-256 of the input and its reference, in hexadecimal."""
    return hashlib.sha256((text + gold).encode("utf-8", "replace")).hexdigest()


def _samples(outcomes: pa.Table, model: str, identity: str, evaluation_id: str) -> Iterator[str]:
    """One JSON line per item that counts, by item."""
    if not set(TEXT_COLUMNS) <= set(outcomes.column_names):
        return
    rows = outcomes.filter(pc.and_(outcomes["complete"], pc.equal(outcomes["model"], model)))
    for row in rows.sort_by([("item_id", "ascending")]).to_pylist():
        yield json.dumps(_sample(row, identity, evaluation_id), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _sample(row: Mapping[str, Any], identity: str, evaluation_id: str) -> Row:
    words, gold = [str(word) for word in row["pred"] or []], str(row["gold"])
    told = ("condition", "language", "treebank", "sent_id", "upos", "deprel", "feats", "seed", "draw", "n_masks")
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "model_id": identity,
        "evaluation_name": evaluation_name(row),
        "evaluation_result_id": _result_id(row, INSTANCE_METRIC),
        "sample_id": f"{row['item_id']:016x}",
        "sample_hash": sample_hash(row["text"], gold),
        "interaction_type": "single_turn",
        "input": {"raw": row["text"], "reference": [gold]},
        "output": {"raw": words},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": words[0] if words else "",
                "extraction_method": "best piece tuple under the model's masks; right iff its pieces are the gold's",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(row["correct1"]), "is_correct": bool(row["correct1"])},
        "metadata": {
            **{key: str(row[key]) for key in told if row[key] is not None},
            "lemma": str(bool(row["lemma"])).lower(),
            **({"gold_logp": repr(row["gold_logp"])} if row["gold_logp"] is not None else {}),
        },
    }
