"""Many processes at one workspace for minutes: readers, writers, a training and an adding process.

    python tests/attacks/soak.py --minutes 15

Readers search, ask for the status, for suggestions and for look-alikes; writers label and edit the vocabulary; one
process trains, one adds pictures, and one does a bit of everything through the real command line. The report has the
number of commands, of refusals and errors (none is allowed), of confirmed labels that are not in the catalogue (none
is allowed), and the times of reads.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attack_harness import (
    COLOURS,
    METHOD,
    RECIPE,
    Commands,
    in_process,
    make_pictures,
    make_workspace,
    platform_tag,
    truth_of,
)
from fork_server import import_commands

N_PICTURES = 60
#: What a worker notes in its journal.
READ, WROTE, SAID, FAILED = "read", "wrote", "said", "failed"
#: Seconds between two words of one person: nobody types faster.
PAUSE = 0.02


@dataclass
class Worker:
    """One process: what it does, and the journal it keeps. A line is written when the command has ended well."""

    name: str
    work: Callable[[Worker, random.Random, int], None]
    folder: Path
    journal: Path
    until: float
    photos: Any = None
    _lines: list[str] = field(default_factory=list)

    def start(self) -> int:
        """Fork; the child works until the time is over."""
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            self._loop()
            code = 0
        finally:
            os._exit(code)

    def _loop(self) -> None:
        import visterm as library

        dice, turn = random.Random(self.name), 0
        with self.journal.open("a", buffering=1) as journal:
            self._journal = journal
            self.photos = library.open(self.folder)
            self.photos.search("red")  # what a process reads once is not part of the times
            while time.time() < self.until:
                turn += 1
                try:
                    self.work(self, dice, turn)
                except Exception as error:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    self.note(FAILED, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")

    def note(self, kind: str, what: object, seconds: float = 0.0) -> None:
        self._journal.write(json.dumps([kind, what, round(seconds, 4)]) + "\n")

    def timed(self, kind: str, what: str, command: Callable[[], object]) -> None:
        started = time.perf_counter()
        command()
        self.note(kind, what, time.perf_counter() - started)


def read(worker: Worker, dice: random.Random, turn: int) -> None:
    """One question."""
    photos = worker.photos
    words = [*COLOURS, "picture", "mine", '"C++"', "unknown", "-red", "is:untagged", "class:warm"]
    questions: dict[str, Callable[[], object]] = {
        "search": lambda: photos.search(" ".join(dice.sample(words, dice.randint(1, 3))), unlikely=dice.random() < 0.3),
        "status": photos.status,
        "tag": lambda: photos.tag(n_best=2),
        "similar": lambda: photos.similar(_picture(worker, dice), recipe=RECIPE),
        "vocabulary": photos.vocabulary,
        "models": photos.models,
    }
    name = dice.choices(list(questions), weights=[6, 2, 1, 2, 1, 1])[0]
    worker.timed(READ, name, questions[name])


def label(worker: Worker, dice: random.Random, turn: int) -> None:
    """A person's word on one picture, noted when it is confirmed."""
    time.sleep(PAUSE)
    picture, tag = _picture(worker, dice), f"{worker.name} {dice.randrange(8)}"
    yes = dice.random() < 0.7
    worker.timed(
        WROTE,
        "label",
        lambda: worker.photos.label(picture, new=True, **({"tags": tag} if yes else {"no_tags": tag})),
    )
    worker.note(SAID, [picture.name, tag, "accepted" if yes else "rejected"])


def edit(worker: Worker, dice: random.Random, turn: int) -> None:
    """A tag is given, renamed, dropped and restored; in the end the picture has it by its new name."""
    time.sleep(PAUSE)
    picture, photos = _picture(worker, dice), worker.photos
    old, new = f"{worker.name} old {turn % 20} {turn}", f"{worker.name} new {turn}"
    worker.timed(WROTE, "label", lambda: photos.label(picture, tags=old, new=True))
    worker.timed(WROTE, "rename", lambda: photos.rename(old, new))
    worker.timed(WROTE, "drop", lambda: photos.drop(new))
    worker.timed(WROTE, "restore", lambda: photos.restore(new))
    worker.note(SAID, [picture.name, new, "accepted"])


def train(worker: Worker, dice: random.Random, turn: int) -> None:
    """A new version of the model."""
    worker.timed(WROTE, "train", lambda: worker.photos.train(METHOD, recipe=RECIPE))


def add(worker: Worker, dice: random.Random, turn: int) -> None:
    """A few more pictures, and their features."""
    make_pictures(worker.folder / "more", range(1000 + 3 * turn, 1003 + 3 * turn))
    worker.timed(WROTE, "add", lambda: worker.photos.add([worker.folder / "more"]))
    worker.timed(WROTE, "features", lambda: worker.photos.features(RECIPE))


def command_line(worker: Worker, dice: random.Random, turn: int) -> None:
    """The real command line, in a process of its own each time."""
    picture, tag = _picture(worker, dice), f"{worker.name} {turn}"
    commands = (("status",), ("search", "red"), ("label", str(picture), "--tag", tag, "--new"), ("tag", "--best", "1"))
    arguments = commands[turn % len(commands)]
    started = time.perf_counter()
    done = in_process(*arguments, folder=worker.folder)
    if done.code:
        worker.note(FAILED, f"visterm {arguments[0]}: {done.err[-500:]}")
        return
    worker.note(WROTE if arguments[0] == "label" else "process", arguments[0], time.perf_counter() - started)
    if arguments[0] == "label":
        worker.note(SAID, [picture.name, tag, "accepted"])


def _picture(worker: Worker, dice: random.Random) -> Path:
    return worker.folder / "photos" / f"{dice.randrange(N_PICTURES):04}.png"


def soak(seconds: float, n_readers: int = 8, n_writers: int = 1, run: Commands | None = None) -> dict[str, Any]:
    """Let the workers run, and look at what they left."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "workspace"
        folder.mkdir()
        with Commands(None) if run is None else nullcontext(run) as making:
            make_workspace(making, folder, N_PICTURES)

        import_commands()  # paid for once, before the workers are forked
        until = time.time() + seconds
        crew = {f"reader {i}": read for i in range(n_readers)} | {f"labeller {i}": label for i in range(n_writers)}
        crew |= {"editor": edit, "trainer": train, "adder": add, "command line": command_line}
        journals = Path(place) / "journals"
        journals.mkdir()
        workers = [Worker(name, work, folder, journals / name, until) for name, work in crew.items()]
        children = [worker.start() for worker in workers]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        report = _report(folder, [worker.journal for worker in workers], codes)
        doctor = in_process("doctor", "--json", folder=folder)
        report["doctor"] = json.loads(doctor.out)["problems"] if doctor.out.startswith("{") else [doctor.err]
        report["machine"], report["seconds"] = platform_tag(), round(seconds)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        report["cpu_seconds"] = round(used.ru_utime + used.ru_stime)
        shutil.rmtree(folder)
        return report


def _report(folder: Path, journals: list[Path], codes: list[int]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    reads: list[float] = []
    failures: Counter[str] = Counter()
    last: dict[tuple[str, str], str] = {}
    n_said = 0
    for journal in journals:
        for line in journal.read_text().splitlines():
            kind, what, seconds = json.loads(line)
            if kind == SAID:
                n_said += 1
                last[what[0], what[1]] = what[2]
            elif kind == FAILED:
                failures[f"{journal.name}: {what}"] += 1
            else:
                counts[what] += 1
            if kind == READ:
                reads.append(seconds)
    lost = _lost(folder, last)
    reads.sort()
    return {
        "commands": sum(counts.values()),
        "by_command": dict(counts),
        "crashed_workers": sum(code != 0 for code in codes),
        "refusals_and_errors": sum(failures.values()),
        "failures": dict(failures.most_common(20)),
        "confirmed_labels": n_said,
        "lost_updates": len(lost),
        "lost": lost[:20],
        "reads_p50_ms": round(1000 * reads[len(reads) // 2]) if reads else None,
        "reads_p95_ms": round(1000 * reads[int(0.95 * len(reads))]) if reads else None,
    }


def _lost(folder: Path, last: dict[tuple[str, str], str]) -> list[list[str]]:
    """The confirmed labels that the catalogue does not have."""

    said = {
        (sha256, name): state for sha256, kind, name, state, source in truth_of(folder).labels if source == "person"
    }
    sha256 = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (folder / "photos").glob("*.png")}
    return [[*place, state] for place, state in last.items() if said.get((sha256[place[0]], place[1])) != state]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--writers", type=int, default=1, help="labelling processes, beside the one that edits words")
    chosen = parser.parse_args()
    report = soak(60 * chosen.minutes, chosen.readers, chosen.writers)
    print(json.dumps(report, indent=1))
    return bool(
        report["refusals_and_errors"] or report["lost_updates"] or report["crashed_workers"] or report["doctor"]
    )


if __name__ == "__main__":
    sys.exit(main())
