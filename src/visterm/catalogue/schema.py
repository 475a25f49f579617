"""The catalogue's database: its tables, its version, and the migrations that upgrade an older file.

Each entry of :data:`MIGRATIONS` upgrades a file by one version, in one transaction; a new file runs them all. A
released step is never edited: a change of the schema is a new step at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from visterm.catalogue import consistency
from visterm.catalogue.backups import keep_before_upgrade
from visterm.errors import InputError, VistermError

#: Marks a SQLite file as a catalogue of Visterm ("VTRM").
APPLICATION_ID = 0x5654524D
#: How long a writer waits for another one before giving up.
BUSY_SECONDS = 10.0

Migration = Sequence[str]

# Times are microseconds since 1970 (UTC): a fifth of the size of text, and fast to compare.
_TABLES = (
    """
    CREATE TABLE picture (
        id INTEGER PRIMARY KEY,
        sha256 TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),
        pixels TEXT,
        size INTEGER NOT NULL,
        width INTEGER,
        height INTEGER,
        orientation INTEGER,
        state TEXT NOT NULL CHECK (state IN ('ok', 'unreadable')),
        reason TEXT,
        split TEXT,
        caption TEXT,
        caption_source INTEGER REFERENCES source,
        added INTEGER NOT NULL
    )
    """,
    # missing: the file was gone at the last scan of its folder; the picture keeps its labels
    """
    CREATE TABLE path (
        path TEXT PRIMARY KEY,
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        missing INTEGER NOT NULL DEFAULT 0 CHECK (missing IN (0, 1))
    ) WITHOUT ROWID
    """,
    "CREATE INDEX path_of_picture ON path (picture_id)",
    """
    CREATE TABLE term (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('class', 'tag')),
        name TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)),
        UNIQUE (kind, name)
    )
    """,
    """
    CREATE TABLE alias (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        PRIMARY KEY (kind, name)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX alias_of_term ON alias (term_id)",
    # model: the NAME of 'model NAME@VERSION', by which a new version finds the earlier ones
    """
    CREATE TABLE source (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        rank INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 2),
        model TEXT
    )
    """,
    """
    CREATE TABLE label (
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        source_id INTEGER NOT NULL REFERENCES source,
        state TEXT NOT NULL CHECK (state IN ('accepted', 'rejected', 'suggested')),
        score REAL,
        time INTEGER NOT NULL,
        PRIMARY KEY (picture_id, term_id, source_id)
    ) WITHOUT ROWID
    """,
    # no index by term: only rare edits of the vocabulary would gain, and every write would be slower
    "CREATE INDEX label_of_source ON label (source_id)",
    """
    CREATE TABLE region (
        id INTEGER PRIMARY KEY,
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        source_id INTEGER NOT NULL REFERENCES source,
        left REAL NOT NULL,
        top REAL NOT NULL,
        right REAL NOT NULL,
        bottom REAL NOT NULL
    )
    """,
    "CREATE INDEX region_of_picture ON region (picture_id)",
    "CREATE INDEX region_of_term ON region (term_id)",
)

_SEQUENCE_AND_SETTINGS = (
    # One row: how many transactions have changed this catalogue. What is kept in memory is as old as its number.
    "CREATE TABLE sequence (number INTEGER NOT NULL)",
    "INSERT INTO sequence VALUES (0)",
    # What the collection is like, such as the language of its captions.
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

_REMOVED_FILES = (
    # Files that a person removed, with what they held: adding their folder again leaves them out.
    """
    CREATE TABLE removed (
        path TEXT PRIMARY KEY,
        sha256 TEXT NOT NULL,
        pixels TEXT,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX removed_content ON removed (sha256)",
    "CREATE INDEX removed_pixels ON removed (pixels)",
)

_EXPORTED_PICTURES = (
    # Pictures whose labels were written beside them: what comes back from there is an echo, not an import.
    "CREATE TABLE exported (picture_id INTEGER PRIMARY KEY REFERENCES picture ON DELETE CASCADE)",
)

_HISTORY = (
    # What a person or an import changed, one row for each command: see visterm.catalogue.log. The changes of an action
    # are those from first to last. undone: 0 it holds; 1 it was undone and can be redone; 2 it was undone for good.
    """
    CREATE TABLE action (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        time INTEGER NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1, 2)),
        undone_time INTEGER
    )
    """,
    "CREATE INDEX action_of_change ON action (first)",
    # One row of another table before and after, as JSON; NULL where there was none.
    """
    CREATE TABLE change (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        picture_id INTEGER,
        before TEXT,
        after TEXT
    )
    """,
    "CREATE INDEX change_of_picture ON change (picture_id) WHERE picture_id IS NOT NULL",
    # What a picture was before its file was edited, or before it was removed. An id belongs to one picture for ever.
    """
    CREATE TABLE version (
        picture_id INTEGER NOT NULL,
        sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
        pixels TEXT,
        size INTEGER NOT NULL,
        width INTEGER,
        height INTEGER,
        orientation INTEGER,
        state TEXT NOT NULL,
        reason TEXT,
        path TEXT,
        time INTEGER NOT NULL,
        PRIMARY KEY (picture_id, sha256)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX version_content ON version (sha256)",
    "CREATE INDEX picture_pixels ON picture (pixels)",
    # The id of a term is never used again.
    """
    CREATE TABLE renewed (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (kind IN ('class', 'tag')),
        name TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)),
        UNIQUE (kind, name)
    )
    """,
    "INSERT INTO renewed SELECT id, kind, name, dropped FROM term",
    "DROP TABLE term",
    "ALTER TABLE renewed RENAME TO term",
    # Which label is newer is decided by the sequence number of its transaction: clocks go back.
    "ALTER TABLE label ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0",
    """
    WITH place AS MATERIALIZED (
        SELECT time, row_number() OVER (ORDER BY time) AS number FROM (SELECT DISTINCT time FROM label))
    UPDATE label SET sequence = place.number FROM place WHERE place.time = label.time
    """,
    "UPDATE sequence SET number = max(number, (SELECT coalesce(max(sequence), 0) FROM label))",
)

_FORMER_PATHS = (
    # Where files were before they were moved or deleted: label files go on naming pictures by these paths. A picture
    # that was removed and comes back by an undo has its former paths again, so nothing is deleted with a picture.
    "CREATE TABLE former (path TEXT PRIMARY KEY, picture_id INTEGER NOT NULL) WITHOUT ROWID",
)

MIGRATIONS: tuple[Migration, ...] = (
    _TABLES,
    _SEQUENCE_AND_SETTINGS,
    _REMOVED_FILES,
    _EXPORTED_PICTURES,
    _HISTORY,
    _FORMER_PATHS,
)


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
