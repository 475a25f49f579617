"""What a collection holds, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.catalogue import Counts

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Unreadable:
    """A file that is not a usable picture, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Status(Counts, Document):
    """Counts of everything, suggestions by models, unreadable files and models; ``in_use`` has the model of a task."""

    workspace: str
    language: str
    unreadable: list[Unreadable]
    models: list[str]
    in_use: dict[str, str]


def status(workspace: Workspace) -> Status:
    """How much there is of everything."""
    from visterm.app.training import models

    found = models(workspace)
    return Status(
        **asdict(workspace.catalogue.counts()),
        workspace=str(workspace.folder),
        language=workspace.catalogue.language,
        unreadable=[Unreadable(path, reason) for path, reason in workspace.catalogue.unreadable()],
        models=[info.reference for info in found.models],
        in_use=found.in_use,
    )
