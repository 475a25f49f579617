"""Puts a backup in place of a catalogue, after it was checked, and keeps what was there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from visterm.catalogue import backups, schema
from visterm.catalogue.catalogue import Catalogue
from visterm.errors import InputError


def restore_backup(catalogue: Catalogue, file: Path) -> Path:
    """Put a backup in place of everything, in one step; returns the copy that was made of what was there."""
    with _checked(file, catalogue.file.parent, catalogue.root) as backup:
        kept = backups.keep_before_restore(catalogue._connection, catalogue.file)
        with backup.transaction():  # what others keep in memory is older than this
            now = catalogue.version()[1]
            backup._connection.execute("UPDATE sequence SET number = max(number, ?) + 1", (now,))
        with schema.sqlite_errors(catalogue.file):
            backup._connection.backup(catalogue._connection)
        return kept


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
