"""Search by the words that people wrote: copies of a picture, accents."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from visterm.app.gallery.completion import complete
from visterm.app.workspace import Workspace


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
    return [item.path for item in photos.search(query).found]


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
    assert [each.text for each in complete(plain, "creme").found] == ["crème brûlée"]
    assert {term.name for term in plain.vocabulary().tag.terms} == {"naïve", "crème brûlée"}


def test_a_classifier_is_asked_for_a_class_whatever_its_accents(photos):
    photos.rename("coast", "Çôte", kind="class")
    believed = {reason.by for item in photos.search("cote", unlikely=True, limit=50).found for reason in item.reasons}
    assert believed == {"class", "model"}
