"""Would a test fail if this line were wrong? Tries a seeded sample of small changes, one at a time.

    python tests/tools/mutants.py [--packages margin ranking] [--sample 40] [--seed 0] [--timeout 300]

The changes are made in a copy of the tree: comparisons and arithmetic swapped, conditions negated, constants off by
one, statements dropped. Each is tried against the tests of its package, those that name the module first. A change that
no test notices survives: write the test that fails, or add the change to ``equivalents.toml`` with the reason why
nothing can notice it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

#: The packages of methods, measures and search.
PACKAGES = ("margin", "ranking", "neighbours", "subspace", "distances", "measures", "topics", "graph", "search")
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Pow: ("**", "*"),
}
#: Calls that only tell people something.
_TELLING = ("bar.", "progress.", "warnings.", "print(")


@dataclass(frozen=True, order=True)
class Mutation:
    """A change of the text between two offsets of a file."""

    file: str
    line: int
    start: int
    end: int
    new: str
    text: str  # the line, without its indentation
    change: str

    def applied(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.new + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}\n    {self.text}"


def mutations_of(source: str, file: str) -> list[Mutation]:
    """All changes of a module.

    >>> [m.change for m in mutations_of("def f(x):\\n    return x + 1\\n", "f.py")]
    ['x + 1 -> x - 1', '1 -> 2']
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(row: int, column: int) -> int:  # columns count bytes
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    found = []
    for node, new in _changes(ast.parse(source)):
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
        old, text = source[start:end], lines[node.lineno - 1].strip()
        changed = new(old) if callable(new) else new
        if changed != old and not old.startswith(_TELLING):
            change = f"{_short(old)} -> {_short(changed)}"
            found.append(Mutation(file, node.lineno, start, end, changed, text, change))
    return _numbered(sorted(set(found)))


def _numbered(found: list[Mutation]) -> list[Mutation]:
    """The same change of the same line gets a number from the second on, so that each has its own name."""
    seen: Counter[tuple[int, str]] = Counter()
    named = []
    for one in found:
        seen[one.line, one.change] += 1
        number = seen[one.line, one.change]
        named.append(one if number == 1 else replace(one, change=f"{one.change} ({number})"))
    return named


def _short(text: str) -> str:
    return " ".join(text.split())


def _changes(tree: ast.AST) -> Iterator[tuple]:
    """Nodes and what replaces them: a text, or a function of the old text."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            skipped |= {id(one) for decorator in node.decorator_list for one in ast.walk(decorator)}
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                skipped |= {id(one) for one in ast.walk(getattr(node, name))}
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(one) for one in ast.walk(node)}
        if isinstance(node, (ast.If, ast.Assign, ast.AnnAssign)) and _declares(node):
            skipped |= {id(one) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in skipped:
            yield from _changes_of(node)


def _declares(node: ast.If | ast.Assign | ast.AnnAssign) -> bool:
    """Whether a statement only declares types or allowed values."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(one, ast.Name) and one.id in {"_parameter_constraints", "__all__"} for one in targets)


def _changes_of(node: ast.AST) -> Iterator[tuple]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            new = COMPARISONS[type(op)]
            yield node, f"{ast.unparse(left)} {new} {ast.unparse(right)}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not _is_text(left, right):
            swapped = ast.BinOp(
                left, next(o for o, (sign, _) in ARITHMETIC.items() if sign == ARITHMETIC[type(op)][1])(), right
            )
            yield node, lambda old, swapped=swapped: _like(old, ast.unparse(swapped))
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
        case ast.Constant(value=float() as value):
            yield node, repr(2 * value) if value else "1.0"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"


def _is_text(*nodes: ast.expr) -> bool:
    return any(
        isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in nodes
    )


def _like(old: str, new: str) -> str:
    """In one line and in parentheses where the old text spans several."""
    return f"({new})" if "\n" in old else new


@dataclass(frozen=True)
class Outcome:
    """The changes that were tried, and those that no test noticed."""

    tried: tuple[Mutation, ...]
    survivors: tuple[Mutation, ...]


class Laboratory:
    """A copy of the tree in which one file at a time is changed."""

    def __init__(self, root: Path, copy: Path, *, package: str = "visterm", timeout: float = 300) -> None:
        self.copy, self.package, self.timeout = copy, package, timeout
        ignored = shutil.ignore_patterns("__pycache__", ".*", "results", "*.xz")
        for name in ("src", "tests", "pyproject.toml"):
            if (root / name).is_dir():
                shutil.copytree(root / name, copy / name, ignore=ignored)
            elif (root / name).exists():
                shutil.copy(root / name, copy / name)

    def mutations(self, packages: Sequence[str]) -> list[Mutation]:
        """All changes of the modules of some packages."""
        found = []
        for name in packages:
            for file in sorted((self.copy / "src" / self.package / name).glob("*.py")):
                if file.name != "__init__.py":
                    found += mutations_of(file.read_text(encoding="utf-8"), str(file.relative_to(self.copy)))
        return found

    def passes(self, file: str) -> bool:
        """Whether the tests of the package of ``file`` pass; a run that takes too long does not."""
        folder = Path(file).parent
        tests = self.copy / "tests" / folder.name
        stem = Path(file).stem
        files = sorted(tests.rglob("test_*.py"), key=lambda test: (stem not in test.read_text(encoding="utf-8"), test))
        chosen = [str(one.relative_to(self.copy)) for one in files]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen, file]
        environment = os.environ | {"PYTHONPATH": str(self.copy / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        try:
            done = subprocess.run(command, cwd=self.copy, env=environment, capture_output=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in (0, 5)  # 5: nothing to run

    def survives(self, mutation: Mutation) -> bool:
        """Whether no test notices the change."""
        file = self.copy / mutation.file
        source = file.read_text(encoding="utf-8")
        file.write_text(mutation.applied(source), encoding="utf-8")
        try:
            return self.passes(mutation.file)
        finally:
            file.write_text(source, encoding="utf-8")


def equivalents(file: Path) -> set[tuple[str, str, str]]:
    """The changes that nothing can notice, each listed with its reason: file, line and change."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("mutation", []) if file.exists() else []
    for entry in entries:
        if not entry.get("reason"):
            raise SystemExit(f"{file}: {entry} needs a reason")
    return {(entry["file"], entry["line"], entry["change"]) for entry in entries}


def run(
    laboratory: Laboratory, packages: Sequence[str], sample: int, seed: int, known: set[tuple[str, str, str]]
) -> Outcome:
    """Try a sample of the changes; prints each survivor."""
    every = [one for one in laboratory.mutations(packages) if (one.file, one.text, one.change) not in known]
    chosen = sorted(random.Random(seed).sample(every, min(sample, len(every))))
    for name in sorted({one.file for one in chosen}, key=lambda file: Path(file).parent):
        if not laboratory.passes(name):
            raise SystemExit(f"the tests of {Path(name).parent} fail, or take too long, without any change")
    survivors = []
    for number, one in enumerate(chosen, 1):
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
    parser.add_argument("--timeout", type=float, default=300, help="seconds for the tests of one change")
    parser.add_argument("--root", type=Path, default=here.parents[2])
    parser.add_argument("--package", default="visterm", help="the package below src")
    options = parser.parse_args(arguments)
    known = equivalents(options.root / "tests" / "tools" / "equivalents.toml")
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(options.root, Path(folder), package=options.package, timeout=options.timeout)
        outcome = run(laboratory, options.packages, options.sample, options.seed, known)
    print(f"\nkilled {len(outcome.tried) - len(outcome.survivors)} of {len(outcome.tried)}")
    for one in outcome.survivors:
        print(f"survived: {one}")
    return int(bool(outcome.survivors))


if __name__ == "__main__":
    sys.exit(main())
