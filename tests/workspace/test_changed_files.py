"""A file that has changed since it was added is never taken for its record: labels, thumbnails, features."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from visterm.catalogue.scan import examine
from visterm.faces.web.application import application
from visterm.faces.web.guard import Rules
from visterm.workspace import Workspace

RED, BLUE = (200, 10, 10), (10, 10, 200)


@pytest.fixture(params=["other times", "same times"])
def photos(tmp_path, request):
    """A red and a blue picture; with the same times and sizes, only their bytes tell them apart."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name, colour, time in (("00", RED, 1000), ("01", BLUE, 2000)):
        Image.new("RGB", (40, 30), colour).save(folder / f"{name}.bmp")
        moment = 1000 if request.param == "same times" else time
        os.utime(folder / f"{name}.bmp", (moment, moment))
    with Workspace.create(folder) as opened:
        opened.add()
        opened.label("00.bmp", tags="red")
        opened.label("01.bmp", tags="blue")
        yield opened
        assert opened.catalogue.check() == []


def swap(photos):
    """Two files change places, as renaming does it: each keeps its time."""
    a, b, aside = (photos.folder / name for name in ("00.bmp", "01.bmp", "aside"))
    a.rename(aside)
    b.rename(a)
    aside.rename(b)


def tags(photos, name):
    """The tags of the record that has the content of the file."""
    return [label.name for label in photos.catalogue.picture(examine(photos.folder / name).sha256).tags]


def test_a_label_goes_to_the_picture_that_the_file_is_now(photos):
    swap(photos)
    photos.label("00.bmp", tags="seen blue", new=True)
    assert tags(photos, "00.bmp") == ["blue", "seen blue"]
    assert tags(photos, "01.bmp") == ["red"]
    assert photos.picture("01.bmp").tags[0].name == "red"  # the other file is known again, too


def test_a_removal_forgets_the_picture_that_the_file_is_now(photos):
    swap(photos)
    photos.remove("00.bmp")
    assert tags(photos, "01.bmp") == ["red"]
    assert photos.catalogue.picture(examine(photos.folder / "00.bmp").sha256) is None


def test_a_sidecar_gets_the_labels_of_the_picture_that_is_there(photos):
    swap(photos)
    photos.export(format="xmp")
    assert "blue" in (photos.folder / "00.bmp.xmp").read_text()


def shown(client, key):
    """The colour of a thumbnail, as a person sees it."""
    answer = client.get(f"/api/v1/thumbnails/{key}/small.webp")
    assert answer.status_code == 200, answer.text
    return np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB")).mean(axis=(0, 1))


def test_a_thumbnail_shows_the_picture_whose_name_it_has(photos):
    client = TestClient(application(photos, Rules(frozenset({"testserver"}), "a-token", open_reading=True)))
    red, blue = (photos.picture(name).sha256 for name in ("00.bmp", "01.bmp"))
    swap(photos)
    assert shown(client, red) == pytest.approx(RED, abs=12)
    photos.add()
    assert shown(client, blue) == pytest.approx(BLUE, abs=12)
    photos.thumbnails.place(red, "small").unlink()
    photos.thumbnails.place(blue, "small").unlink()
    swap(photos)
    photos.make_thumbnails()
    assert shown(client, red) == pytest.approx(RED, abs=12)
    assert shown(client, blue) == pytest.approx(BLUE, abs=12)


def test_a_thumbnail_of_a_picture_that_is_nowhere_is_not_found(photos):
    client = TestClient(application(photos, Rules(frozenset({"testserver"}), "a-token", open_reading=True)))
    red = photos.picture("00.bmp").sha256
    Image.new("RGB", (40, 30), "white").save(photos.folder / "00.bmp")
    assert client.get(f"/api/v1/thumbnails/{red}/small.webp").status_code == 404
    white = photos.picture("00.bmp").sha256
    assert shown(client, white) == pytest.approx((255, 255, 255), abs=3)


def test_features_are_those_of_the_picture_whose_name_they_have(photos):
    red, blue = (photos.picture(name).sha256 for name in ("00.bmp", "01.bmp"))
    swap(photos)
    (done,) = photos.features("colour").recipes
    assert (done.n_computed, done.failed) == (2, [])
    stored = rows(photos, "colour", red, blue)
    photos.add()
    swap(photos)
    photos.add()
    fresh = photos.library.recipe("colour", {})
    for output, pair in stored.items():
        for row, name in zip(pair, ("00.bmp", "01.bmp"), strict=True):
            rgb = np.asarray(Image.open(photos.folder / name).convert("RGB"))
            assert row == pytest.approx(np.asarray(fresh.compute(rgb)[output]), abs=1e-3)


def rows(photos, recipe, *keys):
    return photos.library.features(photos.library.recipe(recipe, {}), list(keys))


def spoil(photos):
    """What earlier versions left: derived data of another picture, under the name of this one."""
    red, blue = (photos.picture(name).sha256 for name in ("00.bmp", "01.bmp"))
    photos.features("colour")
    for key, name in ((red, "00.bmp"), (blue, "01.bmp")):
        photos.thumbnails.file(key, "small", photos.folder / name)
    recipe = photos.library.recipe("colour", {})
    for output in recipe.outputs:
        store = photos.library.store(recipe, output)
        store.append([red, blue], store.rows([blue, red]))
    places = [photos.thumbnails.place(key, "small") for key in (red, blue)]
    data = [place.read_bytes() for place in places]
    places[0].write_bytes(data[1])
    places[1].write_bytes(data[0])
    with photos.catalogue.transaction():  # both were found at the other's place once
        photos.catalogue._connection.execute(
            """INSERT INTO version (picture_id, sha256, size, state, time)
               SELECT id, printf('%064d', id), 1, 'ok', 1 FROM picture"""
        )
    return red, blue


def test_the_doctor_finds_and_repairs_what_earlier_versions_mixed_up(photos, visterm):
    red, blue = spoil(photos)
    told = visterm("doctor", "-w", photos.folder, code=1).stdout
    assert "show another picture" in told
    assert "features of colour" in told
    told = visterm("doctor", "--repair", "-w", photos.folder).stdout
    assert "repaired: 2 thumbnails" in told
    assert "all is well" in visterm("doctor", "-w", photos.folder).stdout
    client = TestClient(application(photos, Rules(frozenset({"testserver"}), "a-token", open_reading=True)))
    assert shown(client, red) == pytest.approx(RED, abs=12)
    assert photos.library.missing(photos.library.recipe("colour", {}), [red, blue]) == {red, blue}


def test_the_doctor_counts_files_that_have_changed(photos, visterm):
    os.utime(photos.folder / "00.bmp", (3000, 3000))
    assert "1 file has changed since it was added" in visterm("doctor", "-w", photos.folder).stdout


def test_twins_that_were_added_after_a_label_are_told_apart(photos):
    photos.label("00.bmp", tags=["first"], new=True)
    files = [photos.folder / name for name in ("10.bmp", "11.bmp")]
    for file, colour in zip(files, ("green", "white"), strict=True):
        Image.new("RGB", (40, 30), colour).save(file)
        os.utime(file, (5000, 5000))
    photos.add()
    white = photos.picture("11.bmp").sha256
    green, later = (file.read_bytes() for file in files)
    for file, data in zip(files, (later, green), strict=True):
        file.write_bytes(data)
        os.utime(file, (5000, 5000))
    photos.label("10.bmp", tags=["second"], new=True)
    assert [label.name for label in photos.picture(white).tags] == ["second"]


def test_a_search_by_look_takes_no_changed_file_for_an_edit(photos):
    """To look changes nothing: whether a picture was edited or moved is told when all files are read."""
    photos.remove(photos.folder / "01.bmp")
    swap(photos)
    version = photos.catalogue.version()
    photos.search("zeppelin")
    assert photos.catalogue.version() == version
