"""A catalogue on a disk that cannot be written to: it is read, and changes are refused in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.catalogue.catalogue import Catalogue
from visterm.errors import VistermError


def refusing(*options: str) -> Callable[..., sqlite3.Connection]:
    """What happens where SQLite cannot make the files that it needs: it opens no file with one of these options."""
    opened = sqlite3.connect

    def connect(name: object, **others: object) -> sqlite3.Connection:
        if any(str(name).endswith(option) for option in options):
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN  # type: ignore[misc]
            raise error
        return opened(name, **others)  # type: ignore[call-overload, no-any-return]

    return connect


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "catalogue.sqlite"
    with Catalogue.create(file, root=tmp_path) as catalogue:
        catalogue.language = "de"
    return file


@pytest.mark.parametrize("refused", [("?mode=rw",), ("?mode=rw", "?mode=ro")])
def test_what_cannot_be_written_can_be_read(file: Path, refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", refusing(*refused))
    with Catalogue(file, root=file.parent) as catalogue:
        assert catalogue.language == "de"
        assert catalogue.counts().n_pictures == 0
        catalogue.version()
        with pytest.raises(VistermError, match="read-only; this change was not saved"):
            catalogue.language = "en"


def test_a_file_with_changes_beside_it_is_not_read_without_them(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.with_name("catalogue.sqlite-wal").write_bytes(b"changes")
    monkeypatch.setattr(sqlite3, "connect", refusing("?mode=rw", "?mode=ro"))
    with pytest.raises(VistermError, match="cannot be opened"), Catalogue(file, root=file.parent) as catalogue:
        catalogue.counts()
