"""Files that are written whole or not at all: a new file takes its name only when every byte of it is on disk."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from visterm.errors import VistermError
from visterm.storage.files import PRIVATE, is_private, make_folder, open_new

#: The name pattern of unfinished files. A killed process may leave one behind.
TEMPORARY_PATTERN = ".visterm-*.tmp"


@contextmanager
def replacing(path: Path, *, keep_access: bool = False) -> Iterator[Path]:
    """A temporary path to write to, which becomes ``path`` when the block ends well and vanishes when it fails.

    The temporary file is new, empty and in the same folder as ``path``. The old ``path`` (contents, permissions, even a
    symbolic link) is replaced in one step. With ``keep_access`` the new file has the mode of the old one, which must
    exist, and where the system permits it, its owner and group. The new file is on disk when the block has ended. An
    :class:`OSError`, such as a full disk, becomes a :class:`VistermError` that names ``path``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     with replacing(path) as temporary, temporary.open("w") as file:
    ...         _ = file.write("file_name,class")
    ...     path.read_text()
    'file_name,class'
    """
    try:
        temporary, held = _new_temporary(path.parent)
        with held:  # locked while this process lives, so that nobody takes it for a leftover
            try:
                if keep_access:
                    temporary.chmod(PRIVATE)  # nobody else may read it, until it is known who may
                yield temporary
                sync_file(temporary)
                if keep_access:
                    _copy_access(path, temporary)
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
        make_folder(path.parent)
        unfinished.mkdir()
        try:
            yield unfinished
            for file in unfinished.iterdir():
                if is_private(path.parent):
                    file.chmod(PRIVATE)
                sync_file(file)
            sync_folder(unfinished)
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


def clear_leftovers(folder: Path) -> int:
    """Delete the unfinished files that killed processes left in ``folder``; returns how many there were.

    A file that a living process is writing stays. What cannot be deleted stays, too.
    """
    n_cleared = 0
    for leftover in folder.glob(TEMPORARY_PATTERN):
        with suppress(OSError), leftover.open("r+b") as file:
            _lock(file)  # fails if its writer is alive
            leftover.unlink()
            n_cleared += 1
    return n_cleared


def _new_temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """A new, empty file with a name of its own, and the open file that holds its lock."""
    while True:
        # The name does not repeat the name of the final file, which may be as long as the file system allows.
        temporary = folder / TEMPORARY_PATTERN.replace("*", secrets.token_hex(8))
        held = open_new(temporary)
        with suppress(OSError):  # some network file systems have no locks
            _lock(held)
        if os.name != "posix":
            held.close()  # Windows renames no open file
        if temporary.exists():  # otherwise somebody took it for a leftover before it was locked
            return temporary, held
        held.close()


def _lock(file: BinaryIO) -> None:
    """Lock ``file`` until it is closed; raises :class:`OSError` if another process holds it."""
    if os.name != "posix":
        return
    import fcntl

    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _copy_access(old: Path, new: Path) -> None:
    """Give ``new`` the owner, group and mode of ``old``, as far as the system permits it."""
    status = old.stat()
    if os.name != "posix":
        return
    for owner, group in ((-1, status.st_gid), (status.st_uid, -1)):
        with suppress(PermissionError):
            os.chown(new, owner, group)
    new.chmod(stat.S_IMODE(status.st_mode))


def write_bytes_atomically(path: Path, data: bytes, *, keep_access: bool = False) -> None:
    """Make ``data`` the contents of ``path``, durably, in one step; see :func:`replacing`."""
    with replacing(path, keep_access=keep_access) as temporary:
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
