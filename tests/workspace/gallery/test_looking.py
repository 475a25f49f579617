"""Pictures from outside, completion, kept searches."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError, PictureError
from visterm.find.lists.saved import Saved
from visterm.workspace import Workspace


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder in which temporary files appear."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


def a_postcard(photos, place=0):
    return photos.collection().frame.files[photos.gallery.page(sort="name").keys[place]]


def test_a_picture_from_outside_is_looked_at_and_not_added(kept, scratch, tmp_path):
    with Image.open(a_postcard(kept)) as postcard:
        postcard.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(tmp_path / "new.png")
    version = kept.catalogue.version()
    told = kept.look((tmp_path / "new.png").read_bytes())
    asked = kept.classify([tmp_path / "new.png"]).answers[0]
    assert [each.name for each in told.classes] == [each.name for each in asked.labels]
    assert told.classes[0].probability == pytest.approx(asked.labels[0].probability)
    assert (told.width, told.height) == (256, 192)
    assert len(told.alike) == 24
    assert [age.by for age in told.ages] == ["knn@1", "knn-tags@1"]
    assert told.alike[0].id == kept.gallery.page(sort="name").ids[0]  # its mirror image
    assert kept.catalogue.version() == version
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"abc", b"\xff\xd8\xff\xe0" + b"x" * 100, b"<svg onload=alert(1)>"])
def test_what_is_no_picture_is_refused(kept, scratch, data):
    with pytest.raises(PictureError):
        kept.look(data)
    assert list(scratch.iterdir()) == []


def test_half_a_picture_is_refused(kept, scratch):
    data = a_postcard(kept).read_bytes()
    with pytest.raises((PictureError, InputError)):
        kept.look(data[: len(data) // 2])
    assert list(scratch.iterdir()) == []


def test_without_models_and_features_a_look_is_empty(tmp_path):
    Image.fromarray(np.zeros((8, 9, 3), np.uint8)).save(tmp_path / "a.png")
    with Workspace.create(tmp_path / "empty") as photos:
        told = photos.look((tmp_path / "a.png").read_bytes())
    assert (told.width, told.height, told.classes, told.tags, told.alike) == (9, 8, [], [], [])


def test_lookalikes_are_those_of_the_command(kept):
    page = kept.gallery.page(limit=1)
    paths = {picture.id: picture.paths[0] for picture in kept.catalogue.pictures()}
    found = kept.similar(page.ids[0], limit=5).found
    assert [paths[each.id] for each in found] == [each.path for each in found]
    assert found == kept.similar(page.keys[0], limit=5).found
    assert page.ids[0] not in {each.id for each in found}


def test_why_tells_what_counts(kept):
    page = kept.gallery.page(limit=1)
    told = kept.why(page.keys[0], "sky")
    assert (told.word, told.model) == ("sky", "knn-tags@1")
    assert told.where
    assert sum(map(sum, told.shares)) == pytest.approx(1, abs=1e-6) or told.shares == []
    alike = told.reminds_of
    assert "sky" in {label.name for label in kept.picture(alike.key).tags if label.state == "accepted"}
    assert (alike.path, alike.key) == (kept.picture(alike.key).paths[0], kept.picture(alike.path).sha256)
    assert alike.key != page.keys[0]
    assert 0 < alike.score <= 1
    with pytest.raises(InputError, match="does not know the tag 'zeppelin'"):
        kept.why(page.keys[0], "zeppelin")
    with pytest.raises(InputError, match="missing"):
        kept.why("0" * 64, "sky")


def test_completion_knows_names_and_fields(kept):
    found = kept.complete("boat s")
    names = {term.name: term.n_accepted for term in kept.vocabulary().tag.terms}
    assert found.start == 5
    assert {each.text: each.pictures for each in found.found if each.kind == "tag"}.items() <= names.items()
    assert "sky" in {each.text for each in found.found}
    counts = [each.pictures for each in found.found if each.kind != "field"]
    assert counts == sorted(counts, reverse=True)
    assert {each.kind for each in kept.complete("class:").found} == {"class"}
    assert {each.kind for each in kept.complete("tag:s").found} == {"tag"}
    assert [each.text for each in kept.complete("fil").found] == ["filename:"]
    assert kept.complete("-sk").start == 1
    for text in ("", "boat ", "sky", "zzz", "((", "\\", "%_"):
        assert not [each for each in kept.complete(text).found if each.text == text]


def test_searches_are_kept_in_order_once_and_forgotten(tmp_path, monkeypatch):
    saved = Saved(tmp_path / "searches.json")
    assert saved.all().queries == []
    saved.keep("boat  sea")
    saved.keep("<script>")
    assert saved.keep("boat sea").queries == ["boat sea", "<script>"]
    assert Saved(tmp_path / "searches.json").forget("boat sea").queries == ["<script>"]
    assert saved.forget("none").queries == ["<script>"]
    with pytest.raises(InputError, match="empty"):
        saved.keep("  ")
    monkeypatch.setattr("visterm.find.lists.saved._MOST", 1)
    with pytest.raises(InputError, match="forget some"):
        saved.keep("one more")
    for damage in (b"{", b'{"a": 1}', b"\xff", b"[1, null]"):
        (tmp_path / "searches.json").write_bytes(damage)
        assert saved.all().queries == []
