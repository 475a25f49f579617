"""Small pictures: sizes, colours, orientation, by content, made again when deleted."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from visterm.catalogue.healing import ChangedFileError
from visterm.collection.thumbnails import BOXES, Thumbnails, mean_colours
from visterm.errors import InputError

KEY = "ab" * 32


@pytest.fixture
def thumbnails(tmp_path):
    return Thumbnails(tmp_path / "thumbnails")


def key_of(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def make(thumbnails, size, file):
    """The thumbnail of a file."""
    return thumbnails.file(key_of(file), size, file)


def save(file, size=(900, 600), **options):
    """Four colours in four quarters."""
    width, height = size
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = (255, 0, 0)
    pixels[: height // 2, width // 2 :] = (0, 255, 0)
    pixels[height // 2 :, : width // 2] = (0, 0, 255)
    pixels[height // 2 :, width // 2 :] = (255, 255, 255)
    Image.fromarray(pixels).save(file, **options)
    return file


@pytest.mark.parametrize("size", ["small", "large", "full"])
@pytest.mark.parametrize("original", [(900, 600), (300, 2000), (20, 10), (1, 1), (3000, 3)])
def test_thumbnails_fit_their_box_and_are_never_enlarged(thumbnails, tmp_path, size, original):
    with Image.open(make(thumbnails, size, save(tmp_path / "a.png", original))) as made:
        assert made.format == "WEBP"
        factor = min(1.0, *(box / length for box, length in zip(BOXES[size], original, strict=True)))
        for length, before in zip(made.size, original, strict=True):
            assert abs(length - max(1, before * factor)) <= 1


def test_a_very_large_picture_is_shown_with_fewer_pixels(thumbnails, tmp_path, monkeypatch):
    monkeypatch.setattr("visterm.collection.thumbnails._MOST_PIXELS", 10_000)
    with Image.open(make(thumbnails, "full", save(tmp_path / "a.png", (900, 600)))) as made:
        assert made.size == (122, 81)


def test_colours_are_those_of_the_quarters(thumbnails, tmp_path):
    key = key_of(save(tmp_path / "a.png"))
    assert thumbnails.colours([key]) == [""]
    make(thumbnails, "small", tmp_path / "a.png")
    (colours,) = thumbnails.colours([key])
    told = np.array(list(bytes.fromhex(colours))).reshape(4, 3)
    assert np.abs(told - [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]).max() <= 12
    assert Thumbnails(thumbnails.folder).colours([key, "c" * 64]) == [colours, ""]


def test_mean_colours_of_the_smallest_pictures():
    assert mean_colours(np.full((1, 1, 3), 7, np.uint8)) == "070707" * 4
    assert mean_colours(np.array([[[0, 0, 0], [255, 0, 0]]], np.uint8)) == "000000ff0000" * 2


def test_pictures_stand_as_a_person_sees_them(thumbnails, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter to the right
    save(tmp_path / "turned.jpg", (600, 300), exif=exif, quality=95)
    with Image.open(make(thumbnails, "large", tmp_path / "turned.jpg")) as made:
        assert made.size == (300, 600)
        assert np.abs(np.array(made.convert("RGB").getpixel((60, 60)), int) - [0, 0, 255]).max() < 30
        assert "exif" not in made.info


def test_a_damaged_original_is_an_error_and_leaves_nothing(thumbnails, tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0nonsense")
    with pytest.raises(InputError, match=r"bad\.jpg"):
        make(thumbnails, "small", tmp_path / "bad.jpg")
    with pytest.raises(InputError):
        thumbnails.file(KEY, "small", tmp_path / "missing.jpg")
    assert not [path for path in thumbnails.folder.rglob("*") if path.is_file()]


def test_thumbnails_are_kept_by_content(thumbnails, tmp_path):
    key = key_of(save(tmp_path / "a.png"))
    first = thumbnails.file(key, "small", tmp_path / "a.png")
    (tmp_path / "a.png").unlink()
    assert thumbnails.file(key, "small", tmp_path / "a.png") == first
    with pytest.raises(ChangedFileError):
        thumbnails.file(KEY, "small", save(tmp_path / "a.png"))  # that is not this picture


def test_a_list_does_not_wait_until_colours_are_written(thumbnails, tmp_path, monkeypatch):
    seen, key = [], key_of(save(tmp_path / "a.png"))

    @contextmanager
    def slow(_):
        reader = threading.Thread(target=lambda: seen.extend(thumbnails.colours([key])), daemon=True)
        reader.start()
        reader.join(10)
        yield sqlite3.connect(":memory:")

    monkeypatch.setattr("visterm.collection.thumbnails._database", slow)
    make(thumbnails, "small", tmp_path / "a.png")
    assert seen == thumbnails.colours([key])
    assert len(seen[0]) == 24


@pytest.mark.parametrize("key", ["", "ab", "../" * 21 + "a", "AB" * 32, "/" * 64, "0" * 65])
def test_only_content_hashes_name_thumbnails(thumbnails, key):
    with pytest.raises(InputError, match="content hash"):
        thumbnails.place(key, "small")


def test_damaged_colours_are_begun_again(thumbnails, tmp_path):
    thumbnails.folder.mkdir()
    (thumbnails.folder / "colours.sqlite").write_bytes(b"no database at all" * 100)
    assert thumbnails.colours([KEY]) == [""]
    make(thumbnails, "small", save(tmp_path / "a.png"))
    assert Thumbnails(thumbnails.folder).colours([key_of(tmp_path / "a.png")]) != [""]


def test_all_thumbnails_of_a_collection(photos, tmp_path):
    event = threading.Event()
    assert photos.make_thumbnails(stopped=event) == 50
    assert photos.make_thumbnails() == 0
    page = photos.gallery.page()
    assert all(len(colours) == 24 for colours in page.colours)
    shutil.rmtree(photos.thumbnails.folder)
    event.set()
    assert photos.make_thumbnails(stopped=event) == 0
    original = photos.collection().frame.files[page.keys[0]]
    before = (original.read_bytes(), original.stat().st_mtime_ns)
    photos.thumbnails.file(page.keys[0], "large", original)
    assert (original.read_bytes(), original.stat().st_mtime_ns) == before


def test_thumbnails_are_made_in_the_order_of_the_page(photos, monkeypatch):
    made = []
    monkeypatch.setattr(photos.thumbnails, "file", lambda key, size, file: made.append(key))
    photos.make_thumbnails()
    assert made == photos.gallery.page(sort="newest").keys
