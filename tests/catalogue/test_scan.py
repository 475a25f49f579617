"""Adding folders: what is found, what each file means, hostile files, interruptions."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.catalogue import scan
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.records import Reading, Record, Skipped
from visterm.catalogue.removals import Forgotten
from visterm.catalogue.scan import AddReport, add_folder, examine, find_pictures
from visterm.errors import InputError, PictureError, VistermError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    return tmp_path / "pictures"


@pytest.fixture
def catalogue(tmp_path: Path, folder: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=folder) as opened:
        yield opened
        assert opened.check() == []


def jpeg(seed: int, size: tuple[int, int] = (24, 16)) -> bytes:
    stream = io.BytesIO()
    colour = (seed * 37 % 256, seed * 101 % 256, 90)
    Image.new("RGB", size, colour).save(stream, "JPEG", comment=f"picture {seed}")
    return stream.getvalue()


def make(file: Path, seed: int) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(jpeg(seed))
    return file


def swap(a: Path, b: Path) -> None:
    aside = a.rename(a.with_name("aside"))
    b.rename(a)
    aside.rename(b)


def figures(report: AddReport) -> dict[str, int]:
    names = ("added", "unchanged", "moved", "copies", "changed", "gone", "unreadable")
    return {name: number for name in names if (number := getattr(report.files, name))}


def tags_of(catalogue: Catalogue, path: str) -> list[str]:
    picture = catalogue.picture(path)
    assert picture is not None
    return [label.name for label in picture.tags]


def walk(folder: Path) -> tuple[list[str], list[Skipped]]:
    skipped: list[Skipped] = []
    return [str(Path(file.path).relative_to(folder)) for file in find_pictures(folder, skipped.append)], skipped


class TestFinding:
    def test_pictures_are_found_in_order_and_hidden_things_left_alone(self, folder: Path) -> None:
        for name in ("b/2.PNG", "b/1.jpeg", "a.jpg", "c.TIFF", "notes.txt", "jpg", ".hidden.jpg", ".visterm/x.jpg"):
            make(folder / name, 1)
        assert walk(folder) == (["a.jpg", "c.TIFF", "b/1.jpeg", "b/2.PNG"], [])

    def test_a_loop_of_links_ends_and_real_folders_come_before_links(self, folder: Path) -> None:
        make(folder / "z/1.jpg", 1)
        (folder / "a").symlink_to(folder / "z")
        (folder / "z" / "up").symlink_to(folder)
        (folder / "self").symlink_to(folder / "self")
        outside = make(folder.parent / "outside" / "2.jpg", 2).parent
        (folder / "link").symlink_to(outside)
        found, skipped = walk(folder)
        assert found == ["z/1.jpg", "link/2.jpg"]
        assert [str(line) for line in skipped] == [f"{folder / 'self'}: Too many levels of symbolic links"]

    def test_special_files_and_dead_links_cost_one_line_each(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(folder / "good.jpg", 1)
        os.mkfifo(folder / "pipe.jpg")
        (folder / "dead.jpg").symlink_to(folder / "nothing")
        (folder / "large.jpg").write_bytes(b"x" * 2000)
        monkeypatch.setattr("visterm.vision.decode.MAX_FILE_BYTES", 1999)
        found, skipped = walk(folder)
        assert found == ["good.jpg"]
        reasons = {Path(line.where).name: line.reason for line in skipped}
        assert reasons.keys() == {"pipe.jpg", "dead.jpg", "large.jpg"}
        assert "pipe" in reasons["pipe.jpg"]
        assert "No such file" in reasons["dead.jpg"]
        assert "larger than" in reasons["large.jpg"]

    def test_names_that_are_no_unicode_are_skipped_printably(self, folder: Path) -> None:
        make(folder / "good.jpg", 1)
        try:
            (folder / os.fsdecode(b"bad\xff.jpg")).write_bytes(jpeg(2))
            (folder / os.fsdecode(b"dir\xff")).mkdir()
        except OSError:
            pytest.skip("the file system refuses such names")
        found, skipped = walk(folder)
        assert found == ["good.jpg"]
        assert sorted(Path(line.where).name for line in skipped) == ["bad\\xff.jpg", "dir\\xff"]
        assert all("not valid Unicode" in line.reason for line in skipped)

    def test_a_folder_without_permission_is_one_line_and_its_files_are_not_gone(
        self, catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(folder / "open/1.jpg", 1)
        make(folder / "closed/2.jpg", 2)
        add_folder(catalogue, [folder])
        real = os.scandir

        def refuse(path: str) -> object:
            if Path(path).name == "closed":
                raise PermissionError(13, "Permission denied", path)
            return real(path)

        monkeypatch.setattr(os, "scandir", refuse)
        report = add_folder(catalogue, [folder])
        assert [str(line) for line in report.skipped] == [
            f"{folder / 'closed'}: the folder cannot be read: Permission denied"
        ]
        assert figures(report) == {"unchanged": 1}


def bomb() -> bytes:
    """A PNG of a few bytes that claims 100 megapixels."""
    header = struct.pack(">IIBBBBB", 10_000, 10_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    body = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


class TestHostileFiles:
    def test_each_bad_file_gives_a_reason_and_everything_else_is_done(self, catalogue: Catalogue, folder: Path) -> None:
        contents = {
            "truncated.jpg": jpeg(1, (400, 300))[:-500],
            "zero.jpg": b"",
            "bomb.png": bomb(),
            "text.jpg": b"Dear Sir or Madam,\n",
            "random.webp": bytes(range(256)) * 8,
            "good.jpg": jpeg(2),
        }
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        report = add_folder(catalogue, [folder])
        assert figures(report) == {"added": 6, "unreadable": 5}
        reasons = dict(catalogue.unreadable())
        assert reasons.keys() == contents.keys() - {"good.jpg"}
        assert reasons["zero.jpg"] == "the file is empty"
        assert "damaged" in reasons["truncated.jpg"]
        assert "pixels" in reasons["bomb.png"]
        assert all(reasons.values())
        assert [picture.paths for picture in catalogue.pictures(state="ok")] == [("good.jpg",)]
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 6}

    def test_a_decoder_that_fails_unexpectedly_costs_one_picture(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(data: bytes) -> None:
            raise struct.error("unpack requires more bytes")

        monkeypatch.setattr(scan, "probe", fail)
        assert examine(make(folder / "a.jpg", 1)).reason == "damaged picture: error: unpack requires more bytes"

    def test_a_file_that_cannot_be_read_is_skipped(
        self, catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 2)
        real = os.open

        def refuse(path: str, *arguments: int) -> int:
            if Path(path).name == "a.jpg":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments)

        monkeypatch.setattr(os, "open", refuse)
        report = add_folder(catalogue, [folder])
        assert figures(report) == {"added": 1}
        assert [str(line) for line in report.skipped] == [f"{folder / 'a.jpg'}: Permission denied"]

    def test_examining_refuses_what_is_no_file(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(PictureError, match="No such file"):
            examine(folder / "absent.jpg")
        with pytest.raises(PictureError, match="directory"):
            examine(folder)
        monkeypatch.setattr("visterm.vision.decode.MAX_FILE_BYTES", 10)
        with pytest.raises(PictureError, match="larger"):
            examine(make(folder / "a.jpg", 1))


class TestAdding:
    def test_the_first_time_reads_and_the_second_does_not(
        self, catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(200):
            make(folder / f"{number % 3}" / f"{number}.jpg", number)
        report = add_folder(catalogue, [folder])
        assert (figures(report), report.skipped) == ({"added": 200}, [])
        picture = catalogue.picture("0/0.jpg")
        assert picture is not None
        assert (picture.width, picture.height, picture.orientation, picture.state) == (24, 16, 1, "ok")
        assert catalogue.file_of(picture).read_bytes() == jpeg(0)
        monkeypatch.setattr(scan, "examine", None)  # must not be called
        assert figures(add_folder(catalogue, [folder, folder / "0"])) == {"unchanged": 200}

    def test_a_moved_picture_keeps_its_labels(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "old" / "a.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("old/a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        (folder / "new").mkdir()
        file.rename(folder / "new" / "b.jpg")
        assert figures(add_folder(catalogue, [folder / "new"])) == {"moved": 1}
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1}
        assert set(catalogue.known_files()) == {"new/b.jpg"}
        assert tags_of(catalogue, "new/b.jpg") == ["sea"]

    def test_a_copy_is_a_second_path_of_one_picture(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        copy = make(folder / "b.jpg", 1)
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1, "copies": 1}
        (picture,) = catalogue.pictures()
        assert picture.paths == ("a.jpg", "b.jpg")
        copy.unlink()
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1, "gone": 1}
        (picture,) = catalogue.pictures()
        assert (picture.paths, picture.missing) == (("a.jpg",), False)

    def test_an_edited_picture_keeps_its_identity_and_labels(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        before = catalogue.picture("a.jpg")
        assert before is not None
        catalogue.label(before, "tag", "sea")
        catalogue.label(before, "tag", "guess", state="suggested", source="model m@1")
        make(folder / "a.jpg", 7)
        assert figures(add_folder(catalogue, [folder])) == {"changed": 1}
        after = catalogue.picture("a.jpg")
        assert after is not None
        assert after.id == before.id
        assert after.sha256 == sha256(jpeg(7)).hexdigest()
        assert tags_of(catalogue, "a.jpg") == ["sea"]  # a model's guess was about other pixels
        counts = catalogue.counts()
        assert (counts.n_pictures, counts.n_missing) == (1, 0)
        assert catalogue.picture(before.sha256) == after  # its earlier content names it, too
        make(folder / "a.jpg", 1)  # the edit is taken back
        assert figures(add_folder(catalogue, [folder])) == {"changed": 1}
        assert catalogue.picture("a.jpg").id == before.id  # type: ignore[union-attr]

    def test_the_earlier_content_of_an_edited_picture_is_a_picture_with_the_same_labels(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        make(folder / "a.jpg", 7)
        make(folder / "a_original.jpg", 1)
        assert figures(add_folder(catalogue, [folder])) == {"changed": 1, "added": 1}
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "a_original.jpg")) == (["sea"], ["sea"])

    @pytest.mark.parametrize(("name", "folders"), [("a/0.jpg", "ab"), ("z.jpg", "bza"), ("b/9.jpg", "ba")])
    def test_an_edited_picture_stays_the_same_wherever_its_original_was_saved(
        self, catalogue: Catalogue, folder: Path, name: str, folders: str
    ) -> None:
        """docs/history.md: neither the names, nor the order in which places are added, decide which is which."""
        for file, seed in (("b/5.jpg", 1), ("a/x.jpg", 2)):
            make(folder / file, seed)
        add_folder(catalogue, [folder])
        before = catalogue.picture("b/5.jpg")
        assert before is not None
        catalogue.label(before, "tag", "sea")
        make(folder / "b/5.jpg", 7)
        make(folder / name, 1)
        places = [folder / {"a": "a", "b": "b", "z": "z.jpg"}[each] for each in folders]
        report = figures(add_folder(catalogue, places))
        assert (report["changed"], report["added"], report.get("copies")) == (1, 1, None)
        assert catalogue.picture("b/5.jpg").id == before.id  # type: ignore[union-attr]
        assert (tags_of(catalogue, "b/5.jpg"), tags_of(catalogue, name)) == (["sea"], ["sea"])
        catalogue.history.undo()
        assert (tags_of(catalogue, "b/5.jpg"), tags_of(catalogue, name)) == (["sea"], [])

    def test_all_labels_that_one_scan_copies_are_one_action(self, catalogue: Catalogue, folder: Path) -> None:
        """One of two copies is edited, one picture has its original beside it, and 70 come back as they were."""
        for name, seed in (("a.jpg", 1), ("b.jpg", 1), ("c.jpg", 2), *((f"n{i}.jpg", 10 + i) for i in range(70))):
            make(folder / name, seed)
        add_folder(catalogue, [folder])
        for picture in catalogue.pictures():
            catalogue.label(picture, "tag", "sea")
        for i in range(70):
            make(folder / f"n{i}.jpg", 100 + i)
        add_folder(catalogue, [folder])
        make(folder / "b.jpg", 3)
        make(folder / "c.jpg", 4)
        make(folder / "c_original.jpg", 2)
        for i in range(70):
            make(folder / f"old{i}.jpg", 10 + i)
        before = {name for name in catalogue.known_files() if name != "b.jpg"}
        add_folder(catalogue, [folder])
        new = {"b.jpg", "c_original.jpg", *(f"old{i}.jpg" for i in range(70))}
        assert {name for name in catalogue.known_files() if tags_of(catalogue, name) == ["sea"]} == before | new
        catalogue.history.undo()
        assert {name for name in catalogue.known_files() if tags_of(catalogue, name) == ["sea"]} == before

    def test_one_of_two_copies_is_edited(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        assert catalogue.picture("a.jpg").id != catalogue.picture("b.jpg").id  # type: ignore[union-attr]
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == (["sea"], ["sea"])
        catalogue.history.undo()  # the copy's labels are an action, too
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == (["sea"], [])

    def test_a_file_overwritten_with_another_known_picture_leaves_a_record(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        first = catalogue.picture("a.jpg")
        assert first is not None
        catalogue.label(first, "tag", "sea")
        make(folder / "a.jpg", 2)
        add_folder(catalogue, [folder])
        assert catalogue.picture("b.jpg").paths == ("a.jpg", "b.jpg")  # type: ignore[union-attr]
        (record,) = catalogue.without_file()
        assert (record.sha256, record.last_seen, record.n_labels) == (first.sha256, "a.jpg", 1)
        assert catalogue.counts().n_missing == 1

    def test_a_picture_that_moved_while_metadata_were_written(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        file.rename(folder / "b.jpg")
        rewritten(folder / "b.jpg", "rated")
        assert figures(add_folder(catalogue, [folder])) == {"moved": 1}
        assert tags_of(catalogue, "b.jpg") == ["sea"]
        assert catalogue.counts().n_pictures == 1

    def test_two_files_that_change_places_keep_their_labels(self, catalogue: Catalogue, folder: Path) -> None:
        for name, seed in (("a.jpg", 1), ("b.jpg", 2)):
            make(folder / name, seed)
        add_folder(catalogue, [folder])
        for name in ("a.jpg", "b.jpg"):
            catalogue.label(catalogue.picture(name), "tag", name)  # type: ignore[arg-type]
        for name, seed in (("a.jpg", 2), ("b.jpg", 1)):
            make(folder / name, seed)
            os.utime(folder / name, ns=(5, 5))
        assert figures(add_folder(catalogue, [folder])) == {"changed": 2}
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == (["b.jpg"], ["a.jpg"])

    def test_a_touched_file_is_unchanged(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        os.utime(file, ns=(5, 5))
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1}
        assert catalogue.known_files()["a.jpg"][1] == 5

    def test_a_disk_that_is_away_for_a_while_loses_nothing(
        self, catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = make(folder / "disk" / "a.jpg", 1).parent
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("disk/a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        disk.rename(folder.parent / "away")
        report = add_folder(catalogue, [disk])
        assert figures(report) == {"gone": 1}
        assert [str(line) for line in report.skipped] == [f"{disk}: No such file or directory"]
        assert figures(add_folder(catalogue, [folder])) == {}  # told once
        assert catalogue.counts().n_missing == 1
        (folder.parent / "away").rename(disk)
        monkeypatch.setattr(scan, "examine", None)  # known by size and time, not read again
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1}
        assert catalogue.counts().n_missing == 0
        assert tags_of(catalogue, "disk/a.jpg") == ["sea"]

    def test_single_files_and_folders_outside_the_root(
        self, catalogue: Catalogue, folder: Path, tmp_path: Path
    ) -> None:
        inside = make(folder / "odd.name", 1)
        make(tmp_path / "elsewhere" / "b.jpg", 2)
        report = add_folder(catalogue, [inside, tmp_path / "elsewhere", tmp_path / "absent"])
        assert figures(report) == {"added": 2}
        assert [Path(line.where).name for line in report.skipped] == ["absent"]
        assert set(catalogue.known_files()) == {"odd.name", (tmp_path / "elsewhere/b.jpg").as_posix()}
        assert figures(add_folder(catalogue, [inside])) == {"unchanged": 1}

    def test_an_interruption_keeps_what_was_done(
        self, catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(200):
            make(folder / f"{number:03}.jpg", number)
        real, calls = catalogue.add, iter(range(100))

        def interrupted(files: list, **options: bool) -> object:
            if next(calls) == 2:
                raise KeyboardInterrupt
            return real(files, **options)

        monkeypatch.setattr(catalogue, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            add_folder(catalogue, [folder])
        assert len(catalogue.known_files()) == 128
        assert figures(add_folder(catalogue, [folder])) == {"added": 72, "unchanged": 128}

    def test_a_full_disk_stops_with_one_clear_error(self, catalogue: Catalogue, folder: Path) -> None:
        for number in range(300):
            make(folder / f"{number:03}.jpg", number)
        (pages,) = catalogue._connection.execute("PRAGMA page_count").fetchone()
        catalogue._connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        with pytest.raises(VistermError, match="disk is full"):
            add_folder(catalogue, [folder])
        catalogue._connection.execute("PRAGMA max_page_count = 100000")
        kept = len(catalogue.known_files())
        assert kept % 64 == 0  # whole batches
        assert figures(add_folder(catalogue, [folder])) == {
            key: number for key, number in (("added", 300 - kept), ("unchanged", kept)) if number
        }

    def test_originals_are_not_touched(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        before = (file.read_bytes(), file.stat().st_mtime_ns)
        add_folder(catalogue, [folder])
        assert (file.read_bytes(), file.stat().st_mtime_ns) == before
        assert [entry.name for entry in folder.iterdir()] == ["a.jpg"]


FILES = st.dictionaries(st.sampled_from(["a.jpg", "b.jpg", "c/d.jpg", "c/e.jpg"]), st.integers(0, 3))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FILES, min_size=1, max_size=4))
def test_after_any_changes_the_catalogue_is_in_step_with_the_folder(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, int]]
) -> None:
    """Whatever is moved, copied, changed or deleted: paths and contents are those on disk, and nothing said is lost."""
    top = tmp_path_factory.mktemp("step")
    folder = top / "pictures"
    with Catalogue.create(top / "c.sqlite", root=folder) as catalogue:
        for time, files in enumerate(states, start=1):
            for old in list(folder.rglob("*.jpg")):
                old.unlink()
            for name, seed in files.items():
                os.utime(make(folder / name, seed), ns=(time, time))
            report = add_folder(catalogue, [folder])
            assert report.files.n_pictures == len(files)
            present = [picture for picture in catalogue.pictures() if not picture.missing]
            assert {path for picture in present for path in picture.paths} == files.keys()
            for picture in present:
                (seed,) = {files[path] for path in picture.paths}
                assert picture.sha256 == sha256(jpeg(seed)).hexdigest()
                catalogue.label(picture, "tag", str(seed))
        labelled = {label.name for picture in catalogue.pictures() for label in picture.tags}
        assert labelled == {str(seed) for files in states for seed in files.values()}  # nothing said was lost
        assert catalogue.check() == []


def rewritten(file, keyword):
    """``file`` as a photo program leaves it: other metadata, the same pixels."""
    data = file.read_bytes()
    comment = keyword.encode()
    file.write_bytes(data[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + data[2:])


def test_a_picture_stays_the_same_when_only_its_metadata_change(tmp_path):
    photo, copy = tmp_path / "photo.jpg", tmp_path / "copy.jpg"
    Image.effect_noise((64, 48), 80).save(photo)
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as catalogue:
        add_folder(catalogue, [tmp_path])
        picture = catalogue.picture(photo)
        catalogue.label(picture, "tag", "treasure")
        rewritten(photo, "rated")
        assert add_folder(catalogue, [tmp_path]).files.changed == 1
        after = catalogue.picture(photo)
        assert after.id == picture.id
        assert after.sha256 != picture.sha256
        assert [label.name for label in after.tags] == ["treasure"]

        copy.write_bytes(photo.read_bytes())
        assert add_folder(catalogue, [tmp_path]).files.copies == 1
        rewritten(copy, "rated again")
        add_folder(catalogue, [tmp_path])
        assert catalogue.picture(copy).id != catalogue.picture(photo).id
        for file in (photo, copy):
            assert [label.name for label in catalogue.picture(file).tags] == ["treasure"]

        Image.effect_noise((64, 48), 20).save(photo)
        add_folder(catalogue, [tmp_path])
        assert [label.name for label in catalogue.picture(photo).tags] == ["treasure"]
        assert catalogue.check() == []


class TestCorrections:
    """What a person says about which picture is which."""

    def edited(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        make(folder / "a.jpg", 7)
        add_folder(catalogue, [folder])

    def test_another_picture_at_the_same_place(self, catalogue: Catalogue, folder: Path) -> None:
        self.edited(catalogue, folder)
        new = catalogue.separate("a.jpg")
        assert (new.paths, new.tags, new.sha256) == (("a.jpg",), (), sha256(jpeg(7)).hexdigest())
        (record,) = catalogue.without_file()
        assert (record.sha256, record.last_seen, record.n_labels) == (sha256(jpeg(1)).hexdigest(), "a.jpg", 1)
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1}
        catalogue.history.undo()
        assert (tags_of(catalogue, "a.jpg"), catalogue.without_file()) == (["sea"], [])
        catalogue.history.redo()
        assert tags_of(catalogue, "a.jpg") == []
        make(folder / "b.jpg", 1)  # the first picture turns up again
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1, "moved": 1}
        assert tags_of(catalogue, "b.jpg") == ["sea"]

    def test_another_picture_though_the_first_one_is_back(self, catalogue: Catalogue, folder: Path) -> None:
        self.edited(catalogue, folder)
        catalogue.label(catalogue.picture("a.jpg"), "tag", "later")  # type: ignore[arg-type]
        make(folder / "b.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.separate("a.jpg")
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == ([], ["later", "sea"])

    def test_a_picture_that_has_not_changed_is_not_another(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        with pytest.raises(InputError, match=r"a\.jpg: its content has not changed"):
            catalogue.separate("a.jpg")

    def test_a_record_gets_its_moved_and_edited_file(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        make(folder / "c.jpg", 3)
        add_folder(catalogue, [folder])
        first = catalogue.picture("a.jpg")
        assert first is not None
        catalogue.label(first, "tag", "sea")
        catalogue.label(first, "class", "coast")
        file.unlink()
        make(folder / "b.jpg", 7)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("b.jpg"), "tag", "sky")  # type: ignore[arg-type]
        catalogue.label(catalogue.picture("b.jpg"), "class", "street")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="the record has a file"):
            catalogue.attach("c.jpg", "b.jpg")
        attached = catalogue.attach("a.jpg", "b.jpg")
        assert (attached.id, attached.paths, attached.missing) == (first.id, ("b.jpg",), False)
        assert (tags_of(catalogue, "b.jpg"), attached.class_label.name) == (["sea", "sky"], "coast")  # type: ignore[union-attr]
        assert (catalogue.without_file(), figures(add_folder(catalogue, [folder]))) == ([], {"unchanged": 2})
        catalogue.history.undo()
        assert (tags_of(catalogue, "b.jpg"), catalogue.picture("a.jpg").missing) == (["sky"], True)  # type: ignore[union-attr]


class TestRemoved:
    def test_a_removed_picture_stays_out_until_it_is_wanted_again(self, catalogue: Catalogue, folder: Path) -> None:
        a, b = make(folder / "a.jpg", 1), make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        assert catalogue.remove([a]).n_pictures == 1
        report = add_folder(catalogue, [folder])
        assert (report.files.removed, figures(report)) == (1, {"unchanged": 1})
        a.rename(folder / "moved.jpg")  # known by what it holds
        make(folder / "copy.jpg", 1)
        report = add_folder(catalogue, [folder])
        assert (report.files.removed, figures(report)) == (2, {"unchanged": 1})
        os.utime(folder / "moved.jpg", ns=(1, 1))
        assert add_folder(catalogue, [folder]).files.removed == 2
        report = add_folder(catalogue, [folder / "moved.jpg", b], again=True)
        assert (report.files.removed, figures(report)) == (0, {"added": 1, "unchanged": 1})
        report = add_folder(catalogue, [folder])  # the copy is wanted, too
        assert (report.files.removed, figures(report)) == (0, {"unchanged": 2, "copies": 1})

    def test_metadata_written_into_a_removed_picture_do_not_bring_it_back(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        make(folder / "a.jpg", 1)
        add_folder(catalogue, [folder])
        catalogue.remove([folder])
        Image.new("RGB", (24, 16), (37, 101, 90)).save(folder / "a.jpg", "JPEG", comment="keyword")
        assert add_folder(catalogue, [folder]).files.removed == 1
        (folder / "a.jpg").unlink()
        Image.new("RGB", (24, 16), (37, 101, 90)).save(folder / "b.jpg", "JPEG", comment="moved and changed")
        assert add_folder(catalogue, [folder]).files.removed == 1
        make(folder / "a.jpg", 5)  # another picture at that place
        assert figures(add_folder(catalogue, [folder])) == {"added": 1}

    def test_removing_one_of_two_files_keeps_the_other(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 1)
        add_folder(catalogue, [folder])
        assert catalogue.remove(["b.jpg"]) == Forgotten(0, 1, ("a.jpg",))
        report = add_folder(catalogue, [folder])
        assert (report.files.removed, figures(report)) == (1, {"unchanged": 1})
        make(folder / "c.jpg", 1)
        report = add_folder(catalogue, [folder])
        assert (report.files.removed, figures(report)) == (1, {"unchanged": 1, "copies": 1})
        assert set(catalogue.known_files()) == {"a.jpg", "c.jpg"}

    def test_a_file_known_now_is_read_though_one_like_it_was_removed_there(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        b, aside = make(folder / "b.jpg", 2), folder / "aside"
        add_folder(catalogue, [folder])
        catalogue.remove([b])
        b.rename(aside)
        make(b, 3)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("b.jpg"), "tag", "sea")  # type: ignore[arg-type]
        aside.rename(b)
        assert figures(add_folder(catalogue, [folder])) == {"changed": 1}
        assert catalogue.picture("b.jpg").sha256 == examine(b).sha256  # type: ignore[union-attr]
        assert tags_of(catalogue, "b.jpg") == ["sea"]

    def test_a_removed_picture_gets_no_labels_of_one_with_which_it_changed_places(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        a, b = make(folder / "a.jpg", 1), make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        first, removed = catalogue.picture("a.jpg"), catalogue.picture("b.jpg")
        assert first is not None
        assert removed is not None
        catalogue.label(first, "tag", "sea")
        catalogue.remove([b])
        swap(a, b)
        assert add_folder(catalogue, [folder]).files.removed == 1
        assert catalogue.picture("b.jpg").id == first.id  # type: ignore[union-attr]
        assert (tags_of(catalogue, "b.jpg"), set(catalogue.known_files())) == (["sea"], {"b.jpg"})
        assert add_folder(catalogue, [folder]).files.removed == 1
        assert figures(add_folder(catalogue, [folder], again=True)) == {"added": 1, "unchanged": 1}
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == ([], ["sea"])
        assert catalogue.picture("a.jpg").id == removed.id  # type: ignore[union-attr]

    def test_a_removed_picture_that_is_wanted_again_at_the_place_of_another_gets_none_of_its_labels(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        a, b = make(folder / "a.jpg", 1), make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        catalogue.remove([b])
        swap(a, b)
        add_folder(catalogue, [folder], again=True)
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == ([], ["sea"])

    def test_a_removed_picture_in_the_place_of_one_that_is_nowhere_else_is_an_edit_of_it(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        a, b = make(folder / "a.jpg", 1), make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        catalogue.label(catalogue.picture("a.jpg"), "tag", "sea")  # type: ignore[arg-type]
        catalogue.remove([b])
        b.rename(a)
        assert figures(add_folder(catalogue, [folder])) == {"changed": 1}
        assert tags_of(catalogue, "a.jpg") == ["sea"]

    def test_labels_of_a_removed_picture_are_passed_over(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 2)
        add_folder(catalogue, [folder])
        catalogue.remove(["a.jpg"])
        reading = Reading("labels", "test")
        records = [Record("a.jpg", tags=("sea",)), Record("b.jpg", tags=("sky",)), Record("c.jpg", tags=("sun",))]
        catalogue.apply(records, base=folder, reading=reading)
        assert [str(item) for item in reading.skips] == ["c.jpg: no such picture in the catalogue"]
        assert tags_of(catalogue, "b.jpg") == ["sky"]

    def test_removing_keeps_the_labels_of_a_picture_whose_file_was_replaced(
        self, catalogue: Catalogue, folder: Path
    ) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 2)
        make(folder / "c.jpg", 3)
        add_folder(catalogue, [folder])
        first = catalogue.picture("a.jpg")
        assert first is not None
        catalogue.label(first, "tag", "sea")
        make(folder / "a.jpg", 3)
        add_folder(catalogue, [folder])
        assert catalogue.remove(["b.jpg"]).n_pictures == 1
        assert catalogue.picture(first.sha256) is not None
        assert catalogue.remove([first.sha256]).n_pictures == 1


class TestFormerPaths:
    """Label files go on naming a picture by the path that it had when they were written."""

    def read(self, catalogue: Catalogue, folder: Path, *tags: str, path: str = "a.jpg") -> list[str]:
        """Add the folder, then read a label file; returns what was skipped."""
        add_folder(catalogue, [folder])
        reading = Reading("labels.csv", "table")
        catalogue.apply([Record(path, tags=tags)], base=folder, reading=reading)
        return [str(item) for item in reading.skips]

    def test_a_moved_picture_keeps_what_a_label_file_says(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        assert self.read(catalogue, folder, "sea", "sky") == []
        for place in ("new/b.jpg", "new/c.jpg"):
            (folder / "new").mkdir(exist_ok=True)
            file = file.rename(folder / place)
            assert self.read(catalogue, folder, "sea", "sky") == []
            assert tags_of(catalogue, place) == ["sea", "sky"]
        assert self.read(catalogue, folder, "sea", "boat") == []  # what it no longer says is withdrawn
        assert tags_of(catalogue, "new/c.jpg") == ["boat", "sea"]
        assert self.read(catalogue, folder, "sea", path="d.jpg") == ["d.jpg: no such picture in the catalogue"]
        assert tags_of(catalogue, "new/c.jpg") == []

    def test_so_does_one_into_which_another_program_wrote_metadata(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        self.read(catalogue, folder, "sea")
        (folder / "a.jpg").unlink()
        Image.new("RGB", (24, 16), (37, 101, 90)).save(folder / "b.jpg", "JPEG", comment="another comment")
        assert self.read(catalogue, folder, "sea") == []
        assert tags_of(catalogue, "b.jpg") == ["sea"]

    def test_so_does_a_picture_whose_named_copy_is_deleted(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        make(folder / "b.jpg", 1)
        self.read(catalogue, folder, "sea")
        (folder / "a.jpg").unlink()
        assert figures(add_folder(catalogue, [folder])) == {"unchanged": 1, "gone": 1}
        assert set(catalogue.known_files()) == {"b.jpg"}
        assert self.read(catalogue, folder, "sea") == []
        assert tags_of(catalogue, "b.jpg") == ["sea"]

    def test_so_does_a_record_that_was_given_another_file(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1)
        self.read(catalogue, folder, "sea")
        (folder / "a.jpg").unlink()
        make(folder / "b.jpg", 7)
        add_folder(catalogue, [folder])
        catalogue.attach("a.jpg", "b.jpg")
        assert self.read(catalogue, folder, "sea") == []
        assert tags_of(catalogue, "b.jpg") == ["sea"]

    def test_a_file_that_is_there_now_is_what_is_named(self, catalogue: Catalogue, folder: Path) -> None:
        make(folder / "a.jpg", 1).rename(folder / "b.jpg")
        make(folder / "a.jpg", 1)
        self.read(catalogue, folder, "sea")
        (folder / "a.jpg").unlink()
        add_folder(catalogue, [folder])
        make(folder / "a.jpg", 2)
        assert self.read(catalogue, folder, "sea") == []
        assert (tags_of(catalogue, "a.jpg"), tags_of(catalogue, "b.jpg")) == (["sea"], [])

    def test_a_moved_picture_that_a_person_removed_is_passed_over(self, catalogue: Catalogue, folder: Path) -> None:
        file = make(folder / "a.jpg", 1)
        self.read(catalogue, folder, "sea")
        file.rename(folder / "b.jpg")
        self.read(catalogue, folder, "sea")
        catalogue.remove(["b.jpg"])
        assert self.read(catalogue, folder, "sea") == []
        catalogue.history.undo()
        assert self.read(catalogue, folder, "sea", "sky") == []
        assert tags_of(catalogue, "b.jpg") == ["sea", "sky"]


@pytest.mark.parametrize(
    "order", [("a.jpg", "b.jpg", "c.jpg"), ("c.jpg", "b.jpg", "a.jpg"), ("b.jpg", "a.jpg", "c.jpg")]
)
def test_of_several_copies_that_are_gone_the_first_place_is_remembered(
    folder: Path, catalogue: Catalogue, order: tuple[str, ...]
) -> None:
    for name in order:
        make(folder / name, 1)
    add_folder(catalogue, [folder])
    assert catalogue.mark_missing(order) == 3
    picture = catalogue.picture("a.jpg")
    assert picture is not None
    assert (picture.paths, picture.missing) == (("a.jpg",), True)
