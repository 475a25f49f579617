"""One function for each class: labels, weights, scores and predictions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.margin import SDCAClassifier, StackedSDCA, TopKSDCA
from visterm.margin.functions.expansion import generator
from visterm.margin.functions.one_vs_all import (
    OneVsAll,
    check_picture_weight,
    class_labels,
    cross_scores,
    known_rows,
    picture_weights,
)
from visterm.margin.solver.inner_products import FeatureInnerProducts


class Given(OneVsAll):
    """The pictures are their scores."""

    calibration_folds, temperature_ = 2, 2.0

    def __init__(self, *classes):
        self.classes_ = np.array(classes)

    def _class_scores(self, X):
        return np.asarray(X, dtype=float)


def test_two_classes_have_one_column_of_scores():
    model, X = Given("sea", "wood"), [[0.5], [-2.0], [0.0]]
    np.testing.assert_array_equal(model.decision_function(X), [0.5, -2.0, 0.0])
    assert model.predict(X).tolist() == ["wood", "sea", "sea"]
    assert model.predict_top(X, 2).tolist() == [["wood", "sea"], ["sea", "wood"], ["sea", "wood"]]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-np.array([0.25, -1.0, 0.0]))))


def test_three_classes_have_three_columns_of_scores():
    model, X = Given("sea", "town", "wood"), [[1.0, 3.0, 2.0], [0.0, -1.0, 0.0]]
    np.testing.assert_array_equal(model.decision_function(X), X)
    assert model.predict(X).tolist() == ["town", "sea"]
    assert model.predict_top(X, 1).tolist() == [["town"], ["sea"]]
    assert model.predict_top(X, 3).tolist() == [["town", "wood", "sea"], ["sea", "wood", "town"]]
    for k in (0, 4):
        with pytest.raises(InputError, match=f"k must lie between 1 and the 3 classes, not {k}"):
            model.predict_top(X, k)


def test_labels_of_classes():
    classes, codes, labels = class_labels(np.array(["b", "a", "b", "c"]))
    assert (classes.tolist(), codes.tolist()) == (["a", "b", "c"], [1, 0, 1, 2])
    np.testing.assert_array_equal(labels, [[-1, 1, -1, -1], [1, -1, 1, -1], [-1, -1, -1, 1]])
    np.testing.assert_array_equal(class_labels(np.array([4, 2, 4]))[2], [[1, -1, 1]])
    with pytest.raises(InputError, match="there is only one class, 4"):
        class_labels(np.array([4, 4]))


def test_pictures_with_a_class():
    assert known_rows(np.array([-1, 0, 2, -1])).tolist() == [1, 2]
    with pytest.raises(InputError, match="no picture has a class"):
        known_rows(np.array([-1, -1]))


def test_weights_of_pictures_are_those_of_their_classes_times_their_own():
    classes, codes, rows = np.array(["a", "b"]), np.array([0, 0, 0, 1]), np.array([0, 1, 3, 4])
    own = np.array([1.0, 2.0, 9.0, 0.0, 0.5])
    balanced = np.array([2 / 3, 2 / 3, 2 / 3, 2.0])  # their mean is 1
    np.testing.assert_allclose(picture_weights("balanced", classes, codes, rows, 5, None), balanced)
    np.testing.assert_allclose(picture_weights("balanced", classes, codes, rows, 5, own), balanced * [1, 2, 0, 0.5])
    np.testing.assert_allclose(picture_weights({"a": 3.0, "b": 0.1}, classes, codes, rows, 5, None), [3, 3, 3, 0.1])
    np.testing.assert_allclose(picture_weights(None, classes, codes, rows, 5, np.full(5, 0.25)), 0.25)
    with pytest.raises(InputError, match="every picture has weight 0"):
        picture_weights(None, classes, codes, rows, 5, np.array([0.0, 0, 1, 0, 0]))
    with pytest.raises(InputError, match="class_weight: "):
        picture_weights({"c": 1.0}, classes, codes, rows, 5, None)


def test_weights_of_pictures_are_finite_and_not_negative():
    np.testing.assert_array_equal(check_picture_weight(None, 3), np.ones(3))
    np.testing.assert_array_equal(check_picture_weight([0, 0.5, 2], 3), [0, 0.5, 2])
    for wrong in ([1, 1], [1, -0.1, 1], [1, np.inf, 1], [[1, 1, 1]]):
        with pytest.raises(InputError, match="picture_weight must be 3 finite numbers from 0 on, one per picture"):
            check_picture_weight(wrong, 3)


def test_scores_of_a_fold_are_those_of_functions_learned_without_it():
    X, y = np.random.default_rng(0).normal(size=(7, 3)), np.arange(14.0).reshape(2, 7)
    parts = [np.array([0, 4]), np.array([1, 2, 6]), np.array([3, 5])]

    def learn(_, rows):
        return y[:, rows]

    scores = cross_scores(FeatureInnerProducts(X, 2.0), parts, 2, learn)
    for part in parts:
        rest = np.setdiff1d(np.arange(7), part)
        np.testing.assert_allclose(scores[:, part], y[:, rest] @ (X[rest] @ X[part].T + 2.0))
    np.testing.assert_array_equal(cross_scores(FeatureInnerProducts(X), [np.arange(7)], 2, learn), 0)


def test_a_generator_is_the_same_for_the_same_state():
    given = np.random.default_rng(3)
    assert generator(given) is given
    first, second = generator(5).random(), generator(np.random.RandomState(5)).random()
    assert first == second != generator(6).random()


@pytest.mark.parametrize("method", [SDCAClassifier, StackedSDCA, TopKSDCA])
def test_one_fold_would_leave_nothing_to_learn_from(method, blobs):
    with pytest.raises(InputError, match="'calibration_folds' parameter"):
        method(calibration_folds=1).fit(blobs.X, blobs.y)
    model = method(calibration_folds=2, random_state=0).fit(blobs.X, blobs.y)
    assert 0.05 < model.temperature_ < 20
    assert not hasattr(method(calibration_folds=0, random_state=0).fit(blobs.X, blobs.y), "temperature_")
