"""A folder for each class, ``CLASS/.../picture``, or with the split above it, ``train/CLASS/.../picture``.

The top folders are splits if every one is called train, training, test, testing, val, valid, validation or dev. A
folder ``train`` between ``bus`` and ``car`` is a class. A folder without pictures, and one that is a workspace, do not
count: they may lie beside ``train`` and ``test``. A folder with pictures and no sub-folder of pictures is itself the
folder of a class, unless it is a workspace or a split.
"""

from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers._entries import is_split, make_record
from visterm.exchange.readers._files import base as base
from visterm.exchange.readers._files import is_picture, walk
from visterm.vision.decode import pictures_among

#: What makes a folder a workspace.
_WORKSPACE = ".visterm"


def detect(path: Path) -> bool:
    """Whether a subfolder contains a picture."""
    return any(parent != path and any(map(is_picture, names)) for parent, names in walk(path))


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each picture, with the class named by its folder."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder: expected a folder with one subfolder per class")
    top = [folder.name for folder in path.iterdir() if _counts(folder)]
    class_level = 1 if top and all(map(is_split, top)) else 0
    own = path.resolve().name
    itself = None if top or is_split(own) or (path / _WORKSPACE).is_dir() else own
    for parent, names in walk(path, reading):
        levels = parent.relative_to(path).parts
        split = levels[0] if class_level and levels else None
        class_name = levels[class_level] if len(levels) > class_level else itself
        for name in sorted(pictures_among(names)):
            file = parent.relative_to(path) / name
            if not levels and itself is None:
                reading.skip(name, "it is not in a class folder: name the folder above the class folders")
            elif split is not None and not is_split(split):
                reading.skip(file.as_posix(), "it is in a workspace beside the folders of the splits")
            elif record := make_record(reading, file.as_posix(), file, class_name=class_name, split=split):
                yield record


def _counts(folder: Path) -> bool:
    """Whether a top folder helps to decide what the level means: it has a picture, and it is not a workspace."""
    if folder.name.startswith(".") or folder.is_symlink() or not folder.is_dir():
        return False
    if (folder / _WORKSPACE).is_dir() and not is_split(folder.name):
        return False
    return any(is_picture(name) for _, names in walk(folder) for name in names)
