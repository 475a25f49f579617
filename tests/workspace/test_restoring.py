"""Restoring a backup: no confirmed label is lost, whoever writes meanwhile, and every earlier state is kept."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from visterm.catalogue import backups, schema
from visterm.errors import VistermError
from visterm.labels.backups import restore
from visterm.workspace import Workspace

WRITER = """
    import sys
    from visterm.workspace import Workspace

    with Workspace.find() as photos:
        print("ready", flush=True)
        for number in range(100_000):
            photos.label("0.png", tags=f"tag {number}", new=True)
            print(number, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for number in range(3):
        Image.new("RGB", (32, 24), (number * 60, 90, 40)).save(home / f"{number}.png")
    with Workspace.create(home) as photos:
        photos.add()
        photos.label("1.png", tags="first")
        photos.backup(tmp_path / "first.sqlite")
    return home


def tags_in(file: Path) -> set[str]:
    """All tags that people gave, read with SQLite alone."""
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM label JOIN term ON term.id = term_id")}


def test_what_another_process_confirms_meanwhile_is_in_one_of_the_files(folder, tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER)], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    confirmed: list[str] = []
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        reader = threading.Thread(target=lambda: confirmed.extend(writer.stdout))
        reader.start()
        for _ in range(6):
            restore(folder, tmp_path / "first.sqlite")
    finally:
        writer.kill()
        writer.wait()
        reader.join()
        writer.stdout.close()
    kept = set.union(*(tags_in(file) for file in folder.glob(".visterm/catalogue*.sqlite")))
    confirmed = [line.strip() for line in confirmed]
    assert len(confirmed) > 5
    assert {f"tag {number}" for number in confirmed} - kept == set()


def test_a_label_between_the_copy_and_the_replacement_waits(folder, tmp_path, monkeypatch):
    """The moment at which labels were lost, held open."""
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.05)
    made, told = backups.keep_before_restore, list[str]()

    def keep(*arguments):
        done = made(*arguments)
        with Workspace(folder) as other, pytest.raises(VistermError) as refused:
            other.label("2.png", tags="meanwhile")
        told.append(str(refused.value))
        return done

    monkeypatch.setattr(backups, "keep_before_restore", keep)
    restore(folder, tmp_path / "first.sqlite")
    assert len(told) == 1
    assert "another program is writing" in told[0]  # so nobody told the person that it was saved


def test_every_state_before_a_restore_is_kept_until_a_person_deletes_it(folder, tmp_path, visterm):
    for number in range(5):
        with Workspace(folder) as photos:
            photos.label("0.png", tags=f"state {number}", new=True)
        told = visterm("restore", tmp_path / "first.sqlite", "-w", folder).stdout
        kept = folder / ".visterm" / f"catalogue.before-restore-{number + 1}.sqlite"
        assert str(kept) in told
        assert "delete it" in told
    for number in range(5):
        assert f"state {number}" in tags_in(folder / ".visterm" / f"catalogue.before-restore-{number + 1}.sqlite")
    visterm("restore", folder / ".visterm" / "catalogue.before-restore-1.sqlite", "-w", folder)
    with Workspace(folder) as photos:
        assert [label.name for label in photos.picture("0.png").tags] == ["state 0"]


def test_a_restore_that_fails_leaves_what_was_there(folder, tmp_path, monkeypatch):
    with Workspace(folder) as photos:
        photos.label("0.png", tags="mine")
        before = list(photos.catalogue._connection.iterdump())
        monkeypatch.setattr(schema, "transaction", _failing_at_the_end(schema.transaction))
        with pytest.raises(KeyboardInterrupt):
            restore(folder, tmp_path / "first.sqlite")
        monkeypatch.undo()
        assert list(photos.catalogue._connection.iterdump()) == before
        assert photos.doctor().problems == []


def _failing_at_the_end(transaction):
    from contextlib import contextmanager

    @contextmanager
    def failing(connection):
        with transaction(connection) as change:
            yield change
            if connection.execute("SELECT count(*) FROM pragma_database_list WHERE name = 'backup'").fetchone()[0]:
                raise KeyboardInterrupt

    return failing


def test_a_running_server_sees_what_was_restored_and_confuses_no_ids(folder, tmp_path):
    with Workspace(folder) as photos:
        Image.new("RGB", (32, 24), "white").save(folder / "3.png")
        photos.add()
        later = photos.picture("3.png").id
        assert len(photos.collection().frame.keys) == 4
        restore(folder, tmp_path / "first.sqlite")
        assert len(photos.collection().frame.keys) == 3
        assert photos.status().n_with_tags == 1
        Image.new("RGB", (32, 24), "black").save(folder / "3.png")
        photos.add()
        assert photos.picture("3.png").id > later  # a page that was open names no other picture by its number
        photos.label("3.png", tags="new")
        assert photos.undo().actions[0].what == "label 1 picture: tag new"
        assert photos.catalogue.check() == []


def test_a_damaged_page_does_not_hinder(folder, tmp_path):
    file = folder / ".visterm" / "catalogue.sqlite"
    with Workspace(folder) as photos:
        (page,) = photos.catalogue._connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'label'"
        ).fetchone()
    data = bytearray(file.read_bytes())
    data[(page - 1) * 4096 : (page - 1) * 4096 + 100] = b"\xff" * 100
    file.write_bytes(data)
    done = restore(folder, tmp_path / "first.sqlite")
    assert done.kept.read_bytes() == data
    with Workspace(folder) as photos:
        assert [label.name for label in photos.picture("1.png").tags] == ["first"]
        assert photos.doctor().problems == []
