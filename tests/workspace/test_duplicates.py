"""Copies of pictures: found, decided, shared, moved away and back, through every face."""

from __future__ import annotations

import json
import shutil

import pytest
from PIL import Image, ImageOps

from visterm.errors import InputError
from visterm.learn.data import labels_only
from visterm.workspace import Workspace


@pytest.fixture(scope="module")
def made(tmp_path_factory, postcards):
    """Five postcards; of the first a smaller and a mirrored one, of the second the same bytes, of the third a burst."""
    files = sorted((postcards / "pictures").glob("*.jpg"))
    folder = tmp_path_factory.mktemp("copies") / "photos"
    folder.mkdir()
    for name, file in zip("abcde", files, strict=False):
        shutil.copy(file, folder / f"{name}.jpg")
    first = Image.open(files[0])
    first.resize((first.width // 2, first.height // 2)).save(folder / "a-small.jpg")
    ImageOps.mirror(first).save(folder / "a-mirrored.png")
    shutil.copy(files[1], folder / "b-again.jpg")
    for shot, moved in enumerate((0, 6, 12)):
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = f"2020:05:01 10:00:0{shot}"
        burst = Image.open(files[2])
        burst.crop((moved, 0, burst.width - 12 + moved, burst.height)).save(folder / f"shot{shot}.jpg", exif=exif)
    (folder / "c.jpg").unlink()
    with Workspace.create(folder) as photos:
        photos.add()
        photos.duplicates()
    return folder


@pytest.fixture
def photos(made, tmp_path):
    shutil.copytree(made, tmp_path / "photos")
    with Workspace(tmp_path / "photos") as opened:
        yield opened


def names(group):
    return sorted(file for member in group.pictures for file in member.files)


def found(photos, **wanted):
    return {(group.level, *names(group)) for group in photos.duplicates(**wanted).groups}


BYTES = ("bytes", "b-again.jpg", "b.jpg")
SAME = ("picture", "a-mirrored.png", "a-small.jpg", "a.jpg")
SERIES = ("series", "shot0.jpg", "shot1.jpg", "shot2.jpg")


def test_all_three_levels_are_found_with_the_best_of_each(photos):
    document = photos.duplicates()
    assert {(group.level, *names(group)) for group in document.groups} == {BYTES, SAME, SERIES}
    assert document.n_groups == {"bytes": 1, "picture": 1, "series": 1}
    assert document.n_waiting == {"picture": 1, "series": 1}
    (same,) = [group for group in document.groups if group.level == "picture"]
    best = next(member for member in same.pictures if member.picture.id == same.best)
    assert best.files != ["a-small.jpg"]
    assert json.loads(json.dumps(document.to_dict()))["groups"][0]["level"] == "bytes"


def test_a_decided_group_is_not_asked_again_until_a_new_copy_comes(photos):
    done = photos.keep_copies(["a.jpg"])
    assert done.action is not None
    assert SAME not in found(photos)
    assert SAME in found(photos, decided=True)
    Image.open(photos.folder / "a.jpg").rotate(180).save(photos.folder / "a-turned.jpg")
    photos.add()
    (group,) = photos.duplicates(level="picture").groups
    assert "a-turned.jpg" in names(group)
    assert (group.why, next(m.files for m in group.pictures if m.kept)) == ("kept", ["a.jpg"])
    photos.undo()
    assert not any(member.kept for group in photos.duplicates().groups for member in group.pictures)


def test_a_person_can_tell_pictures_apart_and_put_others_together(photos):
    photos.judge_copies(["a.jpg", "a-small.jpg", "a-mirrored.png"], "different")
    photos.judge_copies(["d.jpg", "e.jpg"], "same")
    assert found(photos, decided=True) == {BYTES, SERIES, ("picture", "d.jpg", "e.jpg")}
    assert found(photos) == {BYTES, SERIES}
    photos.undo(2)
    assert found(photos) == {BYTES, SAME, SERIES}
    with pytest.raises(InputError, match="at least two"):
        photos.judge_copies(["a.jpg", "a.jpg"], "same")
    with pytest.raises(InputError, match="no group of copies has all of them"):
        photos.keep_copies(["a.jpg", "d.jpg"])


def test_labels_are_shared_but_not_where_copies_disagree(photos):
    photos.label(["a.jpg"], tags=["harbour", "boat"], new=True)
    photos.label(["a-small.jpg"], no_tags=["boat"], class_name="coast", new=True)
    plan = photos.share_labels(dry_run=True)
    assert (plan.labels, plan.disputed) == ({"class coast": 2, "tag harbour": 2}, {"tag boat": 1})
    assert plan.action is None
    assert photos.share_labels().labels == plan.labels
    assert photos.picture("a-mirrored.png").class_label.name == "coast"
    assert {label.name for label in photos.picture("a-small.jpg").tags if label.state == "accepted"} == {"harbour"}
    photos.undo()
    assert photos.picture("a-mirrored.png").class_label is None


def files_in(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir() if file.is_file()}


def test_files_are_moved_only_after_two_answers_and_come_back(photos, tmp_path, visterm):
    photos.keep_copies(["a.jpg"])
    photos.keep_copies(["shot1.jpg"])
    before = files_in(photos.folder)
    away = tmp_path / "away"
    over = {"a-small.jpg", "a-mirrored.png", "b-again.jpg", "shot0.jpg", "shot2.jpg"}

    def run(what, *options, code=0):
        return visterm("duplicates", what, away, *options, "-w", photos.folder, code=code).stdout

    assert "nothing was moved" in run("trash")
    run("trash", "--move", code=2)  # nobody can be asked here
    assert files_in(photos.folder) == before
    run("trash", "--move", "--yes")
    assert set(files_in(photos.folder)) == set(before) - over
    assert photos.picture("a-small.jpg") is not None  # with its labels, without a file
    (away / "shot0.jpg").rename(away / "elsewhere.jpg")
    (photos.folder / "shot2.jpg").write_bytes(b"new")
    assert "not moved" in run("untrash", code=1)
    assert (photos.folder / "shot2.jpg").read_bytes() == b"new"
    (photos.folder / "shot2.jpg").unlink()
    run("untrash")
    assert files_in(photos.folder) == {name: time for name, time in before.items() if name != "shot0.jpg"}


def test_nothing_is_moved_into_the_collection_or_in_place_of_a_lost_file(photos, tmp_path):
    photos.keep_copies(["a.jpg"])
    with pytest.raises(InputError, match="inside the collection"):
        photos.trash_copies(photos.folder / "away")
    (photos.folder / "a.jpg").rename(tmp_path / "lost.jpg")
    assert [move.file for move in photos.trash_copies(tmp_path / "away").moves] == ["b-again.jpg"]


def test_copies_have_one_number_when_some_are_held_out(photos):
    data = labels_only(photos, photos.collection())
    place = {path: row for row, path in enumerate(photos.collection().truth.paths)}
    groups = {frozenset(name for name in place if data.group[place[name]] == number) for number in data.group}
    assert {group for group in groups if len(group) > 1} == {frozenset(SAME[1:]), frozenset(SERIES[1:])}
    photos.judge_copies(["a.jpg", "a-small.jpg", "a-mirrored.png"], "different")
    photos.judge_copies(["shot0.jpg", "shot1.jpg", "shot2.jpg"], "different")
    assert labels_only(photos, photos.collection()).group is None


def test_what_was_found_can_be_lost_or_damaged_and_comes_back(photos):
    file = photos.state / "copies" / "found.safetensors"
    for damage in (file.unlink, lambda: file.write_bytes(b"no safetensors at all")):
        damage()
        assert found(photos, find=False) == {BYTES}
        assert found(photos) == {BYTES, SAME, SERIES}


def test_the_command_says_what_waits(photos, visterm):
    told = visterm("duplicates", "-w", photos.folder).stdout
    assert "a-small.jpg" in told
    assert "2 wait for a decision" in told
    visterm("duplicates", "keep", "a.jpg", "-w", photos.folder)
    assert "a-small.jpg" not in visterm("duplicates", "-w", photos.folder).stdout
