"""Puts a backup in place of a catalogue, after it was checked, and keeps what was there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from visterm.catalogue import backups, identity, log, schema
from visterm.catalogue.catalogue import Catalogue
from visterm.errors import InputError


def restore_backup(catalogue: Catalogue, file: Path) -> Path:
    """Put a backup in place of everything, in one step; returns the copy that was made of what was there.

    Nobody else writes between the copy and the replacement: both are made in one transaction.
    """
    with _checked(file, catalogue.file.parent, catalogue.root) as backup:
        connection = catalogue._connection
        with schema.sqlite_errors(catalogue.file):
            connection.execute("ATTACH ? AS backup", (str(backup.file),))
            try:
                connection.execute("PRAGMA foreign_keys = OFF")  # the backup was checked as a whole
                with schema.transaction(connection), log.level(connection, log.Level.NOTHING):
                    kept = backups.keep_before_restore(catalogue.file)
                    _replace_all(connection)
            finally:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("DETACH backup")
        return kept


def _replace_all(connection: log.Connection) -> None:
    """Replace the rows of every table; no number of a picture, word or action is used again for another one."""
    now, last_id = connection.value("SELECT number FROM main.sequence"), identity.last_id(connection)
    tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    for table in connection.values(tables):
        connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 - the tables of our schema
        connection.execute(f"INSERT INTO main.{table} SELECT * FROM backup.{table}")  # noqa: S608
    # what others keep in memory is older than this
    connection.execute("UPDATE main.sequence SET number = max(number, ?)", (now,))
    connection.execute("INSERT OR REPLACE INTO main.setting VALUES ('last_id', ?)", (str(last_id),))


def replace_damaged(file: Path, backup: Path, *, root: Path) -> Path:
    """Put a backup in place of the catalogue ``file``, which cannot be opened; returns where that is kept."""
    with _checked(backup, file.parent, root) as checked:
        whole = checked.file.with_name("whole.sqlite")
        checked.backup(whole)
        kept = backups.put_aside(file)
        whole.rename(file)
        return kept


@contextmanager
def _checked(file: Path, beside: Path, root: Path) -> Iterator[Catalogue]:
    """The catalogue in the backup ``file``, checked and upgraded in a copy in the folder ``beside``."""
    with TemporaryDirectory(dir=beside) as folder:
        copied = Path(folder, "backup.sqlite")
        try:
            shutil.copyfile(file, copied)
        except OSError as error:
            raise InputError(f"cannot read the backup {file}: {error.strerror or error}") from error
        if not copied.stat().st_size:
            raise InputError(f"{file} is empty, not a backup of a catalogue")
        try:
            opened = Catalogue(copied, root=root)
        except InputError as error:  # of the file that was named, not of its copy
            raise InputError(str(error).replace(str(copied), str(file))) from error
        with opened as backup:
            problems = backup.check()
            if problems:
                raise InputError(f"{file}: the backup is damaged, so nothing was restored: {problems[0]}")
            yield backup
