"""From `report.json` and the outcomes to what people read: page, Markdown, CSV, LaTeX, figures, terminal.

`document` is the contract, `tables` and `figures` say what is shown, `table_formats`, `page` and `summary` write it,
`render` lists the files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.report.render import render_report
    from evaluator.report.summary import summary_lines, terminal_table

__all__ = ["render_report", "summary_lines", "terminal_table"]


def __getattr__(name: str) -> Any:
    """What the package offers, loaded when asked for: tables and formats are used without the drawing libraries."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'render' if name == 'render_report' else 'summary'}"), name)
