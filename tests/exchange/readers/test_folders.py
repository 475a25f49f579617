from __future__ import annotations

import os
from pathlib import Path

import pytest

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers import READERS
from visterm.exchange.readers._files import walk


def make(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_the_first_level_is_the_class(read, tmp_path):
    make(tmp_path, "coast/b.jpg", "coast/2020/a.PNG", "forest/notes.txt", "train/c.jpg", ".hidden/d.jpg", "loose.jpg")
    records, reading = read("folders", tmp_path)
    assert records == [
        Record("coast/b.jpg", "coast"),
        Record("coast/2020/a.PNG", "coast"),
        Record("train/c.jpg", "train"),
    ]
    assert [item.where for item in reading.skips] == ["loose.jpg"]
    assert READERS["folders"].detect(tmp_path)
    assert READERS["folders"].base(tmp_path) == tmp_path


def test_a_folder_without_sub_folders_of_pictures_is_a_class(read, tmp_path, monkeypatch):
    make(tmp_path, "coast/a.jpg", "coast/notes/b.txt", "test/c.jpg", "mine/d.jpg", "mine/.visterm/catalogue.sqlite")
    assert read("folders", tmp_path / "coast")[0] == [Record("a.jpg", "coast")]
    monkeypatch.chdir(tmp_path / "coast")
    assert read("folders", Path())[0] == [Record("a.jpg", "coast")]
    for name, picture in (("test", "c.jpg"), ("mine", "d.jpg")):
        records, reading = read("folders", tmp_path / name)
        assert (records, [item.where for item in reading.skips]) == ([], [picture])


def test_a_level_of_splits_above(read, tmp_path):
    make(tmp_path, "Training/coast/a.jpg", "dev/coast/b.jpg", "testing/c.jpg")
    records, reading = read("folders", tmp_path)
    assert records == [
        Record("Training/coast/a.jpg", "coast", split="train"),
        Record("dev/coast/b.jpg", "coast", split="val"),
        Record("testing/c.jpg", None, split="test"),
    ]
    assert not reading.skips


def test_folders_without_pictures_and_workspaces_do_not_turn_splits_into_classes(read, tmp_path):
    make(tmp_path, "train/coast/a.jpg", "test/coast/b.jpg", "docs/notes.txt", "mine/.visterm/catalogue.sqlite")
    (tmp_path / "results" / "empty").mkdir(parents=True)
    expected = [Record("test/coast/b.jpg", "coast", split="test"), Record("train/coast/a.jpg", "coast", split="train")]
    records, reading = read("folders", tmp_path)
    assert (records, reading.skips) == (expected, [])
    make(tmp_path, "mine/sheet.png")  # a drawing there
    make(tmp_path, "train/.visterm/catalogue.sqlite", "test/.visterm/catalogue.sqlite")  # splits that are workspaces
    records, reading = read("folders", tmp_path)
    assert records == expected
    assert [str(item) for item in reading.skips] == [
        "mine/sheet.png: it is in a workspace beside the folders of the splits"
    ]


def test_a_class_folder_may_be_a_workspace(read, tmp_path):
    make(tmp_path, "coast/a.jpg", "coast/.visterm/catalogue.sqlite", "train/b.jpg", "bus/c.jpg")
    records, _ = read("folders", tmp_path)
    assert [record.class_name for record in records] == ["bus", "coast", "train"]
    assert {record.split for record in records} == {None}


def test_links_in_circles_and_odd_names(read, tmp_path):
    make(tmp_path, "coast/a\\b.jpg")
    (tmp_path / "coast" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "coast" / os.fsdecode(b"caf\xe9.jpg")).touch()
    records, reading = read("folders", tmp_path)
    assert records == [Record("coast/a\\b.jpg", "coast")]
    assert len(reading.skips) == 1
    reading.skips[0].reason.encode()


def test_a_folder_that_cannot_be_listed_is_noted(tmp_path):
    reading = Reading("gone", "folders")
    assert list(walk(tmp_path / "gone", reading)) == []
    assert [str(item) for item in reading.skips] == [f"{tmp_path}/gone: cannot be listed: No such file or directory"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_without_permission_costs_one_line(read, tmp_path):
    make(tmp_path, "coast/a.jpg", "forest/b.jpg")
    (tmp_path / "forest").chmod(0)
    try:
        records, reading = read("folders", tmp_path)
    finally:
        (tmp_path / "forest").chmod(0o700)
    assert [record.path for record in records] == ["coast/a.jpg"]
    assert "cannot be listed" in reading.skips[0].reason


def test_a_file_is_refused_and_not_detected(read, tmp_path):
    make(tmp_path, "a.jpg")
    with pytest.raises(InputError, match="not a folder"):
        read("folders", tmp_path / "a.jpg")
    assert not READERS["folders"].detect(tmp_path)
    assert not READERS["folders"].detect(tmp_path / "a.jpg")
