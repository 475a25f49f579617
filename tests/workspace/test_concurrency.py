"""Several processes at one workspace: readers use what is there, writers of derived data take turns."""

from __future__ import annotations

import ast
import shutil
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from PIL import Image

from visterm.collection.features import BUSY, ready_recipe
from visterm.contracts import Task
from visterm.features import FeatureStore
from visterm.learn.data import labelled, labels_only
from visterm.workspace import Workspace


@contextmanager
def somebody_else_computing(folder):
    """What another process that computes features holds."""
    with ExitStack() as stack:
        for store in sorted((folder / ".visterm" / "features").glob("*/manifest.json")):
            stack.enter_context(FeatureStore.open(store.parent).writer())
        yield


def add_a_picture(workspace, name="new.png"):
    pixels = np.random.default_rng(len(name)).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    (workspace.folder / "more").mkdir(exist_ok=True)
    Image.fromarray(pixels).save(workspace.folder / "more" / name)
    workspace.add([workspace.folder / "more"])


def test_readers_use_what_is_there_while_somebody_else_computes(workspace):
    with Workspace(workspace) as photos:
        before = {item.path for item in photos.search("boat", unlikely=True, limit=100).found}
        add_a_picture(photos)
        with somebody_else_computing(workspace):
            found = photos.search("boat", unlikely=True, limit=100)
            assert any("1 picture is left out" in note for note in found.notes)
            assert {item.path for item in found.found} >= before
            assert [item.reason for item in photos.tag().skipped] == [BUSY]
            assert [item.reason for item in photos.classify().skipped] == [BUSY]
            assert photos.similar(sorted(before)[0], limit=100).found
        found = photos.search("boat", unlikely=True, limit=100)  # an incomplete answer is not kept
        assert not any("left out" in note for note in found.notes)
        new = next(item for item in found.found if item.path.endswith("new.png"))
        assert new.score > 0
        assert not photos.tag().skipped


def test_a_search_does_not_wait_for_a_thread_that_computes(workspace, monkeypatch):
    from visterm.features import library

    with Workspace(workspace) as photos:
        photos.search("boat")
        add_a_picture(photos)
        computing, go_on, real = threading.Event(), threading.Event(), library.computed

        def held_up(*arguments):
            computing.set()
            assert go_on.wait(60)
            yield from real(*arguments)

        monkeypatch.setattr(library, "computed", held_up)
        first = threading.Thread(target=photos.search, args=("boat sea",))
        first.start()
        assert computing.wait(60)
        found = photos.search("sea")
        go_on.set()
        first.join()
        assert any("left out" in note for note in found.notes)
        assert not any("left out" in note for note in photos.search("sea").notes)


def test_writers_of_features_wait_and_share_the_work(workspace):
    with Workspace(workspace) as photos, Workspace(workspace) as other:
        add_a_picture(photos)
        recipe = ready_recipe(photos, "deep")
        done = []
        with somebody_else_computing(workspace):
            threads = [
                threading.Thread(target=lambda: done.append(photos.features("deep").recipes[0])),
                threading.Thread(target=lambda: done.append(other.features("deep").recipes[0])),
            ]
            for thread in threads:
                thread.start()
            n_missing = len(photos.library.missing(recipe, photos.collection().frame.keys))
        for thread in threads:
            thread.join()
    assert n_missing
    assert sorted(each.n_computed for each in done) == [0, n_missing]
    assert [each.n_left_out for each in done] == [0, 0]


def test_two_trainings_at_once_make_two_versions(workspace):
    made, failed = [], []

    def train():
        try:
            with Workspace(workspace) as photos:
                made.append(photos.train("knn").version)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=train) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(made) == [2, 3, 4]


def test_what_threads_do_at_once_parses_no_python(workspace, monkeypatch):
    """Python 3.11 fails when two threads parse at the same time and garbage is collected meanwhile."""
    with Workspace(workspace) as photos:  # imports read lists of names
        photos.train("knn")
        photos.search("boat")
        photos.similar(photos.search("boat").found[0].path)
    with monkeypatch.context() as patched, Workspace(workspace) as photos:
        patched.setattr(ast, "parse", lambda *_, **__: pytest.fail("Python was parsed"))
        photos.train("knn")
        add_a_picture(photos)
        found = photos.search("boat").found
        assert photos.similar(found[0].path).found
        assert not photos.tag().skipped


def test_a_training_keeps_to_the_collection_it_began_with(workspace):
    """Rows of a collection that somebody adds to, or removes from, are other pictures."""
    with Workspace(workspace) as photos, Workspace(workspace) as other:
        collection, recipe = photos.collection(), ready_recipe(photos, "deep")
        before, _ = labelled(photos, collection, recipe)
        add_a_picture(other)
        gone = next(iter(other.catalogue.pictures(state="ok"))).paths[0]
        other.remove([gone])
        assert photos.collection().truth.sha256 != collection.truth.sha256
        after, _ = labelled(photos, collection, recipe)
        np.testing.assert_array_equal(before.X, after.X)
        np.testing.assert_array_equal(before.y, after.y)
        assert len(labels_only(photos, collection)) == len(before)


def test_an_index_keeps_what_another_process_has_just_scored(workspace):
    with Workspace(workspace) as old, Workspace(workspace) as new:
        old.search("boat")
        stale = old.collection()
        add_a_picture(new)
        key = set(new.collection().frame.keys).difference(stale.frame.keys)
        new.search("boat")
        model = old.shelf.model(Task.ANNOTATE)
        from visterm.collection.scores import word_index

        word_index(old, model, stale.frame.keys)
        assert key <= set(word_index(new, model, new.collection().frame.keys).snapshot.places.keys())


@pytest.fixture
def workspace(tmp_path, trained):
    """A copy with the features of all pictures."""
    shutil.copytree(trained, tmp_path / "workspace")
    return tmp_path / "workspace"
