"""A pair that is learned once, and an empty folder of the user for each test."""

from __future__ import annotations

import sys
from collections import OrderedDict
from importlib import import_module
from pathlib import Path

import pytest

from visterm.pairs import tower

text_encoder = import_module("visterm.language.text_encoder")  # the package shows the function of this name
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A pair learned from 120 postcards."""
    from tiny_pair import TinyPair

    return TinyPair(tmp_path_factory.mktemp("learned"))


@pytest.fixture
def export(tiny, tmp_path) -> Path:
    """The folder that an exporter wrote."""
    from tiny_pair import write_folder

    return write_folder(tmp_path / "tiny-clip", tiny.files())


@pytest.fixture(autouse=True)
def encoders_folder(tmp_path, monkeypatch) -> Path:
    """Where pairs of this user are; there is none, and nothing is remembered of those of other tests."""
    monkeypatch.setattr(text_encoder, "_OF_PAIRS", {})
    monkeypatch.setattr(tower, "_SESSIONS", OrderedDict())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "visterm" / "encoders"
