"""Writes all that is known of the pictures to one file, and restores it."""

from dataclasses import dataclass
from pathlib import Path

from visterm.catalogue.restoring import replace_damaged, restore_backup
from visterm.collection.holdings import Holdings
from visterm.collection.opened import CATALOGUE
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.storage import STATE


@dataclass(frozen=True)
class BackedUp(Document):
    """The backup that was written, and how many pictures it knows."""

    file: Path
    n_bytes: int
    n_pictures: int


@dataclass(frozen=True)
class Restored(Document):
    """The backup that was restored, how many pictures it knows, and the copy of what was there before."""

    file: Path
    n_pictures: int
    kept: Path


def backup(holdings: Holdings, file: Path) -> BackedUp:
    """Write the catalogue, with all labels and their history, to a new file."""
    holdings.catalogue.backup(file)
    return BackedUp(file, file.stat().st_size, holdings.catalogue.counts().n_pictures)


def restore(folder: Path | None, file: Path) -> Restored:
    """Replace the catalogue of a workspace by a backup; the old catalogue is kept beside it, even if it is damaged.

    The backup is checked first; if it is damaged, nothing changes.
    """
    place = Holdings.locate(folder)
    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    try:
        with Holdings(place) as holdings:
            kept = restore_backup(holdings.catalogue, file)
    except InputError:  # what is there cannot be used; if it is the backup, the next line says so again
        kept = replace_damaged(place / STATE / CATALOGUE, file, root=place)
    with Holdings(place) as holdings:
        return Restored(file, holdings.catalogue.counts().n_pictures, kept)
