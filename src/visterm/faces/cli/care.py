"""The commands of care: doctor, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm import labels, upkeep
from visterm.documents.wording import counted
from visterm.faces.cli.output import JsonOption, WorkspaceOption, command, opened, say, show, table


def doctor(
    workspace: WorkspaceOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove damaged features and indexes; move damaged models aside.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the workspace. The exit code is 1 if something is wrong."""
    with command(as_json=as_json):
        if show(upkeep.checking.check(workspace, repair=repair), as_json, _print_checkup).problems:
            raise typer.Exit(1)


def _print_checkup(found: upkeep.Checkup) -> None:
    say(f"visterm {found.visterm}, Python {found.python}")
    table(("package", "version"), found.packages.items())
    have = [extra for extra, present in found.extras.items() if present]
    say(f"extras installed: {', '.join(have) or 'none'}")
    say(f"word vectors: {found.word_vectors or 'none'}")
    say(f"image-text pairs: {', '.join(found.encoders) or 'none'}")
    if found.workspace:
        held = f"{counted(found.features, 'feature store')}, {counted(found.models, 'model')}"
        say(f"workspace {found.workspace}: {held}")
    elif found.note:
        say(f"no workspace was checked: {found.note}", style="yellow")
    if found.n_without_file:
        missing = f"{counted(found.n_without_file, 'picture')} without a file"
        say(f"{missing}: visterm status lists them, visterm attach gives one a file", style="yellow")
    if found.n_changed:
        changed = (
            "1 file has changed since it was"
            if found.n_changed == 1
            else f"{found.n_changed} files have changed since they were"
        )
        say(f"{changed} added: visterm add reads what has changed", style="yellow")
    for line in found.repaired:
        say(f"repaired: {line}", style="yellow")
    for problem in found.problems:
        say(f"problem: {problem}", style="red")
    if not found.problems:
        say("all is well", style="green")


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all labels with their history to one file. It does not contain the pictures."""
    with command(as_json=as_json), opened(workspace) as photos:
        done = photos.backup(file)
        said = f"{done.file}: {counted(done.n_pictures, 'picture')}, {done.n_bytes / 1e6:.1f} MB"
        show(done, as_json, lambda _: say(said))


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
    say(f"the labels from before are in {done.kept}: visterm restore brings them back, and you may delete it")
