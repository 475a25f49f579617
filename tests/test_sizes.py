"""Files, functions and calls stay small enough to be read."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def trees():
    for file in sorted(SOURCES.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        yield str(file.relative_to(SOURCES)), text, ast.parse(text)


def test_files_have_at_most_400_lines():
    assert [name for name, text, _ in trees() if len(text.splitlines()) > 400] == []


def test_functions_have_at_most_60_lines():
    long = [
        f"{name}: {node.name}"
        for name, _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 60
    ]
    assert long == []


def test_functions_have_at_most_8_parameters():
    """Constructors may have more: they are called by name."""
    many = []
    for name, _, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name == "__init__":
                continue
            given = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len(given) - (given[:1] in (["self"], ["cls"])) > 8:
                many.append(f"{name}: {node.name}")
    assert many == []


def test_calls_of_eight_arguments_name_them():
    nameless = [
        f"{name}:{node.lineno}: {ast.unparse(node.func)}"
        for name, _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) >= 8
    ]
    assert nameless == []
