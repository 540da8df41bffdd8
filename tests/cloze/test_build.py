"""Splits, caps and counts of a build, and its tables."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.cloze.build import Resources, build, find_treebanks, read_treebanks
from evaluator.cloze.candidates import find_candidates, is_distinct
from evaluator.cloze.features import condition, feats_of, unimorph_feats
from evaluator.cloze.frequencies import Frequencies, count_text
from evaluator.cloze.paradigms import Paradigms, add_treebank, read_lexicon, read_unimorph
from evaluator.cloze.splits import assign, with_frequencies
from evaluator.cloze.tables import Caps, read_table
from evaluator.errors import ConfigError, DatasetError
from evaluator.treebank.licences import is_permissive, licence_of, treebank_code
from tests.cloze.conftest import DATA, frequencies, resources, treebank


def test_the_order_of_candidates_changes_nothing() -> None:
    own, table, paradigms = treebank("de"), read_table("de"), Paradigms()
    add_treebank(paradigms, own.sentences)
    items = with_frequencies(find_candidates(own.sentences, table, paradigms)[0], table, paradigms, frequencies("de"))
    shuffled = list(items)
    random.Random(1).shuffle(shuffled)
    ours, theirs = (assign(order, table, 0)[0] for order in (items, shuffled))
    assert {s: set(map(id, part)) for s, part in ours.items()} == {s: set(map(id, part)) for s, part in theirs.items()}


def test_caps_leave_out_and_count() -> None:
    table = read_table("en").model_copy(update={"caps": Caps(lemma=1, person_number=1, ceiling=0)})
    data = build([treebank("en")], table, resources("en"), frequencies("en"))
    for split in ("train", "dev"):
        marked = [r for r in data.splits[split].to_pylist() if r["person_number"] != "-"]
        assert len({(r["cell"], r["phenomenon"], r["person_number"]) for r in marked}) == len(marked)
    assert data.splits["test_lemhigh_formhigh"].num_rows == 0
    assert data.build["candidates_left_out"]["cap_person_number"] > 0


def test_rare_lemmas_go_to_test_and_levels_follow_the_corpus() -> None:
    known = Frequencies({"walk": 900, "walked": 50, "walks": 40, "plant": 1}, 1_000_000)
    data = build([treebank("en")], read_table("en"), resources("en"), known)
    rows = [row for part in data.main.values() for row in part.to_pylist()]
    assert {r["lemma"] for r in rows if r["lemma_level"] == "high"} <= {"walk"}
    assert {r["lemma"] for part in ("train", "dev") for r in data.splits[part].to_pylist()} <= {"walk"}
    (walks,) = [r for r in rows if r["gold"] == "walks"]
    assert (walks["form_freq"], walks["lemma_other_freq"], walks["cell"]) == (40, 950, "lem_high+form_high")
    assert (walks["resource"], walks["source_treebank"], walks["licence"]) == ("form", "own", "CC BY 4.0")


def test_only_permissive_treebanks_on_request() -> None:
    closed = replace(treebank("en"), licence="CC BY-NC-SA 4.0")
    assert (
        build([closed], read_table("en"), Resources(), frequencies("en"), permissive=True).splits["test"].num_rows == 0
    )
    assert build([closed], read_table("en"), Resources(), frequencies("en")).splits["test"].num_rows > 0
    assert [is_permissive(x) for x in ("CC BY-SA 4.0", "CC BY 4.0", "CC BY-NC-SA 4.0", "LGPL-LR", "unknown")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_a_sentence_that_holds_the_marker_gives_no_item() -> None:
    own = treebank("fr")
    marked = replace(own.sentences[0], text="[x] " + own.sentences[0].text)
    found, left_out = find_candidates([marked], read_table("fr"), Paradigms())
    assert found == [] and left_out == {"marker_in_source": 1}


def test_treebank_names_and_licences(tmp_path: Path) -> None:
    names = ("UD_English-EWT", "UD_ewt", "en_ewt-ud-test", "ewt", "EWT")
    assert {treebank_code(name) for name in names} == {"ewt"}
    assert licence_of("en", "gum") == "CC BY-NC-SA 4.0" and licence_of("xx", "gum") == "unknown"
    (tmp_path / "LICENSE.txt").write_text("Creative Commons Attribution-ShareAlike 4.0 International", encoding="utf-8")
    assert licence_of("xx", "own", tmp_path) == "CC BY-SA 4.0"


def test_unimorph_tags_become_features() -> None:
    assert unimorph_feats("V;PRS;NOM(3,SG)") == feats_of("Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin")
    assert unimorph_feats("V;IND;PST;1;PL;IPFV") == feats_of("Mood=Ind|Number=Plur|Person=1|Tense=Imp|VerbForm=Fin")
    assert unimorph_feats("V;V.PTCP;PST") == feats_of("Tense=Past|VerbForm=Part")
    assert unimorph_feats("V;NFIN") == feats_of("VerbForm=Inf")
    with pytest.raises(ValueError, match="neither"):
        condition("Mood")


def test_syncretic_lemmas(tmp_path: Path) -> None:
    paradigms = Paradigms()
    read_unimorph(paradigms, DATA / "en.unimorph.tsv")
    slots = ("Tense=Past|VerbForm=Fin", "Tense=Past|VerbForm=Part")
    assert [is_distinct(lemma, slots, paradigms) for lemma in ("take", "walk", "unknown")] == [True, False, False]
    (tmp_path / "bad.tsv").write_text("walk\twalked\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"bad\.tsv:1: 2 fields"):
        read_unimorph(paradigms, tmp_path / "bad.tsv")


def test_a_lexicon_counts_forms_that_are_mostly_that_verb(tmp_path: Path) -> None:
    (tmp_path / "l.tsv").write_text(
        "par\tpar\tADP\t99\npar\tpartir\tVERB\t1\npartis\tpartir\tVERB\t3\nd'\tpartir\tVERB\t9\n", encoding="utf-8"
    )
    paradigms = Paradigms()
    assert read_lexicon(paradigms, tmp_path / "l.tsv", {"partir"}) == 1
    assert paradigms.forms("partir") == ["partis"]


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    rule = 'targets = [{ match = "Mood=Ind|Tense=Pres", cue = { dependent = ["nsubj"]%s } }]'
    head = 'code = "it"\nname = "Italian"\nauxiliaries = ["essere"]\n[[phenomena]]\nname = "agree_pres"\n'
    head += 'feats = "V;IND;PRS"\nwithheld = ["Person", "Number"]\n'
    path.write_text(head + rule % "", encoding="utf-8")
    assert read_table(str(path)).phenomena[0].name == "agree_pres"
    path.write_text(head + rule % ', lemma = ["ieri"]', encoding="utf-8")
    with pytest.raises(ConfigError, match="cue names 'ieri', which is no auxiliary"):
        read_table(str(path))
    path.write_text(head + rule % ', words = ["ieri"]', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"it\.toml: phenomena\.0\.targets\.0\.cue\.words"):
        read_table(str(path))
    with pytest.raises(ConfigError, match="no table for language 'xx'"):
        read_table("xx")


def test_english_of_the_shared_treebanks(shared: Path) -> None:
    sources = find_treebanks([str(shared / "data/ud/UD_English-PUD")])
    treebanks = read_treebanks(sources, "en")
    words = Resources((shared / "data/lexicon/unimorph_eng_args.tsv",))
    counts = count_text(" ".join(s.text for s in treebanks[0].sentences))
    corpus = Frequencies(counts, counts.total())
    data = build(treebanks, read_table("en"), words, corpus)
    assert data.build["candidates"]["past"] > 100
    assert data.splits["test"].num_rows > 50
    with pytest.raises(ConfigError, match="build one language at a time"):
        read_treebanks(sources, "de")
