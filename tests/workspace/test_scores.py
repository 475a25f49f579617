"""Scoring every picture: the same scores wherever they are computed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from visterm.collection import scores
from visterm.contracts import Task
from visterm.workspace import Workspace


def indexed(folder, kind):
    with Workspace(folder) as photos:
        task, index = (Task.ANNOTATE, scores.word_index) if kind == "words" else (Task.CLASSIFY, scores.class_index)
        keys = photos.collection().frame.keys
        found = index(photos, photos.shelf.model(task), keys).snapshot
        return found.vectors(found.places.find(keys))


@pytest.mark.parametrize("kind", ["words", "classes"])
def test_scores_come_from_workers_elsewhere(trained, kind, tmp_path, monkeypatch, request):
    monkeypatch.setattr(scores, "_BLOCK", 1)
    monkeypatch.setattr(scores, "_FEWEST", 20)  # three shards, of which the first stays here
    folders = [shutil.copytree(trained, tmp_path / name) for name in ("here", "elsewhere")]
    for folder in folders:
        shutil.rmtree(folder / ".visterm" / "index", ignore_errors=True)
    here = indexed(folders[0], kind)
    begun = request.getfixturevalue("far_workers")
    np.testing.assert_array_equal(indexed(folders[1], kind), here)
    assert len(begun) >= 2  # and features that were missing
    assert len(here) == 50
