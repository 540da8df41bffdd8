"""Pre-training: whole words are hidden, order is addressed, a killed run continues bit for bit, the end is a model."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencepiece")

from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from evaluator.errors import StoreError, UserError  # noqa: E402
from export.pretrain import loop  # noqa: E402
from export.pretrain.cli import app  # noqa: E402
from export.pretrain.corpus import Corpus, encode_corpus, join_chinese, load_corpus, save_corpus, word_start_flags  # noqa: E402
from export.pretrain.domain import domain_weights, draw_copies  # noqa: E402
from export.pretrain.masking import choose_masked, mask_scale  # noqa: E402
from export.pretrain.network import new_network, recut_piece, warm_start  # noqa: E402
from export.pretrain.order import SpecialIds, build_batch, generator, plan_pass  # noqa: E402
from export.pretrain.text import LANGUAGES, Sentence, is_held_out, is_usable, read_sentences, select_sentences  # noqa: E402
from export.pretrain.vocabulary import train_tokenizer  # noqa: E402

TINY = {"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
SETTINGS = loop.Settings(
    batch_pieces=512, warmup_pieces=1000, stable_pieces=5000, decay_pieces=3000, checkpoint_every=3, bf16=False
)


def made_up_text(language: str, lines: int = 150) -> list[str]:
    """Sentences of made-up words in the language's script; Chinese ones without spaces."""
    rng = random.Random(language)
    if language == "zh":
        signs = [chr(0x4E00 + 37 * i) for i in range(60)]
        return ["".join(rng.choices(signs, k=rng.randint(9, 20))) + "。" for _ in range(lines)]
    vowels, consonants = ("аеио", "бвгдклмнпрст") if language == "ru" else ("aeio", "bcdfglmnprst")
    words = ["".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(1, 4))) for _ in range(120)]
    return [" ".join(rng.choices(words, k=rng.randint(5, 14))).capitalize() + ", 7 (no)." for _ in range(lines)]


def made_up_sentences() -> list[Sentence]:
    return [s for language in LANGUAGES for s in select_sentences(made_up_text(language), language, one_in=20)]


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return made_up_sentences()


@pytest.fixture(scope="module")
def wordpiece(sentences: list[Sentence]) -> PreTrainedTokenizerFast:
    return train_tokenizer([s.text for s in sentences], "wordpiece", 300)


@pytest.fixture(scope="module")
def unigram(sentences: list[Sentence]) -> PreTrainedTokenizerFast:
    return train_tokenizer([s.text for s in sentences], "unigram", 300)


@pytest.fixture(scope="module", params=["wordpiece", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    found: PreTrainedTokenizerFast = request.getfixturevalue(request.param)
    return found


def special_ids(tokenizer: PreTrainedTokenizerFast) -> SpecialIds:
    return SpecialIds(tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id)


@pytest.fixture(scope="module")
def corpus(sentences: list[Sentence], wordpiece: PreTrainedTokenizerFast) -> Corpus:
    return encode_corpus(sentences, wordpiece, seed=0)


@pytest.mark.parametrize(
    ("text", "language", "usable"),
    [
        ("Das Haus am See ist alt.", "de", True),
        ("Too short a", "en", False),
        ("Git is nowadays the most popular of them", "tr", False),  # untranslated English in another language's file
        ("Choose this from the menu of the page", "en", True),
        ("=НОРМ.РАСП(70; 63; 5; 0) возвращает 0,029945493", "ru", False),
        ("Pushkin wrote it, as you know", "ru", False),
        ("后来他被告假报财政信息。", "zh", True),
        ("看书。", "zh", False),
    ],
)
def test_only_running_text_of_the_language_is_used(text: str, language: str, usable: bool) -> None:
    assert is_usable(text, language) is usable


def test_equal_lines_are_kept_once_and_fall_on_the_same_side() -> None:
    line = "A line that comes twice."
    kept = list(select_sentences([line, f"  {line} ", "Another line that comes once."], "en"))
    assert [s.text for s in kept] == [line, "Another line that comes once."]
    assert kept[0].held_out == is_held_out(line)


def test_about_one_line_in_n_is_held_out() -> None:
    assert 60 < sum(is_held_out(f"line {i}", one_in=10) for i in range(1000)) < 140


def test_words_are_runs_of_letters_and_single_other_characters() -> None:
    text = "Don't re-read 中国 it."
    spans = [(i, i + 1) for i in range(len(text)) if text[i] != " "]
    starts = "".join(text[a] for (a, _), flag in zip(spans, word_start_flags(text, spans), strict=True) if flag)
    assert starts == "D'tr-r中国i."


def test_joined_chinese_words_stay_short_and_keep_other_starts() -> None:
    flags, han = [True] * 40, [True] * 20 + [False] * 20
    joined = join_chinese(flags, han, np.random.default_rng(0), join_share=0.9, longest=3)
    lengths = np.diff([*np.flatnonzero(joined), 40])
    assert lengths.max() == 3
    assert all(joined[20:])


def test_weights_follow_rank_and_copies_follow_weights() -> None:
    weights = domain_weights(np.array([3.0, 1.0, 2.0]))
    assert weights.argsort().tolist() == [1, 2, 0]
    drawn = draw_copies(np.array([0.0, 2.0, 0.5]), np.random.default_rng(1))
    assert np.bincount(drawn, minlength=3)[:2].tolist() == [0, 2]


def test_pieces_rebuild_the_sentences(sentences: list[Sentence], tokenizer: PreTrainedTokenizerFast) -> None:
    corpus = encode_corpus(sentences[:50], tokenizer, seed=0)
    for number, sentence in enumerate(sentences[:50]):
        ids = corpus.pieces[corpus.offsets[number] : corpus.offsets[number + 1]].tolist()
        assert ids == tokenizer(sentence.text, add_special_tokens=False).input_ids
    assert corpus.word_starts[corpus.offsets[:-1]].all()
    assert (corpus.mask_weights[~corpus.word_starts] == 0).all()


def test_corpus_file_round_trip(corpus: Corpus, tmp_path: Path) -> None:
    save_corpus(corpus, tmp_path / "corpus.npz")
    again = load_corpus(tmp_path / "corpus.npz")
    assert np.array_equal(again.pieces, corpus.pieces)
    assert np.array_equal(again.held_out, corpus.held_out)


def test_masks_hide_whole_words_and_at_least_one_a_sentence() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        lengths = rng.integers(1, 12, size=rng.integers(1, 9))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        starts = rng.random(offsets[-1]) < 0.5
        starts[offsets[:-1]] = True
        masked = choose_masked(starts, rng.random(len(starts)) * 0.3 * starts, offsets, rng)
        word = np.cumsum(starts)
        for number in np.unique(word):
            assert len(np.unique(masked[word == number])) == 1
        assert np.logical_or.reduceat(masked, offsets[:-1]).all()


def test_scale_gives_the_share_of_masked_pieces() -> None:
    rng = np.random.default_rng(0)
    weights, lengths = rng.random(5000), rng.integers(1, 5, size=5000)
    scale = mask_scale(weights, lengths, 0.18, most=0.5)
    assert np.minimum(0.5, scale * weights) @ lengths / lengths.sum() == pytest.approx(0.18, abs=1e-6)


def test_plan_never_uses_held_out_sentences_and_fills_batches(corpus: Corpus) -> None:
    plan = plan_pass(corpus, 512, seed=0, pass_number=0)
    assert corpus.held_out.any()
    assert not corpus.held_out[np.concatenate(plan)].any()
    lengths = np.diff(corpus.offsets) + 2
    assert all(lengths[rows].max() * len(rows) <= 512 for rows in plan)
    again, other = plan_pass(corpus, 512, 0, 0), plan_pass(corpus, 512, 0, 1)
    assert all(np.array_equal(a, b) for a, b in zip(plan, again, strict=True))
    assert not np.array_equal(plan[0], other[0])


def test_batch_differs_from_its_text_at_the_masks_only(corpus: Corpus, wordpiece: PreTrainedTokenizerFast) -> None:
    special = special_ids(wordpiece)
    rows = plan_pass(corpus, 512, 0, 0)[0]
    batch = build_batch(corpus, rows, special, 1.0, 0.5, generator(0, 0, 0))
    restored = batch.input_ids.ravel().copy()
    assert (restored[batch.masked_at] == special.mask).all()
    restored[batch.masked_at] = batch.gold
    for row, number, mask in zip(restored.reshape(batch.input_ids.shape), rows, batch.attention_mask, strict=True):
        pieces = corpus.pieces[corpus.offsets[number] : corpus.offsets[number + 1]].tolist()
        assert row[mask == 1].tolist() == [special.cls, *pieces, special.sep]
        assert (row[mask == 0] == special.pad).all()


def test_rate_warms_up_stays_and_decays_to_zero() -> None:
    rates = [loop.rate_factor(pieces, SETTINGS) for pieces in (0, 500, 1000, 5000, 6500, 8000, 9000)]
    assert 0 < rates[0] < rates[1] < 1
    assert rates[2:] == [1.0, 1.0, 0.5, 0.0, 0.0]


def test_a_schedule_shorter_than_its_warm_up_ends() -> None:
    assert loop.rate_factor(600, loop.Settings(warmup_pieces=1000, stable_pieces=300, decay_pieces=300)) == 0.0


def test_killed_and_resumed_equals_uninterrupted(
    corpus: Corpus, wordpiece: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    special = special_ids(wordpiece)

    def fresh() -> torch.nn.Module:
        return new_network("bert", wordpiece, seed=0, size=TINY)

    whole, first, second = fresh(), fresh(), fresh()
    end = loop.train(whole, corpus, special, SETTINGS, tmp_path / "whole")
    stopped = loop.train(first, corpus, special, SETTINGS, tmp_path / "killed", stop_step=7)
    assert stopped.step == 7 < end.step
    assert loop.train(second, corpus, special, SETTINGS, tmp_path / "killed") == end
    for name, value in whole.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_resuming_with_other_data_settings_is_refused(
    corpus: Corpus, wordpiece: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    special, model = special_ids(wordpiece), new_network("bert", wordpiece, seed=0, size=TINY)
    loop.train(model, corpus, special, SETTINGS, tmp_path, stop_step=1)
    with pytest.raises(StoreError, match="seed=0, not 1"):
        loop.train(model, corpus, special, loop.Settings(seed=1, batch_pieces=512), tmp_path)


def test_unigram_pieces_are_spelt_with_wordpiece_pieces(wordpiece: PreTrainedTokenizerFast) -> None:
    names = wordpiece.convert_ids_to_tokens(recut_piece("▁bade", wordpiece))
    assert "".join(name.removeprefix("##") for name in names) == "bade"
    assert all(name.startswith("##") for name in names[1:])
    assert recut_piece("▁☃", wordpiece) == []


def test_warm_start_averages_embeddings_and_shifts_positions(
    wordpiece: PreTrainedTokenizerFast, unigram: PreTrainedTokenizerFast
) -> None:
    source = new_network("bert", wordpiece, seed=1, size=TINY)
    target = new_network("xlm-roberta", unigram, seed=2, size=TINY)
    warm_start(target, unigram, source, wordpiece)
    given, taken = source.bert.embeddings, target.roberta.embeddings
    assert torch.equal(taken.position_embeddings.weight[2:], given.position_embeddings.weight)
    assert torch.equal(taken.word_embeddings.weight[unigram.mask_token_id], given.word_embeddings.weight[4])
    piece = next(name for name in unigram.get_vocab() if name.startswith("▁") and len(name) > 4)
    ids = recut_piece(piece, wordpiece)
    expected = given.word_embeddings.weight[ids].mean(0)
    assert torch.allclose(taken.word_embeddings.weight[unigram.convert_tokens_to_ids(piece)], expected)


def test_warm_start_the_other_way_is_refused(wordpiece: PreTrainedTokenizerFast) -> None:
    model = new_network("bert", wordpiece, seed=0, size=TINY)
    with pytest.raises(UserError, match="not from bert to bert"):
        warm_start(model, wordpiece, model, wordpiece)


def test_a_missing_language_is_named(tmp_path: Path) -> None:
    (tmp_path / "de.txt").write_text("Das Haus am See ist alt.\n", encoding="utf-8")
    assert [s.language for s in read_sentences(tmp_path, ("de",))] == ["de"]
    with pytest.raises(UserError, match=r"no en\.txt\.xz and no en\.txt"):
        read_sentences(tmp_path)


def run_command(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_commands_make_models_that_load(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.mkdir()
    for language in LANGUAGES:
        (text / f"{language}.txt").write_text("\n".join(made_up_text(language, 300)), encoding="utf-8")
    for kind, architecture in (("wordpiece", "bert"), ("unigram", "xlm-roberta")):
        here = tmp_path / kind
        pieces, start, corpus = here / "tokenizer", here / "start", here / "corpus.npz"
        warm = ["--warm", tmp_path / "wordpiece" / "out"] if kind == "unigram" else []
        run_command("tokenizer", "--text", text, "--kind", kind, "--size", 300, "--out", pieces)
        run_command("encode", "--text", text, "--tokenizer", pieces, "--out", corpus)
        run_command("start", "--tokenizer", pieces, "--architecture", architecture, *warm, "--out", start)
        schedule = ["--stable-pieces", 1500, "--decay-pieces", 500, "--batch-pieces", 512]
        run_command("train", "--corpus", corpus, "--init", start, "--run", here / "run", *schedule)
        output = run_command(
            "finish", "--corpus", corpus, "--init", start, "--run", here / "run", "--out", here / "out"
        )
        assert '"held_out_right"' in output
        model, loaded = (
            AutoModelForMaskedLM.from_pretrained(here / "out", dtype="auto"),
            AutoTokenizer.from_pretrained(here / "out"),
        )
        assert model.dtype == torch.float16
        assert model.config.model_type == architecture
        assert loaded.model_max_length == 128
        assert loaded.mask_token_id is not None
        assert not torch.isnan(model.get_input_embeddings().weight).any()
