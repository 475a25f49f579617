"""One writer at a time: a lock that the operating system releases when its holder ends, even if it is killed."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from visterm.compute import progress
from visterm.errors import VistermError
from visterm.storage.atomic import write_error
from visterm.storage.files import PRIVATE, is_private

#: A writer that waits looks this often whether it is its turn, in seconds.
_LOOK_AGAIN = 0.05


class BusyError(VistermError):
    """Somebody else is writing, and the caller did not want to wait."""


class WriteLock:
    """The right to write to ``folder``, held by one thread of one process; the holder may take it again.

    A writer waits for its turn, with progress; one that does not want to wait gets a :class:`BusyError` that names the
    process that holds the lock. The file ``lock`` stays behind and means nothing by itself: a killed holder blocks
    nobody.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder: int | None = None

    @contextmanager
    def held(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock inside the ``with`` block; yields False if this thread already held it, else True."""
        if self._holder == threading.get_ident():
            yield False
            return
        from filelock import FileLock, Timeout

        file = self._folder / "lock"
        if not self._folder.is_dir():  # filelock would make it
            raise write_error(file, FileNotFoundError(errno.ENOENT, "its folder is gone"))
        mode = PRIVATE if is_private(self._folder) else -1  # -1: as the umask says
        lock = FileLock(file, mode=mode)  # a new one each time: filelock refuses one that was made before a fork
        try:
            try:
                lock.acquire(blocking=False)
            except Timeout as error:
                writer = f"process {_written(file)}"
                if not wait:
                    raise BusyError(
                        f"{self._folder} is being written to by {writer}: try again when it is done"
                    ) from error
                with progress.task(f"Waiting for {writer}, which writes {self._folder.name}"):
                    lock.acquire(poll_interval=_LOOK_AGAIN)
        except OSError as error:
            raise write_error(file, error) from error
        self._holder = threading.get_ident()
        try:
            with suppress(OSError):  # the holder's number is only for messages
                file.write_bytes(f"{os.getpid()}\n".encode())
            yield True
        finally:
            self._holder = None
            lock.release()


def _written(file: Path) -> str:
    """The process that the lock file names."""
    try:
        return file.read_bytes()[:20].decode(errors="replace").strip() or "unknown"
    except OSError:  # on Windows, nobody else can read a locked file
        return "unknown"
