"""Would a test fail if this line were wrong? Tries a seeded sample of small changes, one at a time.

    python tests/tools/mutants.py [--packages margin ranking] [--sample 40] [--seed 0] [--only dual.py:88]

``source_changes.py`` says what is changed and what is left alone. The changes are made in a copy of the tree. A change
that no test notices survives: write the test that fails, or say above its line why nothing can notice it. The comment
``# mutants: 0 -> 1, < -> <=: REASON`` names the part of each change that differs, or ``not``, or ``pass``.

The tests of a package first run once without any change. This tells which tests run which line, and how long each
takes. A change is tried on the tests that run its line, the quickest first, until one fails. One that survives them is
tried on the tests that all methods share, in the same way. Each try is a fork of this process, which has the libraries
loaded. numba compiles a changed kernel, and those that call it, anew. Limits count the processor time of each test, so
a busy machine does no harm.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest
from source_changes import Mutation, equivalents, mutations_of

#: The packages of methods, measures and search.
PACKAGES = ("margin", "ranking", "neighbours", "subspace", "distances", "measures", "topics", "graph", "search")
#: The tests of all methods.
SHARED = ("contracts", "golden")
#: Seconds of processor time that a test may take beside five times its usual time; more if numba has to compile.
ALLOWANCE, COMPILING = 10, 60


@dataclass(frozen=True)
class Outcome:
    """The changes that were tried, and those that no test noticed."""

    tried: tuple[Mutation, ...]
    survivors: tuple[Mutation, ...]


@dataclass(frozen=True)
class Test:
    """A test: its processor time, and the lines of each file that it runs itself and that its fixtures run."""

    name: str
    seconds: float
    lines: dict[str, frozenset[int]]
    prepared: dict[str, frozenset[int]]


class Watch:
    """A plugin of pytest that writes which lines each test runs and how long it takes."""

    def __init__(self, source: str, report: Path) -> None:
        self.coverage = coverage.Coverage(data_file=None, source=[source], config_file=False)
        self.report, self.seconds = report, {}
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        before = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        self.coverage.switch_context(f"prepared {item.nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(f"lines {item.nodeid}")

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data, here = self.coverage.get_data(), Path.cwd()
        ran: dict[str, Any] = {
            name: {"lines": defaultdict(list), "prepared": defaultdict(list)} for name in self.seconds
        }
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                for phase, name in (one.split(" ", 1) for one in contexts if one):
                    ran[name][phase][str(Path(file).relative_to(here))].append(line)
        libraries = [
            name for name, one in sys.modules.items() if "site-packages" in str(getattr(one, "__file__", None) or "")
        ]
        tests = [{"name": name, "seconds": self.seconds[name], **ran[name]} for name in self.seconds]
        self.report.write_text(json.dumps({"tests": tests, "libraries": libraries}), encoding="utf-8")


class Order:
    """A plugin of pytest that runs some tests in a given order and ends the process when one computes for too long."""

    def __init__(self, tests: Sequence[Test], allowance: float) -> None:
        self.tests, self.allowance = {one.name: one for one in tests}, allowance

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in self.tests if name in found]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        signal.setitimer(signal.ITIMER_PROF, self.allowance + 5 * self.tests[item.nodeid].seconds)


class Laboratory:
    """A copy of the tree in which one file at a time is changed."""

    def __init__(self, root: Path, copy: Path, *, package: str = "visterm", timeout: float = 900) -> None:
        self.copy, self.package, self.timeout = copy, package, timeout
        self.tests: list[Test] = []
        self.shared: list[Test] | None = None  # found when a change first survives the tests of its package
        ignored = shutil.ignore_patterns(".*", "results")
        for name in ("src", "tests", "pyproject.toml"):
            if (root / name).is_dir():
                shutil.copytree(root / name, copy / name, ignore=ignored)
            elif (root / name).exists():
                shutil.copy2(root / name, copy / name)
        sources = (copy / "src").rglob("*.py")
        self.sources = {str(one.relative_to(copy)): one.read_text(encoding="utf-8") for one in sorted(sources)}

    def mutations(self, packages: Sequence[str]) -> list[Mutation]:
        """All changes of the modules of some packages that something could notice."""
        folders = {str(Path("src") / self.package / name) for name in packages}
        files = [one for one in self.sources if str(Path(one).parent) in folders and Path(one).name != "__init__.py"]
        known = {one for file in files for one in equivalents(self.sources[file], file)}
        return [one for file in files for one in mutations_of(self.sources[file], file) if one not in known]

    def observe(self, name: str) -> None:
        """Run the tests of a package without any change, which must pass."""
        source = f"src/{self.package}/{name}"
        self.tests = self._observed(source, [f"tests/{name}", source])

    def _observed(self, source: str, paths: Sequence[str]) -> list[Test]:
        """Tests that pass without any change, with the lines below ``source`` that each runs."""
        there = [one for one in paths if (self.copy / one).exists()]
        if not there:
            return []
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            if not self._passes(lambda: Watch(source, report), there):
                said = (self.copy / "log.txt").read_text(encoding="utf-8")
                raise SystemExit(f"{' '.join(paths)} fail, or take too long, without any change:\n{said[-3000:]}")
            found = json.loads(report.read_text(encoding="utf-8"))
        for library in found["libraries"]:  # every fork then has them
            with contextlib.suppress(Exception):
                importlib.import_module(library)
        tests = []
        for one in found["tests"]:
            lines, prepared = ({file: frozenset(at) for file, at in one[k].items()} for k in ("lines", "prepared"))
            tests.append(Test(one["name"], one["seconds"], lines, prepared))
        return tests

    def tests_of(self, mutation: Mutation, among: Sequence[Test]) -> list[Test]:
        """The tests that run the changed line, quickest first; of a kernel or a module's body, those that use it."""
        at = mutation.statement
        lines = range(at[0], at[1] + 1) if at else ()
        by_fixtures = any(one.prepared.get(mutation.file, frozenset()).intersection(lines) for one in among)
        if at and not by_fixtures and not self._is_compiled(mutation.file):
            found = [one for one in among if one.lines.get(mutation.file, frozenset()).intersection(lines)]
        else:
            found = [one for one in among if self._uses(one, mutation.file)]
        return sorted(found, key=lambda one: one.seconds)

    def _uses(self, test: Test, file: str) -> bool:
        """Whether a test runs a module or one that calls it, or is in a file that names it: kernels leave no trace."""
        if self.users(file) & (test.lines.keys() | test.prepared.keys()):
            return True
        text = (self.copy / test.name.split("::")[0]).read_text(encoding="utf-8")
        return re.search(rf"\b{Path(file).stem}\b", text) is not None

    def users(self, file: str) -> set[str]:
        """A module and, if it is compiled, the modules that call it, through other compiled modules too."""
        found, todo = {file}, [file]
        while todo:
            one = todo.pop()
            if self._is_compiled(one):
                *package, stem = Path(one).relative_to("src").with_suffix("").parts
                imports = re.compile(rf"from {'.'.join(package)}(\.{stem} import| import {stem}\b)")
                callers = {name for name, text in self.sources.items() if imports.search(text)} - found
                found |= callers
                todo += callers
        return found

    def _is_compiled(self, file: str) -> bool:
        return "@compiled" in self.sources[file]

    def survives(self, mutation: Mutation) -> bool:
        """Whether no test notices the change."""
        if not self._unnoticed_by(self.tests_of(mutation, self.tests), mutation):
            return False
        if self.shared is None:
            self.shared = self._observed(f"src/{self.package}", [f"tests/{name}" for name in SHARED])
        return self._unnoticed_by(self.tests_of(mutation, self.shared), mutation)

    def _unnoticed_by(self, tests: Sequence[Test], mutation: Mutation) -> bool:
        if not tests:
            return True
        file = self.copy / mutation.file
        times = file.stat()
        with self._without_compiled(mutation.file):
            file.write_text(mutation.applied(self.sources[mutation.file]), encoding="utf-8")
            try:
                files = list(dict.fromkeys(one.name.split("::")[0] for one in tests))
                allowance = COMPILING if self._is_compiled(mutation.file) else ALLOWANCE
                return self._passes(lambda: Order(tests, allowance), files)
            finally:
                file.write_text(self.sources[mutation.file], encoding="utf-8")
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # what was compiled is valid again

    @contextlib.contextmanager
    def _without_compiled(self, file: str) -> Iterator[None]:
        """Hide what numba compiled of a module and of those that call it; it only looks at a function's own file."""
        users = [self.copy / one for one in self.users(file) if self._is_compiled(one)]
        compiled = [one for user in users for one in (user.parent / "__pycache__").glob(f"{user.stem}.*.nb?")]
        hidden = [one.with_name(f"{one.name}.hidden") for one in compiled]
        for one, name in zip(compiled, hidden, strict=True):
            one.rename(name)
        yield
        for user in users:
            for one in (user.parent / "__pycache__").glob(f"{user.stem}.*.nb?"):
                one.unlink()
        for one, name in zip(compiled, hidden, strict=True):
            name.rename(one)

    def _passes(self, plugin: Any, paths: Sequence[str]) -> bool:
        """Whether tests pass in a fork of this process; a run that takes too long does not."""
        child = os.fork()
        if not child:
            code = 1
            try:
                code = self._run(plugin, paths)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code in (0, 5)  # 5: nothing to run

    def _run(self, plugin: Any, paths: Sequence[str]) -> int:
        with (self.copy / "log.txt").open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.chdir(self.copy)
        os.environ |= {"PYTHONPATH": str(self.copy / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        sys.path.insert(0, str(self.copy / "src"))
        sys.dont_write_bytecode = True
        signal.alarm(int(self.timeout))
        return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *paths], plugins=[plugin()]))


def run(
    laboratory: Laboratory,
    packages: Sequence[str],
    sample: int,
    seed: int,
    only: Sequence[str] = (),
) -> Outcome:
    """Try a sample of the changes; prints each."""
    every = laboratory.mutations(packages)
    if only:
        every = [one for one in every if any(part in str(one) for part in only)]
    chosen = sorted(random.Random(seed).sample(every, min(sample, len(every))))
    survivors, observed = [], None
    for number, one in enumerate(chosen, 1):
        if observed != (observed := Path(one.file).parent.name):
            laboratory.observe(observed)
        survived = laboratory.survives(one)
        print(f"[{number}/{len(chosen)}] {'SURVIVED ' if survived else 'killed   '}{one}", flush=True)
        survivors += [one] if survived else []
    return Outcome(tuple(chosen), tuple(survivors))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the survivors; 1 if there are any."""
    here = Path(__file__).resolve()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES))
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=(), help="changes whose name contains one of these")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for the tests of one change")
    parser.add_argument("--root", type=Path, default=here.parents[2])
    parser.add_argument("--package", default="visterm", help="the package below src")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(options.root, Path(folder), package=options.package, timeout=options.timeout)
        outcome = run(laboratory, options.packages, options.sample, options.seed, options.only)
    print(f"\nkilled {len(outcome.tried) - len(outcome.survivors)} of {len(outcome.tried)}")
    for one in outcome.survivors:
        print(f"survived: {one}")
    return int(bool(outcome.survivors))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
