"""The connections to a catalogue's file: one per thread, opened when first needed. None of them creates the file."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from visterm.catalogue import backups, log, schema
from visterm.errors import InputError, VistermError
from visterm.storage import write_bytes_atomically

#: What SQLite says where it cannot make the files that it needs beside the database.
_CANNOT_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

# The effective label of a picture and a term is that of the highest-ranking source; among equals, the newest. SQLite
# takes the other columns from the row that has the max(). The view belongs to the connection, not to the file, so it
# may change without a migration. All imports have one name here, whatever file they come from.
_EFFECTIVE = """
    CREATE TEMP VIEW effective AS
    SELECT
        label.picture_id, label.term_id, term.kind, term.name,
        CASE source.rank WHEN 1 THEN 'import' ELSE source.name END AS source, source.rank,
        label.state, label.score, label.time, label.act,
        max((source.rank << 60) + (label.sequence << 24) + source.id) AS precedence
    FROM label
    JOIN source ON source.id = label.source_id
    JOIN term ON term.id = label.term_id
    WHERE NOT term.dropped
    GROUP BY label.picture_id, label.term_id
"""


class Connections:
    """Connections to ``file``, one per thread; those of ended threads are closed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._guard = threading.RLock()
        self._of_thread: dict[threading.Thread, log.Connection] = {}
        self._watcher: log.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._closed = False

    def mine(self) -> log.Connection:
        """The connection of the calling thread."""
        thread = threading.current_thread()
        connection = self._of_thread.get(thread)
        if connection is None:
            with self._guard:
                for ended in [known for known in self._of_thread if not known.is_alive()]:
                    self._of_thread.pop(ended).close()
                connection = self._of_thread[thread] = self._connect()
        self._refuse_another_file()
        return connection

    def version(self) -> tuple[int, int]:
        """SQLite's data version, seen from a connection that never writes, and the sequence number."""
        with self._guard:
            if self._watcher is None:
                self._watcher = self._connect()
            self._refuse_another_file()
            with schema.snapshot(self._watcher):
                (sequence,) = self._watcher.execute("SELECT number FROM sequence").fetchone()
                (version,) = self._watcher.execute("PRAGMA data_version").fetchone()
            return int(version), int(sequence)

    def close(self) -> None:
        """Close all connections."""
        with self._guard:
            self._closed = True
            for connection in (*self._of_thread.values(), self._watcher):
                if connection is not None:
                    connection.close()
            self._of_thread.clear()
            self._watcher = None

    def _connect(self) -> log.Connection:
        if self._closed:
            raise VistermError("this workspace was closed: open it again")
        if self._opened is None:
            connection = connect(self._file)
            self._opened = self._identity()
            return connection
        self._refuse_another_file()
        return connect(self._file)

    def _identity(self) -> tuple[int, int] | None:
        """Which file is at the path now."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _refuse_another_file(self) -> None:
        """An open database can be written to even if its file is elsewhere now, where nobody would look for it."""
        if self._identity() != self._opened:
            raise VistermError(
                f"{self._file} was moved, removed or replaced while it was open: open the workspace again, where it is"
            )


def create(file: Path) -> None:
    """Make an empty catalogue, whole or not at all; only for a place where there has never been one."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        schema.migrate(made, file)
        write_bytes_atomically(file, made.serialize())


def connect(file: Path) -> log.Connection:
    """Open the catalogue's database, and upgrade it if it is older; where nothing can be written, only to read."""
    if not file.exists() or not file.stat().st_size:
        raise _lost(file)
    try:
        with schema.sqlite_errors(file):
            return _connect(file, "mode=rw")
    except VistermError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        for option in _to_read(file) if code in _CANNOT_WRITE and file.is_file() else ():
            try:
                return _connect(file, option)
            except sqlite3.Error:
                continue
        raise


def _to_read(file: Path) -> list[str]:
    """The ways to open ``file``: without its companion files it can be read only if nothing waits in them."""
    waiting = file.with_name(f"{file.name}-wal")
    return ["mode=ro", *(["mode=ro&immutable=1"] if not (waiting.exists() and waiting.stat().st_size) else [])]


def _connect(file: Path, option: str) -> log.Connection:
    # Each connection belongs to one thread, but the thread that closes the catalogue closes all of them.
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{option}",
        uri=True,
        timeout=schema.BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=log.Connection,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")  # whoever wrote the file, it runs nothing here
        if connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").fetchone()[0]:
            raise _lost(file)
        schema.migrate(connection, file)  # refuses other files; to read, also those that would have to be upgraded
        if option == "mode=rw":
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # what was confirmed survives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(_EFFECTIVE)
        log.watch(connection)
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message
        connection.close()
        raise schema.damage(file, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _lost(file: Path) -> InputError:
    """The catalogue is gone: how to get it back."""
    what = "empty" if file.exists() else "missing"
    beside = [path.name for path in backups.copies(file)]
    copies = f"; beside it there are copies: {', '.join(beside)}" if beside else ""
    return InputError(
        f"{file} is {what}. It holds all that people said of the pictures. Put the file back, or take a backup with "
        f"'visterm restore FILE'{copies}. To begin anew, move {file.parent} away, then use 'visterm init'"
    )
