"""What an export wrote, or would write."""

from dataclasses import dataclass, field
from pathlib import Path

from visterm.catalogue.records import Skipped
from visterm.documents.document import Document


@dataclass(frozen=True, slots=True)
class SidecarExample:
    """One of the sidecars that an export writes: whether it is new, and what Visterm says in it."""

    file: Path
    new: bool
    tags: list[str]
    class_name: str | None
    caption: str | None


@dataclass(frozen=True)
class SidecarFolder:
    """How many sidecars an export writes in a folder."""

    folder: Path
    sidecars: int


@dataclass(frozen=True)
class Exported(Document):
    """What an export wrote, or would write.

    ``replaces`` is true if the file exists and is not as the last export of this workspace left it. For sidecars:
    ``n_new`` of the files did not exist before, ``n_unchanged`` others already have all labels, ``n_failed`` cannot be
    written (``skipped`` has the reasons), ``folders`` says where they are, and ``example`` is one of them.
    ``n_needless`` picture files need no sidecar, because they have no labels.
    """

    format: str
    files: list[Path] = field(default_factory=list)
    n_pictures: int = 0
    n_unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    dry_run: bool = False
    n_new: int = 0
    n_failed: int = 0
    folders: list[SidecarFolder] = field(default_factory=list)
    example: SidecarExample | None = None
    replaces: bool = False
    n_needless: int = 0
