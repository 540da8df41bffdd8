"""What runs on the cluster: a config's whole run, on the Ray it finds itself in.

`ray submit cluster/cloud.yaml cluster/main.py -- CONFIG`, `python -m cluster.main CONFIG` in a Ray job, and what
`morphorder submit` starts. Until the versions have been compared it imports nothing that may be missing or other here.
"""

import base64
import io
import json
import os
import platform
import sys
import zipfile
from pathlib import Path
from typing import NoReturn

PINS_FILE = Path("pins.json")
RETURN_VARIABLE = "MORPHORDER_RETURN_REPORT"
"""Set by `morphorder submit`: print the report, so that it reaches the machine that asked for it by any road."""
MARK = "morphorder-report:"
LINE_CHARS = 60_000
LARGEST_FILE = 8 << 20


def main(arguments: list[str]) -> NoReturn:
    """Runs `morphorder run` with the arguments and exits as it does."""
    if problem := version_problem():
        print(f"morphorder: {problem}", file=sys.stderr)
        sys.exit(2)
    from evaluator.cli import main as command

    os.environ.setdefault("RAY_ADDRESS", "auto")  # `ray submit` runs this on the head, and does not say where it is
    sys.argv = ["morphorder", "run", *map(os.path.expanduser, arguments), "--engine", "ray"]
    try:
        command()
    finally:
        if os.environ.get(RETURN_VARIABLE):
            print_report(arguments)


def version_problem() -> str:
    """How this Python differs from the one that made the package, in a line; empty when it does not, or nobody says."""
    if not PINS_FILE.is_file():
        return ""
    pins = json.loads(PINS_FILE.read_text(encoding="utf-8"))
    here = ".".join(platform.python_version_tuple()[:2])
    remedy = "use the image of cluster/Containerfile, or the same versions on the submitting machine"
    if pins["python"] != here:
        return f"the cluster runs Python {here}, the job was made with {pins['python']} ({remedy})"
    from cluster.versions import differences, versions_here

    different = differences(pins, versions_here())
    return (
        f"versions differ on the cluster: {different} ({remedy}, or: morphorder submit --install)" if different else ""
    )


def print_report(arguments: list[str]) -> None:
    """Prints the report folder, if there is one, as marked lines of base64, without files too large for a log."""
    from evaluator.config import read_config
    from evaluator.store.location import Location

    report = Location.of(read_config(Path(arguments[0])).out) / "report"
    if not report.names():
        return
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in ("", "tables", "figures"):
            for name in report.names(folder):
                path = f"{folder}/{name}".lstrip("/")
                content = report.read(path).to_pybytes()
                if len(content) <= LARGEST_FILE:
                    archive.writestr(path, content)
                else:
                    print(f"left on the cluster, {len(content) >> 20} MiB: {report}/{path}", file=sys.stderr)
    text = base64.b64encode(packed.getvalue()).decode("ascii")
    for first in range(0, len(text), LINE_CHARS):
        print(f"{MARK}{text[first : first + LINE_CHARS]}", flush=True)


def report_in(log: str) -> bytes:
    """The zip file that `print_report` printed into a log; empty when there is none."""
    lines = [line.removeprefix(MARK) for line in log.splitlines() if line.startswith(MARK)]
    return base64.b64decode("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
