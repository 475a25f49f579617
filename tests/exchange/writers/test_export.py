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
    assert export(iter(pictures), file, format) == replace(planned, dry_run=False)
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
    assert done == replace(planned, dry_run=False)
    assert done.files == [root / "a.jpg.xmp", root / "sub/copy.jpg.xmp"]
    assert (done.n_pictures, done.n_unchanged) == (2, 0)
    assert [skipped.where for skipped in done.skipped] == ["elsewhere.jpg"]
    read = xmp.read(root, Reading("", "xmp"))
    assert [record for record in read if record.labels_something] == [
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
    read = xmp.read(root, Reading("", "xmp"))
    assert [record for record in read if record.labels_something] == [
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


# Which sidecars, and where


def test_only_pictures_in_the_folder_get_sidecars(root: Path, tmp_path: Path, make_picture: MakePicture) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.jpg").touch()
    pictures = [
        make_picture(paths=("a.jpg", "sub/copy.jpg"), tags=["sea"]),
        make_picture(str(elsewhere / "c.jpg"), id=2, tags=["sea"]),
        make_picture("sub/gone.jpg", id=3, tags=["sea"]),
        make_picture("subway.jpg", id=4, tags=["sea"]),
    ]
    done = export(iter(pictures), root / "sub", "xmp", root=root)
    assert done.files == [root / "sub" / "copy.jpg.xmp"]
    assert [skipped.where for skipped in done.skipped] == ["sub/gone.jpg"], "and no word of the others"
    (tmp_path / "link").symlink_to(elsewhere)
    assert export(iter(pictures), tmp_path / "link", "xmp", root=root).files == [elsewhere / "c.jpg.xmp"]
    assert sorted(tmp_path.rglob("*.xmp")) == [elsewhere / "c.jpg.xmp", root / "sub" / "copy.jpg.xmp"]
    everywhere = export(iter(pictures), None, "xmp", root=root, dry_run=True)
    assert (everywhere.files, everywhere.n_unchanged) == ([root / "a.jpg.xmp"], 2)


def test_an_export_tells_what_is_new_and_gives_an_example(root: Path, make_picture: MakePicture) -> None:
    first = [make_picture(tags=["sea"], class_label="coast", caption="words")]
    export(first, root, "xmp")
    pictures = [make_picture(tags=["sea", "sky"]), make_picture("b.jpg", id=2, tags=["sea"])]
    plan = export(pictures, root, "xmp", dry_run=True)
    assert (len(plan.files), plan.n_new, plan.n_unchanged, plan.n_failed) == (2, 1, 0, 0)
    assert plan.example is not None
    assert (plan.example.file, plan.example.new, plan.example.tags) == (root / "a.jpg.xmp", False, ["sea", "sky"])
    assert export(pictures, root, "xmp") == replace(plan, dry_run=False)


def test_a_name_that_leaves_no_room_costs_one_line(root: Path, make_picture: MakePicture) -> None:
    long = "é" * 124 + ".jpg"  # 252 bytes: a sidecar would have 256
    (root / long).touch()
    pictures = [make_picture(long, tags=["sea"]), make_picture("b.jpg", id=2, tags=["sea"])]
    plan = export(pictures, root, "xmp", dry_run=True)
    done = export(pictures, root, "xmp")
    assert done == replace(plan, dry_run=False)
    assert (done.files, done.n_failed) == ([root / "b.jpg.xmp"], 1)
    assert "shorten the name of the picture" in str(done.skipped[0])


@pytest.mark.parametrize("what", ["picture", "sidecar"])
def test_a_folder_that_cannot_be_entered_costs_one_line(
    root: Path, make_picture: MakePicture, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    stat, lstat = Path.stat, Path.lstat

    def refuse(path: Path) -> None:
        if path.parent.name == "sub" and (what == "picture" or path.suffix == ".xmp"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "stat", lambda path, **options: refuse(path) or stat(path, **options))
    monkeypatch.setattr(Path, "lstat", lambda path: refuse(path) or lstat(path))
    pictures = [make_picture("sub/copy.jpg", tags=["sea"]), make_picture("b.jpg", id=2, tags=["sea"])]
    done = export(pictures, root, "xmp")
    assert (done.files, done.n_failed, len(done.skipped)) == ([root / "b.jpg.xmp"], 1, 1)
    assert "cannot be reached: Permission denied" in str(done.skipped[0])


def test_a_write_protected_folder_is_known_before(
    root: Path, make_picture: MakePicture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "sub")
    pictures = [make_picture("sub/copy.jpg", tags=["sea"]), make_picture("b.jpg", id=2, tags=["sea"])]
    plan = export(pictures, root, "xmp", dry_run=True)
    assert export(pictures, root, "xmp") == replace(plan, dry_run=False)
    assert (plan.n_failed, len(plan.files)) == (1, 1)
    assert "write-protected" in str(plan.skipped[0])


def test_merging_keeps_who_may_read_a_sidecar(root: Path, make_picture: MakePicture) -> None:
    export([make_picture(tags=["sea"])], root, "xmp")
    sidecar = root / "a.jpg.xmp"
    sidecar.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(sidecar, 12345, 23456)
    before = sidecar.stat()
    assert export([make_picture(tags=["sky"])], root, "xmp").files == [sidecar]
    after = sidecar.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_what_a_killed_export_left_is_cleared_by_the_next(root: Path, make_picture: MakePicture) -> None:
    (root / ".visterm-0123456789abcdef.tmp").write_text("half a sidecar")
    export([make_picture(tags=["sea"])], root, "xmp", dry_run=True)
    assert (root / ".visterm-0123456789abcdef.tmp").exists(), "a dry run changes nothing"
    export([make_picture(tags=["sea"])], root, "xmp")
    assert names(root) == ["a.jpg", "a.jpg.xmp", "b.jpg", "sub/copy.jpg"]
