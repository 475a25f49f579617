"""Labels of the nearest pictures, against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from visterm.errors import InputError
from visterm.neighbours import KnnAnnotator, KnnClassifier


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_classes_by_plain_counting(rng):
    X, y, queries = rng.random((40, 3)), rng.integers(0, 4, 40), rng.random((25, 3))
    model = KnnClassifier(5).fit(X, y)
    uses = Counter(y.tolist())
    for picture, predicted, shares in zip(queries, model.predict(queries), model.predict_proba(queries), strict=True):
        near = y[np.argsort(np.linalg.norm(X - picture, axis=1))[:5]]
        votes = Counter(near.tolist())
        np.testing.assert_allclose(shares, [votes[c] / 5 for c in model.classes_])
        # Most votes; of equals the rarer class; of those the first.
        assert predicted == min(votes, key=lambda c: (-votes[c], uses[c], c))


def test_shares_equal_those_of_scikit_learn(rng):
    X, y, queries = rng.random((60, 5)), rng.integers(0, 3, 60), rng.random((20, 5))
    theirs = KNeighborsClassifier(7, algorithm="brute").fit(X, y).predict_proba(queries)
    np.testing.assert_allclose(KnnClassifier(7).fit(X, y).predict_proba(queries), theirs)


def test_ties_go_to_the_rarer_class():
    X, y = [[0.0], [1.0], [9.0]], ["common", "rare", "common"]
    assert KnnClassifier(2).fit(X, y).predict([[0.4]]).tolist() == ["rare"]


def test_pictures_of_unknown_class_are_no_neighbours():
    model = KnnClassifier(1).fit([[0.0], [1.0], [5.0]], [-1, 2, 7])
    assert model.predict([[0.0]]).tolist() == [2]
    assert model.classes_.tolist() == [2, 7]


def test_more_neighbours_than_pictures_is_all_of_them():
    np.testing.assert_allclose(
        KnnClassifier(50).fit([[0.0], [1.0], [2.0]], [1, 1, 2]).predict_proba([[9.0]]), [[2 / 3, 1 / 3]]
    )


def test_tags_by_plain_counting(rng):
    X, tags, queries = rng.random((40, 3)), rng.random((40, 6)) < 0.3, rng.random((25, 3))
    tags[:8] = False
    scores = KnnAnnotator(7).fit(X, tags.astype(int)).score_tags(queries)
    tagged = np.flatnonzero(tags.any(axis=1))
    near = tagged[np.argsort(cdist(queries, X[tagged]), axis=1)[:, :7]]
    np.testing.assert_allclose(scores, tags[near].mean(axis=1))


@pytest.mark.parametrize("k", [3, 7, 49])
def test_shares_of_tags_never_exceed_one(k):
    scores = KnnAnnotator(k).fit(np.arange(60.0)[:, None], np.ones((60, 1))).score_tags([[3.0], [40.0]])
    assert (scores == 1).all()


def test_bags_and_rows_are_the_same(rng):
    X, tags = rng.poisson(1.0, (30, 8)).astype(float), (rng.random((30, 4)) < 0.5).astype(int)
    for metric in ("euclidean", "cosine", "hellinger"):
        dense = KnnAnnotator(4, metric=metric).fit(X, tags).score_tags(X)
        bags = (
            KnnAnnotator(4, metric=metric)
            .fit(sparse.csr_array(X), sparse.csr_array(tags))
            .score_tags(sparse.csr_array(X))
        )
        np.testing.assert_allclose(dense, bags)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5, "16", None])
@pytest.mark.parametrize("method", [KnnClassifier, KnnAnnotator])
def test_impossible_numbers_of_neighbours(method, n_neighbors):
    with pytest.raises(InputError, match="n_neighbors"):
        method(n_neighbors).fit([[0.0], [1.0]], [1, 2] if method is KnnClassifier else [[1], [1]])


def test_unknown_metric_and_negative_histograms():
    with pytest.raises(InputError, match=r"metric.*hellinger"):
        KnnClassifier(metric="manhattan").fit([[0.0]], [1])
    with pytest.raises(InputError, match="Negative"):
        KnnAnnotator(metric="hellinger").fit([[-1.0]], [[1]])
    model = KnnClassifier(metric="hellinger").fit([[1.0, 2.0]], [1])
    with pytest.raises(InputError, match="negative"):
        model.predict([[-1.0, 2.0]])


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="no picture has a class"):
        KnnClassifier().fit([[0.0], [1.0]], [-1, -1])
    with pytest.raises(InputError, match="no picture has a tag"):
        KnnAnnotator().fit([[0.0], [1.0]], [[0], [0]])
