"""What methods are given: checked by name, kept where it is good."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from visterm.contracts import (
    check_classes,
    check_feature_mapping,
    check_features,
    check_queries,
    check_tags,
    has_class,
    inputs,
    n_pictures,
    rows_with_class,
    take,
)
from visterm.errors import InputError
from visterm.neighbours import MajorityClass, TagFrequency

X = np.arange(6.0).reshape(3, 2)


def test_rows_are_pictures_in_every_kind_of_features():
    assert n_pictures(X) == n_pictures(X.tolist()) == n_pictures(sparse.csr_array(X)) == n_pictures({"a": X}) == 3
    with pytest.raises(InputError, match=r"rows differ: \{'a': 3, 'b': 2\}"):
        n_pictures({"a": X, "b": X[:2]})
    with pytest.raises(InputError, match="a row for each picture"):
        n_pictures({})


def test_rows_are_taken_of_every_feature():
    rows = np.array([2, 0])
    np.testing.assert_array_equal(take(X, rows), X[rows])
    taken = take({"a": X, "b": sparse.csr_array(X)}, rows)
    np.testing.assert_array_equal(taken["b"].toarray(), X[rows])
    np.testing.assert_array_equal(take(X, slice(1)), X[:1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_good_features_are_kept_as_they_are(dtype):
    given = X.astype(dtype)
    assert check_features(MajorityClass(), given, fitting=True).dtype == dtype


@pytest.mark.parametrize("given", [X.astype(int), X.astype(np.uint8), X.tolist(), sparse.coo_matrix(X.astype(int))])
def test_other_features_become_floats(given):
    checked = check_features(MajorityClass(), given, fitting=True)
    assert checked.dtype.kind == "f"
    assert isinstance(checked, (np.ndarray, sparse.csr_array))


def test_features_are_of_the_width_learned():
    estimator = MajorityClass().fit(X, [1, 1, 2])
    assert estimator.n_features_in_ == 2
    assert check_features(estimator, X[:0], fitting=False).shape == (0, 2)
    with pytest.raises(InputError, match=r"3 features.*2 features"):
        check_features(estimator, np.ones((1, 3)), fitting=False)
    with pytest.raises(NotFittedError):
        check_features(MajorityClass(), X, fitting=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gist": X, "colour": X}, "choose one of gist, colour"),
        (X[0], "1D array"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((2, 0)), "0 feature"),
        ([[1.0, np.nan]], "NaN"),
        ([[1.0, np.inf]], "infinity"),
        ([["a", "b"]], "could not convert"),
        ([[-1.0, 2.0]], "Negative values"),
    ],
)
def test_unusable_features_are_refused_by_name(given, message):
    with pytest.raises(InputError, match=message):
        check_features(MajorityClass(), given, fitting=True, non_negative=True)


def test_classes_are_one_a_row():
    assert check_classes([1, -1, 2], 3).tolist() == [1, -1, 2]
    assert check_classes(["a", "b"], 2).tolist() == ["a", "b"]
    assert check_classes([1.0, 2.0], 2).tolist() == [1, 2]
    with pytest.warns(UserWarning, match="column-vector"):
        assert check_classes([[1], [2]], 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("y", "marked"),
    [
        (["sea", None, "wood"], ["sea", "-1", "wood"]),
        (["sea", "-1", "wood"], ["sea", "-1", "wood"]),
        (["sea", -1, "wood"], ["sea", "-1", "wood"]),
        ([3, None, 5], [3, -1, 5]),
        (np.array([3.0, -1.0, 5.0]), [3, -1, 5]),
        (np.array(["sea", -1, "wood"], dtype=object), ["sea", "-1", "wood"]),
    ],
)
def test_unknown_classes_are_marked_in_one_way(y, marked):
    classes = check_classes(y, 3)
    assert classes.tolist() == marked
    assert classes.dtype != object
    assert has_class(classes).tolist() == [True, False, True]
    assert rows_with_class(classes).tolist() == [0, 2]


def test_when_all_classes_are_none_no_picture_has_a_class():
    with pytest.raises(InputError, match="no picture has a class"):
        rows_with_class(check_classes([None, None], 2))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        ([1], r"each of the 2 pictures, but has shape \(1,\)"),
        ([[1, 2], [3, 4]], "one class for each"),
        ([[1], [2, 3]], "one class for each"),
        ([1.0, np.nan], "mark unknown classes with -1"),
        ([0.5, 1.0], "continuous"),
    ],
)
def test_unusable_classes_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        check_classes(y, 2)


@pytest.mark.parametrize(
    "tags",
    [
        [[1, 0], [0, 0]],
        np.array([[True, False], [False, False]]),
        sparse.csr_matrix([[1, 0], [0, 0]]),
        sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2, 2])), shape=(2, 2)),
    ],
)
def test_tags_of_any_kind_become_csr_without_explicit_zeros(tags):
    checked = check_tags(tags, 2, n_tags=2)
    assert isinstance(checked, sparse.csr_array)
    assert checked.dtype == np.float32
    assert checked.nnz == 1
    np.testing.assert_array_equal(checked.toarray(), [[1, 0], [0, 0]])


def test_checking_tags_does_not_change_them():
    tags = sparse.csr_array((np.array([1.0, 0.0], np.float32), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    check_tags(tags, 1)
    assert tags.nnz == 2


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([[1, 0]], "for the 2 pictures"),
        ([1, 0], "for the 2 pictures"),
        (None, "for the 2 pictures"),
        ([[1], [1, 0]], "for the 2 pictures"),
        ([[2, 0], [0, 1]], "0 or 1, but 2 was found"),
        ([[-1, 0], [0, 1]], "0 or 1, but -1"),
        ([[np.nan, 0], [0, 1]], "0 or 1, but nan"),
        ([["sea", "sky"], ["sea", "sky"]], "must be numbers"),
        ([[1], [1]], "1 columns, but the method was fitted with 2"),
    ],
)
def test_unusable_tags_are_refused(tags, message):
    with pytest.raises(InputError, match=message):
        check_tags(tags, 2, n_tags=2)


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        ([1.0, 0.0], r"queries must be \(n_queries, 2\)"),
        ([[1.0]], r"queries must be \(n_queries, 2\)"),
        ([[1.0], [1.0, 2.0]], r"queries must be \(n_queries, 2\)"),
        ([[np.inf, 0.0]], "NaN or infinity"),
        ([["a", "b"]], "must be numbers"),
    ],
)
def test_unusable_queries_are_refused(Q, message):
    with pytest.raises(InputError, match=message):
        check_queries(Q, 2)


def test_good_queries_are_weights():
    np.testing.assert_array_equal(check_queries([[1.0, -0.5]], 2).toarray(), [[1.0, -0.5]])
    assert check_queries(np.empty((0, 2)), 2).shape == (0, 2)


def test_the_floor_by_hand():
    floor = MajorityClass().fit(X, ["b", "a", "a"])
    np.testing.assert_allclose(floor.predict_proba(X[:1]), [[2 / 3, 1 / 3]])
    assert floor.predict(X).tolist() == ["a", "a", "a"]
    assert MajorityClass().fit(X, [5, 3, -1]).predict(X[:1]).tolist() == [3]
    tags = TagFrequency().fit(X, [[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(tags.score_tags(X[:2]), [[1, 0.5, 0]] * 2)
    assert tags.tag_counts_.tolist() == [2, 1, 0]
    with pytest.raises(InputError, match="no picture has a class"):
        MajorityClass().fit(X, [-1, -1, -1])
    with pytest.raises(InputError, match="no picture has a tag"):
        TagFrequency().fit(X, np.zeros((3, 2)))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [1, 2], [2], [3, 1], [0, 2], [-1, 0], [2, 2], []])
def test_taken_rows_are_those_asked_for(kind, rows):
    X, rows = np.arange(10.0).reshape(5, 2), np.array(rows, np.intp)
    taken = take({"x": kind(X)}, rows)["x"]
    np.testing.assert_array_equal(taken if kind is np.asarray else taken.toarray(), X[rows])


def test_halves_are_checked_without_a_copy(monkeypatch):
    monkeypatch.setattr(inputs, "_BLOCK", 8)
    halves = np.arange(30, dtype=np.float16).reshape(10, 3)
    for given in (halves, {"x": halves}):
        (kept,) = check_feature_mapping(MajorityClass(), given, fitting=True).values()
        assert kept is halves
        for place in (0, 9):
            spoilt = halves.copy()
            spoilt[place, 0] = np.inf
            with pytest.raises(InputError, match="infinity"):
                check_feature_mapping(
                    MajorityClass(), {"x": spoilt} if isinstance(given, dict) else spoilt, fitting=True
                )
    with pytest.raises(InputError, match="Negative"):
        check_features(MajorityClass(), -halves, fitting=True, halves=True, non_negative=True)
