"""Runs of other tasks in the folder of a run, `RUN/TASK/NAME`: their reports, and the blocks they add to its page.

Tasks are registered in the entry-point group `morphorder.blocks`: the name is the folder and the `kind` of its
report.json, the function makes a block of such a report.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from evaluator.report.document import slugs
from evaluator.report.joined import Joined
from evaluator.store.location import Location
from evaluator.store.run import read_json

GROUP = "morphorder.blocks"
Reports = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""task → name → report.json"""


def joined_reports(place: Location) -> Reports:
    """The reports of other tasks in a run's folder, of the tasks that have any."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for task in sorted(entry.name for entry in entry_points(group=GROUP)):
        for name in sorted(place.folders(task)):
            report = read_json(place, f"{task}/{name}/report/report.json")
            if report is not None and report.get("kind") == task:
                found.setdefault(task, {})[name] = report
    return found


def joined_blocks(reports: Reports) -> Iterator[Joined]:
    """A block for each report, under a name that no other has."""
    for task, named in reports.items():
        block_of: Callable[[Mapping[str, Any]], Joined] = entry_points(group=GROUP)[task].load()
        for name, slug in slugs(named).items():
            yield block_of(named[name]).named(f"{task}-{slug}")
