"""The history of a catalogue: what was changed, by whom and when, and its undoing."""

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from visterm.catalogue import log, undoing
from visterm.catalogue.acts import WORDS
from visterm.catalogue.labels import LabelRow
from visterm.catalogue.pictures import iso_time
from visterm.catalogue.schema import snapshot
from visterm.errors import InputError

#: At most this many changes of an action are read; the number of all is known.
MAX_CHANGES = 100
#: At most this many names stand in the words for an action.
_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that an action changed: ``kind`` says what, ``before`` and ``after`` what it was; None is absent.

    ``kind`` is ``class``, ``tag``, ``all tags``, ``region``, ``caption``, ``title``, ``copies``, ``keep``, ``picture``,
    ``file``, ``vocabulary`` or ``other name``. With ``all tags``, a source says that its tags of the picture are all,
    and by which act; the act of a label is told where nothing else of it changed. With ``copies``, ``name`` is the
    other picture. ``picture`` is the path of the picture, or its content hash if it has no file.
    """

    kind: str
    name: str | None
    picture: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its number, when and by whom it was done, what it did in words, and whether it is undone.

    ``redoable`` actions are undone and can be redone. ``changes`` are the first ones; in the history of one picture,
    those of this picture. ``n_changes`` counts all labels, captions, regions, pictures and files that are changed, but
    not what comes with them: entries of the vocabulary, and that the tags of a picture are all.
    """

    id: int
    time: str
    who: str
    what: str
    undone: bool
    redoable: bool
    undone_time: str | None
    n_changes: int
    changes: tuple[Change, ...]


class NotLastError(InputError):
    """An action is not the last one that holds, so that it cannot be undone before ``last``; nothing was changed."""

    def __init__(self, asked: int, last: Action) -> None:
        self.last = last
        super().__init__(f"action {asked} is not the last one: {last.what!r} by {last.who} would be undone instead")


class History:
    """The history of the catalogue whose connection and transactions are given."""

    def __init__(
        self,
        connection: Callable[[], log.Connection],
        transaction: Callable[[], AbstractContextManager[None]],
        now: Callable[[], int],
    ) -> None:
        self._connect, self._transaction, self._now = connection, transaction, now

    def actions(self, *, picture: int | None = None, limit: int = 50, before: int | None = None) -> list[Action]:
        """The last ``limit`` actions, the newest first: all, those of a picture, those ``before`` an action."""
        of_picture = "EXISTS (SELECT 1 FROM change WHERE picture_id = ?1 AND change.id BETWEEN first AND last)"
        which = f"(?1 IS NULL OR {of_picture}) AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3"
        with snapshot(self._connect()):
            return self._read(which, picture, before, limit, of=picture)

    def undo(self, number: int = 1, *, only: int | None = None) -> list[Action]:
        """Undo the last ``number`` actions that hold, the newest first; ``only`` if this action is the last one."""
        with self._transaction():
            if only is not None:
                for last in self._read("undone = 0 ORDER BY id DESC LIMIT 1"):
                    if last.id != only:
                        raise NotLastError(only, last)
            return self._move(number, forward=False)

    def redo(self, number: int = 1) -> list[Action]:
        """Redo the last ``number`` actions that were undone, the oldest first."""
        return self._move(number, forward=True)

    def next(self) -> tuple[str | None, str | None]:
        """What the next undo and the next redo would do, in words; None where there is nothing."""
        undo = self._connect().value("SELECT what FROM action WHERE undone = 0 ORDER BY id DESC LIMIT 1")
        return undo, self._connect().value("SELECT what FROM action WHERE undone = 1 ORDER BY id LIMIT 1")

    @property
    def made(self) -> int | None:
        """The action that the last transaction of this thread became; None if it changed nothing."""
        return self._connect().made

    def _move(self, number: int, *, forward: bool) -> list[Action]:
        name = "redo" if forward else "undo"
        if number < 1:
            raise InputError(f"the number of actions to {name} is at least 1, not {number}")
        with self._transaction():
            moved: list[int] = []
            connection = self._connect()
            while (
                len(moved) < number and (action := undoing.move(connection, self._now(), forward=forward)) is not None
            ):
                moved.append(action)
            if not moved:
                raise InputError(f"there is nothing to {name}")
            found = self._read("id IN (SELECT value FROM json_each(?)) ORDER BY id", json.dumps(moved))
            return found if forward else found[::-1]

    def n_said_since(self, moment: datetime) -> int:
        """How many labels people and imports gave, changed or withdrew after a moment, and did not undo."""
        known = """SELECT count(*) FROM action JOIN change ON change.id BETWEEN first AND last
                   WHERE action.time > ? AND NOT undone AND change.kind = 'label'"""
        return int(self._connect().value(known, int(moment.timestamp() * 1e6)))

    def _read(self, which: str, *parameters: object, of: int | None = None) -> list[Action]:
        """The actions for which a condition holds, with all their changes, or those ``of`` one picture."""
        words = _Words(self._connect())
        rows = self._connect().execute(
            f"SELECT id, time, who, what, undone, undone_time, first, last FROM action WHERE {which}",  # noqa: S608
            parameters,
        )
        return [
            Action(
                id=number,
                time=iso_time(time),
                who=who,
                what=what,
                undone=undone > 0,
                redoable=undone == 1,
                undone_time=None if undone_time is None else iso_time(undone_time),
                n_changes=words.n_changes(first, last),
                changes=tuple(words.changes(first, last, of)),
            )
            for number, time, who, what, undone, undone_time, first, last in rows.fetchall()
        ]


class _Words:
    """Puts changed rows into words, with the names that pictures and terms have now."""

    def __init__(self, connection: log.Connection) -> None:
        self._connection = connection

    def n_changes(self, first: int, last: int) -> int:
        counted = "id BETWEEN ? AND ? AND kind NOT IN ('term', 'alias', 'suggestion', 'described', 'metadata')"
        return int(self._connection.value(f"SELECT count(*) FROM change WHERE {counted}", first, last))  # noqa: S608

    def changes(self, first: int, last: int, picture: int | None) -> Iterable[Change]:
        for kind, number, *texts in self._connection.execute(
            """SELECT kind, picture_id, before, after FROM change
               WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR picture_id = ?3) AND kind NOT IN ('suggestion', 'metadata')
               ORDER BY id LIMIT ?4""",
            (first, last, picture, MAX_CHANGES),
        ).fetchall():
            before, after = (None if text is None else json.loads(text) for text in texts)
            yield self._change(kind, None if number is None else self._place(number), before, after)

    def _change(self, kind: str, place: str | None, before: list[Any] | None, after: list[Any] | None) -> Change:
        row: list[Any] = after or before or []

        def both(say: Callable[[list[Any]], str | None]) -> tuple[str | None, str | None]:
            return None if before is None else say(before), None if after is None else say(after)

        if kind == "label":
            of, name = self._terms.get(row[1], ("label", None))
            if before and after and before[3] == after[3] and before[7] != after[7]:
                return Change(of, name, place, *both(lambda values: f"{values[3]} ({WORDS.get(values[7])})"))
            return Change(of, name, place, *both(lambda values: str(values[3])))
        if kind == "described":
            return Change("all tags", None, place, *both(lambda values: WORDS.get(values[2])))
        if kind == "region":
            return Change(
                "region", self._terms.get(row[2], ("", None))[1], place, *both(lambda values: str(values[4:]))
            )
        if kind == "title":
            return Change("title", None, place, *both(lambda values: str(values[1])))
        if kind == "caption":
            return Change("caption", None, place, *both(lambda values: values[2]))
        if kind == "term":
            return Change("vocabulary", row[2], None, *both(lambda v: f"{v[2]} (dropped)" if v[3] else str(v[2])))
        if kind == "alias":
            return Change("other name", row[1], None, *both(lambda values: self._terms.get(values[2], ("", "?"))[1]))
        if kind == "pair":
            return Change("copies", self._place(row[1]), place, *both(lambda values: str(values[2])))
        if kind == "kept":
            return Change("keep", None, place, *both(lambda _: "kept"))
        if kind == "picture":
            return Change("picture", None, place, *both(lambda values: str(values[1])[:12]))
        return Change("file", None, place, *both(lambda values: str(values[0])))

    def _place(self, picture: int) -> str:
        """The first path of a picture, or else what is left to name it by."""
        place = self._connection.value(
            """SELECT path FROM path WHERE picture_id = ?1 UNION ALL SELECT substr(sha256, 1, 12) FROM picture
               WHERE id = ?1 UNION ALL SELECT coalesce(path, substr(sha256, 1, 12)) FROM version WHERE picture_id = ?1
               LIMIT 1""",
            picture,
        )
        return "?" if place is None else str(place)

    @cached_property
    def _terms(self) -> dict[int, tuple[str, str]]:
        """Kind and name of every term, also of those that are gone."""
        gone = self._connection.values("SELECT before FROM change WHERE kind = 'term' AND after IS NULL ORDER BY id")
        terms = {row[0]: (row[1], row[2]) for row in map(json.loads, gone)}
        here = self._connection.execute("SELECT id, kind, name FROM term")
        return terms | {number: (kind, name) for number, kind, name in here}


def said(rows: Iterable[LabelRow]) -> str:
    """What labels say, in words.

    >>> said([(1, "tag", "boat", "accepted", None), (2, "tag", "boat", "accepted", None)])
    'label 2 pictures: tag boat'
    """
    pictures, names = set[int](), dict[str, None]()
    for picture, kind, name, state, _ in rows:
        pictures.add(int(picture))
        if len(names) <= _MAX_NAMES:
            names[f"{'' if state == 'accepted' else 'not '}{kind} {name}"] = None
    shown = ", ".join([*list(names)[:_MAX_NAMES], *(["..."] if len(names) > _MAX_NAMES else [])])
    return f"label {len(pictures)} {'picture' if len(pictures) == 1 else 'pictures'}: {shown}"
