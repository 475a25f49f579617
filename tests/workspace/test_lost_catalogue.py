"""A catalogue that is gone or empty is not a new one: nothing is created over it, and the message helps to recover."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
from fastapi.testclient import TestClient

from visterm.errors import InputError, VistermError
from visterm.faces.web.application import application
from visterm.faces.web.guard import Rules
from visterm.features import FeatureLibrary
from visterm.storage import WriteLock
from visterm.workspace import Workspace


@pytest.fixture
def catalogue(folder):
    """The file of a catalogue that has a label."""
    with Workspace(folder) as photos:
        photos.label(folder / "0.png", tags="boat")
    return folder / ".visterm" / "catalogue.sqlite"


@pytest.mark.parametrize("loss", ["missing", "empty"])
@pytest.mark.parametrize("command", ["status", "init", "add", "serve"])
def test_no_command_takes_a_lost_catalogue_for_a_new_one(folder, catalogue, visterm, loss, command):
    wal = catalogue.with_name("catalogue.sqlite-wal")
    wal.write_bytes(b"a confirmed label")
    catalogue.unlink() if loss == "missing" else catalogue.write_bytes(b"")
    told = visterm(command, *([folder] if command == "init" else ["-w", folder]), code=1).stderr
    assert f"catalogue.sqlite is {loss}" in told
    assert "visterm restore" in told
    assert wal.read_bytes() == b"a confirmed label"
    assert not catalogue.exists() if loss == "missing" else catalogue.read_bytes() == b""


def test_doctor_does_not_say_that_a_lost_catalogue_is_well(folder, catalogue, visterm):
    catalogue.write_bytes(b"")
    told = visterm("doctor", cwd=folder, code=1)
    assert "is empty" in told.stderr
    assert "all is well" not in told.stdout


def test_the_message_names_the_copies_and_restore_takes_one(folder, catalogue, visterm):
    with Workspace(folder) as photos:
        photos.backup(folder.parent / "labels.sqlite")
    visterm("restore", folder.parent / "labels.sqlite", "-w", folder)
    catalogue.unlink()
    catalogue.with_name("catalogue.sqlite-wal").write_bytes(b"confirmed")
    told = visterm("status", "-w", folder, code=1).stderr
    assert "catalogue.before-restore-1.sqlite" in told
    visterm("restore", catalogue.with_name("catalogue.before-restore-1.sqlite"), "-w", folder)
    with Workspace(folder) as photos:
        assert [label.name for label in photos.picture("0.png").tags] == ["boat"]
    assert catalogue.with_name("catalogue.damaged-1.sqlite-wal").read_bytes() == b"confirmed"


def test_init_finishes_what_a_kill_left(tmp_path):
    (tmp_path / ".visterm").mkdir()
    (tmp_path / ".visterm" / ".visterm-0123.tmp").touch()
    (tmp_path / ".visterm" / "lock").touch()
    with pytest.raises(InputError, match="visterm init"):
        Workspace(tmp_path)
    with Workspace.create(tmp_path) as photos:
        assert photos.status().n_pictures == 0


def test_a_new_catalogue_appears_whole(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(VistermError, match="No space left"):
        Workspace.create(tmp_path)
    assert not (tmp_path / ".visterm" / "catalogue.sqlite").exists()


@pytest.fixture
def served(folder, catalogue):
    """A server over the workspace, and its files made ready."""
    with Workspace(folder) as photos:
        rules = Rules(frozenset({"testserver"}), "a-token")
        client = TestClient(application(photos, rules), headers={"Authorization": "Bearer a-token"})
        number = photos.picture("0.png").id
        yield photos, client, number


def test_a_folder_renamed_while_served_is_an_error_and_nothing_is_recreated(folder, served):
    photos, client, number = served
    key = photos.picture("0.png").sha256
    folder.rename(folder.with_name("elsewhere"))
    asked = [
        client.get("/api/v1/pictures"),
        client.get(f"/api/v1/thumbnails/{key}/small.webp"),
        client.post("/api/v1/labels", json={"ids": [number], "tags": ["sea"], "new": True}),
        client.post("/api/v1/jobs", json={"kind": "features"}),
        client.get("/api/v1/search", params={"q": "boat"}),
    ]
    assert [answer.status_code for answer in asked] == [503] * 5
    assert "was moved, removed or replaced" in asked[0].json()["detail"]
    for write in (
        lambda: photos.features("colour"),
        lambda: photos.train("knn"),
        lambda: photos.thumbnails.file(key, "small", folder.with_name("elsewhere") / "0.png"),
        lambda: photos.jobs.start("features"),
    ):
        with pytest.raises(VistermError):
            write()
    assert not folder.exists()
    with Workspace(folder.with_name("elsewhere")) as moved:
        assert [label.name for label in moved.picture("0.png").tags] == ["boat"]


def test_a_catalogue_replaced_while_served_gets_no_label_that_nobody_would_find(folder, catalogue, served):
    _, client, number = served
    shutil.copyfile(catalogue, catalogue.with_name("copy"))
    catalogue.with_name("copy").replace(catalogue)
    answer = client.post("/api/v1/labels", json={"ids": [number], "tags": ["sea"], "new": True})
    assert (answer.status_code, "open the workspace again" in answer.json()["detail"]) == (503, True)


def test_no_writer_of_derived_data_makes_the_folder_of_a_workspace(tmp_path):
    from visterm.features import FeatureStore
    from visterm.models.shelf import ModelShelf
    from visterm.storage import RowSpec

    gone = tmp_path / "gone" / ".visterm"
    for write in (
        lambda: WriteLock(gone).held().__enter__(),
        lambda: FeatureLibrary(gone).recipe("hue-100", {}),
        lambda: FeatureStore(gone / "features" / "x", RowSpec(3)),
        lambda: ModelShelf(gone / "models").adding("x").__enter__(),
    ):
        with pytest.raises(VistermError):
            write()
    assert not gone.parent.exists()


def test_an_emptied_table_of_contents_is_no_catalogue(folder, catalogue):
    """A file that is a database but holds nothing, as another program may make it."""
    catalogue.unlink()
    with closing(sqlite3.connect(catalogue)) as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.execute("VACUUM")
    with pytest.raises(InputError, match="is empty"):
        Workspace(folder)


def test_an_index_whose_first_write_a_power_cut_ended_is_no_problem(folder, catalogue):
    (folder / ".visterm" / "index" / "tags@1.0123abcd.words").mkdir(parents=True)
    with Workspace(folder) as photos:
        assert photos.doctor().problems == []
