from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from visterm.errors import VistermError
from visterm.storage import clear_leftovers, replacing, write_bytes_atomically, write_text_atomically
from visterm.storage.atomic import TEMPORARY_PATTERN


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bytes_and_text_are_written_as_given(tmp_path: Path) -> None:
    write_bytes_atomically(tmp_path / "a", b"\x00\xff")
    write_text_atomically(tmp_path / "b", "línea\r\nzwei\n")

    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "b").read_bytes() == "línea\r\nzwei\n".encode()
    assert names(tmp_path) == ["a", "b"]


def test_the_old_contents_stay_until_the_block_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("old")

    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"


@pytest.mark.parametrize("failure", [RuntimeError("stop"), KeyboardInterrupt()])
def test_a_failing_block_leaves_the_old_file_and_no_other(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of it")
            raise failure

    with pytest.raises(type(failure)):
        write_half()

    assert path.read_text() == "old"
    assert names(tmp_path) == ["labels.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(VistermError, match=r"cannot write .*labels\.csv: No space left on device"):
        write_text_atomically(path, "new")

    assert path.read_text() == "old"
    assert names(tmp_path) == ["labels.csv"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(VistermError, match=r"cannot write .*absent.*: No such file"):
        write_text_atomically(tmp_path / "absent" / "file", "text")


def test_the_longest_possible_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_text_atomically(path, "text")
    assert path.read_text() == "text"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")
def test_a_new_file_has_the_usual_permissions_and_a_link_is_replaced(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("target")
    link.symlink_to(target)

    write_text_atomically(link, "text")

    assert not link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert target.read_text() == "target"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_access_is_kept_when_asked(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.xmp"
    path.write_text("old")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
    before = path.stat()
    with replacing(path, keep_access=True) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600, "private until it is known who may read it"
        temporary.write_text("new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_an_owner_that_may_not_be_kept_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xmp"
    path.write_text("old")
    path.chmod(0o640)

    def refuse(*args: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", refuse)
    write_bytes_atomically(path, b"new", keep_access=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX locks")
def test_only_leftovers_of_ended_processes_are_cleared(tmp_path: Path) -> None:
    killed = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, pathlib, sys; from visterm.storage import replacing\n"
            "with replacing(pathlib.Path(sys.argv[1], 'a.xmp')) as file: os.kill(os.getpid(), 9)",
            str(tmp_path),
        ]
    )
    assert killed.wait() == -9
    (tmp_path / "notes.tmp").touch()
    (leftover,) = tmp_path.glob(TEMPORARY_PATTERN)
    with replacing(tmp_path / "b.xmp") as temporary:
        assert clear_leftovers(tmp_path) == 1
        assert not leftover.exists()
        assert temporary.exists(), "its writer is alive"
    assert names(tmp_path) == ["b.xmp", "notes.tmp"]
