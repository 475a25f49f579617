"""History, undo and redo through the workspace and the command line."""

from __future__ import annotations

import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        Image.new("RGB", (32, 24), (number * 50, 80, 120)).save(tmp_path / f"{number}.png")
    return tmp_path


@pytest.fixture
def photos(folder):
    with Workspace.create(folder) as photos:
        photos.add()
        yield photos


def tags(photos, name):
    return [label.name for label in photos.picture(name).tags]


def test_a_bulk_change_is_one_action(photos, folder):
    photos.label([folder / "0.png", folder / "1.png"], tags=["boat", "sea"], class_name="coast")
    photos.label(folder / "2.png", tags="boat")
    first = photos.history().actions[0]
    assert first.what == "label 1 picture: tag boat"
    done = photos.undo(2)
    assert [action.what for action in done.actions] == [
        "label 1 picture: tag boat",
        "label 2 pictures: class coast, tag boat, tag sea",
    ]
    assert (done.undo, done.redo) == (None, "label 2 pictures: class coast, tag boat, tag sea")
    assert tags(photos, folder / "0.png") == []
    assert photos.redo().redo == "label 1 picture: tag boat"
    assert tags(photos, folder / "0.png") == ["boat", "sea"]
    assert photos.status().n_with_tags == 2


def test_a_search_knows_what_was_undone(photos, folder):
    photos.label(folder / "0.png", tags="boat")
    assert [found.path for found in photos.search("boat").found] == ["0.png"]
    photos.undo()
    assert photos.search("boat").n_likely == 0
    photos.redo()
    assert [found.path for found in photos.search("boat").found] == ["0.png"]


def test_the_history_is_read_in_pages(photos, folder):
    for name in ("boat", "sea", "sky"):
        photos.label(folder / "0.png", tags=name)
    first = photos.history(limit=2)
    assert [action.what[-3:] for action in first.actions] == ["sky", "sea"]
    second = photos.history(limit=2, before=first.next)
    assert ([action.what[-4:] for action in second.actions], second.next) == (["boat"], None)
    assert photos.history(folder / "1.png").actions == []
    with pytest.raises(InputError, match="not in the collection"):
        photos.history("absent.png")


def test_the_commands(photos, folder, visterm, visterm_json):
    visterm("label", folder / "0.png", "--tag", "pine", "-w", folder)
    visterm("label", folder / "1.png", "--tag", "oak", "-w", folder)
    visterm("vocabulary", "merge", "pine", "oak", "--into", "tree", "-w", folder)
    shown = visterm("history", "-w", folder, COLUMNS="120").stdout
    assert "merge tag pine, oak into tree" in shown
    assert "person" in shown
    one = visterm("history", folder / "0.png", "-w", folder).stdout
    assert "tag tree: none -> accepted" in one
    assert "undone: merge tag pine, oak into tree" in visterm("undo", "-w", folder).stdout
    assert tags(photos, folder / "0.png") == ["pine"]
    assert "undone" in visterm("history", "-w", folder, COLUMNS="120").stdout
    assert visterm_json("redo", "-w", folder)["actions"][0]["what"] == "merge tag pine, oak into tree"
    visterm("vocabulary", "restore", "pine", "-w", folder)
    assert tags(photos, folder / "0.png") == ["pine"]
    assert visterm("redo", "-w", folder, code=1).stderr == "visterm: there is nothing to redo\n"


def test_a_rehearsal_is_no_action(photos, folder):
    photos.label(folder / "0.png", tags="boat")
    photos.remove(folder / "0.png", dry_run=True)
    assert len(photos.history().actions) == 1
    photos.remove(folder / "0.png")
    assert photos.picture(folder / "0.png") is None
    photos.undo()
    assert tags(photos, folder / "0.png") == ["boat"]
    assert photos.add().files.unchanged == 3


def test_the_list_names_the_pictures_in_80_columns(photos, folder, visterm):
    photos.label(folder / "0.png", tags="boat")
    photos.label([folder / "0.png", folder / "1.png", folder / "2.png"], class_name="coast")
    photos.drop("boat")
    photos.undo()
    lines = visterm("history", "-w", folder, COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [
        line.split()[-1] if "undone" in line else line.split("person")[-1].strip() for line in lines if line.strip()
    ][2:] == [
        "undone",
        "label 3 pictures: class coast",
        "0.png, 1.png and others",
        "label 1 picture: tag boat",
        "0.png",
    ]


def test_what_is_no_backup_is_named_as_it_was(visterm, tmp_path):
    visterm("init", tmp_path / "home")
    other = tmp_path / "packing list.txt"
    other.write_text("tent, lamp, matches", encoding="utf-8")
    said = visterm("restore", other, "-w", tmp_path / "home", code=1).stderr
    assert "packing list.txt" in said
    assert "backup.sqlite" not in said
