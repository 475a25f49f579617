"""What a file says of how its picture was made: when, where, with which camera, by whom, and how it was rated."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.catalogue.log import Connection


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a picture; None where its file and sidecars say nothing, or nothing that can be read.

    ``taken`` is the local time in ISO format, as far as it is known: ``2019``, ``2019-07``, ``2019-07-14``, and with
    the time, its seconds and parts of seconds. ``zone`` are the minutes by which that time is ahead of UTC.
    ``latitude`` and ``longitude`` are degrees, north and east. ``exposure`` is in seconds, ``aperture`` the f-number,
    ``focal_length`` in millimetres. ``rating`` is 1 to 5, or -1 for a rejected picture. ``pick`` is 1 for a picture
    that was picked, -1 for one that was rejected.
    """

    taken: str | None = None
    zone: int | None = None
    latitude: float | None = None
    longitude: float | None = None
    camera: str | None = None
    lens: str | None = None
    exposure: float | None = None
    aperture: float | None = None
    iso: int | None = None
    focal_length: float | None = None
    rating: int | None = None
    colour: str | None = None
    pick: int | None = None
    title: str | None = None
    creator: str | None = None
    copyright: str | None = None


#: The columns of the table, one for each field.
COLUMNS = tuple(field.name for field in fields(Metadata))
#: The metadata of a picture of which nothing is known.
NOTHING = Metadata()
_NAMES = ", ".join(COLUMNS)


def write_metadata(connection: Connection, picture: int, said: Metadata) -> None:
    """Write what the files of a picture say now, in place of what they said."""
    if said == NOTHING:
        connection.execute("DELETE FROM metadata WHERE picture_id = ?", (picture,))
        return
    values = ", ".join("?" * len(COLUMNS))
    connection.execute(
        f"""INSERT INTO metadata (picture_id, {_NAMES}) VALUES (?, {values}) ON CONFLICT (picture_id) DO UPDATE
            SET ({_NAMES}) = ({", ".join(f"excluded.{name}" for name in COLUMNS)})
            WHERE ({_NAMES}) IS NOT ({", ".join(f"excluded.{name}" for name in COLUMNS)})""",  # noqa: S608 - constants
        (picture, *(getattr(said, name) for name in COLUMNS)),
    )


def read_metadata(connection: sqlite3.Connection, span: tuple[int, int]) -> dict[int, Metadata]:
    """The metadata of the pictures with ids in ``span``, both ends included; those without are left out."""
    rows = connection.execute(
        f"SELECT picture_id, {_NAMES} FROM metadata WHERE picture_id BETWEEN ? AND ?",  # noqa: S608 - constants
        span,
    )
    return {picture: Metadata(*values) for picture, *values in rows}


def read_titles(connection: sqlite3.Connection, span: tuple[int, int]) -> dict[int, str]:
    """The titles that people gave to the pictures with ids in ``span``."""
    return dict(
        connection.execute("SELECT picture_id, text FROM title WHERE picture_id BETWEEN ? AND ?", span).fetchall()
    )


def read_columns(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[str, list[object]]:
    """The metadata of all readable pictures as columns in the order of ``ids``, the order of their ids.

    The title is the one that a person gave, else that of the file. ``width``, ``height`` and ``bytes`` come with them.
    """
    names = [name for name in COLUMNS if name != "title"]
    listed = (*names, "title", "width", "height", "bytes")
    rows = connection.execute(
        f"""SELECT id, {", ".join(names)}, coalesce(text, title), width, height, size FROM picture
            LEFT JOIN metadata ON metadata.picture_id = id LEFT JOIN title ON title.picture_id = id
            WHERE state = 'ok' ORDER BY id"""  # noqa: S608 - constants
    ).fetchall()
    of = {row[0]: row[1:] for row in rows}
    empty = (None,) * len(listed)
    columns = list(zip(*(of.get(number, empty) for number in ids), strict=True)) or [()] * len(empty)
    return {name: list(column) for name, column in zip(listed, columns, strict=True)}
