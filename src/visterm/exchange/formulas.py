"""Cells of a table that a spreadsheet would take for a formula: a mark before them prevents that."""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def with_mark(cell: str) -> str:
    """The cell with a mark ``'`` before it if it begins like a formula.

    >>> with_mark("=1+1"), with_mark("'=1+1"), with_mark("'tis")
    ("'=1+1", "''=1+1", "'tis")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def without_mark(cell: str) -> str:
    """The cell that :func:`with_mark` marked.

    >>> without_mark("'=1+1"), without_mark("''=1+1"), without_mark("'tis"), without_mark("=1+1")
    ('=1+1', "'=1+1", "'tis", '=1+1')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
