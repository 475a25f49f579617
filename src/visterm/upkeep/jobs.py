"""Long work in processes of its own: training, adding, describing. Jobs outlive the program that started them.

A job is a command of the command line. Its folder ``.visterm/jobs/NUMBER`` holds what was asked for (``job.json``),
the progress and notes as they come (``log.jsonl``), the document that came out (``result.json``) and how it ended
(``ended.json``). While it runs, its process holds a lock, so a job that was killed is known to be so.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from visterm import collection, find
from visterm.documents.document import Document
from visterm.errors import InputError, VistermError
from visterm.storage import WriteLock, make_folder, open_new, write_error, write_text_atomically

JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
#: What can be started, the command it runs, and what people read.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "train": (("train",), "Learning from your labels"),
    "add": (("add",), "Looking for new pictures"),
    "features": (("features", "--for-models"), "Looking at the pictures"),
    "duplicates": (("duplicates",), "Looking for copies"),
}
#: After these, pictures may wait to be looked at.
_BEFORE_FEATURES = ("train", "add")
#: Jobs that are kept; the oldest finished ones are forgotten.
_MAX_KEPT = 50
#: Bytes at the end of the log that are read.
_TAIL = 64_000
_CANCELLED = "cancelled"


@dataclass(frozen=True)
class Step:
    """The step that a job is doing now: ``done`` of ``total`` parts (None: unknown)."""

    task: str
    done: int
    total: int | None


@dataclass(frozen=True)
class Job(Document):
    """A long piece of work and its progress. ``result`` is the document of the command, once it is done."""

    id: int
    kind: str
    title: str
    state: JobState
    started: float
    ended: float | None = None
    step: Step | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    result: dict[str, Any] | None = None


class Jobs:
    """The jobs of a workspace."""

    def __init__(self, workspace_folder: Path, state: Path) -> None:
        self._workspace, self.folder = workspace_folder, state / "jobs"
        self._guard = threading.Lock()
        self._over: dict[int, Job] = {}
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, kind: str, arguments: Sequence[str] = ()) -> Job:
        """Start a job, or return the job of this kind that is already running."""
        if kind not in KINDS:
            raise InputError(f"there is no job called {kind!r}: choose {', '.join(KINDS)}")
        make_folder(self.folder)
        with self._guard, WriteLock(self.folder).held():  # two servers of one workspace start one job
            for job in self.all():
                if job.kind == kind and job.state == "running":
                    return job
            number = max(self._numbers(), default=0) + 1
            folder = self.folder / str(number)
            command = [*KINDS[kind][0], *arguments, "--json", "--workspace", str(self._workspace)]
            try:
                folder.mkdir()
            except OSError as error:
                raise write_error(folder, error) from error
            asked = {"kind": kind, "command": command, "started": time.time()}
            write_text_atomically(folder / "job.json", json.dumps(asked))
            # A session of its own: the job goes on if the program that started it ends.
            self._children = [child for child in self._children if child.poll() is None]  # lets the ended ones go
            child = subprocess.Popen(  # noqa: S603 - our own program, and arguments that were checked
                [sys.executable, "-m", "visterm.upkeep.jobs", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._children.append(child)
            write_text_atomically(folder / "process", f"{child.pid} {_start_of(child.pid)}")
            self._forget_old()
            return self.job(number)

    def all(self) -> list[Job]:
        """All jobs, the newest first."""
        found = []
        for number in sorted(self._numbers(), reverse=True):
            with suppress(InputError):  # it is being made or forgotten at this moment
                found.append(self.job(number))
        return found

    def job(self, number: int) -> Job:
        """One job as it is now."""
        if number in self._over:
            return self._over[number]
        folder = self.folder / str(number)
        asked = _read_json(folder / "job.json") or {}
        if not isinstance(asked.get("kind"), str) or not isinstance(asked.get("started"), int | float):
            raise InputError(f"there is no job {number}")
        ended = _read_json(folder / "ended.json")
        step, notes, error = _read_log(folder / "log.jsonl")
        running = ended is None and self._is_running(folder, asked)
        if ended is None and not running:  # it may have ended just before its lock was looked at
            ended = _read_json(folder / "ended.json")
        state: JobState = "running" if running else "interrupted" if ended is None else ended["state"]
        job = Job(
            id=number,
            kind=asked["kind"],
            title=KINDS.get(asked["kind"], ((), asked["kind"]))[1],
            state=state,
            started=asked["started"],
            ended=None if ended is None else ended["time"],
            step=step if state == "running" else None,
            notes=notes,
            error=error if state == "failed" else None,
            result=_read_json(folder / "result.json") if state == "done" else None,
        )
        if ended is not None:  # it never changes again
            self._over[number] = job
        return job

    def cancel(self, number: int) -> Job:
        """Stop a job; what it has finished is kept."""
        if self.job(number).state == "running":
            folder = self.folder / str(number)
            write_text_atomically(folder / _CANCELLED, "")
            with suppress(OSError, ValueError):
                _end_process((folder / "process").read_text())
            _write_end(folder, "cancelled")
        return self.job(number)

    def _is_running(self, folder: Path, asked: dict[str, Any]) -> bool:
        """Whether the job's process holds its lock, or has just been started and will."""
        if not (folder / "lock").exists():
            return 0 <= time.time() - asked["started"] < _START_SECONDS
        try:
            with WriteLock(folder).held(wait=False):
                return False
        except VistermError:
            return True

    def _numbers(self) -> list[int]:
        try:
            return [int(path.name) for path in self.folder.iterdir() if path.name.isdigit()]
        except OSError:
            return []

    def _forget_old(self) -> None:
        for job in self.all()[_MAX_KEPT:]:
            if job.state != "running":
                shutil.rmtree(self.folder / str(job.id), ignore_errors=True)
                self._over.pop(job.id, None)


#: A new process needs this long at most until it holds its lock.
_START_SECONDS = 30.0


def run(folder: Path) -> int:
    """Run the command of a job in this process's child, and write what comes of it; the exit code."""
    asked = _read_json(folder / "job.json")
    if asked is None:
        return 2
    with suppress(OSError, AttributeError):
        os.nice(5)  # people who look at pictures come first
    with WriteLock(folder).held(), open_new(folder / "log.jsonl", "wb") as log:
        command = [sys.executable, "-m", "visterm", *asked["command"]]
        done = subprocess.run(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, check=False
        )
        if done.returncode == 0:
            write_text_atomically(folder / "result.json", done.stdout.decode("utf-8", "replace"))
        _write_end(folder, "done" if done.returncode == 0 else "failed")
    if done.returncode == 0 and asked["kind"] in _BEFORE_FEATURES:
        _look_at_new_pictures(folder.parent.parent.parent)
    return done.returncode


def _look_at_new_pictures(workspace: Path) -> None:
    with suppress(VistermError), collection.Holdings(workspace) as holdings:
        holdings.library.readers_compute = False
        if find.unlooked(holdings, holdings.views.newest()).any():
            Jobs(holdings.folder, holdings.state).start("features")


def _start_of(process: int) -> str:
    """When a process began, in ticks since the computer did: numbers of processes are used again. "-" if unknown."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


def _end_process(written: str) -> None:
    """End the processes of a job, whose number and start were ``written`` when it began, if they are still those."""
    number, start = written.split()
    process = int(number)
    if process > 1 and start == _start_of(process):
        (os.killpg if hasattr(os, "killpg") else os.kill)(process, signal.SIGTERM)


def _write_end(folder: Path, state: JobState) -> None:
    if (folder / _CANCELLED).exists():
        state = "cancelled"
    write_text_atomically(folder / "ended.json", json.dumps({"state": state, "time": time.time()}))


def _read_json(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _read_log(file: Path) -> tuple[Step | None, list[str], str | None]:
    """The step that is going on, the notes, and the error, from the end of a log."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - _TAIL))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None, [], None
    step, notes, error = None, list[str](), None
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            error = line  # not an event: the last words of a process that broke down
            continue
        if not isinstance(event, dict):
            continue
        if "error" in event:
            error = str(event["error"])
        elif event.get("event") == "note":
            notes.append(str(event.get("text")))
        elif event.get("event") in ("start", "advance", "report"):
            step = Step(str(event.get("task")), int(event.get("done") or 0), event.get("total"))
    return step, notes, error


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1])))
