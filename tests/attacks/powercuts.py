"""Power cuts: what may lie on the disk after one, at any system call, opened by the real program.

    python tests/attacks/powercuts.py --cuts 2000

``power_work.py`` works once under strace. The record is replayed up to a random call, and the folder is built as it
could be after a power cut there. What was flushed is there. Of the writes since the last flush of a file, any are
there, whole or torn at 512 bytes, and lengths may be right or wrong. Of the changes of a folder since its last flush,
the first few are there. Then this must hold:

- what a person said in commands that had been confirmed is there, and the command that ran is there whole or not at
  all; files outside ``.visterm`` are as before or as after it, never half written;
- the program opens the folder, counts, notes another label; after derived data were made again, ``doctor``
  finds nothing but remainders that the next write removes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from attack_harness import HERE, NOTHING, RECIPE, Truth, environment, in_process, make_pictures, truth_of
from power_disk import Call, Disk

N_PICTURES = 12
_CALLS = (
    "open,openat,creat,close,lseek,write,pwrite64,writev,pwritev,sendfile,copy_file_range,ftruncate,truncate,fallocate,"
    "fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir"
)
_LINE = re.compile(r"^(?P<pid>\d+) +(?P<rest>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+)(?P<more>.*)$", re.DOTALL)
_ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|\d+<(?:[^>\\]|\\.)*>(?:\(deleted\))?|AT_FDCWD<[^>]*>|[^,\s][^,]*')


def why_no_strace() -> str | None:
    """Why system calls cannot be recorded here; None if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"strace may not trace here: {done.stderr.strip()}"


def recorded(folder: Path, file: Path) -> list[Call]:
    """Let the work be done in ``folder``; its calls, in the order in which they ended."""
    command = ["strace", "-f", "-qq", "-y", "-xx", "-s", "100000000", "-o", str(file), "-e", f"trace={_CALLS}"]
    done = subprocess.run(
        [*command, sys.executable, str(HERE / "power_work.py")],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return list(_calls(file))


def _calls(file: Path) -> Iterator[Call]:
    unfinished: dict[str, str] = {}
    with file.open() as lines:
        for line in lines:
            match = _LINE.match(line)
            if match is None:
                continue
            pid, rest = match["pid"], match["rest"]
            if rest.endswith("<unfinished ...>"):
                unfinished[pid] = rest.removesuffix("<unfinished ...>")
                continue
            if rest.startswith("<..."):
                rest = unfinished.pop(pid, "") + rest.partition("resumed>")[2]
            call = _CALL.match(rest)
            if call is not None and not call["result"].startswith("-"):
                arguments = tuple(_argument(text) for text in _ARGUMENT.findall(call["arguments"]))
                result = call["result"] + call["more"]
                yield Call(call["name"], (*arguments, _path(result)), int(call["result"], 0))


def _argument(text: str) -> str | bytes:
    if text.startswith('"'):
        return bytes.fromhex(text[1:].removesuffix("...").removesuffix('"').replace("\\x", ""))
    return _path(text) if "<" in text else text.strip()


def _path(text: str) -> str:
    """The path that strace gives with a descriptor, such as ``7</tmp/file>``; else the text."""
    match = re.search(r"<([^>]*)>", text)
    if match is None:
        return text
    name = match[1]
    return bytes.fromhex(name.replace("\\x", "")).decode() if name.startswith("\\x") else name


@dataclass
class Confirmed:
    """What holds after a confirmed command: at which call it was confirmed, the truth, and the other files."""

    at: int
    truth: Truth
    contents: dict[str, bytes]


class PowerCuts:
    """The record of one piece of work, and cuts into it."""

    def __init__(self, place: Path) -> None:
        self._place, self._base = place, place / "base"
        make_pictures(self._base / "photos", range(N_PICTURES))
        shutil.copytree(self._base, place / "work")
        self.calls = recorded(place / "work", place / "calls.txt")
        self.root = (place / "work").resolve()
        self.by_part: Counter[str] = Counter()

    def _disk(self) -> Disk:
        """The disk before the work, under the name that the record knows."""
        disk = Disk(self._base)
        before = disk.root
        for names in (disk.names, disk.flushed_names):
            renamed = {str(self.root) + name.removeprefix(before): file for name, file in names.items()}
            names.clear()
            names.update(renamed)
        disk.root = str(self.root)
        return disk

    @cached_property
    def confirmed(self) -> list[Confirmed]:
        """The states after each confirmed command, the first before all of them."""
        disk = self._disk()
        states = [Confirmed(0, NOTHING, disk.contents)]
        for at, call in enumerate(self.calls, start=1):
            if _is_confirmation(call):
                folder = self._place / "seen"
                disk.write_out(folder)
                states.append(Confirmed(at, truth_of(folder), disk.contents))
                shutil.rmtree(folder)
            else:
                disk.take(call)
        self._check_the_record(disk)
        return states

    def _check_the_record(self, disk: Disk) -> None:
        """The replay must lead to what the work really left: a record that misses a call would prove nothing."""
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.name.endswith("-shm"):
                file = disk.names.get(str(path))
                assert file is not None, f"the record does not know {path}"
                assert file.content == path.read_bytes(), f"the record leads to another {path}"

    def places(self, n_cuts: int, seed: int) -> list[int]:
        """Where to cut: mostly at calls that change something, sorted so that one replay serves all."""
        dice = random.Random(seed)
        changing = [
            at for at, call in enumerate(self.calls) if call.name not in ("openat", "open", "close", "lseek", "creat")
        ]
        return sorted(dice.choice(changing) for _ in range(n_cuts))

    def strike(self, n_cuts: int, seed: int) -> list[str]:
        """Cut the power ``n_cuts`` times; what went wrong."""
        problems: list[str] = []
        disk, taken = self._disk(), 0
        for number, at in enumerate(self.places(n_cuts, seed), start=1):
            for call in self.calls[taken:at]:
                if not _is_confirmation(call):
                    disk.take(call)
            taken = max(taken, at)
            found = self._cut(disk, at, random.Random(f"{seed} {number}"), by_process=number % 100 == 0)
            problems += [f"cut {number} at call {at} of {len(self.calls)}: {each}" for each in found]
            if number % 50 == 0 or found:
                print(f"{number} of {n_cuts} cuts: {'; '.join(found) or 'nothing lost'}", file=sys.stderr, flush=True)
        return problems

    def _cut(self, disk: Disk, at: int, dice: random.Random, *, by_process: bool) -> list[str]:
        n_done = sum(state.at <= at for state in self.confirmed) - 1
        before = self.confirmed[n_done]
        after = self.confirmed[min(n_done + 1, len(self.confirmed) - 1)]
        folder = self._place / "cut"
        shutil.rmtree(folder, ignore_errors=True)
        disk.write_out(folder, dice)
        try:
            found = [*_files_are_whole(folder, before, after), *_labels_are_there(folder, before, after)]
            if before.truth != NOTHING:
                found += _opens(folder, before, after, by_process=by_process)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        return [f"after command {n_done}: {each}" for each in found]


def _is_confirmation(call: Call) -> bool:
    return call.name == "write" and isinstance(call.arguments[1], bytes) and call.arguments[1].startswith(b"DONE ")


def _files_are_whole(folder: Path, before: Confirmed, after: Confirmed) -> list[str]:
    problems = []
    for name in {*before.contents, *after.contents}:
        path = folder / name
        found = path.read_bytes() if path.exists() else None
        if found not in (before.contents.get(name), after.contents.get(name)):
            problems.append(f"{name} is {'gone' if found is None else 'neither as before nor as after'}")
    return problems


def _labels_are_there(folder: Path, before: Confirmed, after: Confirmed) -> list[str]:
    """Read by SQLite, from a copy."""
    truth = truth_of(folder)
    if truth.of_people in (before.truth.of_people, after.truth.of_people):
        return []
    lost = (before.truth.of_people & after.truth.of_people) - truth.of_people
    return [f"what people said is neither as before nor as after; lost {sorted(lost)}"]


def _opens(folder: Path, before: Confirmed, after: Confirmed, *, by_process: bool) -> list[str]:
    """The real program reads, checks and writes."""
    import visterm

    problems = []
    if by_process:
        done = in_process("status", "--json", folder=folder)
        if done.code:
            problems.append(f"visterm status: {done.err[-300:]}")
    with visterm.open(folder) as photos:
        counts = photos.status().n_pictures
        if counts not in (len(before.truth.pictures), len(after.truth.pictures)):
            problems.append(f"{counts} pictures, not {len(before.truth.pictures)} or {len(after.truth.pictures)}")
        photos.search("red")
        photos.label("photos/0000.png", tags=["after the cut"], new=True)
        problems += _checked(photos)
    if not any("after the cut" in label for label in truth_of(folder).labels):
        problems.append("a label after the cut is not there")
    return problems


def _checked(photos: Any) -> list[str]:
    """What ``doctor`` finds, once derived data were made again; what the next write removes is no problem."""
    if photos.doctor().problems:
        photos.features(RECIPE)
    return [f"doctor: {line}" for line in photos.doctor().problems if "; the next" not in line]


def attack(n_cuts: int, seed: int = 0) -> tuple[int, list[str]]:
    """Record the work once, and cut; the number of calls, and what went wrong."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        cuts = PowerCuts(Path(place))
        return len(cuts.calls), cuts.strike(n_cuts, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cuts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if reason := why_no_strace():
        print(f"skipped: {reason}")
        return 0
    n_calls, problems = attack(chosen.cuts, chosen.seed)
    print(json.dumps({"calls": n_calls, "cuts": chosen.cuts, "problems": problems}, indent=1))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
