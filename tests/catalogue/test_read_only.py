"""A catalogue on a disk that cannot be written to: it is read, and changes are refused in one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from visterm.catalogue import schema
from visterm.catalogue.catalogue import Catalogue
from visterm.errors import VistermError


def refuse(file: Path) -> sqlite3.Connection:
    """What happens where SQLite cannot make the files that it needs."""
    with schema.sqlite_errors(file):
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN  # type: ignore[misc]
        raise error


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "catalogue.sqlite"
    with Catalogue(file, root=tmp_path) as catalogue:
        catalogue.language = "de"
    return file


def test_what_cannot_be_written_can_be_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "connect", refuse)
    with Catalogue(file, root=file.parent) as catalogue:
        assert catalogue.language == "de"
        assert catalogue.counts().n_pictures == 0
        catalogue.version()
        with pytest.raises(VistermError, match="read-only; this change was not saved"):
            catalogue.language = "en"


def test_a_file_with_changes_beside_it_is_not_read_without_them(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = sqlite3.connect

    def without_companions(name: object, **options: object) -> sqlite3.Connection:
        assert "immutable" not in str(name)
        if "mode=ro" in str(name):
            raise sqlite3.OperationalError("unable to open database file")
        return opened(name, **options)  # type: ignore[call-overload, no-any-return]

    file.with_name("catalogue.sqlite-wal").write_bytes(b"changes")
    monkeypatch.setattr(schema, "connect", refuse)
    monkeypatch.setattr(sqlite3, "connect", without_companions)
    with pytest.raises(VistermError, match="cannot be opened"), Catalogue(file, root=file.parent) as catalogue:
        catalogue.counts()


def test_a_file_that_is_absent_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "connect", refuse)
    with pytest.raises(VistermError, match="cannot be opened"), Catalogue(tmp_path / "none", root=tmp_path) as opened:
        opened.counts()
