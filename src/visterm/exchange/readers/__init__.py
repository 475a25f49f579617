"""Readers of labels: one module per format, each gives a stream of records.

A reader is a module with ``detect``, ``read`` and ``base`` (see :class:`Reader`); its name is that of the format. Bags
(``ldac``) and matrices (``hvecs``) are not about picture files; they have functions of their own.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from visterm.catalogue.records import Reading, Record, Skipped
from visterm.errors import InputError, MissingExtraError, UsageError
from visterm.exchange.unlabelled import UnlabelledFiles


class Reader(Protocol):
    """A format of labels."""

    def detect(self, path: Path) -> bool:
        """Whether the file or folder looks like this format; fast, and never raises because of the content."""

    def read(self, path: Path, reading: Reading) -> Iterator[Record]:
        """The records of the pictures; malformed entries are skipped with the reason, another format is refused."""

    def base(self, path: Path) -> Path:
        """The folder to which the records' paths are relative."""


class _Readers(Mapping[str, Reader]):
    """Readers by name, imported when needed; in the order of detection, most specific first."""

    _NAMES = ("table", "parquet", "coco", "corel", "uiuc", "voc", "labelme", "captions", "xmp", "folders")

    def __getitem__(self, name: str) -> Reader:
        if name not in self._NAMES:
            raise KeyError(name)
        return cast(Reader, import_module(f"{__name__}.{name}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


READERS: Mapping[str, Reader] = _Readers()

_METADATA = {"metadata.csv": "table", "metadata.jsonl": "table", "metadata.parquet": "parquet"}


def check_format(format: str) -> None:
    """Raise an error that helps if there is no such format of labels."""
    if format not in READERS:
        near = get_close_matches(format, READERS, n=1)
        choose = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(READERS)}"
        raise UsageError(f"unknown label format {format!r}: {choose}")


def open_labels(
    path: Path, format: str | None = None, unlabelled: UnlabelledFiles | None = None
) -> tuple[Reading, Path, Iterator[Record]]:
    """The labels at ``path``: the report of reading them, the folder that paths are relative to, and the records.

    Without ``format``, the first of :data:`READERS` that recognises the file or folder reads it. Records are read
    lazily: errors in the file are raised while reading, and the report is complete after the last record. Pictures in
    ``unlabelled`` are not opened, and those that have no labels inside either are noted there.
    """
    if format is not None:
        check_format(format)
    check_unicode(path)
    try:
        if not path.exists():
            raise InputError(f"there is no file or folder {path}")
        if not (path.is_file() or path.is_dir()):  # opening a pipe would wait for ever
            raise InputError(f"{path} is neither a file nor a folder: save the labels to a file")
        name = format or next((name for name, reader in READERS.items() if reader.detect(path)), None)
    except OSError as error:
        raise _cannot_read(path, error) from error
    if name is None:
        raise InputError(f"the label format of {path} was not recognised: choose one of {', '.join(READERS)}")
    reader, reading = READERS[name], Reading(str(path), name)
    if name == "xmp":
        from visterm.exchange.readers import xmp

        return reading, xmp.base(path), reading.count(_guarded(path, xmp.read(path, reading, unlabelled)))
    return reading, reader.base(path), reading.count(_guarded(path, reader.read(path, reading)))


def open_pictures(files: Iterable[Path]) -> Iterator[tuple[Reading, Path, Iterator[Record]]]:
    """The labels inside single picture files and in their sidecars, one source for each of their folders.

    Each source is given like that of :func:`open_labels`.
    """
    from visterm.exchange.readers.xmp import read_pictures

    names: dict[Path, list[str]] = {}
    for file in files:
        names.setdefault(file.parent, []).append(file.name)
    for folder, pictures in names.items():
        source = folder / pictures[0] if len(pictures) == 1 else folder
        reading = Reading(str(source), "xmp", about=tuple(pictures))
        yield reading, folder, reading.count(_guarded(source, read_pictures(folder, pictures, reading)))


def find_labels(folder: Path, skipped: list[Skipped] | None = None) -> list[tuple[Path, str]]:
    """The label files among the pictures in ``folder``, each with its format.

    These are ``metadata.csv``, ``.jsonl`` and ``.parquet`` in any folder, Corel's lists, and captions beside pictures.
    ``xmp`` is always included, since any picture may have metadata and looking is cheap. Folder names are not taken for
    classes: they are dates as often. A label file that is no regular file is added to ``skipped``.
    """
    from visterm.exchange.readers._files import walk
    from visterm.exchange.readers.captions import pairs

    found = []
    has_captions = False
    for parent, names in walk(folder):
        if not _is_unicode(parent):
            continue
        for file in (parent / name for name in names if name in _METADATA):
            if file.is_file():
                found.append((file, _METADATA[file.name]))
            elif skipped is not None and not file.is_dir():
                skipped.append(Skipped(str(file), "not a regular file, so no labels were read"))
        if "words" in names and READERS["corel"].detect(parent):
            found.append((parent, "corel"))
        has_captions = has_captions or any(True for _ in pairs(names))
    if has_captions:
        found.append((folder, "captions"))
    return [*found, (folder, "xmp")] if folder.is_dir() else []


def find_tables(folder: Path) -> list[Path]:
    """The tables in ``folder`` that may hold labels, but do not have one of the usual names."""
    from visterm.exchange.readers._files import is_picture, walk

    others = (
        parent / name
        for parent, names in walk(folder)
        for name in names
        if name not in _METADATA and not is_picture(name)  # these are many
    )
    return sorted(
        path for path in filter(_is_unicode, others) if READERS["table"].detect(path) or READERS["parquet"].detect(path)
    )


def check_unicode(path: Path) -> None:
    """Refuse a path with bytes that are no text: no catalogue can name it."""
    if not _is_unicode(path):
        raise InputError(f"{str(path)!a}: the name is not valid Unicode (UTF-8): rename it")


def _is_unicode(path: Path) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in str(path))


def names_pictures(table: Path) -> bool:
    """Whether a table has a row that names a picture; one that cannot be opened here may have some."""
    try:
        return next(open_labels(table)[2], None) is not None
    except MissingExtraError:
        return True
    except InputError:
        return False


def _guarded(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    try:
        yield from records
    except OSError as error:
        raise _cannot_read(path, error) from error


def _cannot_read(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot read {error.filename or path}: {error.strerror or error}")
