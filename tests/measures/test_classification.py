from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, top_k_accuracy_score

from visterm.errors import InputError
from visterm.measures import Accuracy, MeanClassAccuracy, TopKAccuracy

few = settings(max_examples=40, deadline=None)
class_lists = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=30)


def per_picture(measure, truth, prediction):
    return measure.values(measure.read(truth, prediction))


@few
@given(class_lists)
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label was found")
def test_equals_scikit_learn(pairs):
    y_true, y_pred = (list(side) for side in zip(*pairs, strict=True))
    assert Accuracy()(y_true, y_pred) == pytest.approx(accuracy_score(y_true, y_pred))
    assert MeanClassAccuracy()(y_true, y_pred) == pytest.approx(balanced_accuracy_score(y_true, y_pred))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_top_k_equals_scikit_learn_without_ties(k):
    rng = np.random.default_rng(0)
    names = np.array(["f", "e", "d", "c", "b", "a"])
    column, scores = rng.integers(6, size=50), rng.random((50, 6))
    expected = top_k_accuracy_score(column, scores, k=k, labels=np.arange(6))
    assert TopKAccuracy(k)(column, scores) == pytest.approx(expected)
    assert TopKAccuracy(k)(names[column], scores, classes=names) == pytest.approx(expected)


def test_top_k_of_ties_is_expected_over_their_orders():
    np.testing.assert_allclose(per_picture(TopKAccuracy(2), [0, 1, 2, 3], np.zeros((4, 4))), 0.5)
    np.testing.assert_allclose(per_picture(TopKAccuracy(2), [0, 1, 2], [[1.0, 1.0, 1.0, 9.0]] * 3), 1 / 3)


@few
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_top_k_does_not_depend_on_the_order_of_classes_and_grows_with_k(seed, k):
    rng = np.random.default_rng(seed)
    scores, y, order = rng.integers(0, 3, (8, 5)), rng.integers(5, size=8), rng.permutation(5)
    value = TopKAccuracy(k)(y, scores)
    assert TopKAccuracy(k)(y, scores[:, order], classes=order) == pytest.approx(value)
    assert TopKAccuracy(k + 1)(y, scores) >= value
    assert TopKAccuracy(5)(y, scores) == 1.0


def test_accuracy_per_picture_is_right_or_wrong():
    np.testing.assert_array_equal(per_picture(Accuracy(), ["a", "b", "a"], ["a", "a", "a"]), [1.0, 0.0, 1.0])


def test_classes_may_be_objects():
    """As in a column of a table that holds text."""
    assert Accuracy()(np.array(["a", "b"], object), ["a", "a"]) == 0.5


def test_a_class_without_a_column_is_missed():
    assert TopKAccuracy(1)(["a"], np.zeros((1, 0)), classes=[]) == 0.0
    assert TopKAccuracy(2)(["a", "new"], [[0.9, 0.1], [0.5, 0.5]], classes=["a", "b"]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Accuracy()(["a"], ["a", "b"]), r"\(1,\) and the prediction \(2,\)"),
        (lambda: Accuracy()(["a"], [1]), "one is text"),
        (lambda: Accuracy()([], []), "there are none"),
        (lambda: MeanClassAccuracy()([], []), "there are none"),
        (lambda: Accuracy()(["a", None], ["a", "b"]), "leave out"),
        (lambda: Accuracy()([1.0, float("nan")], [1.0, 2.0]), "NaN at row 1"),
        (lambda: Accuracy()([["a"]], [["a"]]), "one class per picture"),
        (lambda: Accuracy()([["a"], ["b", "c"]], ["a", "b"]), "cannot be read"),
        (lambda: TopKAccuracy(1)([0], [1.0]), "not an array of shape"),
        (lambda: TopKAccuracy(1)(["a"], [[1.0, 2.0]], classes=["a", "a"]), "named twice"),
        (lambda: TopKAccuracy(1)([0, 2], np.zeros((2, 2))), "column numbers 0..1"),
        (lambda: TopKAccuracy(1)([0], np.zeros((2, 2))), r"\(1, 2\) and the prediction \(2, 2\)"),
        (lambda: TopKAccuracy(1)(["a"], [[1.0, 2.0]], classes=["a"]), "2 columns of scores but 1"),
        (lambda: TopKAccuracy(1)(["a"], [[1.0, 2.0]], classes=[0, 1]), "one is text"),
        (lambda: TopKAccuracy(1)([0], [[np.nan, 1.0]]), "NaN"),
        (lambda: TopKAccuracy(0), "at least 1"),
    ],
)
def test_unusable_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
