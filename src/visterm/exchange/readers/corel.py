"""The Corel label lists: ``words`` and, for each split, lines ``ID w1 w2 ...`` with words counted from 1.

Pictures are ``../images/train/ID.jpeg`` and ``../images/test/ID.jpeg``. The class is ``ID // 1000``, the folder of the
original collection.
"""

from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import numbered_lines

_LISTS = {"train": "training_label", "test": "test_label"}


def detect(path: Path) -> bool:
    """Whether the folder has the file ``words`` and at least one list."""
    return (path / "words").is_file() and any((path / name).is_file() for name in _LISTS.values())


def base(path: Path) -> Path:
    """The folder ``images`` beside the labels."""
    return path.parent / "images"


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each line of the lists."""
    if not detect(path):
        raise InputError(
            f"{path} is not a folder of Corel labels: expected the files words, training_label, test_label"
        )
    words = [line.strip() for _, line in numbered_lines(path / "words", reading)]
    for split, name in _LISTS.items():
        if not (path / name).is_file():
            continue
        for number, line in numbered_lines(path / name, reading):
            where = f"{name}, line {number}"
            try:
                picture, *indices = (int(text) for text in line.split())
                if picture < 0 or not all(1 <= index <= len(words) for index in indices):
                    raise ValueError
            except ValueError:
                reading.skip(where, f"expected a picture's number and words' numbers from 1 to {len(words)}")
                continue
            if record := make_record(
                reading,
                where,
                f"{split}/{picture}.jpeg",
                class_name=str(picture // 1000),
                tags=[words[index - 1] for index in indices],
                split=split,
            ):
                yield record
