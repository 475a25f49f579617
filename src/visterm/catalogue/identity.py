"""Which picture is which: ids, earlier contents, records that have lost their file, and a person's corrections.

All functions here work within the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from visterm.catalogue.log import CONTENT, Connection
from visterm.catalogue.metadata import Metadata, read_metadata, write_metadata
from visterm.catalogue.twins import give_verdicts
from visterm.errors import InputError

_CONTENT, _VALUES = ", ".join(CONTENT), ", ".join("?" * len(CONTENT))
#: A path of the picture ``id``, or else the last path at which it was seen.
_LAST_SEEN = """coalesce(
    (SELECT min(path) FROM path WHERE picture_id = id),
    (SELECT path FROM version WHERE picture_id = id AND path IS NOT NULL ORDER BY time DESC LIMIT 1))"""


@dataclass(frozen=True, slots=True)
class WithoutFile:
    """A picture that has no file: its content hash, where a file of it was last seen, and how many labels it has."""

    sha256: str
    last_seen: str | None
    n_labels: int


def new_picture(connection: Connection, content: Sequence[object], now: int) -> int:
    """Add a picture; its id is that of the removed picture which it was, or one that no picture has had."""
    before = connection.value(
        """SELECT picture_id FROM version WHERE sha256 = ? AND picture_id NOT IN (SELECT id FROM picture)
           ORDER BY picture_id DESC LIMIT 1""",
        content[0],
    )
    number = last_id(connection) + 1 if before is None else int(before)
    connection.execute(
        f"INSERT INTO picture (id, {_CONTENT}, added) VALUES (?, {_VALUES}, ?)",  # noqa: S608 - constants
        (number, *content, now),
    )
    return number


def last_id(connection: Connection) -> int:
    """The largest id that a picture has had, also before a backup was restored."""
    last = connection.value(
        """SELECT max((SELECT coalesce(max(id), 0) FROM picture), (SELECT coalesce(max(picture_id), 0) FROM version),
                      coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'last_id'), 0))"""
    )
    return int(last)


def remember_version(
    connection: Connection, picture: int, path: str | None, now: int, *, of: int | None = None
) -> None:
    """Remember the present content of a picture, or that of another one, with a path at which it was seen."""
    of = picture if of is None else of
    connection.execute(
        "DELETE FROM version WHERE picture_id = ? AND sha256 = (SELECT sha256 FROM picture WHERE id = ?)", (picture, of)
    )
    connection.execute(
        f"""INSERT INTO version (picture_id, {_CONTENT}, path, time) SELECT ?, {_CONTENT}, ?, ? FROM picture
            WHERE id = ?""",  # noqa: S608 - constants
        (picture, path, now, of),
    )


def forget_paths(connection: Connection, paths: Iterable[str]) -> None:
    """Forget files that are gone, but not which picture each path named: label files may go on naming it so."""
    rows = [(path,) for path in paths]
    connection.executemany("INSERT OR REPLACE INTO former SELECT path, picture_id FROM path WHERE path = ?", rows)
    connection.executemany("DELETE FROM path WHERE path = ?", rows)


def mark_missing(connection: Connection, path: str) -> int:
    """Note that a file is gone, and forget it if its picture has others; returns 1 if it was known."""
    marked = connection.execute("UPDATE path SET missing = 1 WHERE path = ?", (path,)).rowcount
    copies = """SELECT 1 FROM path JOIN path AS other USING (picture_id) WHERE path.path = ? AND NOT other.missing"""
    if connection.value(copies, path):
        forget_paths(connection, [path])
    return marked


def contents(connection: Connection) -> tuple[dict[str, str], set[str], set[str]]:
    """The content hash of every file, those of all pictures, and those that they, or removed ones, had earlier."""
    files = dict(connection.execute("SELECT path, sha256 FROM path JOIN picture ON id = picture_id"))
    present, earlier = (connection.values(f"SELECT sha256 FROM {table}") for table in ("picture", "version"))  # noqa: S608
    return files, set(present), set(earlier)


def edited(connection: Connection) -> list[str]:
    """The content hashes of the readable pictures that have had another content, the newest first."""
    return connection.values(
        "SELECT sha256 FROM picture WHERE state = 'ok' AND id IN (SELECT picture_id FROM version) ORDER BY id DESC"
    )


def forget_suggestions(connection: Connection, picture: int) -> None:
    """Delete what models said of the pixels that a picture had."""
    connection.execute(
        "DELETE FROM label WHERE picture_id = ? AND source_id IN (SELECT id FROM source WHERE rank = 0)", (picture,)
    )


def forget_replaced(connection: Connection, now: int) -> int:
    """Delete pictures whose last file was replaced by another picture, unless the log knows them; returns how many."""
    forgotten = connection.execute(
        """SELECT id FROM picture WHERE caption IS NULL AND id NOT IN (SELECT picture_id FROM path)
           AND id NOT IN (SELECT picture_id FROM label JOIN source ON source.id = source_id WHERE rank > 0)
           AND id NOT IN (SELECT second FROM pair)
           AND NOT EXISTS (SELECT 1 FROM change WHERE picture_id = picture.id)"""
    ).fetchall()
    for (picture,) in forgotten:
        remember_version(connection, picture, None, now)
    connection.executemany("DELETE FROM picture WHERE id = ?", forgotten)
    return len(forgotten)


def without_file(connection: Connection, limit: int) -> list[WithoutFile]:
    """The pictures that have no file, those with most labels of people and imports first."""
    rows = connection.execute(
        f"""SELECT sha256, {_LAST_SEEN}, (SELECT count(*) FROM label JOIN source ON source.id = source_id
                                          WHERE picture_id = picture.id AND rank > 0) AS n_labels
            FROM picture WHERE id NOT IN (SELECT picture_id FROM path WHERE NOT missing)
            ORDER BY n_labels DESC, sha256 LIMIT ?""",  # noqa: S608 - constants
        (limit,),
    )
    return [WithoutFile(*row) for row in rows]


def separate(connection: Connection, picture: int, now: int) -> int:
    """Make the present content of an edited picture a new picture without labels; returns its id.

    The picture gets its earlier content back and keeps its labels. It has no file then, unless its earlier content is
    known as another picture, which gets the labels.
    """
    earlier = connection.value(
        """SELECT sha256 FROM version WHERE picture_id = ?1 AND sha256 != (SELECT sha256 FROM picture WHERE id = ?1)
           ORDER BY time DESC LIMIT 1""",
        picture,
    )
    if earlier is None:
        raise InputError("its content has not changed since it was added, so it is the same picture")
    other = connection.value("SELECT id FROM picture WHERE sha256 = ?", earlier)
    if other is not None:
        give_labels(connection, picture, other)
        connection.execute("DELETE FROM label WHERE picture_id = ?", (picture,))
        connection.execute("DELETE FROM described WHERE picture_id = ?", (picture,))
        connection.execute("DELETE FROM region WHERE picture_id = ?", (picture,))
        connection.execute("DELETE FROM title WHERE picture_id = ?", (picture,))
        connection.execute(
            "UPDATE picture SET caption = NULL, caption_source = NULL, split = NULL WHERE id = ?", (picture,)
        )
        return picture
    content = connection.execute(f"SELECT {_CONTENT} FROM picture WHERE id = ?", (picture,)).fetchone()  # noqa: S608
    go_back(connection, picture, earlier)
    new = new_picture(connection, content, now)
    connection.execute("UPDATE path SET picture_id = ? WHERE picture_id = ?", (new, picture))
    return new


def attach(connection: Connection, record: int, picture: int, now: int) -> None:
    """Give the files and the content of ``picture`` to ``record``, which has no file, and unite their labels."""
    if record == picture:
        raise InputError("the record has this file already")
    if connection.value("SELECT 1 FROM path WHERE picture_id = ? AND NOT missing", record):
        raise InputError("the record has a file; only a picture whose files are gone can get another one")
    for number in (record, picture):
        seen = connection.value(f"SELECT {_LAST_SEEN} FROM picture WHERE id = ?", number)  # noqa: S608 - constants
        remember_version(connection, number, seen, now)
    give_labels(connection, picture, record)
    forget_paths(connection, connection.values("SELECT path FROM path WHERE picture_id = ?", record))
    connection.execute("UPDATE path SET picture_id = ? WHERE picture_id = ?", (record, picture))
    content = connection.execute(f"SELECT {_CONTENT} FROM picture WHERE id = ?", (picture,)).fetchone()  # noqa: S608
    said = read_metadata(connection, (picture, picture)).get(picture, Metadata())
    connection.execute("DELETE FROM picture WHERE id = ?", (picture,))
    set_content(connection, record, content)
    write_metadata(connection, record, said)
    forget_suggestions(connection, record)


def set_content(connection: Connection, picture: int, content: Sequence[object]) -> None:
    """Give a picture another content."""
    connection.execute("DELETE FROM metadata WHERE picture_id = ?", (picture,))  # they were those of another file
    update = f"UPDATE picture SET ({_CONTENT}) = ({_VALUES}) WHERE id = ?"  # noqa: S608 - constants
    connection.execute(update, (*content, picture))


def go_back(connection: Connection, picture: int, sha256: str) -> None:
    """Make an earlier content of a picture its present one."""
    connection.execute(
        f"""UPDATE picture SET ({_CONTENT}) = (
                SELECT {_CONTENT} FROM version WHERE picture_id = ?1 AND version.sha256 = ?2) WHERE id = ?1""",  # noqa: S608
        (picture, sha256),
    )


def give_labels(connection: Connection, giver: int, taker: int) -> None:
    """Copy what people and imports say of one picture to another, where they have not said it of that one."""
    connection.execute(
        """INSERT OR IGNORE INTO label
           SELECT ?2, term_id, source_id, state, score, time, sequence, act FROM label AS given
           WHERE picture_id = ?1 AND source_id IN (SELECT id FROM source WHERE rank > 0) AND NOT (
               state = 'accepted' AND (SELECT kind FROM term WHERE id = given.term_id) = 'class' AND EXISTS (
                   SELECT 1 FROM label JOIN term ON term.id = term_id
                   WHERE picture_id = ?2 AND source_id = given.source_id AND kind = 'class' AND state = 'accepted'))""",
        (giver, taker),
    )
    connection.execute(
        "INSERT OR IGNORE INTO described SELECT ?2, source_id, act FROM described WHERE picture_id = ?1", (giver, taker)
    )
    connection.execute(
        """INSERT INTO region (picture_id, term_id, source_id, left, top, right, bottom)
           SELECT ?2, term_id, source_id, left, top, right, bottom FROM region WHERE picture_id = ?1
           AND NOT EXISTS (SELECT 1 FROM region WHERE picture_id = ?2)""",
        (giver, taker),
    )
    connection.execute(
        """UPDATE picture SET (caption, caption_source) = (SELECT caption, caption_source FROM picture WHERE id = ?1)
           WHERE id = ?2 AND caption IS NULL""",
        (giver, taker),
    )
    connection.execute("INSERT OR IGNORE INTO title SELECT ?2, text FROM title WHERE picture_id = ?1", (giver, taker))
    give_verdicts(connection, giver, taker)
