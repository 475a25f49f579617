"""Where word vectors of a user are kept, on every system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from visterm.language.installed import installed, vectors_file


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def test_a_folder_that_the_environment_names_comes_first(home, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert vectors_file() == tmp_path / "data" / "visterm" / "words.safetensors"


@pytest.mark.skipif(sys.platform != "linux", reason="each system has its own folder")
@pytest.mark.parametrize("configured", ["", "not/absolute"])
def test_on_linux_it_is_the_share_folder(home, monkeypatch, configured):
    monkeypatch.setenv("XDG_DATA_HOME", configured)
    assert vectors_file() == home / ".local" / "share" / "visterm" / "words.safetensors"


def test_other_systems_have_their_own_folder(home, monkeypatch):
    own = home / "Library" / "visterm"
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_names, **_options: own)
    assert vectors_file() == own / "words.safetensors"


def test_a_home_that_may_not_be_entered_has_no_vectors(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("os.stat", refuse)
    assert installed() is None
