"""The log of what people and imports change, by which every change can be undone.

Triggers write each changed row, before and after, into the table ``change``, in the transaction of the change. They
belong to the connection, not to the file, and no code path can forget them. What models suggest is not logged: it can
be made again. Only where a person moves suggestions to another name they are logged, too, so that undoing gives them
back. A transaction that changed something becomes one *action*, which :mod:`visterm.catalogue.undoing` undoes and
redoes. A new action ends the possibility to redo.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from visterm.catalogue.metadata import COLUMNS
from visterm.catalogue.records import PERSON


class Level(IntEnum):
    """What is logged: nothing; labels, captions and vocabulary; also pictures and their files; also suggestions.

    What a scan finds on the disk is a fact, not a statement: pictures and files are logged only where a person decides.
    """

    NOTHING = 0
    WORDS = 1
    FILES = 2
    SUGGESTIONS = 3


class Connection(sqlite3.Connection):
    """A connection to a catalogue, with what its open transaction logs and how the action is described.

    ``made`` is the action that the last transaction became; None if it changed nothing that is logged.
    """

    level: Level = Level.WORDS
    what: str | None = None
    who: str = PERSON
    made: int | None = None

    def value(self, query: str, *parameters: object) -> Any:
        """The first value of the answer to a query; None if the answer is empty."""
        row = self.execute(query, parameters).fetchone()
        return None if row is None else row[0]

    def values(self, query: str, *parameters: object) -> list[Any]:
        """The first value of every row of the answer to a query."""
        return [row[0] for row in self.execute(query, parameters)]


@dataclass(frozen=True)
class _Logged:
    """A table that is logged; ``kind`` names it in the log. ``reals`` are columns of exact decimals.

    ``rank`` is a condition on the rank of a row's source; other rows are not logged under this kind.
    """

    kind: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    level: Level = Level.WORDS
    table: str = ""
    events: tuple[str, ...] = ("INSERT", "UPDATE", "DELETE")
    picture: str | None = None
    reals: tuple[str, ...] = ()
    rank: str | None = None

    @property
    def of(self) -> str:
        """The table."""
        return self.table or self.kind

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, those of the key first."""
        return self.key + self.values

    def trigger(self, event: str) -> str:
        """The trigger that logs ``event``."""
        row = "OLD" if event == "DELETE" else "NEW"
        when = [f"log_level() >= {self.level.value}"]
        if self.rank is not None:
            when.append(f"(SELECT rank FROM source WHERE id = {row}.source_id) {self.rank}")  # noqa: S608
        if event == "UPDATE":
            when.append(f"({_row('OLD', self.columns)}) IS NOT ({_row('NEW', self.columns)})")
        before = "NULL" if event == "INSERT" else self._json("OLD")
        after = "NULL" if event == "DELETE" else self._json("NEW")
        picture = "NULL" if self.picture is None else f"{row}.{self.picture}"
        return f"""
            CREATE TEMP TRIGGER log_{self.kind}_{event.lower()} AFTER {event} ON main.{self.of}
            WHEN {" AND ".join(when)} BEGIN
                INSERT INTO change (kind, picture_id, before, after)
                VALUES ('{self.kind}', {picture}, {before}, {after});
            END"""  # noqa: S608 - constants

    def _json(self, row: str) -> str:
        def column(name: str) -> str:
            value = f"{row}.{name}"
            exact = f"json(iif({value} IS NULL, 'null', printf('%!.17g', {value})))"
            return exact if name in self.reals else value

        return f"json_array({', '.join(map(column, self.columns))})"

    def write(self, connection: sqlite3.Connection, here: list[Any], wanted: list[Any] | None) -> None:
        """Make the row that ``here`` names what it was: ``wanted``, or absent."""
        key = here[: len(self.key)] if wanted is None else wanted[: len(self.key)]
        where = " AND ".join(f"{name} IS ?" for name in self.key)
        if wanted is None:
            connection.execute(f"DELETE FROM {self.of} WHERE {where}", key)  # noqa: S608 - constants
            return
        if here[: len(self.key)] != key:
            self.write(connection, here, None)
        if "INSERT" not in self.events:
            sets = ", ".join(f"{name} = ?" for name in self.values)
            row = [*wanted[len(self.key) :], *key]
            connection.execute(f"UPDATE {self.of} SET {sets} WHERE {where}", row)  # noqa: S608 - constants
            return
        sets = ", ".join(f"{name} = excluded.{name}" for name in self.values)
        connection.execute(
            f"INSERT INTO {self.of} ({', '.join(self.columns)}) VALUES ({', '.join('?' * len(wanted))}) "  # noqa: S608
            f"ON CONFLICT ({', '.join(self.key)}) DO {'UPDATE SET ' + sets if sets else 'NOTHING'}",
            wanted,
        )


_BOX = ("left", "top", "right", "bottom")
#: What describes the content of a picture, its hash first.
CONTENT = ("sha256", "pixels", "size", "width", "height", "orientation", "state", "reason")
_SAID = ("split", "caption", "caption_source")

_LABEL = _Logged(
    "label",
    ("picture_id", "term_id", "source_id"),
    ("state", "score", "time", "sequence", "act"),
    picture="picture_id",
    reals=("score",),
    rank="> 0",
)

_LOGGED = (
    _LABEL,
    # names no picture: a suggestion is no part of a picture's history, and does not keep the record of a lost picture
    replace(_LABEL, kind="suggestion", table="label", level=Level.SUGGESTIONS, picture=None, rank="= 0"),
    _Logged("described", ("picture_id", "source_id"), ("act",), picture="picture_id"),
    _Logged(
        "region", ("id",), ("picture_id", "term_id", "source_id", *_BOX), picture="picture_id", reals=_BOX, rank="> 0"
    ),
    _Logged("pair", ("first", "second"), ("said", "time"), picture="first"),
    _Logged("kept", ("picture_id",), ("time",), picture="picture_id"),
    _Logged("term", ("id",), ("kind", "name", "dropped")),
    _Logged("alias", ("kind", "name"), ("term_id",)),
    _Logged("caption", ("id",), _SAID, table="picture", events=("UPDATE",), picture="id"),
    _Logged("title", ("picture_id",), ("text",), picture="picture_id"),
    _Logged("picture", ("id",), (*CONTENT, *_SAID, "added"), level=Level.FILES, picture="id"),
    _Logged("path", ("path",), ("picture_id", "size", "mtime_ns", "missing"), level=Level.FILES, picture="picture_id"),
    _Logged(
        "metadata", ("picture_id",), COLUMNS, level=Level.FILES, picture="picture_id", reals=("latitude", "longitude")
    ),
    _Logged("removed", ("path",), ("sha256", "pixels", "size", "mtime_ns"), level=Level.FILES),
    _Logged("version", ("picture_id", "sha256"), (*CONTENT[1:], "path", "time"), level=Level.FILES),
)
#: What is logged, by its kind.
LOGGED = {logged.kind: logged for logged in _LOGGED}


def _row(name: str, columns: tuple[str, ...]) -> str:
    return ", ".join(f"{name}.{column}" for column in columns)


def watch(connection: Connection) -> None:
    """Log what is changed through ``connection`` from now on."""
    connection.create_function("log_level", 0, lambda: int(connection.level))
    for logged in _LOGGED:
        for event in logged.events:
            connection.execute(logged.trigger(event))


@contextmanager
def level(connection: Connection, wanted: Level) -> Iterator[None]:
    """Log more or less than usual."""
    before, connection.level = connection.level, wanted
    try:
        yield
    finally:
        connection.level = before


def describe(connection: Connection, what: str | None, who: str) -> None:
    """Say what the action of the open transaction is called, unless that has been said."""
    if connection.what is None and what is not None:
        connection.what, connection.who = what, who


@contextmanager
def action(connection: Connection, time: int) -> Iterator[None]:
    """Wraps the outermost transaction: if it changed what is logged, it becomes an action."""
    connection.what, connection.who, connection.made = None, PERSON, None
    before = _last_change(connection)
    yield
    last = _last_change(connection)
    if last > before:
        connection.execute("UPDATE action SET undone = 2 WHERE undone = 1")
        connection.made = connection.execute(
            "INSERT INTO action (time, who, what, first, last) VALUES (?, ?, ?, ?, ?)",
            (time, connection.who, connection.what or "change labels", before + 1, last),
        ).lastrowid


def _last_change(connection: Connection) -> int:
    return int(connection.value("SELECT coalesce(max(id), 0) FROM change"))


def still_suggested(connection: Connection, row: list[Any]) -> bool:
    """Whether the model still says something of the picture of a logged suggestion, which may then come back.

    Otherwise another version has replaced the model, somebody cleared what it said, or the picture has other pixels.
    """
    picture, _, source = row[: len(_LABEL.key)]
    return bool(connection.value("SELECT 1 FROM label WHERE picture_id = ? AND source_id = ?", picture, source))
