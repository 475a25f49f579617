"""Visterm learns what your own pictures mean.

Point it at a folder in which some pictures carry a class, tags or a caption; it classifies, tags and searches all of
them and shows how good it is::

    import visterm

    photos = visterm.open("photos", create=True)  # a folder; Visterm writes only to photos/.visterm
    photos.add()  # pictures, and the labels found with them
    photos.train()  # chooses features and methods, learns, and measures on held-out pictures
    photos.tag("holiday/*.jpg")  # suggests tags, each with its probability
    photos.search("boat sunset -people")  # finds pictures from a few words
    photos.label("holiday/7.jpg", tags=["boat"])  # a person's word; photos.undo() takes it back

Each method returns a document; its ``to_dict()`` is the JSON that the command line prints with ``--json``. The learning
methods are scikit-learn estimators in packages of their own, such as :mod:`visterm.topics`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.version import __version__ as __version__

if TYPE_CHECKING:
    from visterm.workspace import Workspace

__all__ = ["__version__", "open"]


def open(folder: str | Path | None = None, *, create: bool = False, language: str | None = None) -> Workspace:
    """Open the workspace in ``folder``, or the nearest one above it.

    Without ``folder``, start at the folder that ``VISTERM_WORKSPACE`` names, or at the current folder. With ``create``,
    make ``folder`` a workspace if it is not one yet; ``language`` (an ISO 639 code) then sets the language of its
    captions and file names.
    """
    from visterm.workspace import Workspace

    place = None if folder is None else Path(folder)
    return Workspace.create(place or Path(), language=language) if create else Workspace.find(place)
