from __future__ import annotations

import os

import pytest

from visterm.catalogue.records import Record
from visterm.errors import InputError
from visterm.exchange.readers import READERS


def test_text_beside_pictures(read, tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("a.jpg", "a.png", "b.JPG", "sub/c.jpeg", "d.jpg"):
        (tmp_path / name).touch()
    (tmp_path / "a.txt").write_bytes("\ufeffA café.\r\n\r\n The sea. \n".encode())
    (tmp_path / "sub" / "c.TXT").write_text("A boat.")
    (tmp_path / "notes.txt").write_text("nothing to do with pictures")
    assert READERS["captions"].detect(tmp_path)
    assert READERS["captions"].base(tmp_path) == tmp_path
    records, reading = read("captions", tmp_path)
    assert records == [
        Record("a.jpg", caption="A café.\nThe sea."),
        Record("a.png", caption="A café.\nThe sea."),
        Record("sub/c.jpeg", caption="A boat."),
    ]
    assert not reading.skips


def test_what_is_no_caption_costs_one_line(read, tmp_path):
    contents = {"a": b"caf\xe9", "b": b"", "c": b"0 0.5 0.25 0.1 1e-3\n", "d": b"x" * (2**20 + 1), "e": b"A boat\x00."}
    for name, content in contents.items():
        (tmp_path / f"{name}.jpg").touch()
        (tmp_path / f"{name}.txt").write_bytes(content)
    (tmp_path / "f.jpg").touch()
    (tmp_path / "f.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "g.jpg").touch()
    os.mkfifo(tmp_path / "g.txt")
    records, reading = read("captions", tmp_path)
    assert records == [Record("e.jpg", caption="A boat.")]
    assert [item.where for item in reading.skips] == ["a.txt", "b.txt", "c.txt", "d.txt", "f.txt", "g.txt"]


def test_folders_without_captions(read, tmp_path):
    (tmp_path / "a.jpg").touch()
    (tmp_path / "b.txt").write_text("A boat.")
    assert not READERS["captions"].detect(tmp_path)
    assert not READERS["captions"].detect(tmp_path / "b.txt")
    with pytest.raises(InputError, match="not a folder"):
        read("captions", tmp_path / "b.txt")
