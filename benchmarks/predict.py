"""How good the forecast of `morphorder doctor CONFIG` is: `python -m benchmarks.predict CONFIG … [--json]`.

Each config is first forecast, then run, each in a process of its own, the run's whole wall time counted. Bar: within a
factor of 1.3 on three different configs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import machine_facts

BAR = 1.3
COMMAND = "from evaluator.cli import main; main()"


def main() -> int:
    """Runs the benchmark and prints it; 1 when a forecast misses the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", type=Path)
    parser.add_argument("--probe-s", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    forecasts = [_forecast(path, given.probe_s) for path in given.configs]
    document = {"benchmark": "predict", "machine": machine_facts(), "bar": BAR, "configs": forecasts}
    if given.json:
        print(json.dumps(document))
    else:
        for facts in forecasts:
            print(", ".join(f"{name} {value}" for name, value in facts.items()))
    return 0 if all(facts["factor"] <= BAR for facts in forecasts) else 1


def _forecast(path: Path, probe_s: float) -> dict[str, object]:
    """Forecast and measured seconds of one config."""
    doctor = [sys.executable, "-c", COMMAND, "doctor", str(path), "--probe-s", str(probe_s), "--json"]
    said = json.loads(subprocess.run(doctor, capture_output=True, text=True, check=False).stdout)
    estimate = said["plan"]["estimate_s"]
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-c", COMMAND, "run", str(path), "--out", f"{folder}/run", "--progress", "none"]
        began = time.perf_counter()
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        wall_s = time.perf_counter() - began
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        times = Path(folder) / "run" / "times.json"
        stages = json.loads(times.read_text()) if times.is_file() else {}
    factor = max(estimate["all"] / wall_s, wall_s / estimate["all"])
    return {
        "config": path.name,
        "items": said["plan"]["items"],
        "forecast_s": {name: round(value, 1) for name, value in estimate.items()},
        "measured_s": round(wall_s, 1),
        "measured_stages_s": stages,
        "factor": round(factor, 2),
    }


if __name__ == "__main__":
    sys.exit(main())
