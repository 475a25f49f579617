"""The one way to export labels."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from visterm.catalogue.pictures import Label, Picture
from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError, VistermError
from visterm.exchange.readers import xmp
from visterm.exchange.writers import FORMATS, export

MakePicture = Callable[..., Picture]
FILE_FORMATS = [format for format in FORMATS if format != "xmp"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg", "sub/copy.jpg"):
        (folder / name).touch()
    return folder


def names(root: Path) -> list[str]:
    return sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())


@pytest.mark.parametrize("format", FILE_FORMATS)
def test_a_dry_run_says_what_would_be_written(tmp_path: Path, make_picture: MakePicture, format: str) -> None:
    pictures = [make_picture(), make_picture("b.jpg", id=2), make_picture(id=3, paths=())]
    file = tmp_path / "labels"
    planned = export(iter(pictures), file, format, dry_run=True)
    assert list(tmp_path.iterdir()) == []
    assert export(iter(pictures), file, format) == planned
    assert planned.files == [file]
    assert planned.n_pictures == 2
    assert list(tmp_path.iterdir()) == [file]


def test_sidecars_go_beside_every_file_of_a_picture(root: Path, make_picture: MakePicture) -> None:
    pictures = [
        make_picture(
            paths=("a.jpg", "gone.jpg", "sub/copy.jpg"),
            tags=[
                "boat",
                Label("car", "model m@1", "suggested", 0.9, ""),
                Label("bus", "person", "rejected", None, ""),
            ],
            class_label="coast",
            caption="words",
        ),
        make_picture("b.jpg", id=2),
        make_picture("elsewhere.jpg", id=3, tags=["sea"]),
    ]
    planned = export(iter(pictures), root, "xmp", dry_run=True)
    assert names(root) == ["a.jpg", "b.jpg", "sub/copy.jpg"]
    done = export(iter(pictures), root, "xmp")
    assert done == planned
    assert done.files == [root / "a.jpg.xmp", root / "sub/copy.jpg.xmp"]
    assert (done.n_pictures, done.n_unchanged) == (2, 0)
    assert [skipped.where for skipped in done.skipped] == ["elsewhere.jpg"]
    assert list(xmp.read(root, Reading("", "xmp"))) == [
        Record(path, class_name="coast", tags=("boat",), caption="words") for path in ("a.jpg", "sub/copy.jpg")
    ]
    again = export(iter(pictures), root, "xmp")
    assert (again.files, again.n_unchanged) == ([], 2)


def test_one_bad_sidecar_costs_one_line(root: Path, make_picture: MakePicture) -> None:
    (root / "a.jpg.xmp").write_text("not XML")
    pictures = [make_picture(tags=["sea"]), make_picture("b.jpg", id=2, tags=["sea"])]
    done = export(pictures, root, "xmp")
    assert done.files == [root / "b.jpg.xmp"]
    assert [skipped.where for skipped in done.skipped] == [str(root / "a.jpg")]
    assert (root / "a.jpg.xmp").read_text() == "not XML"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk_ends_the_export_and_a_locked_folder_does_not(
    root: Path, make_picture: MakePicture, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    pictures = [make_picture(tags=["sea"]), make_picture("b.jpg", id=2, tags=["sea"])]
    if code == errno.ENOSPC:
        with pytest.raises(VistermError, match="No space left"):
            export(pictures, root, "xmp")
    else:
        done = export(pictures, root, "xmp")
        assert done.files == []
        assert len(done.skipped) == 2
    assert names(root) == ["a.jpg", "b.jpg", "sub/copy.jpg"]


def test_wrong_use_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="csv, tsv, jsonl, parquet, coco, xmp"):
        export([], tmp_path / "x", "xlsx")
    with pytest.raises(InputError, match="is a folder"):
        export([], tmp_path, "csv")
    with pytest.raises(InputError, match="not a folder"):
        export([], tmp_path / "absent", "xmp")
    with pytest.raises(VistermError, match="cannot write"):
        export([], tmp_path / "absent" / "labels.csv", "csv")


def suggested(name: str, score: float | None) -> Label:
    return Label(name, "model m@1", "suggested", score, "")


def test_suggestions_above_a_score_are_written_where_there_is_a_place(
    root: Path, tmp_path: Path, make_picture: MakePicture
) -> None:
    labels = ["boat", suggested("car", 0.9), suggested("bus", 0.5), suggested("van", None)]
    pictures = [
        make_picture(tags=labels, classes=(suggested("coast", 0.85), suggested("street", 0.2))),
        make_picture("b.jpg", id=2, tags=[suggested("sea", 0.8)], class_label="harbour"),
    ]
    pictures[1] = replace(pictures[1], classes=(*pictures[1].classes, suggested("street", 0.9)))
    export(iter(pictures), root, "xmp", suggestions=0.8, hierarchy="Class")
    text = (root / "a.jpg.xmp").read_text()
    assert all(f"<rdf:li>{name}</rdf:li>" in text for name in ("boat", "car", "coast"))
    assert not any(name in text for name in ("bus", "van", "street", "Class|"))
    text = (root / "b.jpg.xmp").read_text()
    assert all(f"<rdf:li>{name}</rdf:li>" in text for name in ("sea", "harbour", "Class|harbour"))
    assert "street" not in text  # its class is decided
    assert list(xmp.read(root, Reading("", "xmp"))) == [
        Record("a.jpg", tags=("boat",)),
        Record("b.jpg", class_name="harbour"),
    ]
    export(iter(pictures), tmp_path / "labels.jsonl", "jsonl", suggestions=0.8)
    row = json.loads((tmp_path / "labels.jsonl").read_text().splitlines()[0])
    assert (row["tags"], row["suggested_tags"], row["suggested_class"]) == (["boat"], ["car"], "coast")
    export(iter(pictures), tmp_path / "labels.json", "coco", suggestions=0.8)
    image = json.loads((tmp_path / "labels.json").read_text())["images"][0]
    assert (image["image_tags"], image["suggested_tags"]) == (["boat"], {"car": 0.9})
    export(iter(pictures), root, "xmp")
    assert "car" not in (root / "a.jpg.xmp").read_text()


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="xmp only"):
        export([], tmp_path / "x.csv", "csv", hierarchy="Class")
    with pytest.raises(InputError, match="between 0 and 1"):
        export([], tmp_path / "x.csv", "csv", suggestions=80)
