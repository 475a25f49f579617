"""What files say, from adding to searching, counting, sorting and exporting; captions and titles that people write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from visterm.errors import UsageError
from visterm.exchange import read_packet
from visterm.workspace import Workspace


def take(file: Path, taken: str, *, model: str = "D90", rating: int = 3, north: float = 60.39, size: int = 8) -> None:
    exif = Image.Exif()
    exif.update({0x010F: "NIKON", 0x0110: f"NIKON {model}", 0x4746: rating})
    exif.get_ifd(0x8769)[0x9003] = taken
    exif.get_ifd(0x8825).update({1: "N", 2: (north, 0.0, 0.0), 3: "E", 4: (5.32, 0.0, 0.0)})
    Image.new("RGB", (size, 6), (rating * 40, size, 9)).save(file, exif=exif)


@pytest.fixture
def photos(tmp_path: Path) -> Iterator[Workspace]:
    take(tmp_path / "a.jpg", "2019:07:14 12:30:05", rating=5)
    take(tmp_path / "b.jpg", "2020:01:02 12:30:05", rating=2, size=20)
    take(tmp_path / "c.jpg", "2018:07:14 12:30:05", model="Z6", rating=3, north=48.85, size=10)
    Image.new("RGB", (9, 9)).save(tmp_path / "d.png")
    with Workspace.create(tmp_path) as workspace:
        workspace.add()
        yield workspace
        assert workspace.catalogue.check() == []


def names(photos: Workspace, query: str, **options: object) -> list[str]:
    return [row.path for row in photos.search(query, **options).found]


def test_what_files_say_is_found_counted_and_sorted(photos: Workspace) -> None:
    assert names(photos, "date:2019..2020 rating:>2") == ["a.jpg"]
    assert names(photos, "place:norway") == ["a.jpg", "b.jpg"]
    assert names(photos, "near:a.jpg -near:c.jpg") == ["a.jpg", "b.jpg"]
    assert names(photos, "date:1900..", sort="date") == ["b.jpg", "a.jpg", "c.jpg"]
    assert names(photos, "date:1900..", sort="rating") == ["a.jpg", "c.jpg", "b.jpg"]
    assert names(photos, "date:1900..", sort="size", limit=2) == ["b.jpg", "c.jpg"]
    counts = photos.facets("date:1900..").to_dict()
    assert counts["months"] == [{"value": month, "pictures": 1} for month in ("2020-01", "2019-07", "2018-07")]
    assert counts["countries"] == [{"value": "Norway", "pictures": 2}, {"value": "France", "pictures": 1}]
    assert counts["cameras"] == [{"value": "NIKON D90", "pictures": 2}, {"value": "NIKON Z6", "pictures": 1}]
    assert counts["ratings"] == [{"value": rating, "pictures": 1} for rating in ("5", "3", "2")]
    page = photos.gallery.page(sort="date")
    assert [photos.catalogue.pictures_with_ids([n])[0].paths[0] for n in page.ids] == [
        "b.jpg",
        "a.jpg",
        "c.jpg",
        "d.png",
    ]
    with pytest.raises(ValueError, match="choose best, date, rating, size"):
        photos.search("date:2019", sort="beauty")


def test_the_command_shows_orders_and_counts(photos: Workspace, visterm: Callable[..., Any]) -> None:
    where = ("-w", photos.folder)
    assert "files say\n          a.jpg" in visterm("search", "date:2019", *where).stdout
    shown = visterm("search", "camera:nikon", "--sort", "rating", *where).stdout
    assert [line.strip() for line in shown.splitlines()][-4:] == ["by rating", "a.jpg", "c.jpg", "b.jpg"]
    counts = visterm("search", "rating:>=3", "--facets", *where).stdout
    assert "2 pictures" in counts
    assert "months: 2019-07 1, 2018-07 1" in counts
    assert "choose best" in visterm("search", "date:2019", "--sort", "beauty", *where, code=1).stderr
    assert "1 text written" in visterm("label", photos.folder / "a.jpg", "--title", "Quay", *where).stdout


def test_who_said_what_is_a_condition_that_follows_every_label(photos: Workspace) -> None:
    assert names(photos, "by:person") == []
    photos.label("a.jpg", tags="boat", new=True)
    assert names(photos, "by:person") == ["a.jpg"]
    assert names(photos, "by:nobody rating:>0") == ["b.jpg", "c.jpg"]
    photos.undo()
    assert names(photos, "by:person") == []


def test_an_edited_file_and_a_new_sidecar_are_read_at_the_next_look(photos: Workspace) -> None:
    take(photos.folder / "a.jpg", "2001:01:01 00:00:00", rating=1)
    beside = photos.folder / "b.jpg.xmp"
    beside.write_text(
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://ns.adobe.com/xap/1.0/">'
        '<r:Description x:Rating="4"/></r:RDF>'
    )
    photos.add()
    assert names(photos, "date:2001 rating:1") == ["a.jpg"]
    assert names(photos, "rating:4") == ["b.jpg"]
    beside.unlink()
    photos.add()
    assert names(photos, "rating:2") == ["b.jpg"]


def test_a_catalogue_without_metadata_gets_them_when_its_files_are_looked_at(photos: Workspace) -> None:
    with photos.catalogue.transaction():
        photos.catalogue._connection.execute("DELETE FROM metadata")
    assert names(photos, "date:1900..") == []
    photos.add()
    assert len(names(photos, "date:1900..")) == 3
    version = photos.catalogue.version()
    photos.add()
    assert photos.catalogue.version() == version  # nothing is written that is known


def test_a_removed_picture_comes_back_with_what_its_file_said(photos: Workspace) -> None:
    photos.remove("a.jpg")
    assert names(photos, "date:2019") == []
    photos.undo()
    assert names(photos, "date:2019 camera:d90") == ["a.jpg"]


def test_captions_and_titles_are_written_undone_exported_and_withdrawn(photos: Workspace) -> None:
    before = {file.name: hashlib.sha256(file.read_bytes()).digest() for file in photos.folder.glob("*.*g")}
    done = photos.label(["a.jpg", "b.jpg"], caption=" A boat. ", title="The\nquay")
    assert (done.texts, done.labels) == (4, 0)
    assert photos.label("a.jpg", title="The quay").texts == 0
    picture = photos.catalogue.picture("a.jpg")
    assert (picture.caption, picture.title, picture.own_texts) == ("A boat.", "The quay", ("caption", "title"))
    assert names(photos, "title:quay caption:boat rating:5") == ["a.jpg"]
    photos.undo()
    assert names(photos, "title:quay") == []
    photos.redo()
    (photos.folder / "a.jpg.xmp").write_text(
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<r:Description><dc:title>Another</dc:title></r:Description></r:RDF>"
    )
    photos.export(photos.folder, format="xmp")
    packet = read_packet((photos.folder / "a.jpg.xmp").read_bytes())
    assert (packet.caption, packet.facts.metadata.title) == ("A boat.", "The quay")
    assert {file.name: hashlib.sha256(file.read_bytes()).digest() for file in photos.folder.glob("*.*g")} == before
    cleared = photos.label("a.jpg", clear=["title", "caption"])
    assert (cleared.cleared, cleared.not_cleared) == (2, [])
    assert photos.label("a.jpg", clear=["title"]).not_cleared == ["title"]
    assert photos.catalogue.picture("a.jpg").own_texts == ()
    with pytest.raises(UsageError, match="clear='title' withdraws"):
        photos.label("a.jpg", title=" ")
