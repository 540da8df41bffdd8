"""morphorder: do masked language models read word order or inflectional form?

`run(config)` does the whole flow and returns its result; `load_report(folder)` opens a finished one.
"""

from evaluator.api import run
from evaluator.config import Config, read_config
from evaluator.errors import MorphorderError, UserError
from evaluator.frames import Report, load_report

__all__ = ["Config", "MorphorderError", "Report", "UserError", "load_report", "read_config", "run"]
