"""Processor time to start the command line, and plain Python for comparison.

Run: python benchmarks/start.py
"""

from __future__ import annotations

import os
import subprocess
import sys


def cpu_seconds(arguments: list[str], repeats: int = 7) -> float:
    """The least processor time of several runs."""
    times = []
    for _ in range(repeats):
        before = os.times()
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
        times.append(used)
    return min(times)


def main() -> None:
    """Print the table."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "visterm --help": [sys.executable, "-m", "visterm", "--help"],
        "visterm --version": [sys.executable, "-m", "visterm", "--version"],
        "visterm add --help": [sys.executable, "-m", "visterm", "add", "--help"],
    }
    for name, arguments in commands.items():
        print(f"{name:<22} {cpu_seconds(arguments):.3f} s")


if __name__ == "__main__":
    main()
