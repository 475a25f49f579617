"""What `add` finds beside and inside pictures, and what it says about pictures it cannot read."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from visterm.exchange import PacketLabels, merge_packet
from visterm.exchange.readers import xmp
from visterm.exchange.unlabelled import UnlabelledFiles
from visterm.workspace import Workspace


@pytest.fixture
def picture(tmp_path):
    """A picture with keywords inside and beside it, outside of any workspace."""
    file = tmp_path / "photos" / "one.png"
    file.parent.mkdir()
    Image.new("RGB", (20, 10), "navy").save(file, exif=_exif())
    (file.parent / "one.png.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("beside",))))
    Image.new("RGB", (20, 10), "red").save(file.parent / "two.png", exif=_exif())
    return file


def _exif():
    exif = Image.Exif()
    exif[0x9C9E] = "inside\0".encode("utf-16-le")
    return exif


def test_a_single_picture_is_added_with_its_keywords(picture, tmp_path):
    with Workspace.create(tmp_path / "home") as photos:
        done = photos.add([picture])
        (found,) = photos.catalogue.pictures()
        assert [tag.name for tag in found.tags] == ["beside", "inside"]
        assert [(source.source, source.pictures) for source in done.labels] == [(str(picture), 1)]
        assert photos.add([picture], look_for_labels=False).labels == []


def test_named_pictures_of_a_folder_are_one_source(picture, tmp_path):
    with Workspace.create(tmp_path / "home") as photos:
        done = photos.add([picture, picture.with_name("two.png")])
        assert [(source.source, source.pictures) for source in done.labels] == [(str(picture.parent), 2)]


def test_pictures_in_other_formats_are_counted(visterm, visterm_json, tmp_path):
    folder = tmp_path / "phone"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.HEIC", "b.heic", "sub/c.jxl", "notes.txt", "sub/movie.mp4", ".d.heic"):
        (folder / name).write_bytes(b"content")
    visterm("init", folder)
    said = visterm("add", "-w", folder).stdout
    assert "3 pictures in formats that Visterm cannot read (2 .heic, 1 .jxl): save copies as JPEG" in said
    assert "visterm[heif]" in said
    assert visterm_json("add", "-w", folder)["other_formats"] == {".heic": 2, ".jxl": 1}


def test_a_raw_file_beside_its_picture_is_left_out_and_counted(visterm, visterm_json, tmp_path):
    Image.new("RGB", (20, 10)).save(tmp_path / "a.jpg")
    (tmp_path / "a.CR2").write_bytes(b"content")
    (tmp_path / "a.xmp").write_text(
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<r:Description><dc:subject><r:Bag><r:li>sea</r:li></r:Bag></dc:subject></r:Description></r:RDF>"
    )
    visterm("init", tmp_path)
    said = visterm("add", "-w", tmp_path).stdout
    assert "1 added" in said
    assert "left out 1 raw file with a picture of the same name beside" in said
    assert visterm_json("add", "-w", tmp_path)["skipped"] == []  # the sidecar is that of the picture


def test_reading_one_picture_says_nothing_of_the_others(picture, tmp_path):
    with Workspace.create(tmp_path / "home") as photos:
        photos.add([picture.parent])
        before = [[tag.name for tag in found.tags] for found in photos.catalogue.pictures()]
        assert all(before)
        photos.add([picture])
        assert [[tag.name for tag in found.tags] for found in photos.catalogue.pictures()] == before


@pytest.mark.parametrize("named", ["one.png", ""], ids=["the picture", "its folder"])
def test_keywords_that_a_file_lost_are_withdrawn_and_counted(picture, tmp_path, visterm, named):
    visterm("init", tmp_path / "home")
    added = visterm("add", picture.parent, "-w", tmp_path / "home").stdout
    assert "withdrawn" not in added
    assert "known" not in added
    Image.new("RGB", (20, 10), "navy").save(picture)
    picture.with_name("one.png.xmp").unlink()
    for dry_run in (("--dry-run",), ()):
        said = visterm("add", picture.parent / named, *dry_run, "-w", tmp_path / "home").stdout
        assert "; 2 labels withdrawn, because the source no longer has them" in said
    with Workspace.find(tmp_path / "home") as photos:
        assert [[tag.name for tag in found.tags] for found in photos.catalogue.pictures()] == [[], ["inside"]]


def test_what_visterm_wrote_itself_is_nothing_new(picture, tmp_path, visterm):
    visterm("init", tmp_path / "home")
    visterm("add", picture.parent, "-w", tmp_path / "home")
    visterm("label", picture, "--tag", "harbour", "-w", tmp_path / "home")
    visterm("export", "--format", "xmp", "--yes", "-w", tmp_path / "home")
    said = visterm("add", picture.parent, "-w", tmp_path / "home").stdout
    assert "(xmp): 2 pictures, 0 classes, 3 tags; all of this was known before" in said


def test_named_folders_of_pictures_are_classes(tmp_path, visterm):
    for number, name in enumerate(("coast", "forest")):
        (tmp_path / name).mkdir()
        Image.new("RGB", (20, 10), (60 * number, 0, 0)).save(tmp_path / name / "a.png")
    visterm("init", tmp_path)
    said = visterm("add", "coast", "forest", "--format", "folders", cwd=tmp_path)
    assert "skipped" not in said.stdout + said.stderr
    with Workspace.find(tmp_path) as photos:
        assert photos.status().classes == {"coast": 1, "forest": 1}


def test_a_format_that_does_not_exist_is_said(visterm, tmp_path):
    visterm("init", tmp_path / "home")
    for name, answer in (("foldres", "did you mean folders?"), ("spreadsheet", "choose one of table")):
        done = visterm("add", "--format", name, "-w", tmp_path / "home", code=2)
        assert f"unknown label format '{name}': {answer}" in done.stderr


def test_pictures_that_are_not_there_are_neither_known_nor_counted(visterm, tmp_path):
    visterm("init", tmp_path)
    Image.new("RGB", (20, 10)).save(tmp_path / "here.png")
    rows = "file,class,tags,caption\nnowhere.png,farm,horse,a horse\n"
    (tmp_path / "names.csv").write_text(rows, encoding="utf-8")
    said = visterm("add", "--labels", "names.csv", cwd=tmp_path).stdout
    assert "0 pictures, 0 classes, 0 tags, 1 skipped" in said
    assert "known" not in said
    (tmp_path / "names.csv").write_text(rows + "here.png,farm,cow;horse,\n", encoding="utf-8")
    said = visterm("add", "--labels", "names.csv", cwd=tmp_path).stdout
    assert "1 picture, 1 class, 2 tags, 1 skipped" in said


def test_a_table_that_may_hold_labels_is_named(visterm, tmp_path):
    visterm("init", tmp_path)
    Image.new("RGB", (20, 10)).save(tmp_path / "here.png")
    assert "if each sub-folder is a class" in visterm("add", cwd=tmp_path).stdout
    for name in ("my labels.csv", "z.jsonl"):
        (tmp_path / name).write_text("file,tags\nhere.png,cow\n", encoding="utf-8")
    said = " ".join(visterm("add", cwd=tmp_path).stdout.split())
    assert "no labels found; if" in said
    assert "(and 1 other table) has some: visterm add --labels" in said
    assert said.endswith("my labels.csv'")
    assert "no labels found" not in visterm("add", "--labels", "my labels.csv", cwd=tmp_path).stdout


@pytest.mark.parametrize("named", [("a.png", "b.png", "c.png"), ("",)], ids=["the pictures", "their folder"])
def test_an_unreadable_sidecar_costs_only_its_own_picture(tmp_path, named):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in (("a", "red"), ("b", "green"), ("c", "blue")):
        Image.new("RGB", (20, 10), colour).save(folder / f"{name}.png")
        (folder / f"{name}.png.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("sea", "sky"))))
    with Workspace.create(tmp_path / "home") as photos:
        photos.add([folder])
        (folder / "a.png.xmp").write_text("<not closed", encoding="utf-8")
        (folder / "b.png.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("sea",))))
        (folder / "c.png.xmp").unlink()
        done = photos.add([folder / name for name in named])
        assert [skip.where for skip in done.skipped] == ["a.png, a.png.xmp"]
        found = [[tag.name for tag in picture.tags] for picture in photos.catalogue.pictures()]
        assert found == [["sea", "sky"], ["sea"], []], "a was not read, b lost a keyword, c lost its sidecar"


def test_a_bad_cell_costs_only_its_own_row(tmp_path):
    for name, colour in (("a", "red"), ("b", "green")):
        Image.new("RGB", (20, 10), colour).save(tmp_path / f"{name}.png")
    table = tmp_path / "metadata.csv"
    table.write_text("file_name,tags,regions\na.png,sea;sky,\nb.png,sea;sky,\n", encoding="utf-8")
    with Workspace.create(tmp_path) as photos:
        photos.add()
        table.write_text("file_name,tags,regions\na.png,sea,boxes\nb.png,sea,\n", encoding="utf-8")
        assert len(photos.add().skipped) == 1
        found = [[tag.name for tag in picture.tags] for picture in photos.catalogue.pictures()]
        assert found == [["sea", "sky"], ["sea"]]


def test_an_annotation_without_its_category_costs_only_its_own_picture(tmp_path):
    for name, colour in (("a", "red"), ("b", "green")):
        Image.new("RGB", (20, 10), colour).save(tmp_path / f"{name}.png")
    file = tmp_path / "labels.json"

    def write(*, complete):
        images = [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}]
        annotations = [{"image_id": 2, "category_id": 1}, {"image_id": 2, "category_id": 9}]
        annotations += [{"image_id": 1, "category_id": 1}] + [{"image_id": 1, "category_id": 2}] * complete
        categories = [{"id": 1, "name": "sea"}, {"id": 2, "name": "sky"}]
        categories += [{"id": 9, "name": "sun"}] * complete
        content = {"images": images, "annotations": annotations, "categories": categories}
        file.write_text(json.dumps(content), encoding="utf-8")

    with Workspace.create(tmp_path) as photos:
        write(complete=True)
        photos.add(labels=[file])
        write(complete=False)
        done = photos.add(labels=[file])
        assert [skip.reason for skip in done.skipped] == ["the category 9 is not listed"]
        found = [[tag.name for tag in picture.tags] for picture in photos.catalogue.pictures()]
        assert found == [["sea"], ["sea", "sun"]]


def test_pictures_without_labels_inside_are_opened_once(picture, tmp_path, monkeypatch):
    plain = picture.with_name("plain.png")
    Image.new("RGB", (20, 10), "green").save(plain)
    opened = []
    read = xmp.read_embedded
    monkeypatch.setattr(xmp, "read_embedded", lambda file: opened.append(file.name) or read(file))
    with Workspace.create(tmp_path / "home") as photos:
        photos.add([picture.parent], dry_run=True)
        photos.add([picture.parent])
        assert opened == 2 * ["one.png", "plain.png", "two.png"]
        opened.clear()
        plain.with_name("plain.png.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("new",))))
        photos.add([picture.parent])
        assert opened == ["one.png", "two.png"]
        assert [tag.name for tag in photos.catalogue.picture(plain).tags] == ["new"]
        Image.new("RGB", (20, 10), "green").save(plain, exif=_exif())
        photos.add([picture.parent])
        assert {tag.name for tag in photos.catalogue.picture(plain).tags} == {"new", "inside"}
        (photos.state / UnlabelledFiles.NAME).write_bytes(b"damaged")
        assert photos.add([picture.parent]).files.unchanged == 3
