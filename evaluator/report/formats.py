"""How a number looks, and one escaper per format: the only places where text becomes CSV, Markdown or LaTeX.

Numbers print with at most three significant digits, without a leading zero (`.224`, `1.02`, `37.5`); a value that is
not there prints as an en dash. HTML's escaper lives in `markup`, where nothing can be built without it.
"""

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

MISSING = "–"
MINUS = "−"


def number(value: float | None, *, minus: str = MINUS) -> str:
    """`value` with ≤ 3 significant digits: `.224`, `−.05` as `−.050`, `1.02`, `12.3`, `123`; `–` when there is none."""
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    if size < 0.9995:
        digits = f"{size:.3f}"[1:]
    elif size < 9.995:
        digits = f"{size:.2f}"
    elif size < 99.95:
        digits = f"{size:.1f}"
    else:
        digits = f"{size:.0f}"
    return (minus if value < 0 and digits.strip(".0") else "") + digits


def p_value(value: float | None) -> str:
    """A p-value: `<.001` below .0005, otherwise as `number`."""
    return "<.001" if value is not None and value < 0.0005 else number(value)


def count(value: int | None) -> str:
    """A count with thousands separated: `3,120`; `–` when there is none."""
    return MISSING if value is None else f"{value:,}"


def interval(ends: Sequence[float] | None, *, minus: str = MINUS) -> str:
    """`[.91, .97]`; empty when there is none."""
    return "" if ends is None else f"[{number(ends[0], minus=minus)}, {number(ends[1], minus=minus)}]"


def well_formed(text: str) -> str:
    """`text` with lone surrogates as U+FFFD and controls as visible pictures: encodable and parseable anywhere."""
    if text.isprintable():
        return text
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]", _stand_in, text)


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in (0x09, 0x0A):
        return match.group()
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"


def visible(word: str) -> str:
    """A word on its own with what cannot be seen made visible: `∅`, `␣`, `⟨U+202E⟩`. Not for text a model reads."""
    if not word:
        return "∅"
    if word.isprintable() and " " not in word:
        return word
    return "".join(_seen(character) for character in well_formed(word))


def _seen(character: str) -> str:
    if character == " ":
        return "␣"
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn")
    return f"⟨U+{ord(character):04X}⟩" if hidden else character


def invisibles(text: str) -> str:
    """The code points in `text` a reader would not see, as `U+202E U+2028`; empty for ordinary text.

    ZWNJ and ZWJ are spelling in Persian and Hindi and are named too: they are part of what the model read.
    """
    if text.isprintable():
        return ""
    found = [c for c in text if c != " " and unicodedata.category(c) in ("Cf", "Zl", "Zp", "Zs", "Co")]
    return " ".join(dict.fromkeys(f"U+{ord(c):04X}" for c in found))


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """RFC 4180 in UTF-8 without BOM: CRLF lines, quotes doubled, values untouched."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([_encodable(name) for name in header])
    writer.writerows([_encodable(value) for value in row] for row in rows)
    return out.getvalue().encode("utf-8")


def excel_csv(data: bytes) -> bytes:
    """The CSV for spreadsheets: with a BOM, and an apostrophe before cells that would run as a formula.

    Numbers stay as they are. Tokens that begin with `=`, `+`, `-` or `@` are ordinary in treebanks.
    """
    rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows([_guarded(cell) for cell in row] for row in rows)
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8")


def _guarded(cell: str) -> str:
    runs = cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if runs and not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", cell) else cell


def _encodable(text: str) -> str:
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)


def canonical(value: Any) -> str:
    """A value as CSV holds it: shortest exact decimal, `true`/`false`, empty when null, JSON for lists and objects."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


_MARKDOWN_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~$&]|^[-+=])")


def markdown(text: str) -> str:
    """`text` as literal GFM, safe inside a table cell: every active ASCII sign escaped, line breaks as spaces."""
    flat = re.sub(r"[\t\n\u2028\u2029]", " ", inert(text))
    return re.sub(r"(?<![\w.])(\d+)\.(?=\s)", r"\1\\.", _MARKDOWN_ACTIVE.sub(r"\\\1", flat))


def inert(text: str) -> str:
    """`text` that moves no cursor and turns no line: controls as pictures, other format controls as `⟨U+202E⟩`.

    Joiners stay: they are spelling.
    """
    text = well_formed(text)
    return "".join(
        f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in ("Cf", "Zl", "Zp") and c not in "\u200c\u200d" else c
        for c in text
    )


_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": "'", "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}",
    "–": "--", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "Δ": r"$\Delta$", "✓": r"$+$", "✗": r"$-$",
    "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$", "⁺": r"\textsuperscript{+}", "\t": " ", "\n": " ",
    "\u2009": r"\,", "\u00a0": "~", "\u200b": "{}",
}  # fmt: skip


def tex(text: str) -> str:
    """`text` as literal LaTeX for any engine: signs escaped, letters beyond Latin as `\\texttt{U+4E2D}`."""
    return "".join(_TEX.get(c) or _tex_letter(c) for c in re.sub(r"-(?=-)", "-\u200b", well_formed(text)))


def tex_interval(ends: Sequence[float] | None) -> str:
    """`[.91, .97]` in LaTeX; empty when there is none."""
    return interval(ends).replace(MINUS, "$-$")


def _tex_letter(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F or (0xC0 <= code <= 0x17F and character.isalpha()):
        return character
    return rf"\texttt{{U+{code:04X}}}"


def json_for_script(value: Any) -> str:
    """`value` as JSON that cannot leave a `<script>` element: `<`, `>`, `&`, U+2028 and U+2029 as `\\u` escapes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return re.sub(r"[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]", _unicode_escape, text)


def _unicode_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
