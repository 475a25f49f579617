"""Transactions, locks, full disks, kills, and files of other versions."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from visterm.catalogue import schema
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.errors import InputError, VistermError


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        yield opened
        assert opened.check() == []


def fill(catalogue: Catalogue, *names: str) -> list[int]:
    """Pictures called ``names``, each of other content; their ids."""
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in names]
    catalogue.add(
        Examined(str(catalogue.root / name), digest, 1, 1, 40, 30, 1)
        for name, digest in zip(names, digests, strict=True)
    )
    return [catalogue.picture(name).id for name in names]  # type: ignore[union-attr]


def tags_of(catalogue: Catalogue, name: str) -> list[str]:
    picture = catalogue.picture(name)
    assert picture is not None
    return [label.name for label in picture.tags]


def class_of(catalogue: Catalogue, name: str) -> str | None:
    picture = catalogue.picture(name)
    assert picture is not None
    return None if picture.class_label is None else picture.class_label.name


class TestTransactions:
    def test_several_changes_are_one(self, catalogue: Catalogue) -> None:
        (a,) = fill(catalogue, "a.jpg")
        catalogue.label(a, "tag", "sea", source="model m@1")

        def change() -> None:
            with catalogue.transaction():
                catalogue.unlabel(a, "tag", source="model m@1")
                catalogue.label(a, "tag", "sky", source="model m@1")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            change()
        assert tags_of(catalogue, "a.jpg") == ["sea"]

    def test_a_full_disk_is_told_and_changes_nothing(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a.jpg")
        (pages,) = catalogue._connection.execute("PRAGMA page_count").fetchone()
        catalogue._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(VistermError, match="disk is full; this change was not saved"):
            fill(catalogue, *(f"{number}.jpg" for number in range(500)))
        assert set(catalogue.known_files()) == {"a.jpg"}

    def test_a_second_writer_is_told_to_wait_and_readers_go_on(
        self, catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (a,) = fill(catalogue, "a.jpg")
        monkeypatch.setattr(schema, "BUSY_SECONDS", 0.01)
        with Catalogue.create(catalogue.file, root=tmp_path) as other, catalogue.transaction():
            catalogue.label(a, "tag", "sea")
            assert tags_of(other, "a.jpg") == []  # what is not committed is not seen
            with pytest.raises(VistermError, match="another program is writing"):
                other.label(a, "tag", "sky")
        assert tags_of(catalogue, "a.jpg") == ["sea"]

    def test_a_reader_sees_whole_changes_only(self, catalogue: Catalogue, tmp_path: Path) -> None:
        a, b = fill(catalogue, "a.jpg", "b.jpg")
        with Catalogue.create(catalogue.file, root=tmp_path) as reader:
            for name in ("one", "two", "three"):
                with catalogue.transaction():
                    catalogue.label(a, "class", name)
                    before = [picture.class_label and picture.class_label.name for picture in reader.pictures()]
                    catalogue.label(b, "class", name)
                    assert before[0] == before[1] != name
                assert [class_of(reader, path) for path in ("a.jpg", "b.jpg")] == [name, name]

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
    def test_a_kill_in_the_middle_of_a_change_leaves_what_was_before(
        self, catalogue: Catalogue, tmp_path: Path
    ) -> None:
        fill(catalogue, "a.jpg")
        script = """
            import os, signal, sys
            from pathlib import Path
            from visterm.catalogue.catalogue import Catalogue
            from visterm.catalogue.pictures import Examined

            def files():
                for number in range(20_000):
                    yield Examined(f"{number}.jpg", f"{number:064x}", 1, 1, 1, 1, 1)
                os.kill(os.getpid(), signal.SIGKILL)

            root = Path(sys.argv[1])
            catalogue = Catalogue.create(root / "catalogue.sqlite", root=root)
            catalogue.label(1, "tag", "kept")
            catalogue._connection.execute("PRAGMA cache_size = 10")  # uncommitted pages reach the disk
            catalogue.add(files())
        """
        killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert set(catalogue.known_files()) == {"a.jpg"}
        assert tags_of(catalogue, "a.jpg") == ["kept"]
        fill(catalogue, "b.jpg")


class TestSchema:
    def test_an_older_file_is_brought_forward_with_its_contents(self, tmp_path: Path) -> None:
        """A file of the first version meets a program that knows two more."""
        file = tmp_path / "c.sqlite"
        with Catalogue.create(file, root=tmp_path) as catalogue:
            (a,) = fill(catalogue, "a.jpg")
            catalogue.label(a, "tag", "sea")
        later = (
            *schema.MIGRATIONS,
            ["ALTER TABLE picture ADD COLUMN rating INTEGER NOT NULL DEFAULT 3"],
            [  # rebuilding a table that others refer to
                "CREATE TABLE renewed (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, dropped INTEGER, note TEXT)",
                "INSERT INTO renewed SELECT id, kind, name, dropped, 'old' FROM term",
                "DROP TABLE term",
                "ALTER TABLE renewed RENAME TO term",
            ],
        )
        connection = sqlite3.connect(file, isolation_level=None)
        schema.migrate(connection, file, later)
        schema.migrate(connection, file, later)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(later),)
        assert connection.execute("SELECT rating FROM picture").fetchall() == [(3,)]
        assert connection.execute("SELECT name, note FROM term JOIN label ON term_id = id").fetchall() == [
            ("sea", "old")
        ]
        connection.close()
        with pytest.raises(InputError, match="made by a newer Visterm"):
            Catalogue.create(file, root=tmp_path)

    @pytest.mark.parametrize("fault", ["NOT SQL", "INSERT INTO path VALUES ('x', 99, 1, 1, 0)"])
    def test_a_step_that_fails_changes_nothing(self, tmp_path: Path, fault: str) -> None:
        file = tmp_path / "c.sqlite"
        Catalogue.create(file, root=tmp_path).close()
        connection = sqlite3.connect(file, isolation_level=None)
        with pytest.raises((sqlite3.Error, VistermError)):
            schema.migrate(connection, file, (*schema.MIGRATIONS, ["CREATE TABLE extra (x)", fault]))
        connection.close()
        with Catalogue.create(file, root=tmp_path) as catalogue:
            assert catalogue.check() == []
            tables = catalogue._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'extra'").fetchall()
            assert tables == []

    def test_other_files_are_refused_and_left_alone(self, tmp_path: Path) -> None:
        database, text = tmp_path / "other.sqlite", tmp_path / "text.sqlite"
        connection = sqlite3.connect(database)
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
        connection.close()
        text.write_text("This is no database. " * 100)
        for file in (database, text):
            before = file.read_bytes()
            with pytest.raises(InputError, match="not a catalogue of Visterm"):
                Catalogue.create(file, root=tmp_path)
            assert file.read_bytes() == before
        absent = tmp_path / "no" / "such" / "folder.sqlite"
        with pytest.raises(VistermError, match="cannot write"):
            Catalogue.create(absent, root=tmp_path)
        with pytest.raises(InputError, match="is missing"):
            Catalogue(absent, root=tmp_path)
        assert not absent.parent.exists()

    def test_the_settings_hold(self, catalogue: Catalogue) -> None:
        def pragma(name: str) -> object:
            return catalogue._connection.execute(f"PRAGMA {name}").fetchone()[0]

        assert (pragma("journal_mode"), pragma("foreign_keys"), pragma("synchronous")) == ("wal", 1, 2)
        assert pragma("user_version") == len(schema.MIGRATIONS)
