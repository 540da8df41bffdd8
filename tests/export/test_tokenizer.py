"""The bundle's tokenizer cuts as the source's does, and its facts are those of the source."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, BertTokenizer

from evaluator.errors import BundleError
from export.sentences import SENTENCES
from export.tokenizer import bring_tokenizer, usable_length
from tests.export.tiny import BERT_SPECIALS, FAMILIES, train_tokenizer


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "bytes"])
def test_cuts_like_the_source(kind: str, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    out.mkdir()
    tokenizer = train_tokenizer(kind)
    tokenizer.backend_tokenizer.enable_truncation(8)
    tokenizer.backend_tokenizer.enable_padding(length=8)
    tokenizer.save_pretrained(source)
    facts = bring_tokenizer(source, out, {}, trust_remote_code=False)
    assert (facts.mask_id, facts.pad_id, facts.unk_id) == (
        tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id,
    )  # fmt: skip
    assert facts.size == len(tokenizer)
    mine = Tokenizer.from_file(str(out / "tokenizer.json"))
    assert mine.truncation is None and mine.padding is None
    plain = train_tokenizer(kind)
    for sentence, ids in zip(SENTENCES, facts.encoded, strict=True):
        assert mine.encode(sentence).ids == list(ids) == plain(sentence)["input_ids"]


def test_lone_tokenizer_file_keeps_its_case(tmp_path: Path) -> None:
    """transformers' own class would lower-case a tokenizer.json that lies without tokenizer_config.json."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    tokenizer = train_tokenizer("wordpiece")
    tokenizer.backend_tokenizer.save(str(source / "tokenizer.json"))
    (source / "config.json").write_text(json.dumps({"model_type": "bert"}))
    loaded = AutoTokenizer.from_pretrained(str(source))
    facts = bring_tokenizer(source, out, {"pad_token_id": 0}, trust_remote_code=False)
    assert list(facts.encoded[1]) == tokenizer(SENTENCES[1])["input_ids"] != loaded(SENTENCES[1])["input_ids"]
    assert (facts.mask_id, facts.pad_id, facts.unk_id) == (4, 0, 1)


def test_slow_tokenizer_is_converted_and_compared(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    (source / "vocab.txt").write_text("\n".join([*BERT_SPECIALS, *words]), encoding="utf-8")
    (source / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (source / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": False})
    )
    facts = bring_tokenizer(source, out, {}, trust_remote_code=False)
    slow = BertTokenizer.from_pretrained(str(source))
    assert facts.origin == "BertTokenizerFast"
    assert facts.slow_disagreements == 0
    assert [list(row) for row in facts.encoded] == [slow(sentence)["input_ids"] for sentence in SENTENCES]


def test_missing_pieces_are_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(BundleError, match="no usable tokenizer"):
        bring_tokenizer(tmp_path, out, {}, trust_remote_code=False)
    tokenizer = train_tokenizer("wordpiece").backend_tokenizer
    text = tokenizer.to_str().replace("[MASK]", "[MSK]")
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match="no mask token"):
        bring_tokenizer(tmp_path, out, {}, trust_remote_code=False)
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"mask_token": {"content": "[MSK]"}}))
    assert bring_tokenizer(tmp_path, out, {}, trust_remote_code=False).mask_id == 4
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(BundleError, match="not JSON"):
        bring_tokenizer(tmp_path, out, {}, trust_remote_code=False)
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "None"}}', encoding="utf-8")
    with pytest.raises(BundleError, match="tokenizer cannot be read") as caught:
        bring_tokenizer(tmp_path, out, {}, trust_remote_code=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "stated", "pieces"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512, 512),
        ({"model_type": "bert", "max_position_embeddings": 128}, 512, 128),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514}, 1e30, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514}, None, 512),
        ({"model_type": "modernbert", "max_position_embeddings": 8192}, 8192, 1024),
        ({"model_type": "deberta-v2", "max_position_embeddings": 512}, 1e30, 512),
    ],
)
def test_usable_length(config: dict[str, object], stated: float | None, pieces: int, tmp_path: Path) -> None:
    if stated is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": stated}))
    assert usable_length(tmp_path, config, pad_id=1) == pieces
    with pytest.raises(BundleError, match="too few"):
        usable_length(tmp_path, {**config, "max_position_embeddings": 2}, pad_id=1)


def test_every_family_has_a_tokenizer_kind_that_is_tested() -> None:
    assert {family.tokenizer for family in FAMILIES.values()} == {"wordpiece", "unigram", "bytes"}
