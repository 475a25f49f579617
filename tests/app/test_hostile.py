"""Bad input through the command line: each costs one clear line, and everything else is done."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from visterm.app.workspace import Workspace


def png_of_size(width, height):
    """A PNG that claims any size and holds almost nothing."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


@pytest.fixture
def photos(tmp_path):
    """Two good pictures among everything that can be wrong with a folder."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in (("good.jpg", "red"), ("fine.png", "blue")):
        Image.new("RGB", (64, 48), colour).save(folder / name)
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 90).save(buffer, "JPEG")
    (folder / "truncated.jpg").write_bytes(buffer.getvalue()[:3000])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "bomb.png").write_bytes(png_of_size(10_000, 10_000))
    (folder / "letter.jpg").write_text("Dear Sir or Madam,", encoding="utf-8")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "pipe.jpg")
    (folder / "dangling.jpg").symlink_to(folder / "nowhere.jpg")
    return folder


def test_a_folder_of_horrors(visterm_json, visterm, photos, tmp_path):
    home = tmp_path / "home"
    visterm("init", home)
    added = visterm_json("add", photos, "-w", home)
    assert added["files"]["added"] == 6
    assert added["files"]["unreadable"] == 4
    status = visterm_json("status", "-w", home)
    assert status["n_ok"] == 2
    reasons = {Path(item["path"]).name: item["reason"] for item in status["unreadable"]}
    assert set(reasons) == {"truncated.jpg", "empty.jpg", "bomb.png", "letter.jpg"}
    assert "100" in reasons["bomb.png"] or "pixels" in reasons["bomb.png"]
    assert "empty" in reasons["empty.jpg"]
    for reason in reasons.values():
        assert "\n" not in reason
    skipped = " ".join(item["where"] for item in added["skipped"])
    assert "pipe.jpg" in skipped
    again = visterm_json("add", photos, "-w", home)
    assert again["files"]["added"] == 0
    assert visterm_json("features", "colour", "-w", home)["recipes"][0]["n_computed"] == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder; tests/collection/test_scan.py feigns it")
def test_a_folder_without_permission(visterm_json, visterm, photos, tmp_path):
    closed = photos / "closed"
    closed.mkdir()
    shutil.copy(photos / "good.jpg", closed)
    closed.chmod(0)
    try:
        visterm("init", tmp_path / "home")
        added = visterm_json("add", photos, "-w", tmp_path / "home")
    finally:
        closed.chmod(0o755)
    assert any("closed" in item["where"] for item in added["skipped"])
    assert added["files"]["added"] == 6


def test_labels_that_lie(visterm_json, visterm, photos, tmp_path):
    rows = [
        b'{"file_name": "good.jpg", "class": "red", "tags": ["a, b", "x|y"]}',
        b'{"file_name": "good.jpg", "class": "red", "tags": ["a, b", "x|y"]}',
        b'{"file_name": "good.jpg", "class": "green"}',
        b'{"file_name": "absent.jpg", "class": "red"}',
        b'{"file_name": "../../etc/passwd", "class": "red"}',
        b'{"file_name": "/etc/passwd", "class": "red"}',
        b'{"file_name": "fine.png", "tags": ["\xff\xfe"]}',
        b'{"file_name": "fine.png", "class": ',
        b'{"file_name": "fine.png", "class": "blue"}',
    ]
    (photos / "metadata.jsonl").write_bytes(b"\n".join(rows))
    home = tmp_path / "home"
    visterm("init", home)
    added = visterm_json("add", photos, "-w", home)
    status = visterm_json("status", "-w", home)
    assert status["classes"] == {"blue": 1, "red": 1}
    assert set(status["frequent_tags"]) == {"a, b", "x|y"}
    reasons = [item["reason"] for item in added["skipped"] if "metadata" in item["where"] or ".jpg" in item["where"]]
    assert len(reasons) >= 7
    people = visterm("add", photos, "-w", home)
    assert people.stderr.count("skipped") >= 7


def test_a_full_disk_loses_nothing(postcards, tmp_path):
    """A real process whose files may not grow: the catalogue and the features stay as they were."""
    home = tmp_path / "home"
    with Workspace.create(home) as workspace:
        workspace.add([postcards / "pictures" / "0000.jpg"], look_for_labels=False)

    def limited(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "visterm", *map(str, arguments), "-w", str(home)],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = limited("export", tmp_path / "labels.csv")
    assert done.returncode == 0, done.stderr  # small enough to fit
    done = limited("add", postcards)
    assert done.returncode == 1
    assert done.stderr.startswith("visterm: ")
    assert len(done.stderr.splitlines()) == 1
    with Workspace(home) as workspace:
        assert workspace.catalogue.check() == []
        counts = workspace.catalogue.counts()
        assert counts.n_pictures >= 1
        assert counts.n_with_class == 0
        workspace.add([postcards])
        assert workspace.catalogue.counts().n_pictures == 50


def test_damaged_workspaces_are_reported(visterm, visterm_json, workspace):
    (next((workspace / ".visterm" / "features").iterdir()) / "manifest.json").write_text("{", encoding="utf-8")
    (workspace / ".visterm" / "models" / "knn" / "1" / "model.json").write_text("[]", encoding="utf-8")
    problems = json.loads(visterm("doctor", "-w", workspace, "--json", code=1).stdout)["problems"]
    assert len(problems) == 2
    catalogue = workspace / ".visterm" / "catalogue.sqlite"
    for beside in catalogue.parent.glob("catalogue.sqlite-*"):
        beside.unlink()
    catalogue.write_bytes(b"this is not a database, whatever it is called" * 100)
    assert visterm("status", "-w", workspace, code=1).stderr.startswith("visterm: ")


@pytest.mark.parametrize("name", ["pipe.jpg", "/dev/zero", "x" * 300, "pictures"])
def test_what_is_no_file_costs_one_line(visterm, workspace, elsewhere, name):
    os.mkfifo(elsewhere / "pipe.jpg")
    (elsewhere / "pictures").mkdir()
    for command in (("similar", name, "-r", "colour"), ("show", name), ("search", f"like:{name}")):
        said = visterm(*command, *(() if command[0] == "show" else ("-w", workspace)), code=1).stderr.strip()
        assert len(said.splitlines()) == 1
        assert said.startswith("visterm: ")
    if name != "pictures":  # the pictures of a folder are tagged
        for command in ("tag", "classify"):
            assert f"skipped {name[:60]}" in visterm(command, name, "-w", workspace, code=1).stderr.replace("\n", "")
