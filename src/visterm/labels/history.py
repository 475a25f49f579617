"""What was changed, by whom and when; undone and redone."""

from dataclasses import dataclass
from pathlib import Path

from visterm.catalogue.history import Action
from visterm.collection.holdings import Holdings
from visterm.documents.document import Document
from visterm.errors import InputError


@dataclass(frozen=True)
class Undoing(Document):
    """The actions that were undone or redone, in that order.

    ``undo`` and ``redo`` say in words what the next undo and redo would do.
    """

    actions: list[Action]
    undo: str | None
    redo: str | None


@dataclass(frozen=True)
class History(Undoing):
    """The last actions, the newest first. Ask for those ``before`` the action ``next`` to go on; None at the end."""

    next: int | None = None


def history(
    holdings: Holdings, picture: str | Path | None = None, *, limit: int = 20, before: int | None = None
) -> History:
    """The last ``limit`` actions, or those that changed a picture, or those ``before`` an action."""
    number = None
    if picture is not None:
        known = holdings.picture(picture)
        if known is None:
            raise InputError(f"{picture} is not in the collection: name a picture by its path or content hash")
        number = known.id
    log = holdings.catalogue.history
    found = log.actions(picture=number, limit=limit + 1, before=before)
    shown = found[:limit]
    return History(shown, *log.next(), shown[-1].id if len(found) > limit else None)


def undo(holdings: Holdings, number: int = 1, *, only: int | None = None) -> Undoing:
    """Undo the last actions, all of them or none; with ``only``, refuse if another action is the last one."""
    done = holdings.catalogue.history.undo(number, only=only)
    return Undoing(done, *holdings.catalogue.history.next())


def redo(holdings: Holdings, number: int = 1) -> Undoing:
    """Redo the actions that were undone last; all of them or none."""
    done = holdings.catalogue.history.redo(number)
    return Undoing(done, *holdings.catalogue.history.next())
