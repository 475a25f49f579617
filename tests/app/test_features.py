"""Features of a workspace: what the user should know about them is told, whichever command computes them."""

from __future__ import annotations

import json

import pytest

NOTE = "bow-240 learned again, from 50 pictures; before, from 5"


@pytest.fixture
def grown(visterm, tmp_path, postcards):
    """A workspace whose recipe bow-240 learned from five pictures; now there are fifty."""
    home = tmp_path / "grown"
    visterm("init", home)
    visterm("add", *sorted((postcards / "pictures").iterdir())[:5], "-w", home)
    assert "learned again" not in visterm("features", "bow-240", "-w", home).stdout
    visterm("add", postcards, "-w", home)
    return home


def test_features_prints_its_notes(visterm, grown):
    assert NOTE in visterm("features", "bow-240", "-w", grown).stdout.splitlines()
    assert "learned again" not in visterm("features", "bow-240", "-w", grown).stdout


def test_other_commands_tell_machines_the_notes_beside_their_document(visterm, grown):
    done = visterm("train", "knn", "--recipe", "bow-240", "-w", grown, "--json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event for event in events if event["event"] == "note"] == [{"event": "note", "text": NOTE}]
    assert json.loads(done.stdout)["name"] == "knn"
