"""Visterm learns what your own pictures mean.

Point it at a folder in which some pictures carry a class, tags or a caption; it classifies, tags and searches all of
them and shows how good it is::

    import visterm

    photos = visterm.open("photos", create=True)
    photos.add()
    photos.train("knn-tags")
    photos.tag("holiday/*.jpg")
    photos.search("boat sunset -people")

The methods are scikit-learn estimators in packages of their own, such as :mod:`visterm.topics`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.version import __version__ as __version__

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

__all__ = ["__version__", "open"]


def open(folder: str | Path | None = None, *, create: bool = False, language: str | None = None) -> Workspace:
    """The workspace in ``folder`` or above it; without one named, that of the current folder.

    With ``create`` the folder becomes a workspace when it is none, and ``language`` (an ISO 639 code) sets the language
    of its captions and file names.
    """
    from visterm.app.workspace import Workspace

    place = None if folder is None else Path(folder)
    return Workspace.create(place or Path(), language=language) if create else Workspace.find(place)
