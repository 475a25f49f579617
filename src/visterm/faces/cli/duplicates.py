"""visterm duplicates: find copies of pictures, decide about them, and use what was decided."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from visterm import copies
from visterm.documents.wording import counted
from visterm.errors import UsageError
from visterm.faces.cli.output import (
    DryRunOption,
    JsonOption,
    WorkspaceOption,
    at_a_terminal,
    command,
    opened,
    say,
    show,
)

app = typer.Typer(
    help="Find copies: the same bytes, the same picture, a burst or series. Decide about them.",
    invoke_without_command=True,
)

_HEADS = {"bytes": "the same bytes", "picture": "the same picture", "series": "a series"}
_WHY = {
    "kept": "kept",
    "rating": "best rated",
    "size": "largest",
    "sharpness": "sharpest",
    "bytes": "largest file",
    "first": "as good as the others",
}
_STEPS = "decide: visterm duplicates keep PICTURE, or visterm duplicates different PICTURE PICTURE"

PicturesArgument = Annotated[list[str], typer.Argument(help="Pictures: paths or content hashes.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class _Level(StrEnum):
    BYTES = "bytes"
    PICTURE = "picture"
    SERIES = "series"


@app.callback()
def show_all(
    context: typer.Context,
    level: Annotated[_Level | None, typer.Option(help="Only groups of this kind.")] = None,
    decided: Annotated[bool, typer.Option("--all", help="Also groups that were decided.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Groups that are shown; 0 shows all.")] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare new pictures with all, and list the groups of copies that wait for a decision."""
    if context.invoked_subcommand is not None:
        return
    with command(as_json=as_json), opened(workspace) as photos:
        found = photos.duplicates(level=level and level.value, decided=decided, limit=limit or None)
        show(found, as_json, _print_groups)


def _print_groups(found: copies.Duplicates) -> None:
    for group in found.groups:
        sure = "" if group.likeness is None else f", {group.likeness:.2f} alike"
        say(f"{_HEADS[group.level]}{sure}{'' if group.waits or group.level == 'bytes' else ', decided'}")
        for member in group.pictures:
            row, mark = member.picture, ""
            if member.kept:
                mark = "  keep"
            elif group.waits and row.id == group.best:
                mark = f"  best: {_WHY[group.why]}"
            first, *others = member.files or [row.key or ""]
            say(f"  {first}  {row.width} x {row.height}, {max(1, member.bytes // 1000)} kB{mark}")
            for other in others:
                say(f"  = {other}")
    counts = ", ".join(f"{found.n_groups.get(level, 0)} {name}" for level, name in _HEADS.items())
    waiting = sum(found.n_waiting.values())
    say(f"{counted(found.n_compared, 'picture')} compared. Groups: {counts}; {waiting} wait for a decision")
    if found.next is not None:
        say(f"these are the first {len(found.groups)}; --limit 0 shows all")
    if waiting:
        say(_STEPS)


@app.command()
def same(pictures: PicturesArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say that pictures are the same picture."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.judge_copies(pictures, "same"), as_json, _print_judged)


@app.command()
def series(pictures: PicturesArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say that pictures are different ones of one series."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.judge_copies(pictures, "series"), as_json, _print_judged)


@app.command()
def different(pictures: PicturesArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say that pictures are not copies of each other; Visterm never asks again."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.judge_copies(pictures, "different"), as_json, _print_judged)


@app.command()
def keep(pictures: PicturesArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say which pictures of a group are to be kept; the group is decided then."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.keep_copies(pictures), as_json, _print_judged)


def _print_judged(done: copies.Judged) -> None:
    what = f"{counted(len(done.kept), 'picture')} kept" if done.kept else f"{counted(len(done.ids), 'picture')} noted"
    say(f"{what}; visterm undo takes it back" if done.action is not None else "this was known already")


@app.command()
def share(
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give copies of a picture the classes and tags of each other. Shows what would change, and asks."""
    with command(as_json=as_json), opened(workspace) as photos:
        if not dry_run and not yes:
            _require_terminal(as_json, "labels of copies are shared")
            plan = show(photos.share_labels(dry_run=True), as_json, _print_shared)
            if not plan.labels or not _confirmed(f"Give these to {counted(plan.n_pictures, 'picture')}?"):
                return
        show(photos.share_labels(dry_run=dry_run), as_json, _print_shared)


def _print_shared(done: copies.Shared) -> None:
    for name, n in done.labels.items():
        say(f"  {name}: {counted(n, 'picture')}")
    would = "would get" if done.dry_run else "got"
    say(f"{counted(done.n_pictures, 'picture')} of {counted(done.n_groups, 'group')} {would} labels of their copies")
    if done.disputed:
        say(f"left as they are, since copies differ: {', '.join(done.disputed)}")


@app.command()
def trash(
    folder: Annotated[Path, typer.Argument(help="Where the files go: a folder outside the collection.")],
    move: Annotated[
        bool, typer.Option("--move", help="Move the files, after you have seen which, and agreed.")
    ] = False,
    yes: YesOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which files the decisions leave over; with --move, move them to a folder. Nothing is deleted."""
    with command(as_json=as_json), opened(workspace) as photos:
        if move and not yes:
            _require_terminal(as_json, "files are moved")
        if not move or not as_json:
            plan = show(photos.trash_copies(folder), as_json, _print_moved)
            if not move or not plan.moves:
                return
            if not yes and not _confirmed(f"Move {counted(len(plan.moves), 'file')} to {folder}?"):
                return
        done = show(photos.trash_copies(folder, dry_run=False), as_json, _print_moved)
    if done.failed:
        raise typer.Exit(1)


@app.command()
def untrash(
    folder: Annotated[Path, typer.Argument(help="The folder to which files were moved.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move files back from a folder to where they were."""
    with command(as_json=as_json), opened(workspace) as photos:
        done = show(photos.untrash_copies(folder), as_json, _print_moved)
    if done.failed:
        raise typer.Exit(1)


def _print_moved(done: copies.Moved) -> None:
    for move in done.moves:
        instead = f"  kept: {move.kept}" if move.kept else ""
        say(f"  {move.file}{instead}")
    for line in done.failed:
        say(f"not moved: {line}", style="red")
    files = f"{counted(len(done.moves), 'file')}, {done.n_bytes / 1e6:.1f} MB"
    if done.dry_run:
        say(f"{files} would be moved to {done.folder}; nothing was moved. To move them, add --move")
    else:
        say(f"{files} moved. {done.folder} has the log; visterm duplicates untrash moves them back")


def _require_terminal(as_json: bool, what: str) -> None:
    if as_json or not at_a_terminal():
        raise UsageError(f"{what} only after you agree: look first, then add --yes")


def _confirmed(question: str) -> bool:
    if typer.confirm(question, err=True):
        return True
    typer.echo("nothing was changed", err=True)
    return False
