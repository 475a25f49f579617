"""Finds pictures in folders, reads each file once, and updates the catalogue."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.filing import Outcome, is_gone
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import Skipped
from visterm.compute.parallel import Engine, Shard, map_shards, split
from visterm.errors import PictureError
from visterm.vision.decode import SUFFIXES, check_regular, pictures_among, probe, read_regular
from visterm.vision.own import is_own

#: Files read by one task and recorded in one transaction; an interruption loses at most one task.
_FILES_PER_TASK = 64

#: Endings of pictures that cannot be read; such files are counted, so that nobody looks for them in vain.
_OTHER_FORMATS = frozenset(
    {".heic", ".heif", ".hif", ".avif", ".avifs", ".jxl", ".jp2", ".psd", ".raw", ".crw", ".x3f"}
).difference(SUFFIXES)

#: Counts raw files in :attr:`AddReport.other_formats` that are left out, since the same shot is there as a picture.
BESIDE = "raw beside a picture of the same name"

Report = Callable[[Skipped], None]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with a picture's extension, found in a folder."""

    path: str
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Files:
    """How many files were found, by what was done with them.

    ``unreadable`` files are also counted as added, changed and so on. ``removed`` files were removed earlier and are
    left out; ``drawn`` files were drawn by Visterm itself and are left out, too.
    """

    added: int = 0
    unchanged: int = 0
    moved: int = 0
    copies: int = 0
    changed: int = 0
    gone: int = 0
    unreadable: int = 0
    skipped: int = 0
    removed: int = 0
    drawn: int = 0

    @property
    def n_pictures(self) -> int:
        """The files that are in the catalogue now."""
        return self.added + self.unchanged + self.moved + self.copies + self.changed

    def count(self, outcomes: Counter[Outcome]) -> None:
        """Add the outcomes of a batch of files."""
        self.added += outcomes["added"]
        self.unchanged += outcomes["unchanged"]
        self.moved += outcomes["moved"]
        self.copies += outcomes["copy"]
        self.changed += outcomes["changed"]
        self.removed += outcomes["removed"]


@dataclass(slots=True)
class AddReport:
    """The report of adding folders: the number of files by outcome, and what was skipped with the reason.

    ``other_formats`` counts files of pictures that Visterm cannot read, by their ending, such as ``.heic``.
    """

    files: Files = field(default_factory=Files)
    skipped: list[Skipped] = field(default_factory=list)
    other_formats: Counter[str] = field(default_factory=Counter)


def find_pictures(
    folder: str | Path, skipped: Report, other_formats: Counter[str] | None = None
) -> Iterator[FoundFile]:
    """Walk ``folder`` in order of names and yield the files with a picture's extension.

    Hidden files and folders (such as ``.visterm``) are ignored. Symbolic links are followed after everything in the
    folder itself, and no folder is entered twice. What cannot be read is reported to ``skipped``, and files of pictures
    in formats that Visterm does not read are counted in ``other_formats``.
    """
    other_formats = Counter() if other_formats is None else other_formats
    entered: set[tuple[int, int]] = set()
    pending, linked = [os.fspath(folder)], list[str]()
    while pending or linked:
        here = pending.pop() if pending else linked.pop(0)
        try:
            status = Path(here).stat()
            if (status.st_dev, status.st_ino) in entered:
                continue
            entered.add((status.st_dev, status.st_ino))
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            skipped(Skipped(_shown(here), f"the folder cannot be read: {_reason(error)}"))
            continue
        folders: list[str] = []
        pictures = pictures_among(entry.name for entry in entries)
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir():
                    _refuse_undecodable(entry.name)
                    (linked if entry.is_symlink() else folders).append(entry.path)
                elif entry.name in pictures:
                    _refuse_undecodable(entry.name)
                    yield _found(entry.path, entry.stat())
                elif (ending := entry.name[entry.name.rfind(".") :].lower()) in _OTHER_FORMATS:
                    other_formats[ending] += 1
                elif ending in SUFFIXES:
                    other_formats[BESIDE] += 1
            except (OSError, PictureError) as error:
                skipped(Skipped(_shown(entry.path), _reason(error)))
        pending.extend(reversed(folders))


def examine(file: str | Path) -> Examined:
    """Read ``file`` once: the hash of its content, and its size or the reason why it is not a usable picture.

    Raises :class:`PictureError` if the file itself cannot be read.
    """
    return _examined(file, *read_regular(Path(file)))  # the state of before reading: a later scan notices a change


def _examined(file: str | Path, data: bytes, status: os.stat_result) -> Examined:
    width = height = orientation = reason = pixels = None
    try:
        info = probe(data)
        width, height, orientation, pixels = info.width, info.height, info.orientation, info.pixels
    except PictureError as error:
        reason = str(error)
    except MemoryError as error:
        raise PictureError("there is not enough memory to look at it now: add it again later") from error
    except Exception as error:  # a malformed file can raise anything in a decoder; the other files must go on
        reason = f"damaged picture: {type(error).__name__}: {error}"
    digest = sha256(data).hexdigest()
    return Examined(
        path=os.fspath(file),
        sha256=digest,
        size=len(data),
        mtime_ns=status.st_mtime_ns,
        width=width,
        height=height,
        orientation=orientation,
        reason=reason,
        pixels=pixels,
    )


def add_folder(catalogue: Catalogue, paths: Sequence[Path], *, again: bool = False) -> AddReport:
    """Update the catalogue from folders (and single files); only new and changed files are read.

    Files that a person removed are left out, unless they are wanted ``again``. Files that are gone are marked as
    missing. Each batch of new files is its own transaction, so an interruption keeps the finished batches.
    """
    report = AddReport()
    removed = {} if again else catalogue.removed_files()
    returned: list[str] = []
    changed: list[str] = []
    new: list[str] = []
    lost: list[str] = []
    for path in _outermost(paths):
        known, missing = catalogue.known_files(path), catalogue.missing_files(path)
        for file in _files_of(path, report.skipped.append, report.other_formats):
            stored = catalogue.stored_path(file.path)
            state = known.pop(stored, None)
            if state is None and removed.get(stored) == (file.size, file.mtime_ns):
                report.files.removed += 1
                continue
            if state != (file.size, file.mtime_ns):
                (new if state is None else changed).append(file.path)
                continue
            report.files.unchanged += 1
            if stored in missing:
                returned.append(stored)
        lost += known.keys() - missing
    if returned:
        catalogue.mark_present(returned)
    _read_files(catalogue, changed, new, report, again=again)
    gone = [stored for stored in lost if is_gone(catalogue.root / stored)]
    if gone:  # otherwise no write lock is needed
        report.files.gone += catalogue.mark_missing(gone)
    files = report.files
    if files.changed or files.added or files.moved:  # an earlier interruption may have left replaced pictures
        catalogue.forget_replaced()
    files.skipped = len(report.skipped)
    return report


def read_again(catalogue: Catalogue, files: Sequence[str]) -> None:
    """Read files that have changed, whatever their size and time say."""
    _read_files(catalogue, files, [], AddReport(), again=False)
    catalogue.forget_replaced()


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """``paths`` made absolute, without those inside another one."""
    absolute = {Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 - '..' goes, links stay
    return sorted(path for path in absolute if absolute.isdisjoint(path.parents))


def _files_of(path: Path, skipped: Report, other_formats: Counter[str]) -> Iterator[FoundFile]:
    """The pictures in the folder ``path``, or the file itself, whatever its extension."""
    try:
        _refuse_undecodable(os.fspath(path))
        if path.is_dir():
            yield from find_pictures(path, skipped, other_formats)
        else:
            yield _found(os.fspath(path), path.stat())
    except (OSError, PictureError) as error:
        skipped(Skipped(_shown(os.fspath(path)), _reason(error)))


def _read_files(
    catalogue: Catalogue, changed: Sequence[str], new: Sequence[str], report: AddReport, *, again: bool
) -> None:
    """Read ``changed`` files, whose places are known, and ``new`` ones, and record them.

    A file that was edited in place stays the same picture. A new file that holds what it was is then a picture of its
    own, and one that holds what it is now is a copy. So such files wait until edited ones are recorded. All that get
    labels of another picture are among these, and all that were removed and are wanted ``again``, so that one command
    is one action.
    """
    if not changed and not new:
        return
    at, present, earlier = catalogue.contents()
    bound = catalogue.removed_names() if again else set[str]()

    def is_free(file: Examined) -> bool:
        return bound.isdisjoint((catalogue.stored_path(file.path), file.sha256, file.pixels))

    read = [file for batch in _examined_batches(changed, report) for file in batch]
    _record(catalogue, [file for file in read if file.sha256 in present and is_free(file)], report, again=again)
    waiting = [file for file in read if file.sha256 not in present or not is_free(file)]
    bound |= earlier - present
    for file in waiting:
        bound |= {file.sha256, file.pixels or "", at.get(catalogue.stored_path(file.path), "")}
    for batch in _examined_batches(new, report):
        free = [file for file in batch if is_free(file)]
        _record(catalogue, free, report, again=again)
        waiting += [file for file in batch if file not in free]
    _record(catalogue, waiting, report, again=again)


def _examined_batches(files: Sequence[str], report: AddReport) -> Iterator[list[Examined]]:
    """Read files, some at a time; those that cannot be read, or were drawn by Visterm, are only reported."""

    def examine_shard(shard: Shard) -> list[Examined | Skipped | None]:
        return [_examine_or_skip(file) for file in files[shard.rows]]

    if not files:
        return
    # always threads: the files may be on a disk that only this machine sees
    shards, engine = split(len(files), size=_FILES_PER_TASK), Engine("threads")
    for batch in map_shards(examine_shard, shards, engine=engine, description="Reading pictures"):
        report.skipped += [result for result in batch if isinstance(result, Skipped)]
        report.files.drawn += sum(result is None for result in batch)
        yield [result for result in batch if isinstance(result, Examined)]


def _record(catalogue: Catalogue, examined: Sequence[Examined], report: AddReport, *, again: bool) -> None:
    """Record files that were read, in one transaction."""
    if examined:
        report.files.count(catalogue.add(examined, again=again))
        report.files.unreadable += sum(file.reason is not None for file in examined)


def _examine_or_skip(file: str) -> Examined | Skipped | None:
    """What the file is, or why it cannot be read; None if Visterm itself drew it."""
    try:
        data, status = read_regular(Path(file))
        return None if is_own(data) else _examined(file, data, status)
    except PictureError as error:
        return Skipped(file, str(error))


def _found(path: str, status: os.stat_result) -> FoundFile:
    check_regular(status)
    # Files of the system seem to be empty, and reading them may never end.
    if not status.st_size and os.path.realpath(path).startswith(("/proc/", "/sys/")):
        raise PictureError("a file of the system, not a picture")
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def _refuse_undecodable(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise PictureError("the name is not valid Unicode (UTF-8): rename it") from None


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _shown(path: str) -> str:
    """``path`` with bytes that are not UTF-8 made visible."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
