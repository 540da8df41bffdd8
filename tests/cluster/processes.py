"""The workers of the Ray that this process started."""

import psutil


def workers_of_this_process() -> list[psutil.Process]:
    """Those alive now."""
    return [p for p in psutil.Process().children(recursive=True) if "MapWorker" in _title(p)]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
