"""Files that are written whole or not at all: a new file takes its name only when every byte of it is on disk."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visterm.errors import VistermError

#: The name pattern of unfinished files. A killed process may leave one behind.
TEMPORARY_PATTERN = ".visterm-*.tmp"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to, which becomes ``path`` when the block ends well and vanishes when it fails.

    The temporary file is new, empty and in the same folder as ``path``. The old ``path`` (contents, permissions, even a
    symbolic link) is replaced in one step. The new file is on disk when the block has ended. An :class:`OSError`, such
    as a full disk, becomes a :class:`VistermError` that names ``path``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     with replacing(path) as temporary, temporary.open("w") as file:
    ...         _ = file.write("file_name,class")
    ...     path.read_text()
    'file_name,class'
    """
    # The name does not repeat the name of `path`, which may be as long as the file system allows.
    temporary = path.parent / TEMPORARY_PATTERN.replace("*", secrets.token_hex(8))
    try:
        temporary.open("xb").close()
        try:
            yield temporary
            sync_file(temporary)
            os.replace(temporary, path)  # noqa: PTH105 - the decisive step, in its plainest form
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def creating_folder(path: Path) -> Iterator[Path]:
    """A folder to write files into, which becomes ``path`` when the block ends well and vanishes when it fails.

    Its files, its names and its own name are on disk when the block has ended. ``path`` must not exist. A folder that
    a killed process left is removed first. An :class:`OSError` becomes a :class:`VistermError` that names ``path``.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        try:
            yield unfinished
            for file in unfinished.iterdir():
                sync_file(file)
            sync_folder(unfinished)
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Make ``data`` the contents of ``path``, durably, in one step."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text_atomically(path: Path, text: str) -> None:
    """Make ``text`` the contents of ``path`` in UTF-8, durably, in one step; line ends are kept as they are."""
    write_bytes_atomically(path, text.encode())


def sync_file(path: Path) -> None:
    """Return when the contents of the file at ``path`` are on disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names in ``folder`` are on disk (at once on Windows, which does this by itself)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(path: Path, error: OSError) -> VistermError:
    """The error that says why ``path`` could not be written.

    >>> import errno
    >>> write_error(Path("labels.csv"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    VistermError('cannot write labels.csv: No space left on device')
    """
    return VistermError(f"cannot write {path}: {error.strerror or error}")
