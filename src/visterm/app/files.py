"""Files as people name them."""

from __future__ import annotations

import os
from pathlib import Path


def is_there(path: str | Path) -> bool:
    """Whether there is anything at ``path``; no name is too long or too odd to be asked for.

    >>> is_there("x" * 5000)
    False
    """
    return os.path.exists(path)  # noqa: PTH110 - Path.exists() raises where a name is too long
