"""A drawn subset as a small TSV, so that others evaluate exactly the same base items."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from evaluator.errors import ConfigError

HEADER = ("treebank", "sent_id", "seed", "target")


@dataclass(frozen=True, slots=True)
class SubsetRow:
    """One base item by names that outlive a run."""

    treebank: str
    sent_id: str
    seed: int
    target: int
    """Index of the masked unit, from 0."""
    line: int = field(default=0, compare=False)
    """Where it was read, for messages."""


def subset_text(rows: Iterable[SubsetRow]) -> str:
    """The rows as TSV under a header line."""
    lines = ["\t".join(HEADER)]
    for row in rows:
        for name in (row.treebank, row.sent_id):
            if any(mark in name for mark in "\t\n\r"):
                raise ConfigError(f"{name!r} holds a tab or line break and cannot be written to a subset file")
        lines.append(f"{row.treebank}\t{row.sent_id}\t{row.seed}\t{row.target}")
    return "\n".join(lines) + "\n"


def subset_rows(text: str, *, where: str = "subset") -> tuple[SubsetRow, ...]:
    """The rows of a subset TSV; `where` names its source in messages. Raises ConfigError at the first bad line."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if tuple(lines[0].split("\t")) != HEADER:
        raise ConfigError(
            f"found the header {lines[0]!r}, expected {' '.join(HEADER)} separated by tabs", where=f"{where}:1"
        )
    rows: dict[tuple[str, str, int], SubsetRow] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        place = f"{where}:{number}"
        cells = line.split("\t")
        if len(cells) != len(HEADER):
            raise ConfigError(f"found {len(cells)} tab-separated fields, expected {len(HEADER)}", where=place)
        if not (cells[2].removeprefix("-").isdecimal() and cells[3].isdecimal()):
            raise ConfigError(f"seed {cells[2]!r} and target {cells[3]!r} must be whole numbers", where=place)
        row = SubsetRow(cells[0], cells[1], int(cells[2]), int(cells[3]), number)
        earlier = rows.setdefault((row.treebank, row.sent_id, row.seed), row)
        if earlier is not row:
            raise ConfigError(
                f"{row.sent_id} of {row.treebank} with seed {row.seed} is already on line {earlier.line}", where=place
            )
    return tuple(rows.values())
