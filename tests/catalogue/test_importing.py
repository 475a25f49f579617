"""An import replaces what the same source said before; everybody else's labels stay."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from visterm.catalogue.acts import Act
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, Reading, Record, Region
from visterm.workspace import Workspace

NAMES = ("a.jpg", "b.jpg", "sub/c.jpg")


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        opened.add(
            Examined(str(tmp_path / name), hashlib.sha256(name.encode()).hexdigest(), 1, 1, 40, 30, 1) for name in NAMES
        )
        yield opened
        assert opened.check() == []


def read(catalogue: Catalogue, *records: Record, file: str = "labels.csv", format: str = "table", base=None) -> Reading:
    reading = Reading(str(catalogue.root / file), format)
    catalogue.apply(records, base=base or catalogue.root, reading=reading)
    return reading


def tags(catalogue: Catalogue, name: str = "a.jpg") -> list[str]:
    picture = catalogue.picture(name)
    assert picture is not None
    return [label.name for label in picture.tags if label.state == "accepted"]


def class_of(catalogue: Catalogue, name: str = "a.jpg") -> str | None:
    picture = catalogue.picture(name)
    assert picture is not None
    return picture.class_label and picture.class_label.name


def test_a_tag_that_the_file_no_longer_has_is_withdrawn(catalogue):
    read(catalogue, Record("a.jpg", "coast", ("sea", "sky")), Record("b.jpg", tags=("sea",)))
    read(catalogue, Record("a.jpg", tags=("sea",)), Record("b.jpg", tags=("sea",)))
    assert (tags(catalogue), class_of(catalogue), tags(catalogue, "b.jpg")) == (["sea"], None, ["sea"])
    catalogue.history.undo()
    assert (tags(catalogue), class_of(catalogue)) == (["sea", "sky"], "coast")


def test_a_picture_that_the_file_no_longer_names_loses_what_it_said(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea",)), Record("b.jpg", tags=("sea",)))
    read(catalogue, Record("a.jpg", tags=("sea",)))
    assert (tags(catalogue), tags(catalogue, "b.jpg")) == (["sea"], [])


def test_other_sources_and_people_are_untouched(catalogue):
    read(catalogue, Record("a.jpg", "coast", ("sea", "sky")))
    read(catalogue, Record("a.jpg", "beach", ("sky", "sun")), file="other.csv")
    assert class_of(catalogue) == "beach"  # the newest import counts
    assert catalogue.counts().classes == {"beach": 1}
    catalogue.label(1, "tag", "mine")
    read(catalogue, file="other.csv")
    assert (tags(catalogue), class_of(catalogue)) == (["mine", "sea", "sky"], "coast")
    read(catalogue)
    assert (tags(catalogue), class_of(catalogue)) == (["mine"], None)
    assert catalogue.counts().label_sources == {"person": 1}


def test_reading_the_same_again_changes_nothing(catalogue):
    records = [Record("a.jpg", "coast", ("sea",)), Record("b.jpg", "beach", regions=(Region("sea", 0, 0, 5, 5),))]
    read(catalogue, *records)
    version = catalogue.version()
    read(catalogue, *records)
    assert catalogue.version() == version
    assert len(catalogue.history.actions()) == 1


def test_a_source_that_could_not_be_read_whole_withdraws_nothing_unnamed(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea", "sky")), Record("b.jpg", tags=("sea",)))

    def damaged(reading: Reading) -> Iterator[Record]:
        reading.skip("row 1", "malformed")
        yield Record("a.jpg", tags=("sea",))  # the row before may have been about it, too

    reading = Reading(str(catalogue.root / "labels.csv"), "table")
    catalogue.apply(damaged(reading), base=catalogue.root, reading=reading)
    assert (tags(catalogue), tags(catalogue, "b.jpg")) == (["sea", "sky"], ["sea"])
    read(catalogue, Record("a.jpg", tags=("sea",)), Record("absent.jpg", tags=("sea",)))
    assert (tags(catalogue), tags(catalogue, "b.jpg")) == (["sea"], [])


def test_metadata_of_one_folder_say_nothing_of_another(catalogue):
    root = catalogue.root
    (root / "sub").mkdir()
    read(catalogue, Record("a.jpg", tags=("sea",)), Record("sub/c.jpg", tags=("sky",)), file=".", format="xmp")
    read(catalogue, file="sub", format="xmp", base=root / "sub")
    assert (tags(catalogue), tags(catalogue, "sub/c.jpg")) == (["sea"], [])


def test_metadata_of_single_files_say_nothing_of_others(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea", "sky")), Record("b.jpg", tags=("sky",)), file=".", format="xmp")
    reading = Reading(str(catalogue.root), "xmp", about=("a.jpg",))
    catalogue.apply([Record("a.jpg", tags=("sea",))], base=catalogue.root, reading=reading)
    assert (tags(catalogue), tags(catalogue, "b.jpg")) == (["sea"], ["sky"])
    assert (reading.new, reading.withdrawn) == (0, 1)


def test_a_single_file_that_lost_all_its_metadata_is_named_all_the_same(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea", "sky")), Record("b.jpg", tags=("sky",)), file=".", format="xmp")
    broken = Reading(str(catalogue.root), "xmp", about=("a.jpg",))
    broken.skip("a.jpg", "its XMP cannot be read")
    catalogue.apply([], base=catalogue.root, reading=broken)
    assert (tags(catalogue), broken.withdrawn) == (["sea", "sky"], 0), "who cannot be read has not said anything"
    reading = Reading(str(catalogue.root), "xmp", about=("a.jpg", "not-added.jpg"))
    catalogue.apply([], base=catalogue.root, reading=reading)
    assert (tags(catalogue), tags(catalogue, "b.jpg"), reading.withdrawn) == ([], ["sky"], 2)


def test_statements_that_were_known_are_not_new(catalogue):
    row = Record("a.jpg", class_name="coast", tags=("sea",), caption="A pier.", split="train")
    row = replace(row, regions=(Region("boat", 0, 0, 5, 5),))
    counts = []
    for record in (row, row, replace(row, caption="A quay."), replace(row, split="test")):
        reading = Reading("labels.csv", "table")
        catalogue.apply([record], base=catalogue.root, reading=reading)
        counts.append(reading.new)
    assert counts == [5, 0, 1, 2]


def test_a_picture_whose_file_is_away_loses_nothing(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea",)), file=".", format="xmp")
    catalogue.mark_missing(["a.jpg"])
    read(catalogue, file=".", format="xmp")
    assert tags(catalogue) == ["sea"]


def test_regions_are_withdrawn(catalogue):
    read(catalogue, Record("a.jpg", regions=(Region("sea", 0, 0, 5, 5),)))
    read(catalogue, Record("a.jpg", tags=("sky",)))
    assert catalogue.picture("a.jpg").regions == ()


def test_labels_of_an_unknown_source_belong_to_the_one_that_says_them_again(catalogue):
    """Catalogues of earlier versions do not tell imports apart."""
    for kind, name in (("tag", "sea"), ("tag", "sky"), ("class", "coast")):
        with catalogue.transaction():
            catalogue.write_labels([(1, kind, name, "accepted", None)], source=IMPORT, act=Act.DESCRIBED)
            catalogue.describe([1], source=IMPORT)
    read(catalogue, Record("a.jpg", "coast", ("sea",)))
    assert (tags(catalogue), len(catalogue.history.actions())) == (["sea", "sky"], 3)
    assert catalogue.counts().label_sources == {"import": 3}
    read(catalogue)
    assert (tags(catalogue), class_of(catalogue)) == (["sky"], None)


def test_keywords_that_another_program_removes_are_withdrawn(tmp_path):
    """Also those that Visterm has exported in between; what is only an echo stays with its own source."""
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.effect_noise((32, 24), 50).save(folder / "a.jpg")
    sidecar = folder / "a.jpg.xmp"

    def keywords(*names: str) -> None:
        items = "".join(f"<rdf:li>{name}</rdf:li>" for name in names)
        sidecar.write_text(
            '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>",
            encoding="utf-8",
        )

    with Workspace.create(folder) as photos:
        keywords("sea", "sky")
        photos.add()
        photos.label("a.jpg", tags="mine")
        assert [label.name for label in photos.picture("a.jpg").tags] == ["mine", "sea", "sky"]
        photos.export(format="xmp")
        photos.add()
        assert [label.name for label in photos.picture("a.jpg").tags] == ["mine", "sea", "sky"]
        shutil.copy(sidecar, tmp_path)
        keywords("sea")
        photos.add()
        assert [label.name for label in photos.picture("a.jpg").tags] == ["mine", "sea"]
        sidecar.write_text("damaged", encoding="utf-8")
        photos.add()
        assert [label.name for label in photos.picture("a.jpg").tags] == ["mine", "sea"]
        sidecar.unlink()
        photos.add()
        assert [label.name for label in photos.picture("a.jpg").tags] == ["mine"]
