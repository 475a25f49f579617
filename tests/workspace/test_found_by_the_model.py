"""Faults that random sequences against the model of tests/attacks found, each in its shortest form."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image

import visterm


def paint(file: Path, number: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (3, 2), (number * 40 % 256, number % 256, 9)).save(file)


@pytest.fixture
def photos(tmp_path):
    for number in range(3):
        paint(tmp_path / f"p{number}.png", number + 1)
    with visterm.open(tmp_path, create=True) as opened:
        opened.add()
        yield opened


def tags(photos, path):
    return {label.name: label.state for label in photos.picture(path).tags}


def test_status_counts_one_class_of_a_picture(photos, tmp_path):
    photos.label("p0.png", class_name="portrait", new=True)
    (tmp_path / "metadata.csv").write_text("file_name,class\np0.png,kitchen\n")
    photos.add()
    status = photos.status()
    assert status.n_with_class == 1
    assert status.classes == {"portrait": 1}


def test_a_denial_comes_back_when_a_merged_word_is_restored(photos):
    """A person denied tree and said pine; merge and restore must not leave tree accepted."""
    photos.label("p0.png", tags=["pine"], no_tags=["tree"], new=True)
    photos.merge("pine", into="tree")
    photos.restore("pine")
    assert tags(photos, "p0.png") == {"pine": "accepted", "tree": "rejected"}


@pytest.mark.parametrize("copy", ["a0.png", "z0.png"])
def test_an_edited_picture_keeps_its_labels_if_the_edit_was_copied_before_add(photos, tmp_path, copy):
    photos.label("p0.png", tags=["harbour"], new=True)
    paint(tmp_path / "p0.png", 77)
    shutil.copy(tmp_path / "p0.png", tmp_path / copy)
    photos.add()
    assert tags(photos, "p0.png") == {"harbour": "accepted"}
    assert photos.status().n_missing == 0


@pytest.mark.parametrize(("taken", "edited"), [("p0.png", "p1.png"), ("p1.png", "p0.png")])
def test_labels_follow_a_content_that_was_copied_over_another_file_before_an_edit(photos, tmp_path, taken, edited):
    """docs/history.md: the original was saved under another name before the edit, so both pictures have the labels."""
    photos.label(edited, tags=["harbour"], new=True)
    photos.label(taken, tags=["violin"], new=True)
    shutil.copy(tmp_path / edited, tmp_path / taken)
    paint(tmp_path / edited, 78)
    photos.add()
    assert tags(photos, taken) == {"harbour": "accepted"}
    assert tags(photos, edited) == {"harbour": "accepted"}


def test_a_removal_can_be_undone_after_its_copy_replaced_another_picture(photos, tmp_path):
    photos.label("p0.png", tags=["harbour"], new=True)
    photos.remove("p0.png")
    shutil.copy(tmp_path / "p0.png", tmp_path / "p1.png")
    photos.add()
    photos.undo()
    assert tags(photos, "p0.png") == {"harbour": "accepted"}


def test_a_chain_of_merges_gives_the_first_word_back(photos):
    photos.label("p0.png", tags=["alder"], new=True)
    photos.label("p1.png", tags=["birch"], new=True)
    photos.label("p2.png", tags=["cactus"], new=True)
    photos.merge("alder", into="birch")
    photos.merge("birch", into="cactus")
    photos.restore("alder")
    assert tags(photos, "p0.png") == {"alder": "accepted"}
    assert tags(photos, "p1.png") == {"cactus": "accepted"}


def test_a_word_stays_while_another_merged_word_supports_it(photos):
    """merge a into c, merge b into c, restore a: c must stay, since b became c as well."""
    photos.label("p0.png", tags=["alder", "birch"], new=True)
    photos.label("p1.png", tags=["cactus"], new=True)
    photos.merge("alder", into="cactus")
    photos.merge("birch", into="cactus")
    photos.restore("alder")
    assert tags(photos, "p0.png") == {"alder": "accepted", "cactus": "accepted"}
