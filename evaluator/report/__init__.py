"""From `report.json` and the outcomes to what people read: page, Markdown, CSV, LaTeX, figures, terminal.

`document` is the contract, `tables` and `figures` say what is shown, `table_formats`, `page` and `summary` write it,
`render` lists the files.
"""

from evaluator.report.render import render_report
from evaluator.report.summary import summary_lines, terminal_table

__all__ = ["render_report", "summary_lines", "terminal_table"]
