"""Packages that need not be installed, and what they say when something fails."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from visterm.errors import MissingExtraError


def imported(package: str, purpose: str, extra: str | None = "deep") -> Any:
    """The module ``package``, or the error that names what to install: the extra, or (None) the package itself."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, extra, purpose) from error


def first_line(error: BaseException) -> str:
    """The message of another library's error, in at most one line of reasonable length."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
