"""Published numbers of a GLUE task, each with how sure it is: shown beside a run's own, never mixed with them."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

MARKS: dict[str, str] = {
    "P": "printed in the paper's public text",
    "R": "read in the authors' public repository",
    "D": "derived from files there",
    "S": "from a secondary source",
}
"""How a published number is known."""


@cache
def _document() -> dict[str, Any]:
    text = resources.files("evaluator").joinpath("wos/published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def source() -> str:
    """Where the numbers come from."""
    return str(_document()["source"])


def published_tables() -> list[dict[str, Any]]:
    """All tables: `name`, `title`, `mark`, `note`, `columns` and `rows` by task; accuracies and shares in percent."""
    return list(_document()["table"])


def published_of(task: str) -> list[dict[str, Any]]:
    """What is published of one task: per table its title, mark, note, and `values` by column."""
    found = []
    for table in published_tables():
        if task not in table["rows"]:
            continue
        values = dict(zip(table["columns"], table["rows"][task], strict=False))
        wos_mark = table.get("wos_mark", table["mark"])
        kept: dict[str, Any] = {k: table[k] for k in ("name", "title", "mark", "note") if k in table}
        found.append(kept | {"wos_mark": wos_mark, "values": values})
    return found
