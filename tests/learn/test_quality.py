"""What is held out of training, what is kept of it, and what answers since then add to a figure."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from visterm.catalogue.acts import Act
from visterm.collection.measuring import measuring_sample
from visterm.contracts import Task
from visterm.learn import Dataset, Origin, Performance, explaining, validation_split
from visterm.learn.quality import right_answers
from visterm.workspace import Workspace

NONE = sparse.csr_array((40, 0), dtype=np.float32)


def pictures(place, act, y=None, splits=()):
    y = np.arange(40) % 2 if y is None else y
    origin = Origin(np.asarray(place, np.int64), np.asarray(act, np.int8))
    return Dataset("pictures", np.zeros((40, 1)), y, ("a", "b"), NONE, (), splits, class_origin=origin)


def outside():
    return np.full(40, -1)


def test_the_first_of_the_sample_are_held_out():
    place = outside()
    place[[30, 31, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13]] = np.arange(12)
    act = np.full(40, int(Act.SAID))
    test = validation_split(pictures(place, act)).test
    assert set(test) == {30, 31, 2, 5, 6, 7, 8, 9, 10, 11}
    act[30:32] = Act.ANSWERED
    assert set(validation_split(pictures(place, act)).test) == set(test), "the sample holds whatever came to be in it"


def test_what_a_queue_chose_is_not_held_out():
    place, act = outside(), np.full(40, int(Act.SAID))
    place[:4], act[20:] = np.arange(4), Act.ANSWERED
    test = validation_split(pictures(place, act)).test
    assert set(range(4)) < set(test)
    assert len(test) == 10
    assert test.max() < 20
    act[:] = Act.ANSWERED
    assert set(validation_split(pictures(place, act)).test) == set(range(4))


def test_without_a_review_the_split_is_as_it_was():
    plain = pictures(outside(), np.zeros(40))
    known = validation_split(Dataset("pictures", np.zeros((40, 1)), plain.y, ("a", "b"), NONE, ()))
    assert validation_split(plain).test.tolist() == known.test.tolist()
    assert validation_split(pictures(np.arange(40), np.zeros(40))).test.tolist() == known.test.tolist()


def test_something_to_tell_apart_is_left_to_learn_from():
    y = np.zeros(40, int)
    y[:3] = 1
    place, act = outside(), np.full(40, int(Act.SAID))
    place[:12] = np.arange(12)
    split = validation_split(pictures(place, act, y))
    assert set(y[split.train]) == {0, 1}


def kept(data, rows, each):
    rows = np.asarray(rows)
    task, values = Task.CLASSIFY, np.asarray(each, float)
    performance = Performance("m", {task: {}}, {task: values}, 0.0, 0.0, held_out={task: rows})
    return right_answers(data, performance, Task.CLASSIFY)


def test_right_answers_are_counted_by_how_they_were_labelled():
    place, act = outside(), np.full(40, int(Act.SAID))
    place[:3], act[2:5] = np.arange(3), [Act.MEASURED, Act.ANSWERED, Act.MEASURED]
    found = kept(pictures(place, act), [0, 1, 2, 3, 9], [1, 0, 1, 1, 1])
    assert found == {"basis": "measuring sample", "by_doubt": 1, "otherwise": [1.0, 2], "asked": [1.0, 1]}
    found = kept(pictures(outside(), act), [0, 1, 2, 3, 9], [1, 0, 1, 1, 1])
    assert found == {"basis": "labelled pictures", "by_doubt": 1, "otherwise": [2.0, 3], "asked": [1.0, 1]}
    splits = ("test",) * 5 + (None,) * 35
    found = kept(pictures(outside(), act, splits=splits), [0, 1, 3], [1, 0, 1])
    assert (found["basis"], found["otherwise"]) == ("test pictures", [2.0, 3])


# In a workspace


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Eighty pictures of two colours, half of them labelled, and a model for classes."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for i in range(80):
        pixels = np.clip(np.array([[200, 40, 40], [40, 40, 200]][i % 2]) + rng.normal(0, 40, (24, 24, 3)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{i:02}.png")
    with Workspace.create(folder) as opened:
        opened.add()
        for i in range(40):
            opened.label(folder / f"{i:02}.png", class_name=("red", "blue")[i % 2], new=True)
        opened.train("knn", recipe="colour")
        yield opened


def test_labelled_pictures_say_nothing_of_others_and_the_advice_says_what_would(photos):
    (figure,) = photos.quality().figures
    assert (figure.basis, figure.pictures, figure.model) == ("labelled pictures", 10, "knn@1")
    sample = measuring_sample(photos, photos.collection(), "class")
    assert figure.advice == f"answer {sample.to_ask} measuring questions in review for a figure of all pictures"
    assert figure.words.endswith(figure.advice)


def test_answers_since_training_are_judged_by_the_model_in_use(photos):
    truth = photos.collection().truth
    before = photos.quality().figures[0]
    wrong = 0
    while not measuring_sample(photos, photos.collection(), "class").stands_for_all:
        sample = measuring_sample(photos, photos.collection(), "class")
        row = next(sample.next())
        name = ("red", "blue")[int(truth.paths[row].removesuffix(".png")) % 2]
        if wrong < 2:  # two pictures that the model cannot know
            name, wrong = {"red": "blue", "blue": "red"}[name], wrong + 1
        photos.label(truth.sha256[row], class_name=name, answering="measure")
    photos.features(for_models=True)
    sample = measuring_sample(photos, photos.collection(), "class")
    asked = int((sample.act[sample.rows] == Act.MEASURED).sum())
    share = asked / len(sample.rows)
    after = photos.quality().figures[0]
    assert (after.basis, after.advice) == ("measuring sample", "")
    assert after.pictures == before.pictures + asked
    assert after.value == pytest.approx((1 - share) * before.value + share * (asked - 2) / asked)
    assert photos.report("knn@1").tasks[0].figure == after
    photos.train("knn", recipe="colour")
    trained = photos.quality().figures[0]
    assert (trained.model, trained.basis) == ("knn@2", "measuring sample")
    assert trained.pictures == round(0.25 * (40 + asked))


def test_weak_labels_are_those_where_shortfall_costs_most():
    """Pictures times shortfall counts, not the alphabet; a label that is mostly right is not weak."""
    quality = {"ant": 0.0, "bee": 0.4, "cat": 0.3, "dog": 0.6, "elk": 0.0, "fox": 0.1}
    counts = {"ant": 3, "bee": 50, "cat": 20, "dog": 900, "elk": 2, "fox": 30}
    model = SimpleNamespace(training={"label_quality": quality, "label_counts": counts})
    assert explaining.weak_names(model) == ["bee", "fox", "cat"]
