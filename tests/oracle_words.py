"""An independent oracle for a run's answers: one item at a time, full logits, brute force. A plain script.

    python tests/oracle_words.py MODEL_FOLDER RUN_FOLDER --model NAME [--items 500] [--seed 0] [--onnx]

MODEL_FOLDER is the Hugging Face folder the bundle was exported from, evaluated by transformers; with `--onnx` it is the
bundle itself, whose graph is made to give up the full vocabulary at every position, evaluated without a batch.
Pieces come from the tokenizer object by a way of its own: the item's text is walked unit by unit, and each unit is cut
after a space or directly as that text shows. No code of the product is used. Prints one JSON line; exits 1 when any
answer of the run is not the oracle's. Windowed items and runs with uniform spacing are not its business.
"""

import argparse
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

CANDIDATES = 20
K = 5
TOLERANCE_NATS = 1e-4
BRUTE_FORCE_UP_TO = 200_000
WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u3001-\u312f\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff9f]")
MASK_MARKER = "⟨mask⟩"
Tuples = list[tuple[float, tuple[int, ...]]]


class Network(Protocol):
    """A masked language model, one input at a time."""

    def logp(self, ids: list[int], positions: list[int]) -> np.ndarray:
        """(positions, vocabulary) float64 natural-log probabilities."""


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class HuggingFace:
    """The checkpoint itself, by transformers."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForMaskedLM

        self.torch = torch
        self.model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()

    def logp(self, ids: list[int], positions: list[int]) -> np.ndarray:
        with self.torch.no_grad():
            logits = self.model(input_ids=self.torch.tensor([ids])).logits[0, positions]
        return log_softmax(logits.numpy())


class OpenedGraph:
    """A bundle's graph whose scores over the vocabulary, the tensor its top-k is taken of, are made an output."""

    def __init__(self, folder: Path) -> None:
        import onnx
        import onnxruntime as ort

        model = onnx.load(folder / "model.onnx")
        top_k = [n for n in model.graph.node if n.op_type == "TopK" and "topk_ids" in n.output]
        producers = {o: n for n in model.graph.node for o in n.output}
        if not top_k:  # the indices may pass through a Cast or Identity
            top_k = [producers[producers["topk_ids"].input[0]]]
        self.scores = top_k[0].input[0]
        model.graph.output.append(onnx.helper.make_tensor_value_info(self.scores, onnx.TensorProto.FLOAT, None))
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        self.session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.wants_types = any(i.name == "token_type_ids" for i in self.session.get_inputs())

    def logp(self, ids: list[int], positions: list[int]) -> np.ndarray:
        row = np.array([ids], dtype=np.int64)
        feeds = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "mask_pos": np.arange(len(ids)),  # every position: nothing is gathered
            "gold_row": np.zeros(1, dtype=np.int64),
            "gold_id": np.zeros(1, dtype=np.int64),
        }
        if self.wants_types:
            feeds["token_type_ids"] = np.zeros_like(row)
        return log_softmax(self.session.run([self.scores], feeds)[0][positions])


class Speller:
    """Units to pieces and pieces to words, by the parts of a tokenizer: normaliser, then model, chunk by chunk."""

    def __init__(self, tokenizer: Tokenizer, mask_id: int, unk_id: int | None) -> None:
        self.tokenizer = tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.mask_id = mask_id
        self.unk_id = unk_id
        described = json.loads(tokenizer.to_str())
        self.kind = described["model"]["type"]
        cutter = json.dumps(described["pre_tokenizer"])
        self.metaspace = "Metaspace" in cutter
        self.starts_spaced = self.metaspace
        if not self.metaspace and self.kind != "WordPiece" and '"ByteLevel"' not in cutter:
            raise SystemExit(f"the oracle does not know the pre-tokenizer {cutter}")
        if '"add_prefix_space": true' in cutter and not self.metaspace:
            raise SystemExit("the oracle does not know byte-level tokenizers that add a space")
        probe = tokenizer.encode("a")
        content = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        self.prefix = probe.ids[: content[0]]
        self.suffix = probe.ids[content[-1] + 1 :]

    def cut(self, spelling: str, spaced: bool) -> list[int]:
        """The pieces of a spelling after a space or directly after text; no space piece before Han, kana or Thai."""
        if not self.metaspace:
            text = f" {spelling}" if spaced and self.kind != "WordPiece" else spelling
            return list(self.tokenizer.encode(text, add_special_tokens=False).ids)
        normalizer = self.tokenizer.normalizer
        text = normalizer.normalize_str(spelling) if normalizer else spelling
        chunks = [f"▁{part}" if place or spaced else part for place, part in enumerate(text.split(" "))]
        ids = [token.id for chunk in chunks for token in self.tokenizer.model.tokenize(chunk)]
        if spaced and ids[:1] == [self.tokenizer.token_to_id("▁")] and WITHOUT_SPACES.match(spelling):
            return ids[1:]
        return ids

    def word(self, ids: tuple[int, ...]) -> str:
        """The string a report shows for a tuple of pieces."""
        pieces = [self.tokenizer.id_to_token(i) for i in ids]
        if self.kind == "WordPiece":
            return "".join(p.removeprefix("##") for p in pieces)
        return self.tokenizer.decode(list(ids), skip_special_tokens=False).strip() or "".join(pieces)


def read_sentences(run: Path) -> list[dict[str, Any]]:
    """The run's sentences as rows, in their order."""
    rows: list[dict[str, Any]] = []
    for path in sorted((run / "sentences").glob("part-*.arrow")):
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        rows += table.select(["sentence", "form", "lemma", "space_after"]).to_pylist()
    return sorted(rows, key=lambda row: row["sentence"])


def gaps_shown(text: str, words: list[str]) -> list[bool]:
    """Whether a space stands before each word of a text that is these words with or without spaces between."""
    at, spaced = 0, []
    for word in words:
        gap = not text.startswith(word, at) and text.startswith(" ", at)
        at += gap
        if not text.startswith(word, at):
            raise SystemExit(f"the text {text!r} does not hold {word!r} at character {at}")
        at += len(word)
        spaced.append(gap)
    if at != len(text):
        raise SystemExit(f"the text {text!r} goes on after its last word")
    return spaced


def model_input(item: dict[str, Any], sentence: dict[str, Any], speller: Speller) -> tuple[list[int], list[int]]:
    """The ids of an item with its masks, and the pieces under them."""
    spelled = [
        lemma if item["lemma"] and lemma else form
        for form, lemma in zip(sentence["form"], sentence["lemma"], strict=True)
    ]
    target = item["target"]
    spaced = gaps_shown(item["text"], [MASK_MARKER if u == target else spelled[u] for u in item["order"]])
    spaced[0] = speller.starts_spaced
    of_target = sentence["space_after"][target - 1] if target else speller.starts_spaced
    ids, gold = list(speller.prefix), []
    for unit, gap in zip(item["order"], spaced, strict=True):
        if unit == target:
            gold = speller.cut(spelled[unit], of_target)
            ids += [speller.mask_id] * len(gold)
        else:
            ids += speller.cut(spelled[unit], gap)
    return ids + speller.suffix, gold


def best_tuples(logp: np.ndarray, k: int) -> Tuples:
    """The k best tuples, ties by ids, of the product over each mask's best candidates."""
    tops = [np.lexsort((np.arange(len(row)), -row))[:CANDIDATES] for row in logp]
    if CANDIDATES ** len(tops) > BRUTE_FORCE_UP_TO:
        return list(itertools.islice(in_order(logp, tops), k))
    sums = np.zeros(1)
    for row, top in zip(logp, tops, strict=True):
        sums = (sums[:, None] + row[top]).ravel()
    order = np.lexsort((np.arange(len(sums)), -sums))[: k + 5]
    places = np.stack(np.unravel_index(order, [len(t) for t in tops]), axis=1)
    found = [
        (float(sums[o]), tuple(int(top[i]) for top, i in zip(tops, place, strict=True)))
        for o, place in zip(order, places, strict=True)
    ]
    return sorted(found, key=lambda t: (-t[0], t[1]))[:k]


def in_order(logp: np.ndarray, tops: list[np.ndarray]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """The same tuples, best first, for products too large to write out: each one's successors go into a queue."""
    import heapq

    def score(place: tuple[int, ...]) -> float:
        return math.fsum(row[top[i]] for row, top, i in zip(logp, tops, place, strict=True))

    start = (0,) * len(tops)
    queue, seen = [(-score(start), start)], {start}
    while queue:
        negative, place = heapq.heappop(queue)
        yield -negative, tuple(int(top[i]) for top, i in zip(tops, place, strict=True))
        for mask, i in enumerate(place):
            following = (*place[:mask], i + 1, *place[mask + 1 :])
            if i + 1 < len(tops[mask]) and following not in seen:
                seen.add(following)
                heapq.heappush(queue, (-score(following), following))


class Verdict:
    """Counts of what agreed, and the worst differences."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(
            ("items", "masks_differ", "words_differ", "near_ties", "gold_differs", "place_differs", "ranks_differ"), 0
        )
        self.worst_gold_nats = 0.0
        self.worst_word_nats = 0.0
        self.examples: list[str] = []

    def add(self, item: dict[str, Any], what: str) -> None:
        self.counts[what] += 1
        if len(self.examples) < 5:
            self.examples.append(f"{what}: {item['sent_id']} {item['condition']}{'+L' * item['lemma']} {item['text']}")

    def compare(self, item: dict[str, Any], logp: np.ndarray, gold: list[int], speller: Speller) -> None:
        """Takes up one item; `logp` are the oracle's probabilities at its masks."""
        self.counts["items"] += 1
        best = best_tuples(logp, K + 1)
        scores = [score for score, _ in best]
        close = [a - b < TOLERANCE_NATS for a, b in itertools.pairwise(scores)]
        words = [speller.word(ids) for _, ids in best[:K]]
        if item["pred"] != words:
            moved = [i for i, (a, b) in enumerate(zip(item["pred"], words, strict=False)) if a != b]
            tied = len(item["pred"]) == len(words) and all(close[i] or (i and close[i - 1]) for i in moved)
            self.add(item, "near_ties" if tied else "words_differ")
        for a, b in zip(item["pred_logp"], scores, strict=False):
            self.worst_word_nats = max(self.worst_word_nats, abs(a - b))
        if speller.unk_id in gold:
            if item["reason"] != "not_expressible" or item["place"] or item["gold_logp"] is not None:
                self.add(item, "gold_differs")
            return
        at_masks = logp[np.arange(len(gold)), gold]
        difference = abs(float(at_masks.sum()) - item["gold_logp"])
        self.worst_gold_nats = max(self.worst_gold_nats, difference)
        if not difference <= TOLERANCE_NATS or item["reason"]:
            self.add(item, "gold_differs")
        place = next((i for i, (_, ids) in enumerate(best[:K], 1) if list(ids) == gold), 0)
        if (item["place"] != place and not any(close)) or item["correct1"] != (item["place"] == 1):
            self.add(item, "place_differs")
        for row, own, rank in zip(logp, at_masks, item["gold_ranks"], strict=True):
            surely, perhaps = (int((row > own + d).sum()) for d in (TOLERANCE_NATS, -TOLERANCE_NATS))
            if not surely <= rank <= perhaps:
                self.add(item, "ranks_differ")
                break

    def line(self) -> dict[str, Any]:
        bad = sum(n for name, n in self.counts.items() if name not in ("items", "near_ties"))
        worst = {"worst_gold_nats": self.worst_gold_nats, "worst_word_nats": self.worst_word_nats}
        agrees = bad == 0 and self.counts["items"] > 0 and self.worst_word_nats <= TOLERANCE_NATS
        return {"ok": agrees, **self.counts, **worst, "examples": self.examples}


def open_model(folder: Path, *, onnx: bool) -> tuple[Network, Speller]:
    """The network and its tokenizer."""
    if onnx:
        described = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return OpenedGraph(folder), Speller(tokenizer, described["mask_id"], described["unk_id"])
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if (folder / "tokenizer_config.json").is_file():
        backend = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    else:
        backend = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json")).backend_tokenizer
    mask, unknown = (
        next((i for name in names if (i := backend.token_to_id(name)) is not None), None)
        for names in (("[MASK]", "<mask>"), ("[UNK]", "<unk>"))
    )
    if mask is None:
        raise SystemExit("the tokenizer has no mask piece")
    if backend.model.__class__.__name__ == "BPE":
        unknown = None
    return HuggingFace(folder), Speller(backend, mask, unknown)


def examine(folder: Path, run: Path, *, model: str, items: int, seed: int = 0, onnx: bool = False) -> dict[str, Any]:
    """The verdict over `items` scored items of a model, drawn at random."""
    outcomes = pq.read_table(run / "report" / "outcomes.parquet")
    known = sorted(set(outcomes["model"].to_pylist()))
    if model not in known:
        raise SystemExit(f"the run has no model {model!r}; it has {', '.join(known)}")
    mine = np.array(outcomes["model"].to_pylist()) == model
    usable = (np.array(outcomes["status"].to_pylist()) == "scored") & ~outcomes["windowed"].to_numpy()
    rows = np.flatnonzero(mine & usable)
    chosen = np.sort(np.random.default_rng(seed).permutation(rows)[:items])
    sentences = read_sentences(run)
    network, speller = open_model(folder, onnx=onnx)
    verdict = Verdict()
    for item in outcomes.take(pa.array(chosen)).to_pylist():
        ids, gold = model_input(item, sentences[item["sentence"]], speller)
        if len(gold) != item["n_masks"] or len(ids) != item["n_pieces"]:
            verdict.add(item, "masks_differ")
            continue
        verdict.compare(item, network.logp(ids, [i for i, p in enumerate(ids) if p == speller.mask_id]), gold, speller)
    return verdict.line()


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model_folder", type=Path)
    parser.add_argument("run_folder", type=Path)
    parser.add_argument("--model", required=True, help="its name in the run")
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--onnx", action="store_true", help="MODEL_FOLDER is a bundle")
    args = parser.parse_args()
    verdict = examine(
        args.model_folder, args.run_folder, model=args.model, items=args.items, seed=args.seed, onnx=args.onnx
    )
    print(json.dumps(verdict, ensure_ascii=False))
    return 0 if verdict["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
