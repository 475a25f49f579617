"""Walks folders and reads text files safely, for label readers."""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading
from visterm.storage.opening import open_regular
from visterm.vision.decode import SUFFIXES

#: Lines with more bytes are skipped: no label needs them, and memory stays bounded.
MAX_LINE = 2**20

#: Larger label files are not read: a few bytes on disk can claim to be terabytes.
MAX_FILE_BYTES = 2**34
_LINE_END = re.compile("\r?\n|\r")
_INVALID, _REPLACED = re.compile("[\ud800-\udfff]"), re.compile("\ufffd")


def base(path: Path) -> Path:
    """Most formats name pictures relative to the folder of labels, or to the folder of the file of labels."""
    return path.parent if path.is_file() else path


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
    """The lines of a text file, including line ends, with their numbers from 1.

    The file is UTF-8, or UTF-16 as some spreadsheets write it; lines end with LF, or with CR alone if the first one
    does. Lines that are too long or not valid are skipped with the reason.
    """
    with open_regular(path, MAX_FILE_BYTES) as file:
        encoding, newline = _text_format(file.peek())
        # Bytes that are not valid become lone surrogates, which no valid text contains.
        errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
        invalid = _INVALID if encoding == "utf-8-sig" else _REPLACED
        with io.TextIOWrapper(file, encoding, errors, newline) as text:
            number = 0
            while line := text.readline(max_line + 1):
                number += 1
                where = f"{path.name}, line {number}"
                if len(line) > max_line:
                    while not line.endswith(newline) and (line := text.readline(max_line)):
                        pass
                    reading.skip(where, f"the line has more than {max_line} characters")
                elif invalid.search(line):
                    known = encoding.removesuffix("-sig").upper()
                    reading.skip(where, f"not valid {known}: save the file as UTF-8")
                else:
                    yield number, line


def _text_format(head: bytes) -> tuple[str, str]:
    """The encoding and the line end of a text file that begins with ``head``."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif head[1:2] == b"\0" and head[:1] != b"\0":
        encoding = "utf-16-le"
    elif head[:1] == b"\0" and head[1:2] not in (b"\0", b""):
        encoding = "utf-16-be"
    else:
        encoding = "utf-8-sig"
    first = _LINE_END.search(head.decode(encoding, "replace"))
    return encoding, "\r" if first is not None and first[0] == "\r" else "\n"
