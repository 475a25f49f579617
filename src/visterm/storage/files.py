"""Files as people name them, and the folders of a workspace."""

import os
from pathlib import Path
from typing import BinaryIO, cast

from visterm.errors import VistermError

#: The folder in which a workspace keeps all that is its own.
STATE = ".visterm"
#: The rights of a file that nobody but its owner may read or write.
PRIVATE = 0o600


def is_there(path: str | Path) -> bool:
    """Whether there is anything at ``path``; no name is too long or too odd to be asked for.

    >>> is_there("x" * 5000)
    False
    """
    return os.path.exists(path)  # noqa: PTH110 - Path.exists() raises where a name is too long


def user_folder() -> Path:
    """What a user has for all collections: the folder ``visterm`` in ``XDG_DATA_HOME``, or else in the data folder.

    On Linux that is ``~/.local/share/visterm``.
    """
    from platformdirs import user_data_path

    configured = Path(os.environ.get("XDG_DATA_HOME", ""))
    return configured / "visterm" if configured.is_absolute() else user_data_path("visterm", appauthor=False)


def is_private(folder: Path) -> bool:
    """Whether ``folder`` lies in a ``.visterm`` that nobody but its owner may open, so that no group shares it."""
    state = next((path for path in (folder, *folder.parents) if path.name == STATE), None)
    try:
        return state is not None and not state.stat().st_mode & 0o077
    except OSError:  # who writes there will be told
        return False


def open_new(path: Path, mode: str = "xb") -> BinaryIO:
    """Open a file to write it; only its owner may read a new one of a private workspace, whatever the umask says."""
    rights = PRIVATE if is_private(path.parent) else 0o666
    return cast("BinaryIO", open(path, mode, opener=lambda name, flags: os.open(name, flags, rights)))


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
