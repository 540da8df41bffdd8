"""`run.toml`: the settings of a run as the file that `morphorder run` reads, so that a report can be made again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.report.document import Document

SETTINGS_FILE = "run.toml"
NOTE = (
    "# The settings of this report. Treebanks and models stand by name: put them beside this file, or give their paths."
)


def settings_files(document: Document) -> list[str]:
    """`run.toml`, where the report knows its settings."""
    return [SETTINGS_FILE] if (document.report.get("manifest") or {}).get("config") else []


def settings_toml(config: Mapping[str, Any]) -> bytes:
    """The settings as TOML: values first, then one section per group of them; what is not set is left out."""
    return ("\n".join([NOTE, "", *_lines(config)]) + "\n").encode("utf-8")


def _lines(config: Mapping[str, Any]) -> Iterator[str]:
    groups = {key: value for key, value in config.items() if isinstance(value, Mapping)}
    yield from (_assignment(key, value) for key, value in config.items() if key not in groups and value is not None)
    for key, group in groups.items():
        yield from ("", f"[{_key(key)}]")
        yield from (_assignment(name, value) for name, value in group.items() if value is not None)


def _assignment(key: str, value: Any) -> str:
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_assignment(k, v) for k, v in value.items() if v is not None) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_value(part) for part in value]
        apart = any(isinstance(part, Mapping) for part in value)
        return "[\n" + "".join(f"  {part},\n" for part in parts) + "]" if apart else f"[{', '.join(parts)}]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but that TOML also wants U+007F escaped, and no lone surrogate."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
