"""Opens files that others made: only regular ones, without waiting for them, and within limits of size and time."""

import errno
import io
import os
import stat
import time
from pathlib import Path

from visterm.errors import InputError

#: A file that takes longer to read is given up: a network disk may send a byte now and then.
READ_SECONDS = 300.0
_BLOCK_BYTES, _BUFFER_BYTES = 2**22, 2**16
_NOT_REGULAR = "not a regular file (a pipe, socket or device)"


def open_regular(path: Path, max_bytes: int | None = None) -> io.BufferedReader:
    """Open a regular file of at most ``max_bytes`` bytes, to read it.

    A pipe, a socket and a device are refused; opening them does not wait for a writer. Files of the system such as
    ``/proc/kmsg`` seem to be regular and empty, but reading them may never end: here they are empty.
    """
    return _opened(path, max_bytes)[0]


def read_regular(path: Path, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file of at most ``max_bytes`` bytes, and its status before they were read.

    Raises :class:`InputError` with the reason if it cannot be read, or not in time.
    """
    end = time.monotonic() + READ_SECONDS
    blocks, n_bytes = list[bytes](), 0
    try:
        stream, status = _opened(path, max_bytes)
        with stream:
            while block := stream.read(min(_BLOCK_BYTES, max_bytes + 1 - n_bytes)):
                blocks.append(block)
                n_bytes += len(block)
                if time.monotonic() > end:
                    raise InputError(f"reading it takes more than {READ_SECONDS:.0f} seconds")
    except OSError as error:
        raise InputError(error.strerror or str(error)) from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(str(error)) from error
    _check_size(n_bytes, max_bytes)  # it may have grown
    return b"".join(blocks), status


def check_regular(status: os.stat_result, max_bytes: int | None) -> None:
    """Refuse what is not a regular file, or has more bytes."""
    if not stat.S_ISREG(status.st_mode):
        raise InputError(_NOT_REGULAR)
    if max_bytes is not None:
        _check_size(status.st_size, max_bytes)


def _opened(path: Path, max_bytes: int | None) -> tuple[io.BufferedReader, os.stat_result]:
    try:
        at_once = getattr(os, "O_NONBLOCK", 0)
        file = io.FileIO(path, opener=lambda name, flags: os.open(name, flags | at_once))
        stream: io.BufferedReader = io.BufferedReader(file, _BUFFER_BYTES)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket cannot even be opened
            raise InputError(_NOT_REGULAR) from error
        raise
    try:
        status = os.fstat(stream.fileno())
        check_regular(status, max_bytes)
    except BaseException:
        stream.close()
        raise
    if not status.st_size:
        stream.close()
        stream = io.BufferedReader(io.BytesIO())
    return stream, status


def _check_size(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        shown = f"{max_bytes // 2**20} MiB" if max_bytes >= 2**20 else f"{max_bytes} bytes"
        raise InputError(f"the file is larger than {shown}")
