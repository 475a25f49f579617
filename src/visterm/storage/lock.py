"""One writer at a time: a lock that the operating system releases when its holder ends, even if it is killed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from visterm.errors import VistermError
from visterm.storage.atomic import write_error


class WriteLock:
    """The right to write to ``folder``, held by one thread of one process; the holder may take it again.

    Nobody waits: if the lock is taken, an error names the process that holds it. The file ``lock`` stays behind and
    means nothing by itself: a killed holder blocks nobody.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder: int | None = None

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock inside the ``with`` block; yields False if this thread already held it, else True."""
        if self._holder == threading.get_ident():
            yield False
            return
        from filelock import FileLock, Timeout

        file = self._folder / "lock"
        lock = FileLock(file)  # a new one each time: filelock refuses one that was made before a fork
        try:
            lock.acquire(blocking=False)
        except Timeout as error:
            raise VistermError(
                f"{self._folder} is being written to by process {_written(file)}: try again when it is done"
            ) from error
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
