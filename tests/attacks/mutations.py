"""What the fuzzers share: seeded damage, a watch over time, and one command line.

A fuzzer is a script ``fuzz_*.py``. Its ``targets()`` gives, by name, what it attacks; run as ``--runs N --seed S`` it
tries N inputs on each and exits with 1 if one failed. ``fuzz.py`` runs all of them.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from visterm.errors import VistermError

#: An input that takes longer is a failure.
MAX_SECONDS = 10
_TOKENS = [b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b'"', b"{", b"[" * 3000, b"null"]
_TOKENS += [b"NaN", b"-1", b"1e999", b"9" * 400, b"../../x", b"true", b"[]", b"{}", b'""', b"\n", b"\\ud800"]

#: Tries one input made by the generator it is given; whatever leaves it except a VistermError is a failure.
Trial = Callable[[random.Random], None]


def mutated(dice: random.Random, data: bytes) -> bytes:
    """``data`` with one to eight pieces of damage: bits, bytes, blocks, tokens, cuts."""
    damaged = bytearray(data)
    for _ in range(1 << dice.randrange(4)):
        at = dice.randrange(len(damaged) + 1)
        length = dice.choice([1, 1, 2, 4, 8, 64, 1024])
        match dice.randrange(7):
            case 0 if at < len(damaged):
                damaged[at] ^= 1 << dice.randrange(8)
            case 1 if at < len(damaged):
                damaged[at] = dice.randrange(256)
            case 2:
                del damaged[at : at + length]
            case 3:
                damaged[at:at] = damaged[at : at + length]
            case 4:
                damaged[at : at + length] = bytes(dice.randrange(256) for _ in range(min(length, 64)))
            case 5:
                token = dice.choice(_TOKENS)
                damaged[at : at + dice.choice([0, len(token)])] = token
            case 6 if dice.random() < 0.2:
                del damaged[at:]
    return bytes(damaged)


def run(targets: Mapping[str, Trial], n_runs: int, seed: int) -> list[str]:
    """Try ``n_runs`` inputs on every target; the failures, one line each."""
    failures = []
    signal.signal(signal.SIGALRM, _too_long)
    for name, trial in targets.items():
        n_refused, slowest = 0, 0.0
        for number in range(n_runs):
            started = time.process_time()
            signal.alarm(6 * MAX_SECONDS)
            try:
                trial(random.Random(f"{name} {seed} {number}"))
            except VistermError:
                n_refused += 1
            except Exception:
                failures.append(f"{name}, seed {seed}, input {number}: {traceback.format_exc(limit=-3)}")
            finally:
                signal.alarm(0)
            slowest = max(slowest, seconds := time.process_time() - started)
            if seconds > MAX_SECONDS:
                failures.append(f"{name}, seed {seed}, input {number}: {seconds:.1f} s")
        print(f"{name}: {n_runs} inputs, {n_refused} refused in words, slowest {slowest:.2f} s", flush=True)
    return failures


def _too_long(*_: object) -> None:
    raise TimeoutError("no answer")


def main(targets: Callable[[Path], Mapping[str, Trial]]) -> int:
    """The command line of a fuzzer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failures = run(targets(Path(folder)), chosen.runs, chosen.seed)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} failures")
    return bool(failures)
