"""Results of another task as a block of the page: what it found in words, its tables, its definitions."""

from dataclasses import dataclass, replace

from evaluator.report.markup import Html, el
from evaluator.report.table_formats import table_html
from evaluator.report.tables import Table

Definition = tuple[str, str, str]
"""(anchor, term, definition)"""


@dataclass(frozen=True, slots=True)
class Joined:
    """One block. Its tables have names and its definitions anchors that no other block of the page has."""

    anchor: str
    title: str
    """In the contents, and above the block."""
    findings: tuple[str, ...]
    shown: tuple[Table, ...]
    folded: tuple[Table, ...]
    definitions: tuple[Definition, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        return (*self.shown, *self.folded)

    def named(self, prefix: str) -> "Joined":
        """The same with its anchor and the names of its tables behind a prefix."""
        shown, folded = (
            tuple(replace(table, name=f"{prefix}-{table.name}") for table in some) for some in (self.shown, self.folded)
        )
        return replace(self, anchor=prefix, shown=shown, folded=folded)


def joined_body(joined: Joined) -> list[Html]:
    """Findings, tables, and the longer tables folded."""
    said = el("div", (el("p", sentence) for sentence in joined.findings), class_="findings")
    shown = [el("div", table_html(table), class_="fig") for table in joined.shown]
    more = [el("details", el("summary", table.caption), table_html(table)) for table in joined.folded]
    return [said, *shown, *more]
