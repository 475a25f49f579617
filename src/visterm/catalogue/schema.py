"""The catalogue's database: its version, the upgrade of an older file, transactions, and errors in words."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from visterm.catalogue import consistency
from visterm.catalogue.backups import keep_before_upgrade
from visterm.catalogue.migrations import MIGRATIONS, Migration
from visterm.errors import InputError, VistermError

#: Marks a SQLite file as a catalogue of Visterm ("VTRM").
APPLICATION_ID = 0x5654524D
#: How long a writer waits for another one before giving up.
BUSY_SECONDS = 10.0


def migrate(connection: sqlite3.Connection, file: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the outstanding migrations, each in one transaction."""
    _refuse_strangers(connection, file, len(migrations))
    _refuse_other_schema(connection, file, migrations)
    if 0 < _version(connection) < len(migrations):
        keep_before_upgrade(connection, file, _version(connection))
    while _version(connection) < len(migrations):
        # a table that others refer to can only be rebuilt while foreign keys are not enforced
        connection.execute("PRAGMA foreign_keys = OFF")
        with _locked(connection):
            version = _version(connection)  # again, under the lock: another process may have migrated meanwhile
            if version < len(migrations):
                _step(connection, file, version + 1, migrations[version])


def _step(connection: sqlite3.Connection, file: Path, version: int, statements: Migration) -> None:
    for statement in statements:
        connection.execute(statement)
    if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise VistermError(f"{file}: cannot be upgraded to catalogue version {version}: it has broken references")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")


def _refuse_strangers(connection: sqlite3.Connection, file: Path, newest: int) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (application or objects):
        raise InputError(f"{file}: this is a database, but not a catalogue of Visterm")
    if _version(connection) > newest:
        raise InputError(
            f"{file}: made by a newer Visterm (catalogue version {_version(connection)}, "
            f"this one knows {newest}): upgrade Visterm to open it"
        )


def _refuse_other_schema(connection: sqlite3.Connection, file: Path, migrations: Sequence[Migration]) -> None:
    """Refuse a file whose tables are not exactly ours: a damaged one, or one with triggers or views of somebody."""
    version = _version(connection)
    if version < 0:
        raise InputError(f"{file}: the catalogue is damaged: its version is {version}")
    expected = _expected_schema(tuple(map(tuple, migrations[:version])))
    found = _schema(connection)
    for what, name in sorted(found.keys() - expected.keys()):
        raise InputError(f"{file}: the catalogue holds a {what} {name!r} that Visterm did not make: {USE_A_BACKUP}")
    for what, name in sorted(expected):
        if found.get((what, name)) != expected[what, name]:
            raise InputError(
                f"{file}: the catalogue is damaged: its {what} {name!r} is not as Visterm made it: {USE_A_BACKUP}"
            )


@cache
def _expected_schema(migrations: tuple[Migration, ...]) -> dict[tuple[str, str], object]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in (statement for step in migrations for statement in step):
            connection.execute(statement)
        return _schema(connection)


def _schema(connection: sqlite3.Connection) -> dict[tuple[str, str], object]:
    """What the database consists of: the columns of every table, the text of everything else."""
    rows = connection.execute(
        """SELECT type, name, tbl_name, sql FROM sqlite_schema
           WHERE NOT (type IN ('table', 'index') AND name GLOB 'sqlite_*')"""
    ).fetchall()
    return {
        (str(what), str(name)): connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
        if what == "table" and not str(sql).upper().startswith("CREATE VIRTUAL")
        else (table, sql)
        for what, name, table, sql in rows
    }


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@dataclass(slots=True)
class Transaction:
    """A change of the catalogue; once committed, ``sequence`` is its number (None: nothing changed)."""

    sequence: int | None = None


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[Transaction]:
    """Commits everything in the ``with`` block or nothing; inside another transaction, it becomes part of that one.

    A transaction that changes anything raises the catalogue's sequence number by one.
    """
    change = Transaction()
    if connection.in_transaction:
        yield change
        return
    with _locked(connection):
        before = connection.total_changes
        yield change
        if connection.total_changes != before:
            raised = connection.execute("UPDATE sequence SET number = number + 1 RETURNING number")
            change.sequence = int(raised.fetchone()[0])


@contextmanager
def _locked(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")  # take the write lock first: waiting is safe now, but not halfway
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()  # does nothing if SQLite has already rolled back
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs several queries on one state of the database, whatever others write meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


@contextmanager
def sqlite_errors(file: Path) -> Iterator[None]:
    """Turns SQLite's errors into Visterm's. Only a check of the whole file tells whether it is damaged."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary part of an extended error code
        if code in _REFUSALS:
            raise VistermError(f"{file}: {_REFUSALS[code]}; this change was not saved") from error
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise InputError(f"{file}: the file is damaged, or not a catalogue of Visterm ({_short(error)})") from error
        if wrong := _problems(file):
            raise damage(file, wrong[0]) from error
        raise VistermError(
            f"{file}: the change contradicts what is there ({_short(error)}), so it was not made; nothing is damaged"
        ) from error


def damage(file: Path, what: object) -> InputError:
    """The error for a catalogue that is damaged."""
    return InputError(f"{file}: the catalogue is damaged ({_short(what)}): {USE_A_BACKUP}")


def _problems(file: Path) -> list[str]:
    """What is wrong with the database, seen from a connection of its own."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return consistency.problems(connection)
    except sqlite3.Error as error:
        return [str(error)]


def _short(error: object) -> str:
    """A message in one line; SQLite quotes whole tables."""
    line = " ".join(str(error).split())
    return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]}..."


USE_A_BACKUP = "visterm doctor says more, visterm restore takes a backup instead"
_MAX_MESSAGE = 120
_BUSY = "another program is writing to the catalogue: try again when it is done"
_REFUSALS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "reading or writing the disk failed",
    sqlite3.SQLITE_READONLY: "the catalogue is read-only",
    sqlite3.SQLITE_CANTOPEN: "the catalogue cannot be opened",
    sqlite3.SQLITE_PERM: "there is no permission to open the catalogue",
}
