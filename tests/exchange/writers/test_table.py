"""Tables of labels: what is written is read back equal."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.catalogue.pictures import Label, Picture
from visterm.catalogue.records import Reading, Record, Region
from visterm.errors import InputError, VistermError
from visterm.exchange.readers import parquet as parquet_reader
from visterm.exchange.readers import table as table_reader
from visterm.exchange.writers.table import COLUMNS, FORMATS, write_table

MakePicture = Callable[..., Picture]
TIME = "2024-01-01T00:00:00Z"
LABELLED = {
    "class_label": Label("coast", "import", "accepted", None, TIME),
    "classes": (
        Label("coast", "import", "accepted", None, TIME),
        Label("harbour", "model knn@1", "suggested", 0.5, TIME),
        Label("street", "model knn@1", "suggested", 0.25, TIME),
        Label("forest", "person", "rejected", None, TIME),
    ),
    "tags": (
        Label("boat", "person", "accepted", None, TIME),
        Label("car", "person", "rejected", None, TIME),
        Label("quay", "model tagger@2", "suggested", 0.75, TIME),
        Label("sea, calm", "model tagger@2", "accepted", 0.875, TIME),
    ),
    "caption": "Boats, moored\nat noon",
    "split": "train",
    "regions": (Region("boat", 1, 2, 3.5, 4),),
}


def read_back(file: Path) -> tuple[list[Record], Reading]:
    reader: ModuleType = parquet_reader if file.suffix == ".parquet" else table_reader
    reading = Reading(str(file), reader.__name__.rpartition(".")[2])
    return list(reader.read(file, reading)), reading


@pytest.mark.parametrize("format", FORMATS)
def test_labels_are_read_back(tmp_path: Path, make_picture: MakePicture, format: str) -> None:
    file = tmp_path / f"labels.{format}"
    pictures = [make_picture("sub/a.jpg", **LABELLED), make_picture("b.jpg"), make_picture(paths=())]
    assert write_table(iter(pictures), file, format) == 2
    records, reading = read_back(file)
    assert records == [
        Record(
            "sub/a.jpg",
            class_name="coast",
            tags=("boat", "sea, calm"),
            caption="Boats, moored\nat noon",
            split="train",
            regions=(Region("boat", 1, 2, 3.5, 4),),
        ),
        Record("b.jpg"),
    ]
    assert reading.skips == []
    assert list(tmp_path.iterdir()) == [file]


def test_sources_scores_and_states_have_their_columns(tmp_path: Path, make_picture: MakePicture) -> None:
    file = tmp_path / "labels.jsonl"
    write_table([make_picture("a.jpg", **LABELLED)], file, "jsonl")
    row = json.loads(file.read_text())
    assert list(row) == list(COLUMNS)
    assert row == {
        "file_name": "a.jpg",
        "class": "coast",
        "tags": ["boat", "sea, calm"],
        "caption": "Boats, moored\nat noon",
        "split": "train",
        "suggested_class": "harbour",
        "suggested_tags": ["quay"],
        "rejected_classes": ["forest"],
        "rejected_tags": ["car"],
        "class_source": "import",
        "class_score": None,
        "tag_sources": ["person", "model tagger@2"],
        "tag_scores": [None, 0.875],
        "suggested_class_source": "model knn@1",
        "suggested_class_score": 0.5,
        "suggested_tag_sources": ["model tagger@2"],
        "suggested_tag_scores": [0.75],
        "rejected_class_sources": ["person"],
        "rejected_tag_sources": ["person"],
        "regions": [{"name": "boat", "box": [1, 2, 3.5, 4]}],
        "sha256": "0" * 64,
    }


def test_parquet_holds_the_same_as_json_lines(tmp_path: Path, make_picture: MakePicture) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pictures = [make_picture(f"{number}.jpg", id=number, **LABELLED) for number in range(1001)]
    write_table(pictures, tmp_path / "labels.jsonl", "jsonl")
    write_table(pictures, tmp_path / "labels.parquet", "parquet")
    lines = (tmp_path / "labels.jsonl").read_text().splitlines()
    assert parquet.read_table(tmp_path / "labels.parquet").to_pylist() == [json.loads(line) for line in lines]


def test_a_spreadsheet_finds_utf8_and_readable_cells(tmp_path: Path, make_picture: MakePicture) -> None:
    file = tmp_path / "labels.csv"
    write_table([make_picture("a.jpg", tags=["skåne", "=1+1"], class_label="=cmd()")], file)
    assert file.read_bytes().startswith(b"\xef\xbb\xbffile_name,class,tags,caption,split,")
    with file.open(encoding="utf-8-sig", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["tags"] == '["skåne", "=1+1"]'
    assert row["class"] == "'=cmd()", "data stays data"
    assert row["caption"] == row["suggested_tags"] == row["regions"] == ""


@pytest.mark.parametrize("format", FORMATS)
def test_no_pictures(tmp_path: Path, format: str) -> None:
    file = tmp_path / f"labels.{format}"
    assert write_table([], file, format) == 0
    assert read_back(file)[0] == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_leaves_the_old_table(
    tmp_path: Path, make_picture: MakePicture, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "labels"
    file.write_text("old")

    def failing() -> Iterator[Picture]:
        yield make_picture()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_table(failing(), file, format)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VistermError, match=r"cannot write .*labels: No space left on device"):
        write_table([make_picture()], file, format)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_writing_streams(tmp_path: Path, make_picture: MakePicture) -> None:
    alive = 0

    def pictures() -> Iterator[Picture]:
        for number in range(5000):
            yield make_picture(f"{number}.jpg", tags=["x" * 1000])
            nonlocal alive
            alive = max(alive, sum(file.stat().st_size for file in tmp_path.glob(".visterm-*")))

    write_table(pictures(), tmp_path / "labels.csv")
    assert alive > 4_000_000, "rows reach the disk while pictures still come"


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="csv, tsv, jsonl, parquet"):
        write_table([], tmp_path / "labels.xlsx", "xlsx")
    assert list(tmp_path.iterdir()) == []


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20),
    st.text(st.sampled_from(",;|/\\\"'[]{}\t =+-@א👩‍🚀"), min_size=1, max_size=20).map(
        lambda text: text.replace("\t", "")
    ),
    st.sampled_from(["x" * 500, '["a"]', "null", "1.5", "nan", "שלום עולם", "مرحبا"]),
).filter(lambda name: bool(name) and name == name.strip())


@given(tags=st.lists(NAMES, unique=True, max_size=5), class_name=st.none() | NAMES, caption=st.none() | NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_labels_survive(
    make_picture: MakePicture, tags: list[str], class_name: str | None, caption: str | None
) -> None:
    picture = make_picture("a.jpg", tags=tags, class_label=class_name, caption=caption)
    for format in FORMATS:
        with TemporaryDirectory() as folder:
            file = Path(folder, f"labels.{format}")
            write_table([picture], file, format)
            records, reading = read_back(file)
            assert records == [Record("a.jpg", class_name=class_name, tags=tuple(tags), caption=caption)]
            assert reading.skips == []
