"""Search by the words that people wrote: copies of a picture, accents, and what is said where there is no model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from visterm.workspace import Workspace


def save(file, number: int) -> None:
    """Write a picture of its own."""
    file.parent.mkdir(exist_ok=True)
    Image.fromarray(np.random.default_rng(number).integers(0, 255, (24, 24, 3), dtype=np.uint8)).save(file)


@pytest.fixture
def plain(tmp_path) -> Iterator[Workspace]:
    """Three pictures, one of them stored twice."""
    save(tmp_path / "121073.png", 1)
    shutil.copy(tmp_path / "121073.png", tmp_path / "-dash.png")
    save(tmp_path / "rome" / "one.png", 2)
    save(tmp_path / "other.png", 3)
    with Workspace.create(tmp_path) as opened:
        opened.add([tmp_path])
        yield opened


def found(photos: Workspace, query: str) -> list[str]:
    """What counts as found; pictures that only look like it do not."""
    return [item.path for item in photos.search(query).found if item.likely]


@pytest.mark.parametrize("query", ["121073.png", "121073", "filename:121073", "filename:1210*", "dash", '"-dash.png"'])
def test_every_name_of_a_picture_finds_it(plain, query):
    assert found(plain, query) == ["-dash.png"]


def test_a_copy_added_later_is_found_and_forgotten_when_it_is_gone(plain):
    assert found(plain, "venice") == []
    copy = plain.folder / "venice" / "two.png"
    copy.parent.mkdir()
    shutil.copy(plain.folder / "rome" / "one.png", copy)
    plain.add([plain.folder])
    for query in ("venice", "filename:two", "rome", '"venice two"'):
        assert found(plain, query) == ["rome/one.png"]
    assert found(plain, '"one venice"') == [], "no path has these words together"
    copy.unlink()
    plain.add([plain.folder])
    assert found(plain, "venice") == []


def test_accents_make_no_difference(plain, visterm):
    save(plain.folder / "Café Größe.png", 4)
    plain.add([plain.folder])
    plain.label("other.png", tags=["naïve", "crème brûlée"])
    for query in ("cafe", "CAFÉ", "filename:cafe", "cafe grosse"):
        assert found(plain, query) == ["Café Größe.png"]
    for query in ("naive", "tag:naive", "creme brulee"):
        assert found(plain, query) == ["other.png"]
        assert "no picture has" not in visterm("search", query, "-w", plain.folder).stdout
    assert [each.text for each in plain.complete("creme").found] == ["crème brûlée"]
    assert {term.name for term in plain.vocabulary().tag.terms} == {"naïve", "crème brûlée"}


def test_a_classifier_is_asked_for_a_class_whatever_its_accents(photos):
    photos.rename("coast", "Çôte", kind="class")
    believed = {reason.by for item in photos.search("cote", unlikely=True, limit=50).found for reason in item.reasons}
    assert believed == {"class", "model"}


def test_a_classifier_is_asked_for_a_class_in_another_language(photos):
    """Here desert is a class and no tag; who asks in German gets what the classifier believes, too."""
    found = photos.search("Wüste", unlikely=True, limit=50)
    assert [(word.names, word.has_model) for word in found.understood] == [(("desert",), True)]
    assert {reason.by for item in found.found for reason in item.reasons} >= {"class", "model"}


def printed(visterm, photos: Workspace, *query: object) -> str:
    return visterm("search", *query, "-w", photos.folder).stdout


def test_pictures_that_nobody_judged_are_not_offered(plain, visterm):
    plain.label("other.png", tags=["cat"])
    plain.label("rome/one.png", tags=["dog"])
    assert "--all" not in printed(visterm, plain, "cat")
    assert "%" not in printed(visterm, plain, "cat", "--all")
    said = printed(visterm, plain, "cat", "dog")
    assert "nothing found for all words; these match some of them" in said
    assert "--all" not in said
    assert [item.path for item in plain.search("cat", unlikely=True).found] == ["other.png"]
    assert plain.gallery.page("cat").total == 1
    said = printed(visterm, plain, "-cat", "--why")
    assert "nobody says otherwise" in said
    assert "not cat (nobody knows)" in said
    assert "model thinks" not in said


def test_looks_need_no_model(looked_at, visterm):
    folder = looked_at()
    shutil.rmtree(folder / ".visterm" / "models")
    with Workspace(folder) as photos:
        picture = photos.search("filename:0003.jpg").found[0].path
        for query, notes in (
            (f"like:{picture}", []),
            ("filename:0003.jpg", []),
            (f"like:{picture} tree", ["no model can search for tags yet: train one to find more"]),
        ):
            assert photos.search(query).notes == photos.gallery.page(query).understood.notes == notes
        said = printed(visterm, photos, f"like:{picture}")
        assert "looks alike" in said
        assert "model" not in said


def test_what_a_classifier_says_is_not_only_what_people_wrote(photos):
    shutil.rmtree(photos.state / "models" / "knn-tags")
    assert photos.search("class:coast").notes == []
    assert photos.search("coast").notes == ["no model can search for tags yet: train one to find more"]
    assert photos.search("boat").notes == ["no model can search for tags yet: train one to find more"]
