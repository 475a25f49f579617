"""Makes a folder a workspace."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.storage import STATE
from visterm.workspace import Workspace


@dataclass(frozen=True)
class Created(Document):
    """A workspace, whether it is new, and the language of its captions and file names.

    ``outer`` is the nearest workspace above it; None if there is none.
    """

    workspace: str
    created: bool
    language: str
    outer: str | None = None


def create(folder: Path, *, language: str | None = None) -> Created:
    """Make ``folder`` a workspace if it is not one yet, and set its language if one is given."""
    existed = (folder / STATE).is_dir()
    with Workspace.create(folder, language=language) as workspace:
        return Created(str(workspace.folder), not existed, workspace.catalogue.language, _outer(workspace.folder))


def _outer(folder: Path) -> str | None:
    with suppress(InputError):
        return str(Workspace.locate(folder.resolve().parent))
    return None
