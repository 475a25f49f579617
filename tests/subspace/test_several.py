"""Subspaces of several features: one subspace of all, whatever their units, still from sums that add up."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from visterm.contracts import inputs
from visterm.errors import InputError
from visterm.subspace import CCA, PCA, PLS, ContextualDistance, FeatureMaps, Moments

METHODS = [PCA(3), PCA(3, whiten=True), PLS(3), PLS(3, normalize=True), CCA(3), ContextualDistance(3)]


def named(methods=METHODS):
    return pytest.mark.parametrize("method", methods, ids=lambda m: f"{m!r}".replace(" ", ""))


@pytest.fixture
def collection():
    rng = np.random.default_rng(0)
    tags = (rng.random((90, 4)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {
        "bag": sparse.csr_array(rng.poisson(1 + 3 * tags @ rng.random((4, 12))).astype(float)),
        "gist": tags @ rng.standard_normal((4, 5)) + rng.standard_normal((90, 5)),
    }
    return X, tags


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def joined(X):
    """All features side by side, each of a total variance of one."""
    return np.hstack([dense(block) / np.sqrt(dense(block).var(axis=0).sum()) for block in X.values()])


@named()
def test_several_features_are_one_scaled_to_the_same_variance(method, collection):
    X, tags = collection
    several = clone(method).fit(X, tags)
    one = clone(method)
    if isinstance(method, CCA):  # principal components are counted for each feature
        one.set_params(reduce_to=2 * method.reduce_to)
    one.fit(joined(X), tags)
    np.testing.assert_allclose(several.transform(X), one.transform(joined(X)), atol=1e-6)
    if isinstance(method, ContextualDistance):
        np.testing.assert_allclose(
            several.transform_training(X, tags), one.transform_training(joined(X), tags), atol=1e-6
        )


@pytest.mark.parametrize("method", [CCA, ContextualDistance])
def test_canonical_directions_of_several_features_have_unit_variance(method, collection):
    X, tags = collection
    model = method(3, ridge=0, reduce_to=None).fit(X, tags)
    variates = np.hstack([dense(block) for block in X.values()]) @ model.x_components_
    np.testing.assert_allclose(np.cov(variates.T, bias=True), np.eye(3), atol=1e-8)


@named()
def test_units_do_not_matter(method, collection):
    X, tags = collection
    expected = clone(method).fit(X, tags).transform(X)
    other = X | {"gist": X["gist"] * 1000}
    np.testing.assert_allclose(clone(method).fit(other, tags).transform(other), expected, atol=1e-6)


@named()
def test_pictures_that_come_later_give_the_same_subspace(method, collection):
    X, tags = collection
    first, rest = ({name: block[rows] for name, block in X.items()} for rows in (slice(40), slice(40, None)))
    whole = clone(method).fit(X, tags)
    grown = clone(method).fit(first, tags[:40]).partial_fit(rest, tags[40:])
    np.testing.assert_allclose(grown.transform(X), whole.transform(X), atol=1e-6)
    covariance = method.needs_covariance
    sums = Moments(covariance=covariance).fit(first, tags[:40]) + Moments(covariance=covariance).fit(rest, tags[40:])
    np.testing.assert_allclose(clone(method).fit_moments(sums).transform(X), whole.transform(X), atol=1e-6)


def test_moments_hold_what_features_say_of_each_other(collection):
    X, tags = collection
    side_by_side = np.hstack([dense(block) for block in X.values()])
    several, one = Moments().fit(X, tags), Moments().fit(side_by_side, tags)
    np.testing.assert_allclose(several.C_xx, one.C_xx, atol=1e-9)
    np.testing.assert_allclose(several.C_xy, one.C_xy, atol=1e-9)
    scaled = one.scaled(np.arange(1.0, 18.0))
    np.testing.assert_allclose(scaled.C_xx, Moments().fit(side_by_side * np.arange(1.0, 18.0), tags).C_xx, atol=1e-8)


def test_a_feature_that_never_varies_does_no_harm(collection):
    X, tags = collection
    model = ContextualDistance(3).fit(X | {"constant": np.ones((90, 2))}, tags)
    codes = ContextualDistance(3).fit(X, tags).transform(X)
    found = model.transform(X | {"constant": np.ones((90, 2))})
    for dim in range(3):
        assert abs(np.corrcoef(found[:, dim], codes[:, dim])[0, 1]) > 0.99


@named()
def test_what_is_refused(method, collection):
    X, tags = collection
    model = clone(method).fit(X, tags)
    with pytest.raises(InputError, match="bag, gist"):
        model.transform(X["gist"])
    with pytest.raises(InputError, match="widths"):
        model.transform({"gist": X["gist"]})
    with pytest.raises(InputError, match="cannot be added"):
        _ = Moments().fit(X, tags) + Moments().fit(X["gist"], tags)


def test_maps_of_every_feature(collection):
    X, _ = collection
    maps = FeatureMaps(n_dims=6, n_landmarks=30).fit(X)
    assert {name: found.metric for name, found in maps.maps_.items()} == {"bag": "chi2", "gist": "euclidean"}
    codes = maps.transform(X)
    assert {name: block.shape for name, block in codes.items()} == {"bag": (90, 6), "gist": (90, 6)}
    wide = {"wide": np.random.default_rng(0).standard_normal((20, 5000)), "narrow": np.ones((20, 3))}
    reduced = FeatureMaps(None, n_dims=7).fit(wide).transform(wide)
    assert {name: block.shape for name, block in reduced.items()} == {"wide": (20, 7), "narrow": (20, 3)}
    with pytest.raises(InputError, match="unknown metric"):
        FeatureMaps("manhattan").fit(X)
    with pytest.raises(InputError, match="n_landmarks"):
        FeatureMaps(None, n_landmarks=1).fit(X)
    with pytest.raises(InputError, match="widths"):
        maps.transform(X | {"gist": X["gist"][:, :2]})
    assert set(maps.transform(X)) == set(X)


def test_features_without_a_map_are_taken_as_they_are(monkeypatch):
    monkeypatch.setattr(inputs, "_BLOCK", 2**15)
    X = {"halves": np.ones((256, 1024), np.float16), "floats": np.ones((256, 2))}
    FeatureMaps(None).fit(X)  # imports take memory, too
    tracemalloc.start()
    maps = FeatureMaps(None).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * X["halves"].nbytes  # a copy in float32 is 2
    found = maps.transform(X)
    assert found["halves"] is X["halves"]
    assert found["floats"] is X["floats"]
