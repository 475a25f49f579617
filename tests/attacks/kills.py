"""Kills and disk errors at every kind of call by which a command changes files.

    python tests/attacks/kills.py --points 500            kills, half of them in the middle of a write
    python tests/attacks/kills.py --points 200 --errors   EIO at one call, or a disk that is full from there on

For every writing command, a first run counts its calls. Then points are drawn by a seeded generator, and for each a
fresh copy of the workspace is attacked at that call. Afterwards this must hold:

- what a person said before is still there, and what the command says is there whole or not at all;
- no picture has changed, and no sidecar is half written;
- the same command, run again, works and leads to the state of an undisturbed run;
- ``doctor`` finds nothing, or says what to do; a command that failed said so in one clear line.
"""

from __future__ import annotations

import argparse
import errno
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from attack_harness import (
    FAIL,
    FAIL_FROM,
    KILL,
    METHOD,
    NOTHING,
    RECIPE,
    TORN,
    Commands,
    Ended,
    Fault,
    Truth,
    built_shim,
    contents,
    is_clear,
    make_pictures,
    make_workspace,
    truth_of,
    why_no_shim,
)


def _nothing(folder: Path) -> None:
    """The workspace is ready as it is."""


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder / ".visterm")


def _more_pictures(folder: Path) -> None:
    make_pictures(folder / "more", range(100, 104))


def _a_table(folder: Path) -> None:
    rows = ["file_name,tags", *(f"photos/{number:04}.png,imported;red" for number in (7, 9))]
    (folder / "table.csv").write_text("\n".join(rows) + "\n")


def _without_features(folder: Path) -> None:
    shutil.rmtree(folder / ".visterm" / "features")


def _without_index(folder: Path) -> None:
    shutil.rmtree(folder / ".visterm" / "index", ignore_errors=True)


@dataclass(frozen=True)
class Attacked:
    """A writing command: its arguments, what is made ready for it, and whether it can simply be run again.

    ``again`` is False for commands that, once they have worked, have nothing left to work on.
    """

    arguments: tuple[str, ...]
    ready: Callable[[Path], None] = _nothing
    again: bool = True


KILLS = [(KILL, 0), (TORN, 0)]
ERRORS = [(FAIL, errno.EIO), (FAIL_FROM, errno.ENOSPC), (FAIL, errno.ENOSPC)]
COMMANDS = {
    "init": Attacked(("init",), _emptied, again=False),
    "add": Attacked(("add", "more"), _more_pictures),
    "import": Attacked(("add", "--labels", "table.csv"), _a_table),
    "label": Attacked(("label", "photos/0007.png", "photos/0009.png", "--tag", "sure", "--class", "cold", "--new")),
    "accept": Attacked(("label", "photos/0011.png", "--accept")),
    "clear": Attacked(("label", "photos/0005.png", "--clear", "tags"), again=False),
    "rename": Attacked(("vocabulary", "rename", "mine", "ours"), again=False),
    "merge": Attacked(("vocabulary", "merge", "mine", "holiday", "--into", "holiday"), again=False),
    "drop": Attacked(("vocabulary", "drop", "picture"), again=False),
    "features": Attacked(("features", RECIPE), _without_features),
    "train": Attacked(("train", METHOD, "--recipe", RECIPE)),
    "tag": Attacked(("tag", "--best", "1", "--write")),
    "search": Attacked(("search", "red"), _without_index),
    # --yes: if the disk fails after the table is written, it is not known as an export, and the next one would ask
    "csv": Attacked(("export", "out.csv", "--yes")),
    "xmp": Attacked(("export", "--format", "xmp", "--yes")),
    "remove": Attacked(("remove", "photos/0006.png"), again=False),
    "undo": Attacked(("undo",), again=False),
}


@dataclass
class Report:
    """What was tried and what went wrong."""

    points: int = 0
    by_command: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        return {
            "points": self.points,
            "by_command": dict(self.by_command),
            "commands_that_said_why_they_failed": self.refused,
            "problems": self.problems,
        }


@dataclass(frozen=True)
class _Target:
    """A command with its workspace made ready, and what an undisturbed run makes of it."""

    name: str
    command: Attacked
    template: Path
    calls: int
    before: Truth
    after: Truth
    files_before: dict[str, str]
    files_after: dict[str, str]


class Attack:
    """Attacks copies of one small workspace."""

    def __init__(self, run: Commands, folder: Path, names: list[str] | None = None) -> None:
        self._run, self._folder = run, folder
        base = folder / "base"
        base.mkdir()
        make_workspace(run, base)
        self.report = Report()
        chosen = COMMANDS if names is None else {name: COMMANDS[name] for name in names}
        self.targets = [target for name, command in chosen.items() if (target := self._target(base, name, command))]

    def _target(self, base: Path, name: str, command: Attacked) -> _Target | None:
        template, trial = self._folder / f"template-{name}", self._folder / f"trial-{name}"
        shutil.copytree(base, template)
        command.ready(template)
        shutil.copytree(template, trial)
        done = self._run.run(*command.arguments, folder=trial)
        if done.code == 2 and "No such command" in done.err:  # of a later version
            return None
        assert done.code == 0, f"{name}: {done.err}"
        assert done.calls, f"{name}: the shim saw no calls"
        target = _Target(
            name,
            command,
            template,
            done.calls,
            truth_of(template),
            truth_of(trial),
            contents(template),
            contents(trial),
        )
        shutil.rmtree(trial)
        return target

    def faults(self, n_points: int, seed: int, *, errors: bool) -> list[tuple[_Target, Fault]]:
        """Where to strike: every command at least once at its first and last call, the rest by chance."""
        dice = random.Random(seed)
        points = [(target, at) for target in self.targets for at in (1, target.calls)]
        places = [(target, at) for target in self.targets for at in range(2, target.calls)]
        dice.shuffle(points)
        dice.shuffle(places)
        points = (points + places)[: max(n_points, 0)]
        while len(points) < n_points:  # all places are taken: strike again, in another way
            points.append(dice.choice(points))
        kinds = (
            [(FAIL, errno.EIO), (FAIL_FROM, errno.ENOSPC), (FAIL, errno.ENOSPC)] if errors else [(KILL, 0), (TORN, 0)]
        )
        return [
            (target, Fault(kinds[i % len(kinds)][0], at, kinds[i % len(kinds)][1]))
            for i, (target, at) in enumerate(points)
        ]

    def strike(self, target: _Target, fault: Fault) -> None:
        """Attack one copy, and note what went wrong."""
        self.report.points += 1
        self.report.by_command[target.name] += 1
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(target.template, copy)
        done = self._run.run(*target.command.arguments, folder=copy, fault=fault)
        problems = [*self._after_the_fault(target, done, copy), *self._after_another_try(target, copy)]
        self.report.refused += done.code > 0
        action = {KILL: "kill", TORN: "torn write", FAIL: "error", FAIL_FROM: "errors from"}[fault.action]
        what = f"{target.name}: {action} at call {fault.at} of {target.calls}"
        if fault.action in (FAIL, FAIL_FROM):
            what += f" ({errno.errorcode[fault.error]})"
        self.report.problems += [f"{what}: {problem}" for problem in problems]
        print(f"{self.report.points}: {what}: {'; '.join(problems) or 'nothing lost'}", file=sys.stderr, flush=True)

    def _after_the_fault(self, target: _Target, done: Ended, copy: Path) -> list[str]:
        problems = []
        if done.code > 0 and not is_clear(done.err):
            problems.append(f"not one clear line: {done.err[-600:]!r}")
        try:
            truth = truth_of(copy)
        except Exception as error:
            return [*problems, f"the catalogue cannot be read: {error}"]
        known, wanted = target.before.of_people, target.after.of_people
        if truth.of_people not in (known, wanted):
            lost, extra = (known & wanted) - truth.of_people, truth.of_people - known - wanted
            problems.append(f"what people said is neither as before nor as after: lost {lost}, extra {extra}")
        if done.code == 0 and truth.of_people != wanted:
            problems.append("the command ended well, but what it said is not there")
        if done.code == 0 and truth.of_people_and_imports != target.after.of_people_and_imports:
            problems.append("the command ended well, but not all labels are there")
        for name, digest in contents(copy).items():
            if digest not in (target.files_before.get(name), target.files_after.get(name)) and not _is_scrap(name):
                problems.append(f"{name} is neither as before nor as after")
        problems += [f"{name} is gone" for name in target.files_before if not (copy / name).exists()]
        return problems

    def _after_another_try(self, target: _Target, copy: Path) -> list[str]:
        problems = []
        again = self._run.run(*target.command.arguments, folder=copy)
        if target.command.again:
            if again.code:
                problems.append(f"the same command does not work again: {again.err[-600:]!r}")
            else:
                truth = truth_of(copy)
                if truth.of_people_and_imports != target.after.of_people_and_imports:
                    problems.append("the same command, run again, does not lead to the same labels")
        elif again.code and not is_clear(again.err):
            problems.append(f"the same command again, not one clear line: {again.err[-600:]!r}")
        if truth_of(copy) == NOTHING and not (copy / ".visterm" / "catalogue.sqlite").exists():
            return problems
        care = self._run.run("doctor", "--json", folder=copy)
        try:
            found = json.loads(care.out)["problems"]
        except ValueError:
            return [*problems, f"doctor failed: {care.err[-600:]!r}"]
        if found and not target.command.again:  # what is left over is tidied up by the next write of its kind
            found = [line for line in found if "the next one removes it" not in line]
        return problems + [f"doctor: {line}" for line in found]


def _is_scrap(name: str) -> bool:
    """Whether a file is the remainder of an unfinished write: never taken for anything else."""
    return Path(name).name.startswith(".visterm-")


def attack(
    n_points: int,
    seed: int = 0,
    *,
    errors: bool = False,
    names: list[str] | None = None,
    part: tuple[int, int] = (1, 1),
) -> Report:
    """Strike ``n_points`` times, or at every k-th point of them, beginning with the i-th, for the ``part`` (i, k)."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with Commands(built_shim(folder)) as run:
            attack = Attack(run, folder, names)
            for target, fault in attack.faults(n_points, seed, errors=errors)[part[0] - 1 :: part[1]]:
                attack.strike(target, fault)
            return attack.report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--commands", nargs="*", choices=list(COMMANDS))
    parser.add_argument("--part", default="1/1", metavar="I/K", help="every K-th point only, beginning with the I-th")
    chosen = parser.parse_args()
    number, _, n_parts = chosen.part.partition("/")
    if reason := why_no_shim():
        print(f"skipped: {reason}")
        return 0
    part = (int(number), int(n_parts))
    report = attack(chosen.points, chosen.seed, errors=chosen.errors, names=chosen.commands, part=part)
    print(json.dumps(report.to_dict(), indent=1))
    return bool(report.problems)


if __name__ == "__main__":
    sys.exit(main())
