"""Edited pictures keep what was said of them; a person corrects which picture is which."""

from __future__ import annotations

import json

import pytest
from PIL import Image, ImageEnhance

from visterm.errors import InputError
from visterm.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(4):
        noise = Image.effect_noise((64, 48), 40 + 20 * number)
        Image.merge("RGB", [noise, noise.rotate(180), noise]).save(folder / f"{number}.jpg")
    return folder


@pytest.fixture
def photos(folder):
    with Workspace.create(folder) as photos:
        photos.add()
        photos.label("0.jpg", class_name="coast", tags="treasure")
        yield photos


def edit(file):
    """Other brightness, other size, turned by a quarter."""
    with Image.open(file) as picture:
        brighter = ImageEnhance.Brightness(picture).enhance(1.7)
    brighter.rotate(90, expand=True).save(file)


def tags(photos, name):
    return [label.name for label in photos.picture(name).tags]


def test_an_edited_picture_is_found_trained_on_and_exported(photos, folder, tmp_path):
    photos.features("colour")
    before = photos.picture("0.jpg")
    edit(folder / "0.jpg")
    assert photos.add().files.changed == 1
    after = photos.picture("0.jpg")
    assert (after.id, after.width, after.height) == (before.id, before.height, before.width)
    assert [found.path for found in photos.search("treasure").found] == ["0.jpg"]
    photos.export(tmp_path / "labels.jsonl")
    written = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = {row["file_name"]: row for row in written}
    assert (rows["0.jpg"]["class"], rows["0.jpg"]["tags"]) == ("coast", ["treasure"])
    assert rows["0.jpg"]["sha256"] == after.sha256
    assert photos.features("colour").recipes[0].n_computed == 1  # of the new content
    keys = photos.collection().frame.keys
    assert after.sha256 in keys
    assert before.sha256 not in keys


def test_another_picture_at_the_same_place(photos, folder, visterm, visterm_json, tmp_path):
    edit(folder / "0.jpg")
    photos.add()
    visterm("add", "--as-new", folder / "0.jpg", "-w", folder)
    assert tags(photos, "0.jpg") == []
    (record,) = visterm_json("status", "-w", folder)["without_file"]
    assert (record["last_seen"], record["n_labels"]) == ("0.jpg", 2)
    assert "1 picture without a file" in visterm("doctor", "-w", folder).stdout
    assert "last seen at 0.jpg, 2 labels" in visterm("status", "-w", folder).stdout
    rows = photos.export(tmp_path / "labels.jsonl")
    assert rows.n_pictures == 5
    written = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["tags"] for row in written if row["sha256"] == record["sha256"]] == [["treasure"]]
    assert photos.export(tmp_path / "labels.csv", dry_run=True).n_pictures == 5
    done = visterm("attach", record["sha256"][:12], folder / "0.jpg", "-w", folder)
    assert done.stdout == "0.jpg has 2 labels now\n"
    assert tags(photos, "0.jpg") == ["treasure"]
    photos.undo(2)
    assert tags(photos, "0.jpg") == ["treasure"]
    with pytest.raises(InputError, match="a folder cannot be added as new"):
        photos.add(as_new=True)


def test_another_picture_in_the_place_of_one_of_two_copies(photos, folder):
    (folder / "copy.jpg").write_bytes((folder / "0.jpg").read_bytes())
    photos.add()
    edit(folder / "copy.jpg")
    photos.add()
    assert tags(photos, "copy.jpg") == ["treasure"]  # taken for an edit
    photos.add(folder / "copy.jpg", as_new=True)
    assert (tags(photos, "copy.jpg"), tags(photos, "0.jpg")) == ([], ["treasure"])
    photos.undo()
    assert tags(photos, "copy.jpg") == ["treasure"]


def test_a_picture_that_was_moved_and_edited_gets_its_labels_back(photos, folder):
    (folder / "0.jpg").rename(folder / "new.jpg")
    edit(folder / "new.jpg")
    photos.add()
    assert tags(photos, "new.jpg") == []
    with pytest.raises(InputError, match="there is no file"):
        photos.attach("0.jpg", folder / "absent.jpg")
    assert photos.attach("0.jpg", folder / "new.jpg").labels == 2
    assert tags(photos, "new.jpg") == ["treasure"]
    assert photos.status().n_missing == 0
