"""Runs every fuzzer: about N inputs in all, divided among their targets.

python tests/attacks/fuzz.py -n 100000
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from pathlib import Path

from attack_harness import environment

HERE = Path(__file__).parent


def fuzzers() -> list[Path]:
    """The scripts ``fuzz_*.py`` of all test folders that can be run: they have a ``main``."""
    found = sorted(HERE.parent.rglob("fuzz_*.py"))
    return [file for file in found if "__main__" in file.read_text()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    scripts = fuzzers()
    failed, n_targets = [], {script: _n_targets(script) for script in scripts}
    runs = -(-chosen.n // sum(n_targets.values()))
    print(
        f"{len(scripts)} fuzzers, {sum(n_targets.values())} targets, {runs} inputs each, seed {chosen.seed}", flush=True
    )
    for script in scripts:
        started = time.perf_counter()
        command = [sys.executable, str(script), "--runs", str(runs), "--seed", str(chosen.seed)]
        if subprocess.run(command, env=environment(), check=False).returncode:
            failed.append(script.name)
        print(f"{script.name}: {time.perf_counter() - started:.0f} s", flush=True)
    print("failed: " + ", ".join(failed) if failed else "nothing failed")
    return bool(failed)


def _n_targets(script: Path) -> int:
    """How many targets a script has, as it says in N_TARGETS; 1 if it does not say."""
    for node in ast.parse(script.read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "N_TARGETS" for t in node.targets):
            return int(ast.literal_eval(node.value))
    return 1


if __name__ == "__main__":
    sys.exit(main())
