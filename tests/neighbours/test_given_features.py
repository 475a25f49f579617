"""What every neighbour method asks of features and parameters, and what it says about its scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from visterm.contracts import scores_multiply
from visterm.distances import BaseDistances, nearest
from visterm.errors import InputError
from visterm.neighbours import (
    JEC,
    CodeAnnotator,
    KernelContextualAnnotator,
    KnnAnnotator,
    KnnClassifier,
    LikelihoodTwoPassKnn,
    QuantizedKnnAnnotator,
    TagProp,
    TwoPassKnn,
    knn,
    knn_tags,
)
from visterm.subspace import FeatureMaps

METHODS = [
    JEC(2),
    TagProp(2),
    TwoPassKnn(1),
    LikelihoodTwoPassKnn(1),
    KnnAnnotator(2),
    KnnClassifier(2),
    QuantizedKnnAnnotator(2, n_bytes=1),
    CodeAnnotator(n_dims=1, n_neighbors=2),
    KernelContextualAnnotator(1, n_neighbors=2, n_components=2),
]
X = np.array([[0.0, 1.0], [1.0, 3.0], [5.0, 2.0], [6.0, 2.0]])
TAGS = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
CLASSES = np.array([0, 0, 1, 1])


def named(methods=METHODS):
    return pytest.mark.parametrize("method", methods, ids=lambda method: type(method).__name__)


def fitted(method, X=X):
    return clone(method).fit(X, CLASSES if isinstance(method, KnnClassifier) else TAGS)


def scores_of(model, X):
    return model.predict_proba(X) if isinstance(model, KnnClassifier) else model.score_tags(X)


@named()
def test_pictures_must_have_the_features_that_were_learned(method):
    model = fitted(method)
    with pytest.raises(InputError, match=r"has 3 features, but .* is expecting 2"):
        scores_of(model, np.ones((1, 3)))
    assert model.n_features_in_ == 2
    assert scores_of(model, X[:0]).shape == (0, 2)
    with pytest.raises(InputError, match="minimum of 1"):
        fitted(method, X[:0])


@named()
def test_impossible_parameters_are_refused(method):
    with pytest.raises(InputError, match="n_neighbors"):
        fitted(clone(method).set_params(n_neighbors=-1))


def test_which_scores_may_be_multiplied():
    """Shares of neighbours are probabilities, calibrated votes only lie between 0 and 1, orders are neither."""
    annotators = [method for method in METHODS if not isinstance(method, KnnClassifier)]
    probabilities = {type(one).__name__ for one in annotators if one.scores_are_probabilities}
    assert probabilities == {"KnnAnnotator", "QuantizedKnnAnnotator", "CodeAnnotator"}
    assert [type(one).__name__ for one in annotators if not scores_multiply(one)] == ["JEC"]


@named([method for method in METHODS if not isinstance(method, KnnClassifier)])
def test_the_training_pictures_of_every_tag_are_counted(method):
    model = fitted(method)
    np.testing.assert_array_equal(model.tag_counts_, [2, 3])


@named([method for method in METHODS if not isinstance(method, QuantizedKnnAnnotator)])
def test_halves_are_compared_as_they_are(method, monkeypatch):
    """A widened copy of a large feature would take twice its memory: only blocks are widened."""
    seen = []

    def noting(call):
        def noted(*args, **settings):
            for one in args:
                seen.extend(one.values() if isinstance(one, dict) else [one])
            return call(*args, **settings)

        return noted

    for module in (knn, knn_tags):
        monkeypatch.setattr(module, "nearest", noting(nearest))
    for kind, names in ((BaseDistances, ("fit", "map_blocks")), (FeatureMaps, ("fit", "transform"))):
        for name in names:
            monkeypatch.setattr(kind, name, noting(getattr(kind, name)))
    halves = X.astype(np.float16)
    model = fitted(method, halves)
    asked = halves[1:3].copy()
    scores_of(model, asked)
    wide = [one for one in seen if isinstance(one, np.ndarray) and one.shape[1:] == (2,)]
    assert any(one is asked for one in wide)
    assert {one.dtype for one in wide} == {np.dtype(np.float16)}
