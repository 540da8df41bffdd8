"""What a run of any other task than the main one ends with."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run: its report document and its folder."""

    document: dict[str, Any]
    folder: str

    @property
    def complete(self) -> bool:
        """Whether nothing failed."""
        return not self.document["problems"]
