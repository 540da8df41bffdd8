"""What whoever prints a number from the report should cite: the tool, the task, what was shuffled, data and models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.report.document import Document

TASK = (
    "Feldman, Barak and Peng (2026). A Typologically Grounded Evaluation Framework for Word Order and Morphology "
    "Sensitivity in Multilingual Masked LMs."
)
SHUFFLES = (
    "Pham, Bui, Mai and Nguyen (2021). Out of Order: How important is the sequential order of words in a sentence in "
    "Natural Language Understanding tasks? Findings of ACL-IJCNLP 2021."
)
UNIVERSAL_DEPENDENCIES = (
    "de Marneffe, Manning, Nivre and Zeman (2021). Universal Dependencies. Computational Linguistics 47(2), 255–308."
)
PARALLEL = (
    "Zeman et al. (2017). CoNLL 2017 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies. "
    "Proceedings of the CoNLL 2017 Shared Task, 1–19."
)
SHUFFLED = ("ngram1", "ngram2", "ngram3", "noun_swap")


def citations(document: Document) -> Iterator[tuple[str, str]]:
    """(for what, whom to cite), in the order of the report; treebanks and models as the manifest knows them."""
    manifest: Mapping[str, Any] = document.report.get("manifest") or {}
    version = (manifest.get("versions") or {}).get("morphorder")
    yield "software", f"morphorder {version}" if version else "morphorder"
    yield "task and conditions", TASK
    if any(name in document.conditions for name in SHUFFLED):
        yield "n-gram shuffles and noun swaps", SHUFFLES
    treebanks: Sequence[Mapping[str, Any]] = manifest.get("treebanks") or []
    if treebanks:
        yield "annotation", UNIVERSAL_DEPENDENCIES
    if any("pud" in str(treebank.get("name")).casefold() for treebank in treebanks):
        yield "parallel treebanks (PUD)", PARALLEL
    for treebank in treebanks:
        known = f"{treebank.get('licence') or 'licence unknown'}, {treebank.get('sentences', '–')} sentences"
        yield f"treebank {treebank.get('name')}", f"{known}, SHA-256 {str(treebank.get('sha256'))[:16]}; see its README"
    for model in manifest.get("models") or []:
        yield f"model {model.get('name')}", _model(model)


def _model(model: Mapping[str, Any]) -> str:
    source, revision = model.get("source") or "source unknown", model.get("revision")
    at = f" at {revision}" if revision else ""
    return f"{source}{at}, bundle {model.get('fingerprint') or '–'}"
