"""visterm history, undo and redo: what was changed, and taking it back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from visterm import catalogue, labels
from visterm.documents.wording import counted
from visterm.faces.cli.output import JsonOption, WorkspaceOption, command, opened, say, show, table

#: Changes of an action that are listed in the history of a picture; machines get all of them.
_LISTED = 10
#: Pictures of an action that are named.
_NAMED = 2

NumberArgument = Annotated[int, typer.Argument(help="How many actions to undo or redo.", min=1)]


def history(
    picture: Annotated[str | None, typer.Argument(help="Show only what changed this picture (a path or hash).")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many actions to show.", min=1)] = 20,
    before: Annotated[int | None, typer.Option(help="Only actions before the one with this number.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was changed, by whom and when, the newest first."""
    with command(as_json=as_json), opened(workspace) as photos:
        found = photos.history(picture, limit=limit, before=before)
        show(found, as_json, _print_history if picture is None else _print_changes)


def _print_history(found: labels.History) -> None:
    rows = [
        (action.id, _when(action.time), action.who, _what_and_where(action), "undone" if action.undone else "")
        for action in found.actions
    ]
    if not rows:
        say("nothing was changed yet")
        return
    table(("", "when", "who", "what", ""), rows)
    if found.next is not None:
        say(f"earlier ones: visterm history --before {found.next}")


def _what_and_where(action: catalogue.Action) -> str:
    """What an action did, and below it the first pictures that it changed."""
    changed = [change.picture for change in action.changes if change.picture is not None]
    if not changed:
        return action.what
    pictures = list(dict.fromkeys(changed))
    more = len(pictures) > _NAMED or len(changed) < action.n_changes
    return f"{action.what}\n{', '.join(pictures[:_NAMED])}{' and others' if more else ''}"


def _print_changes(found: labels.History) -> None:
    """The history of one picture: also what each action changed."""
    for action in found.actions:
        undone = " (undone)" if action.undone else ""
        say(f"{action.id}  {_when(action.time)}  {action.who}: {action.what}{undone}")
        for change in action.changes[:_LISTED]:
            say(f"    {_changed(change)}")
    if not found.actions:
        say("nothing was changed yet")


def _changed(change: catalogue.Change) -> str:
    name = f"{change.kind} {change.name}" if change.name else change.kind
    return f"{name}: {change.before or 'none'} -> {change.after or 'none'}"


def undo(number: NumberArgument = 1, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Undo the last change of labels, vocabulary or pictures, or the last few; 'redo' brings it back."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.undo(number), as_json, lambda done: _print_undoing(done, "undone"))


def redo(number: NumberArgument = 1, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Redo the action that was undone last."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.redo(number), as_json, lambda done: _print_undoing(done, "redone"))


def _print_undoing(done: labels.Undoing, verb: str) -> None:
    for action in done.actions:
        say(f"{verb}: {_short(action)}")
    if done.undo:
        say(f"next undo: {done.undo}")
    if done.redo:
        say(f"next redo: {done.redo}")


def _short(action: catalogue.Action) -> str:
    number = f"{counted(action.n_changes, 'change')}, " if action.n_changes else ""
    return f"{action.what} ({number}{_when(action.time)})"


def _when(time: str) -> str:
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
