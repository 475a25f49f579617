"""Captions in text files beside the pictures, ``IMG.txt`` for ``IMG.jpg``; each line is a caption."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import MAX_LINE, walk
from visterm.exchange.readers._files import base as base
from visterm.storage.opening import read_regular
from visterm.vision.decode import pictures_among

_NUMBERS_ONLY = re.compile(r"[\s\d.eE+-]*")


def detect(path: Path) -> bool:
    """Whether a picture in the folder has a text file beside it."""
    return any(True for _, names in walk(path) for _ in pairs(names))


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each picture that has a caption file."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder: expected a folder with pictures and their .txt files")
    for parent, names in walk(path, reading):
        for picture, text in pairs(names):
            where = (parent / text).relative_to(path).as_posix()
            file = (parent / picture).relative_to(path)
            try:
                caption = read_regular(parent / text, MAX_LINE)[0].decode("utf-8-sig")
            except (InputError, UnicodeDecodeError) as error:
                reason = str(error) if isinstance(error, InputError) else "not valid UTF-8"
                reading.skip(where, reason, picture=file.as_posix())
                continue
            if _NUMBERS_ONLY.fullmatch(caption):  # boxes, which some detectors store in such files, or nothing at all
                reading.skip(where, "it has no words", picture=file.as_posix())
                continue
            if record := make_record(reading, where, file, caption=caption):
                yield record


def pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    """The pictures among the file names of a folder that have a text file of the same name, with that file.

    >>> list(pairs(["a.jpg", "a.txt", "b.jpg", "notes.txt"]))
    [('a.jpg', 'a.txt')]
    """
    texts = {name[:-4]: name for name in names if name.lower().endswith(".txt")}
    if texts:
        for name in sorted(pictures_among(names)):
            if text := texts.get(PurePath(name).stem):
                yield name, text
