"""Files that have changed since they were added: noticed before anything is said of them or derived from them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.scan import read_again
from visterm.errors import PictureError
from visterm.vision.decode import read_regular

#: Why nothing is derived from a file that is not the picture that it was.
CHANGED = "it has changed since it was added: visterm add reads it again"


class ChangedFileError(PictureError):
    """A file does not hold the picture that the catalogue knows it by."""


def read_picture(file: Path, key: str) -> bytes:
    """The bytes of ``file``, which must be those of the picture with the content hash ``key``."""
    data, _ = read_regular(file)
    if sha256(data).hexdigest() != key:
        raise ChangedFileError(CHANGED)
    return data


def heal(catalogue: Catalogue, files: Iterable[str | Path], *, certain: bool = False) -> bool:
    """Read those of ``files`` again that have changed since they were added, and the other files of their pictures.

    Size and time tell a change. Where another picture has a file of the same size and time, the bytes do. ``certain``
    files are read in any case. Files that are not in the catalogue, or gone, are left alone.
    """
    places = (catalogue.known_path(file) for file in files)
    waiting, done = {path for path in places if path is not None}, set[str]()
    twins = catalogue.twin_files() if waiting else set()
    healed = False
    while waiting:
        changed = [path for path in waiting if certain or has_changed(catalogue, path, twins)]
        done |= waiting
        concerned = [catalogue.picture(path) for path in changed]
        if changed:
            read_again(catalogue, [str(catalogue.root / path) for path in changed])
            healed = True
        concerned += [catalogue.picture(path) for path in changed]
        waiting = {path for picture in concerned if picture is not None for path in picture.paths} - done
        certain = False
    return healed


def has_changed(catalogue: Catalogue, path: str, twins: Iterable[str] = ()) -> bool:
    """Whether the file at the stored ``path`` is there, but not as it was when it was read."""
    file = catalogue.root / path
    try:
        status = file.stat()
    except OSError:
        return False
    if catalogue.known_files(file).get(path) != (status.st_size, status.st_mtime_ns):
        return True
    picture = catalogue.picture(path) if path in twins else None
    with suppress(PictureError):  # what cannot be read has no other content
        return picture is not None and sha256(read_regular(file)[0]).hexdigest() != picture.sha256
    return False
