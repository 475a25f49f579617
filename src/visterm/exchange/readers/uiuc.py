"""The UIUC sport events: per picture a line ``CLASS FILE``, and a line of comma-separated words in another file."""

from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import base as base
from visterm.exchange.readers._files import numbered_lines

_PICTURES, _WORDS = "uiuc-sports-info.txt", "uiuc-sports-annotations.txt"


def detect(path: Path) -> bool:
    """Whether the folder has the two lists."""
    return (path / _PICTURES).is_file() and (path / _WORDS).is_file()


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each line of the lists."""
    if not detect(path):
        raise InputError(f"{path} is not a folder of UIUC sport labels: expected the files {_PICTURES} and {_WORDS}")
    words = dict(numbered_lines(path / _WORDS, reading))
    for number, line in numbered_lines(path / _PICTURES, reading):
        where = f"{_PICTURES}, line {number}"
        class_and_file = line.split()
        if len(class_and_file) != 2 or number not in words:
            reading.skip(where, f"expected a class and a file name here, and words in line {number} of {_WORDS}")
            continue
        class_name, file = class_and_file
        tags = words[number].split(",")
        if record := make_record(reading, where, f"{class_name}/{file}", class_name=class_name, tags=tags):
            yield record
