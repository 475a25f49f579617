from __future__ import annotations

import json

import pytest

from visterm.catalogue.records import Record, Region
from visterm.errors import InputError
from visterm.exchange.readers import READERS


def write(path, **content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


IMAGES = [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}, {"id": "c", "file_name": "3.jpg"}]


def test_instances(read, tmp_path):
    path = write(
        tmp_path / "annotations" / "instances_val2017.json",
        images=IMAGES,
        categories=[{"id": 7, "name": "boat", "supercategory": "vehicle"}, {"id": 8, "name": "sea"}],
        annotations=[
            {"id": 1, "image_id": 1, "category_id": 7, "bbox": [10, 20, 30, 40.5]},
            {"id": 2, "image_id": 1, "category_id": 7, "bbox": [0, 0, 5, 5]},
            {"id": 3, "image_id": "c", "category_id": 8},
        ],
    )
    records, reading = read("coco", path)
    assert records == [
        Record("1.jpg", None, ("boat",), None, "val", (Region("boat", 10, 20, 40, 60.5), Region("boat", 0, 0, 5, 5))),
        Record("2.jpg", split="val"),
        Record("3.jpg", tags=("sea",), split="val"),
    ]
    assert not reading.skips
    assert READERS["coco"].detect(path)


def test_captions(read, tmp_path):
    captions = [{"image_id": 2, "caption": "A boat."}, {"image_id": 2, "caption": "The sea.\n"}]
    path = write(tmp_path / "captions.json", images=IMAGES[:2], annotations=captions)
    assert read("coco", path)[0] == [Record("1.jpg"), Record("2.jpg", caption="A boat.\nThe sea.")]


def test_class_and_tags_of_the_whole_picture(read, tmp_path):
    image = {"id": 1, "file_name": "1.jpg", "class": "coast", "image_tags": ["sky"]}
    box = {"image_id": 1, "category_id": 7, "bbox": [0, 0, 5, 5]}
    path = write(tmp_path / "a.json", images=[image], categories=[{"id": 7, "name": "boat"}], annotations=[box])
    assert read("coco", path)[0] == [Record("1.jpg", "coast", ("sky",), regions=(Region("boat", 0, 0, 5, 5),))]


def test_the_folder_of_the_pictures(tmp_path):
    path = write(tmp_path / "annotations" / "instances_val2017.json", images=[])
    base = READERS["coco"].base
    assert base(path) == tmp_path / "annotations"
    (tmp_path / "images" / "val2017").mkdir(parents=True)
    assert base(path) == tmp_path / "images" / "val2017"
    (tmp_path / "val2017").mkdir()
    assert base(path) == tmp_path / "val2017"


def test_bad_entries_cost_themselves_only(read, tmp_path):
    path = write(
        tmp_path / "a.json",
        images=[*IMAGES, 3, {"file_name": "x.jpg"}, {"id": [1], "file_name": "x.jpg"}, {"id": 9}],
        categories=[{"id": 7, "name": "boat"}, "sea", {"id": []}],
        annotations=[
            {"image_id": 1, "category_id": 7, "bbox": [1, 2, 3]},
            {"image_id": 1, "category_id": 7, "bbox": ["1", "2", "3", "4", 5]},
            {"image_id": 1, "category_id": 7, "bbox": [1, 2, float("inf"), 4]},
            {"image_id": 1, "category_id": 99},
            {"image_id": 1, "category_id": {}},
            {"image_id": 77, "category_id": 7},
            {"image_id": None},
            "sea",
        ],
    )
    records, reading = read("coco", path)
    assert records == [Record("1.jpg", tags=("boat",)), Record("2.jpg"), Record("3.jpg")]
    assert len(reading.skips) == 12
    assert any(str(item) == "a.json, annotation 6: the image 77 is not listed" for item in reading.skips)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"images": 3}', b"\xff\xfe{", b"[" * 100_000, b'{"a": "\xe9"}']
)
def test_another_format_is_refused(read, tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match="COCO"):
        read("coco", tmp_path / "a.json")


def test_other_json_is_not_detected(tmp_path):
    assert not READERS["coco"].detect(write(tmp_path / "a.json", settings={"images of": 1}))
    assert not READERS["coco"].detect(tmp_path / "missing.json")
    assert not READERS["coco"].detect(tmp_path)
