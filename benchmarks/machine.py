"""What a figure was measured on: processor, cores, load and versions; never a host name or a path."""

import os
import platform
import resource
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evaluator.score.backend import usable_cpus

NAMED = ("numpy", "pyarrow", "tokenizers", "onnxruntime", "onnxruntime-gpu", "torch", "transformers", "optimum-onnx")


def machine_facts() -> dict[str, Any]:
    """Processor, cores, load average of the last minute, memory, date and versions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _processor(),
        "cores": usable_cpus(),
        "load_1min": round(os.getloadavg()[0], 2),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **_versions()},
    }


def peak_rss_mib() -> float:
    """Highest resident memory of this process so far."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                wide = " (AVX-512, VNNI)" if "avx512_vnni" in cpuinfo.read_text() else ""
                return line.partition(":")[2].strip() + wide
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
