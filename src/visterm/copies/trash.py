"""Moves the files of copies that are not kept to a folder, with a log by which they can be moved back.

No file is deleted or replaced. Each move is in the log before it is made.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.healing import heal
from visterm.copies import finding
from visterm.copies.grouping import groups
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.storage import WriteLock
from visterm.storage.atomic import sync_folder

if TYPE_CHECKING:
    from visterm.catalogue.pictures import Picture
    from visterm.collection.holdings import Holdings

#: The log in the folder: one JSON object for each file, with where it was and where it went.
LOG = "moved.jsonl"


@dataclass(frozen=True)
class Move:
    """A file, where it goes, and the file that is kept instead of it."""

    file: str
    to: str
    kept: str = ""


@dataclass(frozen=True)
class Moved(Document):
    """The files that were moved, or with ``dry_run`` would be, and those that could not be, each with the reason."""

    folder: str
    moves: list[Move]
    n_bytes: int
    failed: list[str] = field(default_factory=list)
    dry_run: bool = False


def trash(holdings: Holdings, folder: Path, *, dry_run: bool = True) -> Moved:
    """Move the files that a person's decisions leave over to ``folder``; with ``dry_run``, only say which.

    Of a group with pictures to keep, these are the files of the others; of a picture with several files of the same
    bytes, all but one. The pictures stay in the catalogue with their labels, without a file.
    """
    folder = folder.absolute()
    _refuse_collection(holdings, folder)
    moves = list(_plan(holdings, folder))
    files = {holdings.folder / name for move in moves for name in (move.file, move.kept)}
    if heal(holdings.catalogue, files):  # a file that was edited since is no copy any more
        moves = list(_plan(holdings, folder))
    n_bytes = sum((holdings.folder / move.file).stat().st_size for move in moves)
    if dry_run or not moves:
        return Moved(str(folder), moves, n_bytes, dry_run=dry_run)
    folder.mkdir(parents=True, exist_ok=True)
    done, failed = [], []
    with WriteLock(folder).held(), (folder / LOG).open("a", encoding="utf-8") as log:
        for move in moves:
            log.write(json.dumps({"from": str(holdings.folder / move.file), "to": move.to}) + "\n")
            log.flush()
            os.fsync(log.fileno())
            try:
                _move(holdings.folder / move.file, folder / move.to)
                done.append(move)
            except OSError as error:
                failed.append(f"{move.file}: {error.strerror or error}")
    holdings.catalogue.mark_missing(move.file for move in done)
    return Moved(str(folder), done, n_bytes, failed)


def back(holdings: Holdings, folder: Path) -> Moved:
    """Move files back from ``folder`` to where they were, unless something else is there now."""
    folder = folder.absolute()
    if not (folder / LOG).exists():
        raise InputError(f"{folder} has no {LOG}: no files were moved there")
    done, failed, n_bytes = [], [], 0
    with WriteLock(folder).held():
        for line in (folder / LOG).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            here, there = folder / entry["to"], Path(entry["from"])
            if here.parent != folder or not here.exists():  # moved back already, or it never came here
                continue
            try:
                n_bytes += here.stat().st_size
                _move(here, there)
                done.append(Move(str(there), entry["to"]))
            except OSError as error:
                failed.append(f"{there}: {error.strerror or error}")
    holdings.catalogue.mark_present(holdings.catalogue.stored_path(move.file) for move in done)
    return Moved(str(folder), done, n_bytes, failed)


def _plan(holdings: Holdings, folder: Path) -> Iterator[Move]:
    now = groups(holdings, finding.found(holdings))
    names, gone = set[str](), set[int]()

    def files_of(picture: Picture) -> list[str]:
        """The files that are there; the one to keep, of the shortest path, first."""
        there = [path for path in picture.paths if (holdings.folder / path).is_file()]
        return sorted(there, key=lambda path: (len(path), path))

    def moved(file: str, kept: str) -> Move:
        stem, ending = os.path.splitext(Path(file).name)  # noqa: PTH122 - keeps odd names whole
        name, number = f"{stem}{ending}", 1
        while name in names or name == LOG or (folder / name).exists():
            name, number = f"{stem}-{number}{ending}", number + 1
        names.add(name)
        return Move(file, name, kept)

    for group in now.groups:
        pictures = holdings.catalogue.pictures_with_ids(group.ids)
        kept = [picture for picture in pictures if picture.id in now.twins.kept and files_of(picture)]
        if group.level == "bytes" or group.waits or not kept:
            continue
        for picture in pictures:
            if picture.id not in now.twins.kept and picture.id not in gone:
                gone.add(picture.id)
                yield from (moved(path, files_of(kept[0])[0]) for path in files_of(picture))
    for group in now.of("bytes"):
        (picture,) = holdings.catalogue.pictures_with_ids(group.ids)
        if picture.id not in gone:
            first, *others = files_of(picture) or [""]
            yield from (moved(path, first) for path in others)


def _refuse_collection(holdings: Holdings, folder: Path) -> None:
    """Refuse a folder in which the next ``visterm add`` would find the files again."""
    above = {folder.resolve(), *folder.resolve().parents}
    of_pictures = {(holdings.folder / path).parent.resolve() for path in holdings.collection().frame.paths if path}
    if holdings.folder in above or above & of_pictures:
        raise InputError(f"{folder} is inside the collection, where the files would be found again: name one outside")


def _move(file: Path, to: Path) -> None:
    """Move a file and keep its times; nothing is ever replaced. Between disks, it is copied whole, then removed."""
    if to.exists() or to.is_symlink():
        raise FileExistsError(0, f"{to} exists")
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, to, follow_symlinks=False)  # fails if somebody has made the file meanwhile
    except FileExistsError:
        raise
    except OSError:  # another disk, or one that knows no links
        with to.open("xb") as target, file.open("rb") as source:
            shutil.copyfileobj(source, target)
            os.fsync(target.fileno())
        shutil.copystat(file, to)
    sync_folder(to.parent)
    file.unlink()
