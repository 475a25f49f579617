"""Undoing what concerns files, after the files have changed: nothing is blocked, no label changes its picture."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.errors import InputError
from visterm.workspace import Workspace

COLOURS = ("red", "green", "blue", "white", "black")
_times = itertools.count(1_700_000_000, 10)


def draw(file: Path, colour: str) -> None:
    """Another picture in place of the file, at a later time."""
    Image.new("RGB", (32, 24), colour).save(file)
    moment = next(_times)
    os.utime(file, (moment, moment))


@pytest.fixture
def photos(tmp_path) -> Iterator[Workspace]:
    home = tmp_path / "home"
    home.mkdir()
    for number, colour in enumerate(COLOURS[:3]):
        draw(home / f"{number}.png", colour)
    with Workspace.create(home) as opened:
        opened.add()
        yield opened
        assert_truth(opened)


def colour_of(photos: Workspace, path: str) -> str:
    picture = photos.catalogue.picture(path)
    assert picture is not None
    return {content_hash(photos, colour): colour for colour in COLOURS}[picture.sha256]


def content_hash(photos: Workspace, colour: str) -> str:
    file = photos.folder.parent / f"{colour}.png"
    if not file.exists():
        draw(file, colour)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def tags_by_colour(photos: Workspace) -> dict[str, list[str]]:
    hashes = {content_hash(photos, colour): colour for colour in COLOURS}
    return {
        hashes[picture.sha256]: [label.name for label in picture.tags]
        for picture in photos.catalogue.pictures()
        if picture.tags
    }


def assert_truth(photos: Workspace) -> None:
    """No record names a file that holds something else, and nothing is broken."""
    assert photos.catalogue.check() == []
    for path, (size, mtime_ns) in photos.catalogue.known_files().items():
        file = photos.folder / path
        if file.exists() and (file.stat().st_size, file.stat().st_mtime_ns) == (size, mtime_ns):
            assert photos.catalogue.picture(path).sha256 == hashlib.sha256(file.read_bytes()).hexdigest(), path


def undo_all(photos: Workspace) -> None:
    while photos.catalogue.history.next()[0] is not None:
        photos.undo()
        assert_truth(photos)


def test_another_file_took_the_place_of_a_removed_one(photos):
    photos.label("0.png", tags="early")
    photos.remove("0.png")
    draw(photos.folder / "0.png", "white")
    photos.add()
    photos.undo()
    assert tags_by_colour(photos) == {"red": ["early"]}
    assert colour_of(photos, "0.png") == "white"  # it keeps its file
    assert photos.status().without_file[0].last_seen == "0.png"
    photos.undo()
    assert tags_by_colour(photos) == {}


def test_the_removed_picture_is_back_in_its_old_place(photos):
    """Once more the old content, after another one: the record of the other one must not have it."""
    photos.label("0.png", tags="early")
    photos.remove("0.png")
    draw(photos.folder / "0.png", "white")
    photos.add()
    draw(photos.folder / "0.png", "red")
    photos.add()
    photos.undo()
    assert tags_by_colour(photos) == {"red": ["early"]}
    assert photos.catalogue.picture("0.png").tags[0].name == "early"
    assert photos.status().n_missing == 0
    undo_all(photos)
    assert tags_by_colour(photos) == {}


def test_a_removed_file_that_moved_meanwhile_is_found_again(photos):
    photos.label("0.png", tags="early")
    photos.remove("0.png")
    (photos.folder / "0.png").rename(photos.folder / "moved.png")
    assert photos.add().files.removed == 1
    photos.undo()
    photos.add()
    assert [label.name for label in photos.catalogue.picture("moved.png").tags] == ["early"]
    assert photos.status().n_missing == 0


def test_an_earlier_content_of_the_removed_picture_appeared(photos):
    shutil.copy(photos.folder / "0.png", photos.folder.parent / "original.png")
    photos.label("0.png", tags="early")
    draw(photos.folder / "0.png", "white")
    photos.add()
    photos.remove("0.png")
    shutil.copy(photos.folder.parent / "original.png", photos.folder / "9.png")
    photos.add()
    photos.undo()
    assert (colour_of(photos, "9.png"), colour_of(photos, "0.png")) == ("red", "white")
    assert tags_by_colour(photos) == {"white": ["early"], "red": ["early"]}  # as if nothing had been removed


def test_a_file_that_was_made_a_new_picture_is_edited_before_the_undo(photos):
    photos.label("0.png", tags="early")
    draw(photos.folder / "0.png", "white")
    photos.add(photos.folder / "0.png", as_new=True)
    draw(photos.folder / "0.png", "black")
    photos.add()
    photos.undo()
    assert colour_of(photos, "0.png") == "black"
    assert tags_by_colour(photos) == {"black": ["early"]}  # an edited picture keeps its labels
    assert photos.status().n_missing == 0


def test_what_the_files_have_overtaken_cannot_be_redone(photos):
    photos.label("0.png", tags="early")
    photos.remove("0.png")
    draw(photos.folder / "0.png", "white")
    photos.add()
    assert photos.undo().redo is None
    assert photos.history().actions[0].undone


acts = st.lists(
    st.one_of(
        st.tuples(st.just("draw"), st.integers(0, 3), st.sampled_from(COLOURS)),
        st.tuples(st.just("move"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 3)),
        st.tuples(st.just("add")),
        st.tuples(st.just("again")),
        st.tuples(st.just("as new"), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.integers(0, 3)),
        st.tuples(st.just("label"), st.integers(0, 3), st.sampled_from("xyz")),
        st.tuples(st.just("attach"), st.integers(0, 3)),
        st.tuples(st.just("undo")),
    ),
    min_size=3,
    max_size=14,
)


def act(photos: Workspace, kind: str, *values) -> None:
    """What a person does; what is refused is no matter here."""
    file = photos.folder / f"{values[0]}.png" if values else photos.folder
    try:
        if kind == "draw":
            draw(file, values[1])
        elif kind == "move" and file.exists():
            file.rename(photos.folder / f"{values[1]}.png")
        elif kind == "delete":
            file.unlink(missing_ok=True)
        elif kind == "add":
            photos.add()
        elif kind == "again":
            photos.add(again=True)
        elif kind == "as new":
            photos.add(file, as_new=True)
        elif kind == "remove":
            photos.remove(file)
        elif kind == "label":
            photos.label(file, tags=values[1], new=True)
        elif kind == "attach":
            lost = photos.status().without_file
            if lost:
                photos.attach(lost[0].sha256, file)
        elif kind == "undo":
            photos.undo()
    except InputError:
        pass


@settings(max_examples=50, deadline=None)
@example([("draw", 1, "red"), ("remove", 0), ("again",)])
@given(acts)
def test_whatever_happens_to_files_all_can_be_undone(tmp_path_factory, actions):
    home = tmp_path_factory.mktemp("undo") / "home"
    home.mkdir()
    for number, colour in enumerate(COLOURS[:3]):
        draw(home / f"{number}.png", colour)
    with Workspace.create(home) as photos:
        photos.add()
        for action in actions:
            act(photos, *action)
            assert_truth(photos)
        undo_all(photos)
        assert tags_by_colour(photos) == {}
        photos.add(again=True)
        assert_truth(photos)
        on_disk = {file.name for file in home.glob("*.png")}
        assert on_disk <= photos.catalogue.known_files().keys()


def test_a_copy_that_stayed_out_with_a_removed_picture_comes_back_with_it(photos):
    shutil.copy(photos.folder / "0.png", photos.folder / "copy.png")
    photos.remove("0.png")
    assert photos.add().files.removed == 2
    photos.undo()
    assert photos.picture("0.png").paths == ("0.png", "copy.png")
    status = photos.status()
    assert (status.n_missing, status.n_removed) == (0, 0)
    assert photos.add().files.unchanged == status.n_paths


def test_an_earlier_removal_at_the_same_path_holds_after_a_later_one_is_undone(photos):
    photos.remove("1.png")
    (photos.folder / "0.png").rename(photos.folder / "1.png")
    photos.add()
    photos.remove("1.png")
    photos.undo()
    assert (colour_of(photos, "1.png"), photos.status().n_removed) == ("red", 1)
    draw(photos.folder / "9.png", "green")
    assert photos.add().files.removed == 1  # nobody has undone the removal of the green one
    photos.redo()
    assert photos.catalogue.picture("1.png") is None
    undo_all(photos)
    assert {colour_of(photos, path) for path in ("1.png", "9.png")} == {"red", "green"}
    assert photos.status().n_removed == 0


def test_a_copy_that_stayed_out_with_a_later_removal_at_the_same_path_comes_back_with_it(photos):
    photos.remove("1.png")
    (photos.folder / "0.png").rename(photos.folder / "1.png")
    photos.add()
    photos.remove("1.png")
    shutil.copy(photos.folder / "1.png", photos.folder / "copy.png")
    assert photos.add().files.removed == 2
    photos.undo()
    assert photos.picture("1.png").paths == ("1.png", "copy.png")
    assert photos.status().n_removed == 1


@pytest.mark.parametrize("seen", [True, False])
def test_copies_that_were_added_again_can_be_redone(photos, seen):
    """All that comes back with a removed picture is one action, also a copy that was never seen."""
    photos.label("0.png", tags="early")
    shutil.copy(photos.folder / "0.png", photos.folder / "copy.png")
    photos.remove("0.png")
    if seen:
        assert photos.add().files.removed == 2
    photos.add(again=True)
    assert photos.picture("0.png").paths == ("0.png", "copy.png")
    photos.undo()
    assert (photos.catalogue.picture("0.png"), photos.catalogue.picture("copy.png")) == (None, None)
    assert photos.status().n_removed == 1 + seen
    photos.redo()
    assert photos.picture("0.png").paths == ("0.png", "copy.png")
    assert photos.status().n_removed == 0
    undo_all(photos)


def test_many_copies_that_were_added_again_are_one_action(photos):
    """Copies of a picture that is still there, more than one transaction of a scan takes."""
    names = [f"copy-{number:03}.png" for number in range(70)]
    for name in names:
        shutil.copy(photos.folder / "0.png", photos.folder / name)
    photos.add()
    photos.remove(names)
    photos.add(again=True)
    assert (photos.status().n_removed, len(photos.picture("0.png").paths)) == (0, 71)
    photos.undo()
    assert (photos.status().n_removed, photos.picture("0.png").paths) == (70, ("0.png",))
    photos.redo()
    assert (photos.status().n_removed, len(photos.picture("0.png").paths)) == (0, 71)
