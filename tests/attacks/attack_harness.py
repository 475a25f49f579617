"""What all attacks share: the command line as processes, the shim, a small collection, and its truth read by SQLite.

Nothing here imports visterm: what the attacks check must not rest on the code that they attack.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).parent
COUNT, KILL, TORN, FAIL, FAIL_FROM = range(5)

#: Colours of the pictures; each is a tag, so that there is something to learn.
COLOURS = {"red": (200, 30, 30), "green": (30, 160, 40), "blue": (40, 60, 210), "grey": (128, 128, 128)}
#: Quick features and a quick method: what is attacked is the writing, not the mathematics.
RECIPE, METHOD = "colour", "knn-tags"


@dataclass(frozen=True)
class Fault:
    """What the shim does: nothing but count, kill at call ``at``, or fail that call (or all from it on)."""

    action: int = COUNT
    at: int = 0
    error: int = errno.EIO


@dataclass(frozen=True)
class Ended:
    """How a command ended. ``calls`` is None where it was killed."""

    code: int
    out: str
    err: str
    calls: int | None


def why_no_shim() -> str | None:
    """Why the shim cannot be used here; None if it can."""
    if sys.platform != "linux":
        return "calls are intercepted by LD_PRELOAD, which only Linux has"
    if compiler() is None:
        return "there is no C compiler to build the shim with"
    return None


def compiler() -> str | None:
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def built_shim(folder: Path) -> Path:
    """The shim, compiled into ``folder``."""
    library = folder / "attack_shim.so"
    if not library.exists():
        command = [compiler(), "-O1", "-shared", "-fPIC", "-w", "-o", str(library), str(HERE / "shim.c"), "-ldl"]
        subprocess.run(command, check=True)
    return library


def environment(**more: str) -> dict[str, str]:
    """That of this process without settings of Visterm; one thread, so that calls come in one order."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VISTERM", "COV_"))}
    source = HERE.parent.parent / "src"
    if source.is_dir():
        kept["PYTHONPATH"] = os.pathsep.join([str(source), *filter(None, [kept.get("PYTHONPATH")])])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return kept | threads | {"VISTERM_ENGINE": "threads:1", "PYTHONHASHSEED": "0"} | more


def in_process(*arguments: object, folder: Path, timeout: float = 300, **more: str) -> Ended:
    """Run one command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "visterm", *map(str, arguments)],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr, None)


class Commands:
    """The command line in a process that forks for each command; with the shim, each can be killed or failed."""

    def __init__(self, shim: Path | None) -> None:
        more = {} if shim is None else {"LD_PRELOAD": str(shim)}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "fork_server.py")],
            env=environment(**more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def run(self, *arguments: object, folder: Path, fault: Fault | None = None) -> Ended:
        """Run one command in ``folder``; calls on files below it count."""
        fault = fault or Fault()
        request = {
            "arguments": [str(each) for each in arguments],
            "folder": str(folder),
            "root": str(folder.resolve()),
            "fault": {"action": fault.action, "at": fault.at, "error": fault.error},
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Ended(answer["code"], answer["out"], answer["err"], answer["calls"])

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_pictures(folder: Path, numbers: range, seed: int = 0) -> None:
    """Small pictures, each mostly of one colour, and a table of labels for every second one."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["file_name,class,tags"]
    for number in numbers:
        dice = random.Random(f"{seed} {number}")
        colour = list(COLOURS)[number % len(COLOURS)]
        picture = Image.new("RGB", (32, 24), COLOURS[colour])
        x, y = dice.randrange(24), dice.randrange(16)
        ImageDraw.Draw(picture).rectangle((x, y, x + 8, y + 8), fill=tuple(dice.randrange(256) for _ in range(3)))
        picture.save(folder / f"{number:04}.png")
        if number % 2 == 0:
            lines.append(f"{number:04}.png,{'warm' if colour == 'red' else 'cold'},{colour};picture")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")


def make_workspace(run: Commands, folder: Path, n_pictures: int = 12) -> None:
    """A workspace with imports, a person's labels, features, a model and its suggestions."""
    make_pictures(folder / "photos", range(n_pictures))
    for arguments in (
        ("init",),
        ("add", "photos"),
        ("label", "photos/0001.png", "photos/0003.png", "--tag", "mine", "--class", "warm"),
        ("label", "photos/0005.png", "--tag", "holiday", "--no-tag", "red"),
        ("train", METHOD, "--recipe", RECIPE),
        ("tag", "--best", "2", "--write"),
    ):
        done = run.run(*arguments, folder=folder)
        assert done.code == 0, f"{arguments}: {done.err}"


# The truth, read without visterm


@dataclass(frozen=True)
class Truth:
    """Who said what of which picture; the vocabulary; the pictures."""

    labels: frozenset[tuple[str, ...]]
    terms: frozenset[tuple[object, ...]]
    pictures: frozenset[str]

    @property
    def of_people(self) -> frozenset[tuple[str, ...]]:
        """What people said."""
        return frozenset(label for label in self.labels if label[-1] == "person")

    @property
    def of_people_and_imports(self) -> frozenset[tuple[str, ...]]:
        """What people and imports said."""
        return frozenset(label for label in self.labels if not label[-1].startswith("model"))


NOTHING = Truth(frozenset(), frozenset(), frozenset())


def truth_of(folder: Path) -> Truth:
    """What the catalogue of a workspace says; nothing if there is no catalogue yet."""
    file = folder / ".visterm" / "catalogue.sqlite"
    if not file.exists():
        return NOTHING
    with tempfile.TemporaryDirectory() as place, closing(sqlite3.connect(_copied(file, Path(place)))) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'label'").fetchone()[0]:
            return NOTHING
        labels = database.execute(
            "SELECT sha256, kind, term.name, label.state, source.name FROM label"
            " JOIN picture ON picture.id = picture_id JOIN term ON term.id = term_id"
            " JOIN source ON source.id = source_id"
        ).fetchall()
        terms = database.execute("SELECT kind, name, dropped FROM term").fetchall()
        pictures = database.execute("SELECT sha256 FROM picture").fetchall()
    return Truth(frozenset(labels), frozenset(terms), frozenset(sha256 for (sha256,) in pictures))


def _copied(file: Path, folder: Path) -> Path:
    """A copy with its journal: reading may repair what a kill left, and the attacked program must do that itself."""
    for name in (file.name, f"{file.name}-wal", f"{file.name}-journal"):
        if file.with_name(name).exists():
            shutil.copy(file.with_name(name), folder / name)
    return folder / file.name


def contents(folder: Path, pattern: str = "**/*") -> dict[str, str]:
    """The sha256 of every file outside ``.visterm`` that matches."""
    files = (file for file in folder.glob(pattern) if file.is_file() and ".visterm" not in file.parts)
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def is_clear(message: str) -> bool:
    """Whether a command that failed said one clear line and showed no traceback."""
    lines = [line for line in message.strip().splitlines() if line.strip()]
    return len(lines) == 1 and "Traceback" not in message and 20 < len(lines[0]) < 600


def platform_tag() -> str:
    """Names this machine in reports."""
    return f"Python {sys.version.split()[0]}, {sysconfig.get_platform()}"
