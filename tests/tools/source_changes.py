"""Small changes of a module: comparisons and arithmetic swapped, conditions negated, constants off by one, statements
dropped.

Some things are left alone, because no test should fix them:

- numbers that somebody chose: defaults of parameters; constants of modules, such as tolerances and limits; and so the
  side on which a value lies that equals such a constant or a tolerance to the last bit;
- the number of rows of a block (``_BLOCK // n``);
- arguments that say how a result is computed, not which: ``copy``, ``check_finite``, ``overwrite_a``, ``strict``;
- the sign of a ``tiny`` that keeps 0 from being divided by 0;
- sizes and shades of drawings, and calls that only show progress.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Pow: ("**", "*"),
}
#: A comment with changes that nothing can notice, and how it goes on in the next line.
_MARK, _MORE = "# mutants: ", "#   "
#: The words and signs of a change, and its number.
_TOKEN, _NUMBER = re.compile(r"\*\*|//|[<>=!]=|\w[\w.]*|\S"), re.compile(r" \(\d+\)$")
#: Calls that only tell people something.
_TELLING = ("bar.", "progress.", "warnings.", "print(")
#: Arguments that say how a result is computed, and how a drawing looks.
_HOW = {"copy", "check_finite", "overwrite_a", "overwrite_b", "strict"}
_LOOKS = {"alpha", "dpi", "figsize", "fontsize", "labelpad", "labelsize", "linewidth", "markersize", "pad", "rotation"}


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
    #: First and last line of the statement; None if it runs when the module is imported.
    statement: tuple[int, int] | None = field(default=None, compare=False)

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

    tree = ast.parse(source)
    statements = _statements(tree)
    found = []
    for node, new in _changes(tree):
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
        old, text = source[start:end], lines[node.lineno - 1].strip()
        changed = new(old) if callable(new) else new
        if changed != old and not old.startswith(_TELLING):
            change = f"{_short(old)} -> {_short(changed)}"
            found.append(Mutation(file, node.lineno, start, end, changed, text, change, statements.get(node)))
    return _numbered(sorted(set(found)))


def equivalents(source: str, file: str) -> set[Mutation]:
    """The changes that nothing can notice: a comment above their line names them, after a colon with the reason.

    >>> source = "# mutants: + -> -, 0 -> 1: nobody asks for it\\nx = f(y + 0)\\n"
    >>> sorted(one.change for one in equivalents(source, "f.py"))
    ['0 -> 1', 'y + 0 -> y - 0']
    """
    by_name = {(one.line, name): one for one, name in briefs(mutations_of(source, file)).items()}
    known, said = set(), list[str]()
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text.startswith(_MARK):
            said.append(text.removeprefix(_MARK))
        elif said and text.startswith(_MORE):
            said[-1] += f" {text.removeprefix(_MORE)}"
        elif not text.startswith("#"):
            for one in said:
                names, _, reason = one.partition(": ")
                wrong = [name for name in names.split(", ") if (number, name) not in by_name]
                if wrong or not reason:
                    there = [name for at, name in by_name if at == number]
                    raise SystemExit(f"{file}:{number}: {one!r} needs a reason and changes among {there}")
                known |= {by_name[number, name] for name in names.split(", ")}
            said = []
    return known


def briefs(found: list[Mutation]) -> dict[Mutation, str]:
    """What a comment calls each change: only the part that differs, with a number if a line has it twice."""
    seen: Counter[tuple[int, str]] = Counter()
    named = {}
    for one in found:
        brief = _brief(*one.change.split(" -> ", 1))
        seen[one.line, brief] += 1
        named[one] = brief if (number := seen[one.line, brief]) == 1 else f"{brief} ({number})"
    return named


def _brief(old: str, new: str) -> str:
    new = _NUMBER.sub("", new)
    if new in ("pass", f"not ({old})"):
        return new[:4].rstrip()
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    while len(a) > 1 and len(b) > 1 and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while len(a) > 1 and len(b) > 1 and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return f"{''.join(a)} -> {''.join(b)}"


def _numbered(found: list[Mutation]) -> list[Mutation]:
    """The same change of the same line gets a number from the second on, so that each has its own name."""
    seen: Counter[tuple[int, str]] = Counter()
    named = []
    for one in found:
        seen[one.line, one.change] += 1
        number = seen[one.line, one.change]
        named.append(one if number == 1 else replace(one, change=f"{one.change} ({number})"))
    return named


def _statements(tree: ast.AST) -> dict[ast.AST, tuple[int, int]]:
    """The lines of the innermost statement of each node inside a function, without those of the statements in it."""
    found = {}
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in (node for one in function.body for node in ast.walk(one) if isinstance(node, ast.stmt)):
                inner = [child.lineno for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
                last = max(statement.lineno, min(inner) - 1) if inner else statement.end_lineno
                found |= dict.fromkeys(ast.walk(statement), (statement.lineno, last))
    return found


def _short(text: str) -> str:
    return " ".join(text.split())


def _changes(tree: ast.AST) -> Iterator[tuple]:
    """Nodes and what replaces them: a text, or a function of the old text."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            skipped |= {id(one) for decorator in node.decorator_list for one in ast.walk(decorator)}
        if isinstance(node, ast.arguments):
            defaults = (one for one in (*node.defaults, *node.kw_defaults) if one is not None)
            skipped |= {id(one) for default in defaults if _is_number(default) for one in ast.walk(default)}
        if isinstance(node, ast.ClassDef) and any(ast.unparse(one) == "declared" for one in node.decorator_list):
            defaults = (one.value for one in node.body if isinstance(one, ast.AnnAssign) and one.value is not None)
            skipped |= {id(one) for default in defaults if _is_number(default) for one in ast.walk(default)}
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                skipped |= {id(one) for one in ast.walk(getattr(node, name))}
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(one) for one in ast.walk(node)}
        if isinstance(node, (ast.If, ast.Assign, ast.AnnAssign)) and _declares(node):
            skipped |= {id(one) for one in ast.walk(node)}
        if _counts_rows_of_a_block(node) or (isinstance(node, ast.Call) and ast.unparse(node).startswith(_TELLING)):
            skipped |= {id(one) for one in ast.walk(node)}
        if isinstance(node, ast.keyword) and node.arg in _HOW | _LOOKS:
            skipped |= {id(one) for one in ast.walk(node.value)}
    for node in ast.walk(tree):
        if id(node) not in skipped:
            yield from _changes_of(node)


def _declares(node: ast.If | ast.Assign | ast.AnnAssign) -> bool:
    """Whether a statement only declares types, allowed values or a number that somebody chose."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [one.id for target in targets for one in getattr(target, "elts", [target]) if isinstance(one, ast.Name)]
    chosen = node.value is not None and _is_number(node.value)
    return any(name in {"_parameter_constraints", "__all__"} or (chosen and name.isupper()) for name in names)


def _is_number(node: ast.expr) -> bool:
    """Whether a value is a number, not a truth value, or computed from numbers alone: ``2**22``."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.Tuple(elts=parts) | ast.Call(args=parts, keywords=[]):
            return bool(parts) and all(map(_is_number, parts))
    return False


def _counts_rows_of_a_block(node: ast.AST) -> bool:
    """Whether an expression divides a chosen size: ``_BLOCK // n`` or ``max(1, _BLOCK // n)``."""
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.FloorDiv()):
            return name.isupper()
        case ast.Call(func=ast.Name(id="max"), args=[ast.Constant(), rows]):
            return _counts_rows_of_a_block(rows)
    return False


def _is_chosen(node: ast.expr) -> bool:
    """Whether an expression contains a constant of a module or a tolerance."""
    names = [one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in ast.walk(node)]
    return any((name.isupper() and len(name) > 1) or name.startswith("tol") for name in names)


def _is_tiny(node: ast.expr) -> bool:
    """Whether a number is so small that only a division by zero would notice it."""
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return name.strip("_").lower() == "tiny"


def _changes_of(node: ast.AST) -> Iterator[tuple]:
    match node:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]) if (
            _is_chosen(left) or _is_chosen(right)
        ):
            return  # a tie
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=right) if _is_tiny(right):
            return
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
