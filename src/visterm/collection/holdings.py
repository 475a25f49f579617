"""What a workspace holds: the opened folder, and all that is kept ready of it."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.healing import ChangedFileError, heal
from visterm.collection.opened import Opened
from visterm.compute import progress
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    import threading

    from visterm.collection.judgements import Judgements
    from visterm.collection.thumbnails import Size, Thumbnails
    from visterm.collection.view import Views


class Holdings(Opened):
    """An opened workspace with its thumbnails, what its models say of every picture, and views for lists.

    Everything below the :class:`~visterm.workspace.Workspace` works on this.
    """

    @cached_property
    def thumbnails(self) -> Thumbnails:
        """Small pictures of the pictures."""
        from visterm.collection.thumbnails import Thumbnails

        return Thumbnails(self.state / "thumbnails")

    @cached_property
    def views(self) -> Views:
        """The pictures as arrays, for lists and counts."""
        from visterm.collection.view import Views

        with self._guard:
            return Views(self, self.judgements)

    @cached_property
    def judgements(self) -> Judgements:
        """What the models in use believe of every picture, kept ready."""
        from visterm.collection.judgements import Judgements

        with self._guard:
            return Judgements(self)

    def thumbnail(self, key: str, size: Size) -> Path:
        """The small picture of the picture with this content; it is made when it is first asked for.

        If its file has changed since it was added, the catalogue learns that first, and where the picture is now.
        """
        place = self.thumbnails.place(key, size)
        if place.exists():
            return place
        for _ in range(2):
            original = self.collection().frame.files.get(key)
            if original is None:
                break
            try:
                return self.thumbnails.file(key, size, original)
            except ChangedFileError:
                heal(self.catalogue, [original], certain=True)
        raise InputError("there is no picture with this content, or its file is missing")

    def make_thumbnails(self, stopped: threading.Event | None = None) -> int:
        """Make the small thumbnails that are missing, until the event; returns how many were made.

        The newest pictures come first, as the page shows them.
        """
        view = self.views.newest()
        frame = view.collection.frame
        ordered = [frame.keys[row] for row in view.newest_first.tolist()]
        missing = [key for key in ordered if frame.files.get(key) and not self.thumbnails.place(key, "small").exists()]
        n_made = 0
        with progress.task("Making thumbnails", total=len(missing)) as bar:
            for key in missing:
                if stopped is not None and stopped.is_set():
                    break
                with suppress(VistermError):
                    self.thumbnail(key, "small")
                    n_made += 1
                bar.advance()
        return n_made
