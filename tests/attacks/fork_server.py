"""Runs many commands of the real command line without paying for the start of Python each time.

Reads one JSON request a line, forks, and runs ``visterm.faces.cli.main`` in the child as ``visterm ARGUMENTS`` would,
with the shim armed. Answers with one JSON line: exit code, signal, output, and the number of calls that the shim saw.
Started by :mod:`attack_harness`.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

#: What commands import, paid for once. None of these starts a thread.
IMPORTED = (
    "numba",
    "sklearn.linear_model",
    "sklearn.neighbors",
    "visterm.labels.adding",
    "visterm.upkeep.checking",
    "visterm.learn.choosing",
    "visterm.faces.cli",
    "visterm.labels.exporting",
    "visterm.labels.labelling",
    "visterm.labels.naming",
    "visterm.find.searchers",
    "visterm.find.searching",
    "visterm.find.suggesting",
    "visterm.exchange.xmp",
    "visterm.find.similar",
    "visterm.upkeep.status",
    "visterm.learn.training",
    "visterm.features.library",
    "visterm.learn",
    "visterm.learn.engine.training",
    "visterm.learn.engine.measuring",
    "visterm.calibration.relevance",
    "visterm.learn.learned_search",
    "visterm.vision.recipes",
    "visterm.models",
    "visterm.neighbours",
)


def import_commands() -> None:
    """Import what commands use."""
    for name in IMPORTED:
        with suppress(ModuleNotFoundError):  # it has moved: its commands import it themselves
            importlib.import_module(name)


def main() -> None:
    import_commands()
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"]) if os.environ.get("LD_PRELOAD") else None
    if shim is not None:
        shim.attack_disarm.restype = ctypes.c_long
    answers = os.fdopen(os.dup(1), "w")
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line), shim)) + "\n")
        answers.flush()


def _answer(request: dict, shim: ctypes.CDLL | None) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out, err, counted = (Path(folder, name) for name in ("out", "err", "counted"))
        child = os.fork()
        if not child:
            _run(request, shim, out, err, counted)
        _, status = os.waitpid(child, 0)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "out": out.read_text(errors="replace"),
            "err": err.read_text(errors="replace"),
            "calls": int(counted.read_text()) if counted.exists() else None,
        }


def _run(request: dict, shim: ctypes.CDLL | None, out: Path, err: Path, counted: Path) -> None:
    """Never returns."""
    code = 70
    try:
        for file, descriptor in ((out, 1), (err, 2)):
            opened = os.open(file, os.O_WRONLY | os.O_CREAT)
            os.dup2(opened, descriptor)
            os.close(opened)
        os.chdir(request["folder"])
        sys.argv = ["visterm", *request["arguments"]]
        if shim is not None:
            fault = request["fault"]
            shim.attack_arm(request["root"].encode(), fault["action"], ctypes.c_long(fault["at"]), fault["error"])
        code = _main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if shim is not None:
            counted.write_text(str(shim.attack_disarm()))
        os._exit(code)


def _main() -> int:
    import traceback

    from visterm.faces.cli import main as command_line

    try:
        command_line()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
