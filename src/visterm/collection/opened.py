"""An opened workspace: its catalogue, features and models, and the collection as it is now."""

from __future__ import annotations

import glob
import os
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from visterm.catalogue.catalogue import Catalogue
from visterm.compute import memory
from visterm.errors import InputError, VistermError
from visterm.models.shelf import ModelShelf
from visterm.storage import STATE, TEMPORARY_PATTERN, WriteLock, is_there
from visterm.storage.atomic import sync_folder

if TYPE_CHECKING:
    from visterm.catalogue.pictures import Picture
    from visterm.collection.moment import Collection, Collections
    from visterm.features import FeatureLibrary

CATALOGUE = "catalogue.sqlite"
#: Pictures as a person names them: a path, a pattern such as ``holiday/*.jpg``, a number, or several of these.
Pictures = str | Path | int | Sequence[str | Path | int]


class NoSuchPictureError(InputError):
    """No picture has this number."""


class Opened:
    """The catalogue, features and models of a workspace, and what the collection is now.

    What was read stays in memory, and is read again when another process has changed the catalogue or a model has
    appeared. Any number of threads may use it; :meth:`close` ends it for all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.state = self.folder / STATE
        if not self.state.is_dir():
            raise InputError(f"{folder} is not a Visterm workspace: make it one with 'visterm init {folder}'")
        _keep_private(self.state)
        _require_access(self.state)
        self.catalogue = Catalogue(self.state / CATALOGUE, root=self.folder)
        self.shelf = ModelShelf(self.state / "models")
        #: What was learned of pictures and texts together; derived data, of which only the newest is kept.
        self.text_shelf = ModelShelf(self.state / "texts")
        self._guard = threading.RLock()

    @classmethod
    def create(cls, folder: Path, *, language: str | None = None) -> Self:
        """Make ``folder`` a workspace, or open it; ``language`` is the language of its captions and file names."""
        state = folder / STATE
        try:
            _make_folder(state.resolve())
        except OSError as error:
            raise VistermError(f"cannot make a workspace of {folder}: {error.strerror or error}") from error
        _require_access(state)
        if not (state / CATALOGUE).exists():
            with WriteLock(state).held():
                # Nobody has used it yet; a making that was killed may have left something.
                if all(path.name == "lock" or path.match(TEMPORARY_PATTERN) for path in state.iterdir()):
                    Catalogue.create(state / CATALOGUE, root=folder).close()
        workspace = cls(folder)
        if language is not None:
            try:
                workspace.catalogue.language = language
            except BaseException:
                workspace.close()
                raise
        return workspace

    @classmethod
    def find(cls, start: Path | None = None) -> Self:
        """The workspace of ``start``: the folder itself or the nearest one above it.

        Without ``start``, the search begins at the folder that ``VISTERM_WORKSPACE`` names, or at the current folder.
        """
        return cls(cls.locate(start))

    @staticmethod
    def locate(start: Path | None = None) -> Path:
        """The folder of the workspace that :meth:`find` opens."""
        start = (start or Path(os.environ.get("VISTERM_WORKSPACE", "."))).resolve()
        for folder in (start, *start.parents):
            if (folder / STATE).is_dir():
                return folder
        inside = sorted(path.parent.name for path in start.glob(f"*/{STATE}")) if start.is_dir() else []
        hint = (
            f"use the one in {inside[0]} with '-w {inside[0]}'" if len(inside) == 1 else "make one with 'visterm init'"
        )
        raise InputError(f"there is no Visterm workspace at {start} or above it: {hint}")

    @staticmethod
    def allow_memory(size: str | float | None) -> None:
        """Say how much memory this process may use, such as ``"2GB"``; None, the default: half of what is free."""
        memory.allow(size)

    @staticmethod
    def use_device(name: str | None) -> None:
        """Say where this process computes: ``auto``, the default, ``numpy``, ``cpu`` (torch) or ``cuda[:N]``."""
        from visterm.compute import device  # with NumPy, which not every command needs

        device.use(name)

    def close(self) -> None:
        """Close the catalogue."""
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.catalogue.__exit__(kind, error, at)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    def collection(self) -> Collection:
        """The collection as it is now."""
        return self._collections.newest()

    @cached_property
    def _collections(self) -> Collections:
        from visterm.collection.moment import Collections

        with self._guard:
            return Collections(self.catalogue)

    @cached_property
    def library(self) -> FeatureLibrary:
        """What recipes learned from this collection, and the features they computed."""
        from visterm.features import FeatureLibrary

        with self._guard:
            return FeatureLibrary(self.state)

    def picture(self, reference: str | Path | int) -> Picture | None:
        """The picture that a person names: by a file, a path in the catalogue, a content hash or its number."""
        (named,) = self._several(reference)
        return self.catalogue.picture(self.reference(named))

    def reference(self, name: str | Path) -> str | Path:
        """A picture as a person names it: a file that is here by its whole path, anything else as it is."""
        return Path(name).absolute() if is_there(name) else name

    def numbered(self, ids: Sequence[int]) -> list[Picture]:
        """The pictures with these numbers, in their order."""
        found = self.catalogue.pictures_with_ids(ids)
        unknown = set(ids) - {picture.id for picture in found}
        if unknown:
            raise NoSuchPictureError(f"there is no picture number {min(unknown)}")
        return found

    def _several(self, names: Pictures) -> list[str | Path]:
        """Pictures as paths, patterns and content hashes; those named by number by their content."""
        listed = [names] if isinstance(names, (str, Path, int)) else names
        numbers = [name for name in listed if isinstance(name, int)]
        key_of = {picture.id: picture.sha256 for picture in self.numbered(numbers)} if numbers else {}
        return [key_of[name] if isinstance(name, int) else name for name in listed]

    def _paths(self, names: Pictures) -> list[Path]:
        """The paths that a person means; a pattern stands for the files it matches, here or in the workspace."""
        return [path for name in self._several(names) for path in self._matches(name)]

    def _matches(self, name: str | Path) -> list[Path]:
        if is_there(name) or not glob.has_magic(str(name)):
            return [Path(name)]
        for folder in (Path(), self.folder):
            found = sorted(glob.glob(str(folder / name), recursive=True))  # noqa: PTH207 - the name may be absolute
            if found:
                return [Path(file) for file in found]
        raise InputError(f"no file matches {str(name)!r}, neither here nor in {self.folder}")


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; their names survive a power cut."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    of_group = folder.parent.stat().st_mode & stat.S_ISGID  # a team shares the folder around it
    folder.mkdir(mode=0o770 if of_group else 0o700, exist_ok=True)  # labels are nobody else's business
    for path in new:
        sync_folder(path.parent)


def _keep_private(state: Path) -> None:
    """Close a folder of ours to other users of the computer; to its group, too, unless that is inherited (``g+s``)."""
    if os.name != "posix":
        return
    status = state.stat()
    open_to = status.st_mode & (0o007 if status.st_mode & stat.S_ISGID else 0o077)
    if open_to and status.st_uid == os.geteuid():
        with suppress(OSError):  # a disk that cannot be written to
            state.chmod(stat.S_IMODE(status.st_mode) & ~open_to)


def _require_access(state: Path) -> None:
    if not os.access(state, os.R_OK | os.X_OK):
        raise VistermError(f"you may not open {state}: it belongs to another user of this computer")
