"""What people said since the models learned: counted, offered when it would change answers, learned by itself."""

from __future__ import annotations

import json
import time

import pytest
from typer.testing import CliRunner

from visterm.errors import UsageError
from visterm.faces.cli import app
from visterm.faces.web import application as web
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.upkeep import unlearned as news
from visterm.workspace import Workspace


@pytest.fixture
def photos(workspace):
    with Workspace(workspace) as opened:
        yield opened


def pictures(photos, n):
    return photos.collection().frame.paths[:n]


def test_nothing_is_new_after_learning(photos):
    found = photos.unlearned()
    assert (found.labels, found.due, found.when) == (0, False, "ask")
    assert found.seconds > 0


def test_every_label_counts_until_it_is_undone(photos):
    photos.label(pictures(photos, 3), tags=["quay"], new=True)
    assert photos.unlearned().labels == 3
    photos.label(pictures(photos, 1), clear=["tag:quay"])
    assert photos.unlearned().labels == 4
    photos.undo(2)
    assert photos.unlearned().labels == 0


def test_many_labels_are_due_and_few_are_not(photos):
    photos.label(pictures(photos, 12), tags=["quay"], new=True)
    assert not photos.unlearned().due
    photos.label(pictures(photos, 40), no_tags=["quay"])
    found = photos.unlearned()
    assert found.labels >= 30
    assert found.due
    assert not photos.learn_when("off").due


def test_few_labels_are_due_if_the_review_would_answer_otherwise(photos, monkeypatch):
    photos.label(pictures(photos, 6), tags=["quay"], new=True)
    monkeypatch.setattr(news, "_changed", lambda *_: 2)
    assert not photos.unlearned().due
    monkeypatch.setattr(news, "_changed", lambda *_: 3)
    assert photos.unlearned().due


def test_learning_again_counts_from_the_start(photos):
    photos.label(pictures(photos, 40), tags=["quay"], new=True)
    photos.train("knn")
    assert photos.unlearned().labels == 40  # the model of tags has not learned
    photos.train("knn-tags")
    assert photos.unlearned().labels == 0


def test_who_decides_is_kept(workspace):
    with Workspace(workspace) as photos:
        assert photos.learn_when("self").when == "self"
        with pytest.raises(UsageError, match="say off, ask, self"):
            photos.learn_when("never")
    with Workspace(workspace) as photos:
        assert photos.unlearned().when == "self"


def test_the_status_says_what_is_not_learned(workspace):
    with Workspace(workspace) as photos:
        photos.label(pictures(photos, 40), tags=["quay"], new=True)
    said = CliRunner().invoke(app, ["status", "-w", str(workspace)]).output
    assert "40 new labels not learned yet: visterm train" in " ".join(said.split())
    told = json.loads(CliRunner().invoke(app, ["status", "-w", str(workspace), "--json"]).output)
    assert told["unlearned"]["labels"] == 40


@pytest.mark.parametrize(("when", "starts"), [("self", True), ("ask", False), ("off", False)])
def test_it_learns_by_itself_only_if_it_may(photos, monkeypatch, when, starts):
    monkeypatch.setattr(web, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(web, "_QUIET", 0.03)
    photos.learn_when(when)
    photos.label(pictures(photos, 40), tags=["quay"], new=True)
    started, looked = [], []
    monkeypatch.setattr(photos.jobs, "start", lambda kind, *_: started.append(kind))
    decided = news.learning
    monkeypatch.setattr(news, "learning", lambda holdings: looked.append(1) or decided(holdings))

    class Stopped:
        def wait(self, seconds):
            time.sleep(seconds)
            return bool(started) or len(looked) > 10

    web._learn_by_itself(photos, Rules(frozenset(LOOPBACK), "token"), Stopped())
    assert bool(started) == starts
    assert set(started) <= {"train"}
