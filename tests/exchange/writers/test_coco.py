"""COCO-style JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from visterm.catalogue.pictures import Label, Picture
from visterm.catalogue.records import Reading, Record, Region
from visterm.exchange.readers import coco as coco_reader
from visterm.exchange.writers.coco import write_coco

MakePicture = Callable[..., Picture]


def test_regions_tags_and_captions_are_read_back(tmp_path: Path, make_picture: MakePicture) -> None:
    pictures = [
        make_picture(
            "a.jpg",
            id=7,
            tags=["boat", "sea, calm", Label("car", "model m@1", "suggested", 0.5, "")],
            class_label="coast",
            caption="שלום, boats",
            regions=(Region("boat", 1, 2, 4, 6.5), Region("boat", 0, 0, 1, 1), Region("sea", 0, 3, 40, 30)),
        ),
        make_picture("sub/b.jpg", id=9, caption="words", regions=(Region("sea", 1, 1, 2, 2),)),
        make_picture("c.jpg", id=12, width=None, height=None, state="unreadable"),
        make_picture(id=13, paths=()),
    ]
    file = tmp_path / "labels.json"
    assert write_coco(iter(pictures), file) == 3
    assert coco_reader.detect(file)
    reading = Reading("", "coco")
    assert list(coco_reader.read(file, reading)) == [
        Record("a.jpg", "coast", ("boat", "sea, calm"), "שלום, boats", regions=pictures[0].regions),
        Record("sub/b.jpg", caption="words", regions=pictures[1].regions),
        Record("c.jpg"),
    ]
    assert reading.skips == []
    assert list(tmp_path.iterdir()) == [file]


def test_the_documented_form(tmp_path: Path, make_picture: MakePicture) -> None:
    picture = make_picture(
        id=7, tags=["sea"], class_label="coast", caption="words", regions=(Region("boat", 1, 2, 4, 6),)
    )
    write_coco([picture], tmp_path / "labels.json")
    content = json.loads((tmp_path / "labels.json").read_text())
    assert content["images"] == [
        {"id": 7, "file_name": "a.jpg", "width": 40, "height": 30, "class": "coast", "image_tags": ["sea"]}
    ]
    assert content["annotations"] == [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0},
        {"id": 2, "image_id": 7, "caption": "words"},
    ]
    assert content["categories"] == [{"id": 1, "name": "boat"}]


def test_no_pictures(tmp_path: Path) -> None:
    assert write_coco([], tmp_path / "labels.json") == 0
    content = json.loads((tmp_path / "labels.json").read_text())
    assert content["images"] == content["annotations"] == content["categories"] == []


def test_a_failure_leaves_nothing(tmp_path: Path, make_picture: MakePicture) -> None:
    def failing() -> Iterator[Picture]:
        yield make_picture()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_coco(failing(), tmp_path / "labels.json")
    assert list(tmp_path.iterdir()) == []
