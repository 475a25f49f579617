"""visterm backup and restore: the truth in one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.app.cli.output import JsonOption, WorkspaceOption, command, opened, say, show
from visterm.app.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.backups import BackedUp, Restored


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all that is known of your pictures, with its history, to one file. The pictures are not in it."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.backup(file), as_json, _print_backup)


def _print_backup(console: Console, done: BackedUp) -> None:
    say(console, f"{done.file}: {counted(done.n_pictures, 'picture')}, {done.n_bytes / 1e6:.1f} MB")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup that visterm backup wrote.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place of what is known of your pictures. What was there is kept beside it."""
    from visterm.app.backups import restore as restore_backup

    with command(as_json=as_json):
        show(restore_backup(workspace, file), as_json, _print_restored)


def _print_restored(console: Console, done: Restored) -> None:
    say(console, f"restored {counted(done.n_pictures, 'picture')} from {done.file}")
    say(console, f"what was there before is kept in {done.kept}; visterm restore takes that, too")
