"""visterm backup and restore: the truth in one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm import labels
from visterm.documents.wording import counted
from visterm.faces.cli.output import JsonOption, WorkspaceOption, command, opened, say, show


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all labels with their history to one file. It does not contain the pictures."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.backup(file), as_json, _print_backup)


def _print_backup(done: labels.BackedUp) -> None:
    say(f"{done.file}: {counted(done.n_pictures, 'picture')}, {done.n_bytes / 1e6:.1f} MB")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup that visterm backup wrote.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace all labels and their history by those of a backup. What was there before is kept in a file."""
    with command(as_json=as_json):
        show(labels.backups.restore(workspace, file), as_json, _print_restored)


def _print_restored(done: labels.Restored) -> None:
    say(f"restored {counted(done.n_pictures, 'picture')} from {done.file}")
    say(f"what was there before is kept in {done.kept}: visterm restore brings it back, and you may delete it")
