"""Where word vectors of a user are kept, on every system, and where earlier ones are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from visterm.language.installed import vectors_file


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


def test_vectors_installed_in_the_share_folder_are_found_on_other_systems(home, monkeypatch):
    own = home / "Library" / "visterm"
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_names, **_options: own)
    assert vectors_file() == own / "words.safetensors"
    earlier = home / ".local" / "share" / "visterm" / "words.safetensors"
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    assert vectors_file() == earlier
    own.mkdir(parents=True)
    (own / "words.safetensors").touch()
    assert vectors_file() == own / "words.safetensors"
