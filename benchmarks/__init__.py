"""What the claims of speed and memory rest on: each module is a command, `python -m benchmarks.NAME --json`."""
