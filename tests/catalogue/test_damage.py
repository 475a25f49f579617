"""Damaged and hostile catalogues: one clear line, never a traceback, and nothing planted in them runs."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from visterm.catalogue import schema
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.records import Reading, Record, Region
from visterm.catalogue.restoring import restore_backup
from visterm.errors import InputError, VistermError
from visterm.labels.backups import restore
from visterm.workspace import Workspace

VALUES = ("NULL", "X'ff00fe'", "CAST(X'c328ff' AS TEXT)", "''", "-1", "9e999", "9223372036854775807", "'x'", "0", "1.5")


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """A small workspace with something in every table; the folder of its pictures."""
    folder = tmp_path_factory.mktemp("damage") / "photos"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (32, 24), (number * 60, 90, 40)).save(folder / f"{number}.png")
    with Workspace.create(folder, language="en") as photos:
        photos.add()
        catalogue = photos.catalogue
        records = [Record("0.png", "coast", ("sea",), "A sea", "test", (Region("sea", 0, 0, 4, 4),))]
        catalogue.apply(records, base=folder, reading=Reading("labels.csv", "table"))
        photos.label(["0.png", "1.png"], class_name="street", tags=["boat", "ship", "sky"])
        photos.merge(["ship"], into="boat")
        photos.drop("sky")
        catalogue.label(2, "tag", "boat", state="suggested", score=0.5, source="model m@1")
        photos.remove("3.png")
        Image.new("RGB", (32, 24), "white").save(folder / "1.png")
        photos.add()
        catalogue.mark_exported(catalogue.pictures())
        photos.label("2.png", tags="sea")
        photos.undo()
    return folder


def use(folder: Path) -> None:
    """What the commands do with a catalogue."""
    with Workspace(folder) as photos:
        photos.doctor()
    with Workspace(folder) as photos:
        photos.status().to_dict()
        photos.vocabulary().to_dict()
        for picture in list(photos.catalogue.pictures()):
            photos.history(picture.sha256).to_dict()
        photos.history().to_dict()
        photos.search("boat sea").to_dict()
        photos.export(folder.parent / "labels.jsonl")
        photos.export(folder.parent / "labels.csv")
        photos.add()
        photos.label("0.png", tags="new one", new=True)
        photos.rename("boat", "vessel")
        photos.undo()
        photos.undo(5)
        photos.redo(2)
        photos.backup(folder.parent / "backup.sqlite")


def outcome(folder: Path, damage: Callable[[Path], None], into: Path) -> str:
    """What comes of using a damaged copy: 'fine' or the message; anything but our own errors is raised."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(folder, into / "photos")
    damage(into / "photos" / ".visterm" / "catalogue.sqlite")
    try:
        use(into / "photos")
    except VistermError as error:
        return str(error)
    return "fine"


def cells(file: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]


def spoil_cell(file: Path, chance: random.Random) -> str:
    """Write a wrong value into a cell, past all rules."""
    table, column = chance.choice(cells(file))
    value = chance.choice(VALUES)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        row = "(SELECT count(*) FROM " + table + ")"
        key = ", ".join(name for _, name, *_, primary in connection.execute(f"PRAGMA table_info({table})") if primary)
        key = key or "rowid"
        chosen = f"SELECT {key} FROM {table} LIMIT 1 OFFSET {chance.randrange(8)} % max(1, {row})"
        try:
            connection.execute(f"UPDATE {table} SET {column} = {value} WHERE ({key}) = ({chosen})")
        except sqlite3.Error:
            return "refused"
    return f"{table}.{column} = {value}"


def spoil_bytes(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    kind = chance.randrange(4)
    if kind == 0:
        del data[chance.randrange(len(data)) :]
    elif kind == 1:
        start = chance.randrange(len(data))
        data[start : start + chance.randrange(1, 4000)] = chance.randbytes(chance.randrange(1, 4000))
    else:
        for _ in range(chance.randrange(1, 30)):
            data[chance.randrange(100 if kind == 2 else len(data))] = chance.randrange(256)
    file.write_bytes(bytes(data))


@pytest.mark.parametrize("seed", [*range(10), 50, 156])
def test_wrong_cells_cost_one_line(original, tmp_path, seed):
    assert "\n" not in outcome(original, lambda file: spoil_cell(file, random.Random(seed)), tmp_path / "copy")


@pytest.mark.parametrize("seed", [*range(10), 11, 25, 271, 1133])
def test_wrong_bytes_cost_one_line(original, tmp_path, seed):
    assert "\n" not in outcome(original, lambda file: spoil_bytes(file, random.Random(seed)), tmp_path / "copy")


def changed(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DROP TABLE alias", "its index 'alias_of_term' is not as Visterm made it"),
        ("DROP INDEX change_of_picture", "its index 'change_of_picture' is not as Visterm made it"),
        ("CREATE TRIGGER evil AFTER INSERT ON label BEGIN DELETE FROM term; END", "a trigger 'evil' that Visterm did"),
        ("CREATE VIEW evil AS SELECT * FROM label", "a view 'evil' that Visterm did"),
        ("CREATE TABLE evil (x)", "a table 'evil' that Visterm did"),
        ("ALTER TABLE picture ADD COLUMN evil TEXT", "its table 'picture' is not as Visterm made it"),
        ("UPDATE term SET name = X'ff' WHERE id = 1", "wrong values in column name of term"),
        ("UPDATE label SET time = 9e18", "impossible times"),
        ("UPDATE picture SET sha256 = printf('%064d', id) || 'x'", "CHECK constraint failed"),
        ("UPDATE picture SET sha256 = printf('X%063d', id)", "content hashes that are none"),
    ],
)
def test_what_is_wrong_is_named(original, tmp_path, statement, reason):
    def damage(file: Path) -> None:
        changed(file, "PRAGMA ignore_check_constraints = ON", statement)

    shutil.copytree(original, tmp_path / "photos")
    file = tmp_path / "photos" / ".visterm" / "catalogue.sqlite"
    damage(file)
    try:
        with Catalogue.create(file, root=tmp_path / "photos") as catalogue:
            found = " ".join(catalogue.check())
    except InputError as error:
        found = str(error)
    assert reason in found


def test_a_change_that_fails_since_the_catalogue_is_damaged_says_so(original, tmp_path):
    """In a catalogue that is whole, test_vocabulary.py has the same error."""
    shutil.copytree(original, tmp_path / "photos")
    file = tmp_path / "photos" / ".visterm" / "catalogue.sqlite"
    changed(file, "PRAGMA ignore_check_constraints = ON", "UPDATE picture SET sha256 = printf('%064d', id) || 'x'")
    with Catalogue(file, root=tmp_path / "photos") as catalogue:
        refused = pytest.raises(InputError, match=r"the catalogue is damaged .* visterm restore takes")
        with refused, catalogue.transaction():
            catalogue._connection.execute("INSERT INTO term (kind, name) VALUES ('tag', 'x'), ('tag', 'x')")


def test_a_planted_trigger_does_not_run_in_a_migration(tmp_path):
    file = tmp_path / "c.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        schema.migrate(connection, file, schema.MIGRATIONS[:4])
        connection.execute("CREATE TRIGGER evil AFTER UPDATE ON sequence BEGIN DELETE FROM setting; END")
    before = file.read_bytes()
    with pytest.raises(InputError, match="a trigger 'evil' that Visterm did not make"):
        Catalogue.create(file, root=tmp_path)
    assert file.read_bytes() == before


class TestBackups:
    def test_a_backup_is_one_file_and_brings_everything_back(self, original, tmp_path):
        shutil.copytree(original, tmp_path / "photos")
        with Workspace(tmp_path / "photos") as photos:
            done = photos.backup(tmp_path / "backup.sqlite")
            assert done.n_pictures == 3
            assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["backup.sqlite"]
            with pytest.raises(InputError, match="exists already"):
                photos.backup(tmp_path / "backup.sqlite")
            before = photos.vocabulary()
            photos.label("0.png", tags="later", new=True)
            assert "later" in {tag.name for tag in photos.vocabulary().tag.terms}
            version = photos.catalogue.version()
            restored = restore(tmp_path / "photos", tmp_path / "backup.sqlite")  # while it is open here
            assert photos.catalogue.version()[1] > version[1]
            assert photos.vocabulary() == before
            assert photos.search("later").n_likely == 0
            photos.label("0.png", tags="after", new=True)  # still logged
            assert photos.history().actions[0].what == "label 1 picture: tag after"
            restore(tmp_path / "photos", restored.kept)
            assert "later" in {tag.name for tag in photos.vocabulary().tag.terms}
            assert photos.catalogue.check() == []

    def test_a_damaged_backup_changes_nothing(self, original, tmp_path):
        shutil.copytree(original, tmp_path / "photos")
        with Workspace(tmp_path / "photos") as photos:
            photos.backup(tmp_path / "backup.sqlite")
            before = photos.catalogue.version()
            changed(tmp_path / "backup.sqlite", "UPDATE term SET name = X'ff' WHERE id = 1")
            with pytest.raises(InputError, match="the backup is damaged, so nothing was restored"):
                restore(tmp_path / "photos", tmp_path / "backup.sqlite")
            (tmp_path / "text").write_text("no database " * 100)
            with pytest.raises(InputError, match="not a catalogue"):
                restore(tmp_path / "photos", tmp_path / "text")
            (tmp_path / "empty").touch()
            with pytest.raises(InputError, match="is empty"):
                restore(tmp_path / "photos", tmp_path / "empty")
            assert photos.catalogue.version() == before

    def test_a_catalogue_that_cannot_be_opened_is_replaced_and_kept(self, original, tmp_path):
        shutil.copytree(original, tmp_path / "photos")
        with Workspace(tmp_path / "photos") as photos:
            photos.backup(tmp_path / "backup.sqlite")
        file = tmp_path / "photos" / ".visterm" / "catalogue.sqlite"
        file.write_bytes(b"damaged" * 1000)
        done = restore(tmp_path / "photos", tmp_path / "backup.sqlite")
        assert (done.n_pictures, done.kept.read_bytes()[:7]) == (3, b"damaged")

    def test_an_upgrade_leaves_a_backup(self, tmp_path):
        file = tmp_path / "c.sqlite"
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            schema.migrate(connection, file, schema.MIGRATIONS[:4])
            connection.execute("INSERT INTO setting VALUES ('language', 'de')")
        with Catalogue.create(file, root=tmp_path) as catalogue:
            assert catalogue.language == "de"
            kept = tmp_path / "c.version-4.sqlite"
            with closing(sqlite3.connect(kept)) as old:
                assert old.execute("SELECT value FROM setting").fetchall() == [("de",)]
                assert old.execute("PRAGMA user_version").fetchone() == (4,)
            for number in (1, 2, 3, 4):
                assert restore_backup(catalogue, kept).name == f"c.before-restore-{number}.sqlite"
        assert sorted(path.name for path in tmp_path.glob("c.before*")) == [
            f"c.before-restore-{number}.sqlite" for number in (1, 2, 3, 4)
        ]
