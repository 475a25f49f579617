"""One writer at a time: a lock that the operating system drops when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from visterm.errors import VistermError
from visterm.storage.atomic import write_error


class WriteLock:
    """The right to write to ``folder``, held by one thread of one process; the holder may take it again.

    The file ``lock`` stays behind and means nothing by itself: a killed holder blocks nobody.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder: int | None = None

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock inside the ``with`` block; yields whether it was not already held by this thread."""
        if self._holder == threading.get_ident():
            yield False
            return
        descriptor = self._acquire()
        self._holder = threading.get_ident()
        try:
            yield True
        finally:
            self._holder = None
            os.close(descriptor)  # which also lets go of the lock

    def _acquire(self) -> int:
        path = self._folder / "lock"
        try:
            # A symbolic link is not followed: the file is written to below.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise write_error(path, error) from error
        try:
            if not _try_lock(descriptor):
                holder = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
                raise VistermError(f"{self._folder} is being written to by process {holder}: try again when it is done")
            with suppress(OSError):  # who holds the lock is good to know, not needed
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, 2**30, os.SEEK_SET)  # a locked byte cannot be read, and others read who holds the lock
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
