"""Walks folders and reads text files safely, for label readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading
from visterm.errors import InputError
from visterm.vision.decode import SUFFIXES

#: Lines with more bytes are skipped: no label needs them, and memory stays bounded.
MAX_LINE = 2**20


def walk(folder: Path, reading: Reading | None = None) -> Iterator[tuple[Path, list[str]]]:
    """Every folder under ``folder`` with the names of its files, sorted; a folder that cannot be listed is reported.

    Hidden files and folders are left out. Links to folders are not followed, since they may lead in circles.
    """

    def unreadable(error: OSError) -> None:
        if reading is not None:
            reading.skip(str(error.filename), f"cannot be listed: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(parent), sorted(name for name in files if not name.startswith("."))


def is_picture(name: str) -> bool:
    """Whether the file name has a picture's extension.

    >>> is_picture("IMG_1.JPG"), is_picture("IMG_1.txt")
    (True, False)
    """
    return os.path.splitext(name)[1].lower() in SUFFIXES  # noqa: PTH122 - called for every file of a collection


def numbered_lines(path: Path, reading: Reading, *, max_line: int = MAX_LINE) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, including line ends, with their numbers from 1.

    Lines that are too long or not UTF-8 are skipped with the reason.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(max_line + 1):
            number += 1
            where = f"{path.name}, line {number}"
            if number == 1:
                if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise InputError(f"{path} is UTF-16 text: save it as UTF-8")
                line = line.removeprefix(b"\xef\xbb\xbf")
            if len(line) > max_line:
                while not line.endswith(b"\n") and (line := file.readline(max_line)):
                    pass
                reading.skip(where, f"the line has more than {max_line} bytes")
                continue
            try:
                yield number, line.decode()
            except UnicodeDecodeError:
                reading.skip(where, "not valid UTF-8")


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """The content of a file of at most ``max_bytes`` bytes; pipes and devices, which may never end, are refused."""
    if not path.is_file():
        raise InputError("not a regular file, or a broken link")
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(f"the file has more than {max_bytes} bytes")
    return content
