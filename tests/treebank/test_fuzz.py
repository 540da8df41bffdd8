"""Whatever the bytes are: no crash, no sentence lost, no word changed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.treebank.read import read_scan, tokenlist_of
from evaluator.treebank.scan import scan
from evaluator.treebank.structure import FIELDS
from evaluator.treebank.text import spell

FAST = settings(max_examples=150, deadline=None)

# Characters that readers trip over: separators of lines and fields elsewhere, invisible marks, quotes, scripts.
odd = st.sampled_from([*' "_#=|-.\u00a0\u0085\u2028\u200b\u00ad\u0301\ufeff\u3000\x0b\x0c\x1c\x1f한山ไאا', "😀", "  "])
word = st.lists(odd | st.characters(codec="utf-8", exclude_characters="\n\r\t\0"), min_size=1, max_size=5).map("".join)
field = st.sampled_from(["_", "SpaceAfter=No", "Case=Nom"]) | word


@st.composite
def sentences(draw: st.DrawFn) -> list[list[str]]:
    """The rows of a structurally sound sentence."""
    count = draw(st.integers(1, 6))
    rows: list[list[str]] = []
    range_end = 0
    for number in range(1, count + 1):
        if number > range_end and draw(st.booleans()):
            range_end = draw(st.integers(number, count))
            rows.append([f"{number}-{range_end}", draw(word), *"_______", draw(field)])
        head = draw(st.sampled_from(["0", "1", "9", "-1", "_", "1-2", str(count)]))
        middle = [draw(field) for _ in range(4)]
        rows.append([str(number), draw(word), *middle, head, draw(field), draw(field), draw(field)])
        if draw(st.integers(0, 5)) == 0:
            rows.append([f"{number}.1", draw(word), *"_______", "_"])
    return rows


def written(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


@settings(FAST, max_examples=60)
@given(st.lists(sentences(), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_sound_sentences_are_all_read_with_every_field_as_written(
    rows: list[list[list[str]]], end: str, final: bool
) -> None:
    text = "".join(map(written, rows))
    text = text if final else text.rstrip("\n")
    scanned = scan(text.replace("\n", end).encode(), "p")
    assert [[fields for _, fields in block.rows] for block in scanned.blocks] == rows
    assert all(block.error is None for block in scanned.blocks)
    for block, expected in zip(scanned.blocks, rows, strict=True):
        assert [[token[name] for name in FIELDS] for token in tokenlist_of(block)] == expected
    result = read_scan(scanned, name="T", language="xx")
    if scanned.refused is None:
        assert len({sentence.key for sentence in result.sentences}) == len(rows)
        for sentence, expected in zip(result.sentences, rows, strict=True):
            surface = {row[0]: row[1] for row in expected}
            assert all(surface[unit.word_id] == unit.form for unit in sentence.units)
            assert all(-2 <= unit.head < len(sentence.units) for unit in sentence.units)
            assert spell(sentence.units) == sentence.text


line = st.sampled_from(
    [b"", b" \t", b"# sent_id = p", b"# text = a b",
     b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_", b"2\tb\t_\tX\t_\t_\t1\tdep\t_\t_",
     b"1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_", b"1.1\te\t_\t_\t_\t_\t_\t_\t_\t_", b"2\tb\t\tX\t_\t_\t2\tdep\t_\t", b"\xff",
     b"0\ta\t_\tX\t_\t_\t0\troot\t_\t_", b"3\t\t_\tX\t_\t_\t0\troot\t_\t_", b"1\ta", b"\xef\xbb\xbf#", b"\0", b"\r"]
)  # fmt: skip


@FAST
@given(st.lists(line | st.binary(max_size=8), max_size=14), st.sampled_from([b"\n", b"\r\n"]))
def test_any_lines_usable_and_damaged_add_up(lines: list[bytes], end: bytes) -> None:
    scanned = scan(end.join(lines), "p")
    result = read_scan(scanned, name="T", language="xx")
    counts = result.counts
    assert counts.sentences + counts.bad_sentences == len(scanned.blocks)
    assert counts.sentences == len(result.sentences)
    assert sum(counts.excluded.values()) == counts.bad_sentences
    assert [block.ordinal for block in scanned.blocks] == list(range(1, len(scanned.blocks) + 1))
    assert len({sentence.sent_id for sentence in result.sentences}) == len(result.sentences)
    for issue in [*result.issues, *result.notes]:
        str(issue).encode("ascii" if issue.code.startswith(("id_", "head_", "feats_")) else "utf-8")
        assert "\n" not in str(issue) and issue.line >= 1
    for sentence in result.sentences:
        assert all(unit.form for unit in sentence.units)
        sentence.text.encode("utf-8")


@FAST
@given(st.binary(max_size=200))
def test_any_bytes_are_scanned(data: bytes) -> None:
    scanned = scan(data, "p")
    read_scan(scanned, name="T", language="xx")
