"""The label lists that come with published collections: Corel and UIUC sports."""

from __future__ import annotations

from pathlib import Path

import pytest

from visterm.catalogue.records import Record
from visterm.errors import InputError
from visterm.exchange.readers import READERS, open_labels

DATA = Path(__file__).parents[4] / "shared" / "data"


def test_corel(read, tmp_path):
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "words").write_bytes(b"city\r\nsea\r\nsky\r\n")
    (labels / "training_label").write_bytes(
        b"1000 1 3 \r\n113046 2    \r\n1002 4\r\n1003 0\r\nx 1\r\n-5 1\r\n\r\n1004\r\n"
    )
    records, reading = read("corel", labels)
    assert records == [
        Record("train/1000.jpeg", "1", ("city", "sky"), split="train"),
        Record("train/113046.jpeg", "113", ("sea",), split="train"),
        Record("train/1004.jpeg", "1", split="train"),
    ]
    assert [item.where for item in reading.skips] == [f"training_label, line {n}" for n in (3, 4, 5, 6, 7)]
    assert READERS["corel"].base(labels) == tmp_path / "images"


def test_uiuc(read, tmp_path):
    (tmp_path / "uiuc-sports-info.txt").write_text("polo 1.jpg\npolo 2.jpg\nnonsense\nrowing 4.jpg\nrowing 5.jpg\n")
    (tmp_path / "uiuc-sports-annotations.txt").write_bytes(b"horse, athlete, horse, , \ncaf\xe9,\nx,\noar,\n")
    records, reading = read("uiuc", tmp_path)
    assert records == [
        Record("polo/1.jpg", "polo", ("horse", "athlete")),
        Record("rowing/4.jpg", "rowing", ("oar",)),
    ]
    assert len(reading.skips) == 4
    assert READERS["uiuc"].base(tmp_path) == tmp_path


@pytest.mark.parametrize("format", ["corel", "uiuc"])
def test_another_folder_is_refused(read, tmp_path, format):
    assert not READERS[format].detect(tmp_path)
    with pytest.raises(InputError, match="expected the files"):
        read(format, tmp_path)


@pytest.mark.skipif(not (DATA / "corel5k").is_dir(), reason="the Corel collection is not on this machine")
def test_corel_as_published():
    reading, base, records = open_labels(DATA / "corel5k" / "labels")
    records = list(records)
    assert reading.format == "corel"
    assert (reading.pictures, reading.classes, reading.tags, reading.skips) == (4999, 50, 374, [])
    assert sum(record.split == "test" for record in records) == 499
    assert all((base / record.path).is_file() for record in records[::100])


@pytest.mark.skipif(not (DATA / "uiuc_sport").is_dir(), reason="the UIUC sport collection is not on this machine")
def test_uiuc_as_published():
    reading, _, records = open_labels(DATA / "uiuc_sport")
    assert len(list(records)) == 1792
    assert (reading.classes, reading.skips) == (8, [])
