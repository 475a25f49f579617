"""What a collection holds, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from visterm.app.document import Document

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Unreadable:
    """A file that is not a usable picture, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Status(Document):
    """Counts, coverage, classes, frequent tags, unreadable files and models; see ``catalogue.inventory.Counts``."""

    workspace: str
    n_pictures: int
    n_ok: int
    n_unreadable: int
    n_missing: int
    n_paths: int
    n_with_class: int
    n_with_tags: int
    n_with_caption: int
    n_regions: int
    n_classes: int
    n_tags: int
    classes: dict[str, int]
    frequent_tags: dict[str, int]
    label_sources: dict[str, int]
    splits: dict[str, int]
    unreadable: list[Unreadable]
    models: list[str]


def status(workspace: Workspace) -> Status:
    """How much there is of everything."""
    return Status(
        workspace=str(workspace.folder),
        **asdict(workspace.catalogue.counts()),
        unreadable=[Unreadable(path, reason) for path, reason in workspace.catalogue.unreadable()],
        models=[info.reference for info in workspace.shelf.infos()],
    )
