"""What compiled loops may not call."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import visterm

#: numba's cache can take one of these for another: ARCHITECTURE.md.
CONFUSED = {"sort", "argsort", "searchsorted", "sorted", "median", "percentile", "quantile", "unique", "digitize"}

FILES = Path(visterm.__file__).parent.rglob("*.py")
COMPILED = sorted(path for path in FILES if "@compiled" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_compiled_loops_neither_sort_nor_search(path):
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert not called & CONFUSED
