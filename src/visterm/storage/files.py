"""Files as people name them, and the folders of a workspace."""

from __future__ import annotations

import os
from pathlib import Path

from visterm.errors import VistermError

#: The folder in which a workspace keeps all that is its own.
STATE = ".visterm"


def is_there(path: str | Path) -> bool:
    """Whether there is anything at ``path``; no name is too long or too odd to be asked for.

    >>> is_there("x" * 5000)
    False
    """
    return os.path.exists(path)  # noqa: PTH110 - Path.exists() raises where a name is too long


def make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it, but never that of a workspace: where it is gone, nothing is made."""
    if folder.is_dir():
        return
    if folder.name == STATE:
        raise VistermError(f"{folder} is gone: the workspace was moved or removed, so nothing was written")
    make_folder(folder.parent)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise VistermError(f"cannot write {folder}: {error.strerror or error}") from error
