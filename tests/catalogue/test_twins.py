"""What people say of copies: kept, replaced, undone, and carried to another record."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.twins import pairs_of
from visterm.errors import InputError


@pytest.fixture
def catalogue(tmp_path: Path):
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        for name in "abcd":
            (tmp_path / f"{name}.jpg").write_bytes(name.encode())
        opened.add(
            Examined(str(tmp_path / f"{name}.jpg"), hashlib.sha256(name.encode()).hexdigest(), 1, 1, 40, 30, 1)
            for name in "abcd"
        )
        yield opened
        assert opened.check() == []


def test_a_verdict_is_of_a_pair_in_either_order_and_the_last_one_holds(catalogue):
    catalogue.judge_twins("say", {"same": [(2, 1)]})
    assert catalogue.twins().verdicts == {(1, 2): "same"}
    catalogue.judge_twins("say", {"different": [(1, 2)]}, keep=[1])
    assert catalogue.twins().verdicts == {(1, 2): "different"}
    assert catalogue.twins().kept == {1}
    with pytest.raises(InputError, match="no verdict"):
        catalogue.judge_twins("say", {"perhaps": [(1, 2)]})


def test_a_decision_is_one_action_and_is_undone_whole(catalogue):
    catalogue.judge_twins("first", {"same": [(1, 2)]}, keep=[1])
    before = catalogue.twins()
    catalogue.judge_twins("second", {"same": pairs_of([1, 2, 3])}, keep=[3], others=[1])
    after = catalogue.twins()
    assert after.kept == {3}
    (action, _) = catalogue.history.actions()
    assert action.what == "second"
    assert {(change.kind, change.picture) for change in action.changes} >= {("keep", "c.jpg"), ("copies", "a.jpg")}
    catalogue.history.undo()
    assert catalogue.twins() == before
    catalogue.history.redo()
    assert catalogue.twins() == after
    catalogue.judge_twins("again", {"same": [(1, 2)]}, keep=[3])
    assert catalogue.history.made is None  # it was known


def test_a_decision_does_not_make_the_collection_be_read_again(catalogue):
    sequence = catalogue.version()[1]
    catalogue.judge_twins("say", {"same": [(1, 2)]})
    assert catalogue.relabelled_since(sequence) == set()


def test_what_was_said_of_a_removed_picture_comes_back_with_it(catalogue):
    catalogue.judge_twins("say", {"same": pairs_of([1, 2, 3])}, keep=[2])
    before = catalogue.twins()
    catalogue.remove(["b.jpg"])
    assert catalogue.twins().verdicts == {(1, 3): "same"}
    assert not catalogue.twins().kept
    catalogue.history.undo()
    assert catalogue.twins() == before


def test_a_record_that_gets_a_file_gets_what_was_said_of_it(catalogue):
    catalogue.judge_twins("say", {"different": [(2, 3), (1, 2)]}, keep=[2])
    catalogue.mark_missing(["d.jpg"])
    catalogue.attach("d.jpg", "b.jpg")
    assert catalogue.twins().verdicts == {(3, 4): "different", (1, 4): "different"}
    assert catalogue.twins().kept == {4}
    catalogue.history.undo()
    assert catalogue.twins().verdicts == {(2, 3): "different", (1, 2): "different"}
