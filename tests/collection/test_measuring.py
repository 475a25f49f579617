"""The measuring sample: an order that nothing but the content decides, and figures that no queue can move."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from visterm.catalogue.acts import Act
from visterm.collection.measuring import answered_start, measuring_sample, stands_for_all
from visterm.collection.moment import measuring_order
from visterm.workspace import Workspace


def hashes(n, seed=0):
    return [hashlib.sha256(f"{seed} {i}".encode()).hexdigest() for i in range(n)]


@given(st.integers(0, 60), st.randoms())
def test_the_order_does_not_depend_on_other_pictures_or_their_order(n, random):
    keys = hashes(n)
    ordered = [keys[row] for row in measuring_order(keys)]
    some = random.sample(keys, random.randint(0, n))
    assert [some[row] for row in measuring_order(some)] == [key for key in ordered if key in some]


def test_the_order_is_not_that_of_the_hashes():
    keys = hashes(200)
    place = np.argsort(measuring_order(keys))
    assert abs(np.corrcoef(place, np.argsort(np.argsort(keys)))[0, 1]) < 0.2


def test_the_order_is_the_same_in_every_version():
    assert measuring_order(["a" * 64, "b" * 64, "c" * 64, "d" * 64]).tolist() == ORDER


ORDER = [0, 1, 3, 2]


@given(st.lists(st.booleans(), max_size=30), st.randoms())
def test_the_start_is_answered_and_the_next_is_not(answered, random):
    order = np.array(random.sample(range(len(answered)), len(answered)), np.intp)
    start = answered_start(order, np.array(answered, np.bool_))
    assert start.tolist() == order[: len(start)].tolist()
    assert all(answered[row] for row in start)
    assert len(start) == len(order) or not answered[order[len(start)]]


@pytest.mark.parametrize("labelled", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("by_doubt", [0, 60])
def test_whatever_is_labelled_or_answered_by_doubt_the_figure_is_right_on_average(labelled, by_doubt):
    """Pictures that nobody labels are harder, and a queue asks about the hardest of all."""
    n, runs = 400, 600
    rng = np.random.default_rng(1)
    base = np.arange(n) < labelled * n
    right = np.where(base, 0.95, 0.6) > rng.random(n)
    hardest = np.argsort(right + rng.random(n), kind="stable")[:by_doubt]
    found = []
    for _ in range(runs):
        order, answered = rng.permutation(n), base.copy()
        answered[hardest] = True
        asked = np.zeros(n, np.bool_)
        for _ in range(40):
            start = answered_start(order, answered)
            if len(start) == n:
                break
            answered[order[len(start)]] = asked[order[len(start)]] = True
        start = answered_start(order, answered)
        assert stands_for_all(start, n, asked)
        found.append(right[start].mean())
    error = np.std(found) / np.sqrt(runs)
    assert abs(np.mean(found) - right.mean()) < 3.5 * error
    assert error < 0.005


def test_a_run_of_labelled_pictures_is_no_sample():
    asked = np.zeros(50, np.bool_)
    assert not stands_for_all(np.arange(30), 50, asked)
    assert stands_for_all(np.arange(50), 50, asked), "it is all of them"
    asked[29] = True
    assert stands_for_all(np.arange(30), 50, asked)
    assert not stands_for_all(np.arange(19), 50, np.ones(50, np.bool_)), "too few"


# In a workspace


@pytest.fixture
def photos(tmp_path):
    """Thirty pictures without labels."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(30):
        Image.fromarray(rng.integers(0, 255, (20, 24, 3)).astype(np.uint8)).save(folder / f"{i:02}.png")
    with Workspace.create(folder) as opened:
        opened.add()
        yield opened


def sample(photos, kind="class"):
    return measuring_sample(photos, photos.collection(), kind)


def ordered(photos):
    collection = photos.collection()
    return [collection.truth.sha256[row] for row in sample(photos).order]


def test_the_order_outlives_renames_moves_and_new_pictures(photos, tmp_path):
    before = ordered(photos)
    assert len(before) == 30
    (photos.folder / "other").mkdir()
    for i in range(0, 30, 3):
        (photos.folder / f"{i:02}.png").rename(photos.folder / "other" / f"moved{30 - i}.png")
    photos.add()
    assert ordered(photos) == before
    for i in range(5):
        Image.new("RGB", (9, 9), (40 * i, 0, 0)).save(photos.folder / f"new{i}.png")
    photos.add()
    after = ordered(photos)
    assert len(after) == 35
    assert [key for key in after if key in before] == before
    with Workspace.create(tmp_path / "copy") as copy:
        copy.add([photos.folder])
        assert ordered(copy) == after, "every copy of a collection has the same sample"


def test_answers_in_order_make_the_sample(photos):
    keys = ordered(photos)
    photos.label(keys[1], class_name="sea", new=True)
    assert len(sample(photos).rows) == 0
    photos.label(keys[0], class_name="sea", answering="measure")
    now = sample(photos)
    assert len(now.rows) == 2
    assert now.act[now.rows].tolist() == [Act.MEASURED, Act.SAID]
    photos.label(keys[3:6], class_name="sea", answering="teach")
    assert len(sample(photos).rows) == 2
    photos.label(keys[2], class_name="sea", answering="measure")
    assert len(sample(photos).rows) == 6
    photos.undo()
    assert len(sample(photos).rows) == 2
    assert not sample(photos).stands_for_all
    photos.label(keys[2], class_name="sea", answering="measure")
    photos.label(keys[6:25], class_name="sea", answering="measure")
    assert sample(photos).stands_for_all
    assert sample(photos).advice == ""


def test_tags_need_a_complete_description(photos):
    keys = ordered(photos)
    photos.label(keys[0], tags=["sea"], new=True)
    assert len(sample(photos, "tag").rows) == 0
    photos.label(keys[0], tags=["sea"], complete=True, answering="measure")
    assert len(sample(photos, "tag").rows) == 1


def test_pictures_that_nobody_can_tell_are_left_out(photos):
    keys = ordered(photos)
    collection = photos.collection()
    row = sample(photos).order[0]
    photos.features("deep")
    photos.label(keys[5:10], class_name="sea", new=True)
    photos.label(keys[10:15], class_name="wood", new=True)
    photos.reviewer.wait()
    (number,) = [int(collection.truth.ids[row])]
    assert photos.reviewer.questions("measure").questions[0].id == number
    photos.reviewer.skip(number)
    assert ordered(photos) == keys[1:]
    assert photos.reviewer.questions("measure").questions[0].id != number
    assert len(sample(photos, "tag").order) == 30, "its tags may be told"
    photos.reviewer.skip(number, skip=False)
    assert ordered(photos) == keys
