"""Bad input through the command line: each costs one clear line, and everything else is done."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.workspace import Workspace


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


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "gone"])
def test_a_broken_model_is_left_out_with_a_word(visterm, visterm_json, workspace, damage):
    with Workspace(workspace) as opened:
        opened.train("knn-tags", name="second", recipe="colour")
    model = workspace / ".visterm" / "models" / "second" / "1"
    shutil.rmtree(workspace / ".visterm" / "models" / "knn")
    for name in ("knn-tags", "second"):  # the broken one is the better one
        file = workspace / ".visterm" / "models" / name / "1" / "model.json"
        contents = json.loads(file.read_text(encoding="utf-8"))
        del contents["checksum"]
        contents["metrics"] |= {"tag accuracy": 0.9, "AvgP": 0.9} if name == "second" else {}
        file.write_text(json.dumps(contents), encoding="utf-8")
    assert visterm_json("models", "-w", workspace)["in_use"]["tag"] == "second@1"
    if damage == "empty":
        (model / "model.json").write_bytes(b"")
    elif damage == "gone":
        (model / "model.safetensors").unlink()
    else:
        data = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(data[:-9] if damage == "cut" else data[:-9] + bytes(9))
    for command in (("tag",), ("search", "boat"), ("models",), ("status",)):
        done = visterm(*command, "-w", workspace, "--json")
        if command[0] in ("tag", "search") or damage == "empty":
            assert done.stderr.count("a model is left out") == 1, command
    assert visterm_json("tag", "-w", workspace)["model"] == "knn-tags@1"
    assert visterm_json("search", "boat", "-w", workspace)["model"] == "knn-tags@1"
    assert "second" in visterm("tag", "-m", "second", "-w", workspace, code=1).stderr
    assert any(
        "second" in line for line in json.loads(visterm("doctor", "--json", "-w", workspace, code=1).stdout)["problems"]
    )


def test_a_clock_that_goes_back_makes_no_model_old(workspace, monkeypatch):
    with Workspace(workspace) as opened:
        monkeypatch.setattr("visterm.models.info.datetime", _Yesterday)
        trained = opened.train("knn")
        assert trained.created < "2000"
        assert opened.models().in_use["classify"] == "knn@2"
        assert [info.reference for info in opened.models().models][-1] == "knn@2"
        other = opened.train("knn", name="other")
        assert [info.reference for info in opened.models().models][-1] == "other@1"
        assert other.sequence == trained.sequence + 1
        assert opened.models().in_use["classify"] == "other@1"  # as good, and newer


class _Yesterday:
    @staticmethod
    def now(zone):
        return datetime(1999, 1, 1, tzinfo=zone)


def randomised(file):
    """A quarter of the file becomes random bytes."""
    data = file.read_bytes()
    start, size = len(data) // 2, len(data) // 4
    file.write_bytes(data[:start] + np.random.default_rng(0).bytes(size) + data[start + size :])


@pytest.mark.parametrize("part", ["features/*/*.rows.npy", "index/*/*.rows.npy", "models/knn/1/model.safetensors"])
def test_doctor_notices_and_repairs_damaged_files(visterm, workspace, part):
    visterm("search", "boat", "-w", workspace)
    before = json.loads(visterm("classify", "-w", workspace, "--json").stdout)
    visterm("doctor", "-w", workspace)
    damaged = next((workspace / ".visterm").glob(part))
    randomised(damaged)
    (problem,) = json.loads(visterm("doctor", "-w", workspace, "--json", code=1).stdout)["problems"]
    assert damaged.name in problem
    assert "fails its checksum" in problem
    done = json.loads(visterm("doctor", "-w", workspace, "--repair", "--json").stdout)
    assert done["problems"] == []
    assert len(done["repaired"]) == 1
    assert not damaged.exists()
    visterm("doctor", "-w", workspace)
    visterm("search", "boat", "-w", workspace)
    if part.startswith("models"):
        assert (workspace / ".visterm" / "broken" / "models" / "knn" / "1.0" / "model.json").exists()
    else:  # what was removed is computed again
        assert json.loads(visterm("classify", "-w", workspace, "--json").stdout) == before


def test_doctor_notices_a_damaged_codebook(visterm, workspace):
    with Workspace(workspace) as opened:
        opened.features("hue-100")
    file = workspace / ".visterm" / "recipes" / "hue-100.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-100] + bytes(100))
    assert "fails its checksum" in visterm("doctor", "-w", workspace, code=1).stdout
    visterm("doctor", "-w", workspace, "--repair")
    assert not file.exists()


def test_doctor_removes_what_an_unfinished_write_left(visterm, workspace):
    store = next((workspace / ".visterm" / "features").iterdir())
    with next(store.glob("*.rows.npy")).open("ab") as file:
        file.write(b"unfinished")
    visterm("doctor", "-w", workspace, code=1)
    done = json.loads(visterm("doctor", "-w", workspace, "--repair", "--json").stdout)
    assert "the remains were removed" in done["repaired"][0]
    visterm("doctor", "-w", workspace)


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("target", ["/proc/kmsg", "/proc/self/pagemap", "/dev/zero", "pipe"])
def test_a_link_to_something_endless_hangs_nothing(visterm_process, tmp_path, target):
    """These look like regular files, state no size, and give bytes for ever or wait for more."""
    folder = tmp_path / "photos"
    folder.mkdir()
    target = Path(target) if target != "pipe" else folder / "pipe"
    os.mkfifo(folder / "pipe")
    Image.new("RGB", (64, 48), "red").save(folder / "good.jpg")
    for name in ("endless.jpg", "good.jpg.xmp", "good.txt", "words", "training_label", "a.csv", "a.jsonl", "a.pq"):
        (folder / name).symlink_to(target)
    visterm_process("init", folder)
    document = json.loads(visterm_process("add", "--json", "-w", folder).stdout)
    assert document["files"]["added"] - document["files"]["unreadable"] == 1
    for name in ("metadata.csv", "labels.json", "annotation.xml", "labels.tsv"):
        (folder / name).symlink_to(target)
        said = visterm_process("add", "--labels", folder / name, "-w", folder, code=1).stderr.splitlines()
        assert said[-1].startswith("visterm: ")
        (folder / name).unlink()
    assert "left as it is" in visterm_process("export", "-f", "xmp", "--yes", "-w", folder, code=1).stderr
    assert json.loads(visterm_process("status", "--json", "-w", folder).stdout)["n_ok"] == 1


ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202egpj.exe\u2066\x9b31m"


def test_no_name_writes_to_the_terminal(visterm, tmp_path):
    """A name may hold commands for a terminal, or turn the rest of a line round."""
    folder = tmp_path / f"photos{ESCAPES}"
    folder.mkdir()
    Image.new("RGB", (64, 48), "red").save(folder / f"good{ESCAPES}.png")
    (folder / f"bad{ESCAPES}.png").write_bytes(b"no picture")
    os.mkfifo(folder / f"pipe{ESCAPES}.png")
    visterm("init", folder)
    said = [visterm("add", "-w", folder), visterm("status", "-w", folder)]
    said += [visterm("label", folder / f"good{ESCAPES}.png", "--tag", "boat", "-w", folder)]
    said += [visterm("search", "boat", "-w", folder), visterm("show", f"good{ESCAPES}.png", "-w", folder)]
    said += [visterm("add", tmp_path / f"none{ESCAPES}", "-w", folder, code=1), visterm("history", "-w", folder)]
    said += [visterm("export", tmp_path / f"labels{ESCAPES}.csv", "-w", folder)]
    said += [visterm("export", "-f", "xmp", "--dry-run", "-w", folder)]
    text = "".join(done.stdout + done.stderr for done in said)
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "good\\x1b]0;owned\\x07\\x1b[2J\\u202egpj.exe\\u2066\\x9b31m.png" in text


def test_what_was_skipped_and_not_kept_is_said(visterm, tmp_path, monkeypatch):
    monkeypatch.setattr("visterm.catalogue.records.MAX_SKIPPED_KEPT", 30)
    rows = "".join(f"{{bad row {number}\n" for number in range(60))
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "a.png", "class": "x"}\n' + rows, encoding="utf-8")
    visterm("init", tmp_path)
    said = visterm("add", "-w", tmp_path).stderr
    assert "... and 41 more; --json lists the first 30" in said


def test_names_that_are_no_text_cost_one_line(visterm, visterm_json, tmp_path):
    folder, odd = tmp_path / "photos", os.fsdecode(b"odd\xff")
    (folder / odd).mkdir(parents=True)
    for place in (folder, folder / odd):
        Image.new("RGB", (64, 48), "red" if place == folder else "blue").save(place / "a.png")
        Image.new("RGB", (64, 48), "green").save(place / f"{odd}.png")
        for name in (f"{odd}.csv", "metadata.csv"):
            (place / name).write_text("file_name,class\na.png,coast\n", encoding="utf-8")
        for name in (f"{odd}.txt", "a.txt", f"{odd}.png.xmp"):
            (place / name).write_text("A pier.", encoding="utf-8")
    entry = '{"file_name": "a.png", "class": "c\\u0000oast", "tags": ["\\ud800", "s\\udfffea"], "caption": "A\\u0000"}'
    (folder / "metadata.jsonl").write_text(entry, encoding="utf-8")
    visterm("init", folder)
    assert visterm_json("add", "-w", folder)["files"]["added"] == 1
    visterm("add", "-w", folder)
    assert visterm_json("status", "-w", folder)["classes"] == {"coast": 1}
    assert list(visterm_json("status", "-w", folder)["frequent_tags"]) == ["sea"]
    for arguments in ((folder / odd,), ("--labels", folder / f"{odd}.csv")):
        said = visterm("add", *arguments, "-w", folder, code=1).stderr
        assert said.endswith("the name is not valid Unicode (UTF-8): rename it\n")


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="only Linux has this file")
def test_a_link_to_an_endless_file_that_was_added_is_looked_at_without_waiting(visterm, visterm_process, workspace):
    (workspace / "empty.jpg").touch()
    (workspace / "endless.jpg").symlink_to("/proc/kmsg")  # it says that it is empty, and so counts as a copy
    visterm("add", "-w", workspace)
    for command in ("tag", "classify"):
        done = visterm_process(command, str(workspace / "endless.jpg"), "-w", str(workspace), code=1)
        assert "the file is empty" in done.stderr


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="only Linux has this file")
def test_what_is_no_regular_file_gets_one_line(visterm_json, tmp_path):
    folder = tmp_path / "photos"
    (folder / "old").mkdir(parents=True)
    Image.new("RGB", (64, 48), "red").save(folder / "good.jpg")
    os.mkfifo(folder / "old" / "pipe.jpg")
    (folder / "kernel.jpg").symlink_to("/proc/kmsg")
    (folder / "zero.png").symlink_to("/dev/zero")
    (folder / "gone.png").symlink_to("nowhere")
    (folder / "metadata.csv").symlink_to("/dev/zero")
    os.mkfifo(folder / "old" / "metadata.jsonl")
    visterm_json("init", folder)
    for _ in range(2):
        added = visterm_json("add", "-w", folder)
        said = {Path(item["where"]).relative_to(folder).as_posix(): item["reason"] for item in added["skipped"]}
        assert len(added["skipped"]) == len(said), "one line each"
        assert said == {
            "gone.png": "No such file or directory",
            "kernel.jpg": "a file of the system, not a picture",
            "zero.png": "not a regular file (a pipe, socket or device)",
            "old/pipe.jpg": "not a regular file (a pipe, socket or device)",
            "metadata.csv": "not a regular file, so no labels were read",
            "old/metadata.jsonl": "not a regular file, so no labels were read",
        }
        assert added["labels"] == []
