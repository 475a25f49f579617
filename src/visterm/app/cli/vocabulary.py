"""visterm vocabulary: look at the classes and tags in use, and edit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.app.cli.output import JsonOption, WorkspaceOption, command, emit, open_workspace, say, table

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.catalogue.catalogue import Catalogue

app = typer.Typer(
    help="Look at the classes and tags in use, and edit them; edits also hold for labels imported later.",
    invoke_without_command=True,
)


class Kind(StrEnum):
    """What a name names."""

    TAG = "tag"
    CLASS = "class"


KindOption = Annotated[Kind, typer.Option(help="Edit tags or classes.")]


@app.callback()
def show(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the classes and tags in use, the most used first."""
    if context.invoked_subcommand is not None:
        return
    with command(as_json=as_json), open_workspace(workspace) as opened:
        catalogue = opened.catalogue
        uses = {kind: catalogue.vocabulary(kind.value) for kind in Kind}
        dropped = {kind: catalogue.dropped(kind.value) for kind in Kind}
        aliases = {kind: catalogue.aliases(kind.value) for kind in Kind}
        value = {
            kind.value: {
                "terms": [asdict(use) for use in uses[kind]],
                "dropped": dropped[kind],
                "aliases": aliases[kind],
            }
            for kind in Kind
        }

        def print_all(console: Console) -> None:
            for kind in (Kind.CLASS, Kind.TAG):
                rows = [(use.name, use.n_accepted, use.n_suggested, use.n_rejected) for use in uses[kind]]
                table(console, (kind.value, "accepted", "suggested", "rejected"), rows)
                for old, new in aliases[kind].items():
                    say(console, f"{old} stands for {new}")
                if dropped[kind]:
                    say(console, f"dropped: {', '.join(dropped[kind])}")

        emit(value, as_json, print_all)


@app.command()
def rename(
    old: str,
    new: str,
    kind: KindOption = Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a tag or class another name."""
    _edit(workspace, as_json, lambda catalogue: catalogue.rename(kind.value, old, new), f"{old} is called {new} now")


@app.command()
def merge(
    names: Annotated[list[str], typer.Argument(help="The names to merge.")],
    into: Annotated[str, typer.Option(help="The name they become.")],
    kind: KindOption = Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make several tags or classes one."""
    said = f"{', '.join(names)} are {into} now"
    _edit(workspace, as_json, lambda catalogue: catalogue.merge(kind.value, names, into), said)


@app.command()
def drop(
    name: str, kind: KindOption = Kind.TAG, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Leave a tag or class out, also of later imports; 'restore' brings it back."""
    _edit(workspace, as_json, lambda catalogue: catalogue.drop(kind.value, name), f"{name} is dropped")


@app.command()
def restore(
    name: str, kind: KindOption = Kind.TAG, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Bring a dropped, renamed or merged name back."""
    _edit(workspace, as_json, lambda catalogue: catalogue.restore(kind.value, name), f"{name} is back")


def _edit(workspace: Path | None, as_json: bool, change: Callable[[Catalogue], None], said: str) -> None:
    with command(as_json=as_json), open_workspace(workspace) as opened:
        change(opened.catalogue)
        emit({"done": said}, as_json, lambda console: say(console, said))
