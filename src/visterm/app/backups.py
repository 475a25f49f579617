"""The truth of a workspace in one file, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visterm.app.document import Document
from visterm.app.workspace import STATE, Workspace
from visterm.catalogue.restoring import replace_damaged, restore_backup
from visterm.errors import InputError


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


def backup(workspace: Workspace, file: Path) -> BackedUp:
    """Write the catalogue, all that people and imports said and its history, to a new file."""
    workspace.catalogue.backup(file)
    return BackedUp(file, file.stat().st_size, workspace.catalogue.counts().n_pictures)


def restore(folder: Path | None, file: Path) -> Restored:
    """Put a backup in place of the catalogue of a workspace, which is kept beside it, also if it is damaged.

    The backup is checked first; if it is damaged, nothing changes.
    """
    place = Workspace.locate(folder)
    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    try:
        workspace = Workspace(place)
    except InputError:
        return _restore_damaged(place, file)
    with workspace:
        kept = restore_backup(workspace.catalogue, file)
        return Restored(file, workspace.catalogue.counts().n_pictures, kept)


def _restore_damaged(place: Path, file: Path) -> Restored:
    """Replace a catalogue that cannot be opened."""
    kept = replace_damaged(place / STATE / "catalogue.sqlite", file, root=place)
    with Workspace(place) as workspace:
        return Restored(file, workspace.catalogue.counts().n_pictures, kept)
