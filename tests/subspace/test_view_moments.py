"""Moments whose second view is dense vectors: plain covariances, in any number of parts."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.subspace import Moments, ViewMoments


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 3)) + np.array([5.0, -2.0, 0.0])
    return Y @ rng.standard_normal((3, 4)) + rng.standard_normal((50, 4)), Y


def test_covariances_are_those_of_numpy(views):
    X, Y = views
    moments, both = ViewMoments().fit(X, Y), np.cov(np.hstack(views).T, bias=True)
    np.testing.assert_allclose(moments.C_xx, both[:4, :4], atol=1e-12)
    np.testing.assert_allclose(moments.C_xy, both[:4, 4:], atol=1e-12)
    np.testing.assert_allclose(moments.C_yy, both[4:, 4:], atol=1e-12)
    np.testing.assert_allclose(moments.y_mean_, Y.mean(axis=0))
    np.testing.assert_allclose(moments.y_variance, Y.var(axis=0))


@pytest.mark.parametrize("covariance", [True, False])
def test_parts_add_up_to_the_whole(views, covariance):
    X, Y = views
    whole = ViewMoments(covariance=covariance).fit(X, Y)
    parts = ViewMoments(covariance=covariance).fit(X[:7], Y[:7]) + ViewMoments(covariance=covariance).fit(X[7:], Y[7:])
    grown = ViewMoments(covariance=covariance).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    for found in (parts, grown):
        assert found.n_pictures_ == 50
        np.testing.assert_allclose(found.C_xy, whole.C_xy, atol=1e-12)
        np.testing.assert_allclose(found.C_yy, whole.C_yy, atol=1e-12)


def test_indicators_have_the_moments_of_tags(views):
    X, Y = views
    tags = (Y > 0).astype(np.float64)
    of_tags, of_views = Moments().fit(X, tags), ViewMoments().fit(X, tags)
    np.testing.assert_allclose(of_views.C_xy, of_tags.C_xy, atol=1e-12)
    np.testing.assert_allclose(of_views.C_yy, of_tags.C_yy, atol=1e-12)


def test_far_from_zero_single_precision_is_enough(views):
    X, Y = views
    single = ViewMoments().fit(X.astype(np.float32), (Y + 300).astype(np.float32))
    np.testing.assert_allclose(single.C_yy, np.cov(Y.T, bias=True), atol=2e-3)


@pytest.mark.parametrize("wrong", [np.ones((3, 2)), np.ones(50), np.ones((50, 2), int), np.full((50, 2), np.nan)])
def test_other_second_views_are_refused(views, wrong):
    with pytest.raises(InputError, match="a row for each of the 50 pictures"):
        ViewMoments().fit(views[0], wrong)
