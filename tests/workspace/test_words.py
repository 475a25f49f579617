"""Word vectors as a user has them: installed once, asked by every search, removed."""

from __future__ import annotations

import gzip
import os

import pytest

VECTORS = """\
boat 1 0 0
yacht 0.95 0.3 0
tree 0 1 0
sapling 0.1 0.95 0.1
xylophone 0 0 1
"""


@pytest.fixture
def glove(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text(VECTORS)
    return file


def test_unknown_words_are_understood_once_vectors_are_installed(visterm, visterm_json, workspace, glove):
    assert visterm_json("words") == {"installed": None}
    assert "no word vectors are installed" in visterm("words").stdout
    before = visterm_json("search", "yacht", "-w", workspace)
    assert before["taken_as"] == {}
    assert before["teachable"] == ["yacht"], "it is judged by the look of the pictures"

    assert "5 words of 3 numbers" in visterm("words", "install", glove).stdout
    told = visterm_json("words")["installed"]
    assert (told["source"], told["n_words"], told["n_dims"]) == ("glove.txt", 5, 3)
    assert visterm_json("doctor", "-w", workspace)["word_vectors"] == "glove.txt, 5 words of 3 numbers"

    document = visterm_json("search", "yacht", "-xylophone", "-w", workspace)
    assert document["taken_as"] == {"yacht": "boat"}
    assert document["near_in_meaning"] == {"yacht": {"boat": pytest.approx(0.95, abs=0.01)}}
    assert document["unknown"] == ["xylophone"]
    boats = visterm_json("search", "boat", "-w", workspace)["found"]
    told = [{item["path"] for item in rows if item["told"]} for rows in (document["found"], boats)]
    assert told[0] == told[1] != set()
    printed = visterm("search", "yacht", "-w", workspace).stdout
    assert "no picture has the word 'yacht': searched for 'boat' (0.95) instead, which is close in meaning" in printed

    assert "removed" in visterm("words", "remove").stdout
    assert visterm_json("words", "remove") == {"removed": False}
    assert visterm_json("search", "yacht", "-w", workspace)["taken_as"] == {}


def test_installing_again_replaces_and_a_bad_file_does_not(visterm, visterm_json, glove, tmp_path):
    visterm("words", "install", glove)
    packed = tmp_path / "other.vec.gz"
    packed.write_bytes(gzip.compress(b"2 3\nboat 1 0 0\ntree 0 1 0\n"))
    assert visterm_json("words", "install", packed)["installed"]["n_words"] == 2
    glove.write_text("boat 1 0 0\ntree 0 1\n")
    assert "glove.txt, line 2" in visterm("words", "install", glove, code=1).stderr
    assert "there is no file" in visterm("words", "install", tmp_path / "nowhere", code=1).stderr
    assert visterm_json("words")["installed"]["source"] == "other.vec.gz"


def test_a_damaged_file_stops_only_those_who_need_it(visterm, workspace, glove):
    file = visterm_file(visterm, glove)
    file.write_bytes(b"\0" * 100)
    assert visterm("search", "boat", "-w", workspace).stdout
    assert "install them again" in visterm("search", "yacht", "-w", workspace, code=1).stderr
    assert "install them again" in visterm("words", code=1).stderr
    assert "install them again" in visterm("doctor", "-w", workspace, code=1).stdout
    visterm("words", "remove")
    assert "no picture has the word 'yacht'; the nearest" in visterm("search", "yacht", "-w", workspace).stdout


def test_where_nothing_can_be_written_that_is_said(visterm, glove, tmp_path):
    (tmp_path / "file").write_text("no folder")
    done = visterm("words", "install", glove, code=1, XDG_DATA_HOME=str(tmp_path / "file"))
    assert "cannot write" in done.stderr


def test_the_users_folder_is_found(visterm, visterm_json, glove, tmp_path):
    home = tmp_path / "home"
    told = visterm_json("words", "install", glove, XDG_DATA_HOME="relative/is/ignored", HOME=str(home))["installed"]
    assert told["file"] == str(home / ".local" / "share" / "visterm" / "words.safetensors")


def visterm_file(visterm, glove):
    from visterm.language.installed import vectors_file

    visterm("words", "install", glove)
    file = vectors_file()
    assert file.is_relative_to(os.environ["XDG_DATA_HOME"])
    return file
