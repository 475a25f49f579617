"""Undoes and redoes actions of the log, within the caller's transaction.

An undo writes the logged rows back as they were, the last one first. But what the disk holds is a fact, which a scan
has found since and no undo changes: a file that now holds another picture stays the file of that picture, and a file
that was edited stays edited. An action that files have overtaken in this way cannot be redone.
"""

import json
import sqlite3
from typing import Any

from visterm.catalogue import identity
from visterm.catalogue.log import LOGGED, Connection, Level, level, still_suggested
from visterm.errors import VistermError

Row = list[Any]
#: Places in a logged row of a picture: its content hash, and all that describes its content.
_HASH, _CONTENT = 1, slice(1, 9)


def move(connection: Connection, time: int, *, forward: bool) -> int | None:
    """Undo the last action that holds, or redo the one that was undone last; its id, None if there is none."""
    wanted = "undone = 1 ORDER BY id" if forward else "undone = 0 ORDER BY id DESC"
    row = connection.execute(f"SELECT id, first, last FROM action WHERE {wanted} LIMIT 1").fetchone()  # noqa: S608
    if row is None:
        return None
    number, first, last = row
    connection.execute("PRAGMA defer_foreign_keys = ON")
    writer = _Writer(connection, _changes(connection, first, last, forward=forward), time)
    try:
        with level(connection, Level.NOTHING):
            writer.write(forward=forward)
    except sqlite3.IntegrityError as error:
        raise VistermError(f"action {number} cannot be {'redone' if forward else 'undone'}: {error}") from error
    undone = (0, None, number) if forward else (1, time, number)
    connection.execute("UPDATE action SET undone = ?, undone_time = ? WHERE id = ?", undone)
    if writer.overtaken:
        connection.execute("UPDATE action SET undone = 2 WHERE undone = 1")
    return int(number)


def _changes(
    connection: Connection, first: int, last: int, *, forward: bool
) -> list[tuple[str, Row | None, Row | None]]:
    """What is to be written: the kind, the row as the action left it, and as it is to be; no outdated suggestions.

    All is read before anything is written, since a suggestion that gets another name is away for a moment.
    """
    columns, order = ("before, after", "ASC") if forward else ("after, before", "DESC")
    rows = connection.execute(
        f"SELECT kind, {columns} FROM change WHERE id BETWEEN ? AND ? ORDER BY id {order}",  # noqa: S608 - constants
        (first, last),
    )
    read = ((kind, json.loads(here or "null"), json.loads(wanted or "null")) for kind, here, wanted in rows.fetchall())
    return [
        (kind, here, wanted)
        for kind, here, wanted in read
        if kind != "suggestion" or wanted is None or still_suggested(connection, wanted)
    ]


class _Writer:
    """Writes rows back; ``overtaken`` if the files have changed since, so that not all is as it was."""

    def __init__(self, connection: Connection, changes: list[tuple[str, Row | None, Row | None]], now: int) -> None:
        self._connection, self._changes, self._now = connection, changes, now
        self.overtaken = False
        #: Contents that files had after the action, and what they were edited to since.
        self._edited: dict[str, Row] = {}
        #: Files of pictures that go, each with the content that it has.
        self._homeless: list[tuple[str, Row]] = []
        #: Pictures that cannot have a former file again, with its path.
        self._left: dict[int, str] = {}
        #: Pictures of which an earlier content became one of its own, with that one.
        self._parted: list[tuple[int, int]] = []

    def write(self, *, forward: bool) -> None:
        seen = set[int]()
        for kind, here, _ in self._changes:
            if kind == "picture" and here is not None and here[0] not in seen:
                seen.add(here[0])
                now = self._present("picture", here)
                if now is not None and now[_HASH] != here[_HASH]:
                    self._edited[here[_HASH]] = now[_CONTENT]
        for kind, here, wanted in self._changes:
            if kind == "path":
                self._write_path(here, wanted)
            elif kind == "picture":
                self._write_picture(here, wanted)
            elif kind == "removed" and here is not None and (wanted is None or not forward):
                self._forget_removal(here)
                if wanted is not None:
                    self._write(kind, None, wanted)
            elif kind == "alias" and wanted is not None:
                _free_name(self._connection, wanted[0], wanted[1], 0)
                self._write(kind, here, wanted)
            elif kind == "term" and wanted is not None:
                _free_name(self._connection, wanted[1], wanted[2], wanted[0])
                self._write(kind, here, wanted)
            elif kind != "term" or forward:
                self._write(kind, here, wanted)
            # else nobody sees a term without labels; models may use it, and deleting it costs a scan
        for kind, _, wanted in self._changes:
            if kind == "path" and wanted is not None:
                self._forget_stray(wanted[0])
        for part, whole in self._parted:
            identity.give_labels(self._connection, whole, part)
        for sha256, (path, _, *state) in self._homeless:
            self._connection.execute(
                """INSERT INTO path (path, picture_id, size, mtime_ns, missing)
                   SELECT ?, id, ?, ?, ? FROM picture WHERE sha256 = ? ON CONFLICT DO NOTHING""",
                (path, *state, sha256),
            )
        for picture, path in self._left.items():
            identity.remember_version(self._connection, picture, path, self._now)
        if self.overtaken:
            identity.forget_replaced(self._connection, self._now)

    def _write(self, kind: str, here: Row | None, wanted: Row | None) -> None:
        LOGGED[kind].write(self._connection, here or wanted or [], wanted)

    def _present(self, kind: str, key: Row) -> Row | None:
        logged = LOGGED[kind]
        where = " AND ".join(f"{name} IS ?" for name in logged.key)
        row = self._connection.execute(
            f"SELECT {', '.join(logged.columns)} FROM {logged.of} WHERE {where}",  # noqa: S608 - constants
            key[: len(logged.key)],
        ).fetchone()
        return None if row is None else list(row)

    def _write_path(self, here: Row | None, wanted: Row | None) -> None:
        now = self._present("path", here or wanted or [])
        if now == here:
            self._write("path", here, wanted)
            return
        self.overtaken = True
        if now is None or here is None or now[1] != here[1]:  # another picture has this place, or the file has left it
            if wanted is not None:
                self._left[wanted[1]] = wanted[0]
            return
        self._write("path", here, None if wanted is None else [*wanted[:2], *now[2:]])

    def _write_picture(self, here: Row | None, wanted: Row | None) -> None:
        now = self._present("picture", here or wanted or [])
        if wanted is None:
            self._evict(now)
            self._write("picture", here, None)
            return
        if wanted[_HASH] in self._edited:
            wanted = [wanted[0], *self._edited[wanted[_HASH]], *wanted[_CONTENT.stop :]]
        if now is not None and here is None:
            self._part(now)
        holder = self._connection.value("SELECT id FROM picture WHERE sha256 = ? AND id != ?", wanted[_HASH], wanted[0])
        if holder is not None:
            self._give_way(holder)
        self._write("picture", here, wanted)

    def _forget_stray(self, path: str) -> None:
        """Forget a file whose picture gave way to another one meanwhile: the next scan reads it again."""
        found = self._connection.execute(
            "DELETE FROM path WHERE path = ? AND picture_id NOT IN (SELECT id FROM picture)", (path,)
        )
        self.overtaken = self.overtaken or found.rowcount > 0

    def _files(self, picture: int) -> list[Row]:
        return [list(row) for row in self._connection.execute("SELECT * FROM path WHERE picture_id = ?", (picture,))]

    def _evict(self, picture: Row | None) -> None:
        """Take the files from a picture."""
        if picture is not None and (files := self._files(picture[0])):
            self.overtaken = True
            self._homeless += [(picture[_HASH], file) for file in files]
            self._connection.execute("DELETE FROM path WHERE picture_id = ?", (picture[0],))

    def _give_way(self, picture: int) -> None:
        """Take its content from a picture that got it since the action: it has an earlier one, or nobody knows it."""
        self.overtaken = True
        now = self._present("picture", [picture])
        self._evict(now)
        earlier = self._connection.value(
            """SELECT sha256 FROM version WHERE picture_id = ? AND sha256 NOT IN (SELECT sha256 FROM picture)
               ORDER BY time DESC LIMIT 1""",
            picture,
        )
        if earlier is None:
            self._connection.execute("DELETE FROM picture WHERE id = ?", (picture,))
        else:
            identity.go_back(self._connection, picture, earlier)

    def _part(self, picture: Row) -> None:
        """Make the picture that has the id of a forgotten one, since it was an earlier content of it, another one."""
        self.overtaken = True
        self._evict(picture)
        self._connection.execute("DELETE FROM picture WHERE id = ?", (picture[0],))
        new = identity.last_id(self._connection) + 1
        self._write("picture", None, [new, *picture[1:]])
        self._parted.append((new, picture[0]))

    def _forget_removal(self, removed: Row) -> None:
        """Let a file in again, and those that only stayed out because they hold the same."""
        path, sha256, pixels, *_ = removed
        self._connection.execute("DELETE FROM removed WHERE path = ?", (path,))
        others = self._connection.execute(
            """DELETE FROM removed WHERE (sha256 = ?1 OR pixels = ?2) AND NOT EXISTS (
                   SELECT 1 FROM change JOIN action ON change.id BETWEEN first AND last WHERE undone = 0
                   AND change.kind = 'removed' AND json_extract(after, '$[0]') = removed.path
               ) RETURNING path, sha256, size, mtime_ns""",
            (sha256, pixels),
        ).fetchall()
        self._homeless += [(held, [other, 0, size, time, 0]) for other, held, size, time in others]


def _free_name(connection: Connection, kind: str, name: str, keep: int) -> None:
    """Forget a term that only models use, unless its id is ``keep``, so that another can have its name."""
    connection.execute(
        """DELETE FROM term WHERE kind = ? AND name = ? AND id != ? AND NOT EXISTS (
               SELECT 1 FROM label JOIN source ON source.id = source_id WHERE term_id = term.id AND rank > 0)""",
        (kind, name, keep),
    )
