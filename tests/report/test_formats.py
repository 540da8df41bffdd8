"""U3, U6: numbers look one way everywhere; each format's escaper lets nothing through and loses nothing."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.report import formats
from evaluator.report.markup import el

EVIL = (
    "</script><b>",
    "]]>",
    '"',
    "&amp;",
    "=1+1",
    "|",
    "_%#",
    "\u202e",
    "\u2028",
    "<!--",
    "*a*",
    "$x$",
    "\\",
    "a\tb",
    "`",
    "{}",
    "'",
    "~^",
    "[a](b)",
    "‍\u200c",
    "\ufeff",
    "\x00\x1b[31m",
    "--",
    "www.a.b",
    "@all",
    "\ud800",
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.2237, ".224"),
        (-0.05, "−.050"),
        (0.0, ".000"),
        (1.0, "1.00"),
        (0.99951, "1.00"),
        (1.0249, "1.02"),
        (-0.00004, ".000"),
        (9.9961, "10.0"),
        (37.46, "37.5"),
        (123.4, "123"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_numbers_have_three_digits_at_most(value: float | None, shown: str) -> None:
    assert formats.number(value) == shown


@given(st.floats(-999, 999))
def test_a_number_reads_back_within_its_last_digit(value: float) -> None:
    shown = formats.number(value, minus="-")
    assert abs(float(shown) - value) <= 0.5 * 10 ** -len(shown.partition(".")[2]) + 1e-9
    assert len(shown.strip("-").replace(".", "").lstrip("0")) <= 3


def test_small_p_values_are_bounds() -> None:
    assert [formats.p_value(p) for p in (0.0, 0.00049, 0.0005, 0.0312, None)] == ["<.001", "<.001", ".001", ".031", "–"]


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=2, max_size=2), min_size=1))
def test_csv_reads_back(rows: list[list[str]]) -> None:
    data = formats.csv_bytes(["a", "b"], rows).decode("utf-8")
    assert list(csv.reader(io.StringIO(data, newline="")))[1:] == rows


@given(st.text())
def test_json_in_a_script_reads_back_and_cannot_leave_it(text: str) -> None:
    written = formats.json_for_script({"t": text})
    assert not re.search(r"[<>&\u2028\u2029]", written)
    assert json.loads(written)["t"] == text


@pytest.mark.parametrize("token", EVIL)
def test_evil_tokens_stay_text_in_latex(token: str) -> None:
    written = formats.tex(token)
    bare = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\\texttt\{U\+[0-9A-F]+\}|\\,", "", written)
    bare = re.sub(r"\{\[\}|\{\]\}|\{\}", "", bare)
    assert not re.search(r"[\\{}$&#%_^~]", bare)
    assert written.isascii()


@pytest.mark.parametrize("token", EVIL)
def test_evil_tokens_stay_in_their_markdown_cell(token: str) -> None:
    written = formats.markdown(token)
    assert "\n" not in written and "\u2028" not in written and "\u202e" not in written
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<>`*_$\[\]]", re.sub(r"\\.", "", written))


@pytest.mark.parametrize("token", EVIL)
def test_evil_tokens_stay_text_in_html(token: str) -> None:
    written = el("b", token, title=token)
    inner = re.sub(r'^<b title="[^"<>]*">|</b>$', "", written)
    assert not re.search(r"[<>\"]", inner)
    written.encode("utf-8")


def test_what_cannot_be_seen_is_spelt_out() -> None:
    assert formats.visible("") == "∅"
    assert formats.visible("a b\u202e\u00a0\u2028") == "a␣b⟨U+202E⟩⟨U+00A0⟩⟨U+2028⟩"
    assert formats.invisibles("می\u200cروم \u202e") == "U+200C U+202E"


def test_the_copy_for_spreadsheets_runs_nothing_and_keeps_numbers() -> None:
    rows = [["=1+1", "-.05"], ["-x", "+49"], ["@all", "1e-05"], ["-", "a,b"], ["ok", "-3"]]
    data = formats.excel_csv(formats.csv_bytes(["a", "b"], rows))
    assert data.startswith(b"\xef\xbb\xbf")
    read = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))[1:]
    assert read == [["'=1+1", "-.05"], ["'-x", "'+49"], ["'@all", "1e-05"], ["'-", "a,b"], ["ok", "-3"]]
