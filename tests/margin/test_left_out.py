"""Pictures that a ridge regression learned from are scored as if they had been left out: the same as refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from visterm.margin import KernelRidgeAnnotator
from visterm.margin.functions import kernels
from visterm.ranking import CaptionRidge

N = 24
METHODS = [
    pytest.param(KernelRidgeAnnotator(0.1), id="ridge-tags"),
    pytest.param(KernelRidgeAnnotator(0.1, kernel="weighted-product:2"), id="ridge-tags of several features"),
    pytest.param(CaptionRidge(0.03), id="caption-ridge"),
    pytest.param(CaptionRidge(0.03, kernel="product"), id="caption-ridge of several features"),
]


def histograms(n, width=6, seed=0):
    X = np.random.default_rng(seed).random((n, width)) ** 3
    return X / X.sum(axis=1, keepdims=True)


def features(method, n=N, seed=0):
    return (
        {"a": histograms(n, 6, seed), "b": histograms(n, 3, seed + 1)}
        if "product" in method.kernel
        else histograms(n, seed=seed)
    )


@pytest.fixture
def tags():
    found = (np.random.default_rng(1).random((N, 4)) < 0.5).astype(int)
    found[[3, 4, 11]] = 0  # not tagged, so not learned from
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_picture_scores_as_after_a_fit_without_it(method, tags):
    X = features(method)
    model = clone(method).fit(X, tags)
    plain, left_out = model._task_scores(X), model.as_if_left_out()._task_scores(X)
    if isinstance(X, dict):
        K = np.zeros((N, N))
        K[:, model.support_] = model.product_kernel_.transform(X)  # only tagged pictures are compared with
    else:
        K = kernels.gram(X, X, kernel=model.kernel_, dtype=np.float64)
    n_words = tags.shape[1]
    for row in range(N):
        others = np.delete(np.arange(N), row)
        without = clone(method).set_params(kernel="precomputed").fit(K[np.ix_(others, others)], tags[others])
        expected = without._task_scores(K[[row]][:, others])[0]
        np.testing.assert_allclose(left_out[row, :n_words], expected[:n_words], rtol=1e-3, atol=1e-4)
    learned = tags.any(axis=1)
    np.testing.assert_array_equal(left_out[~learned], plain[~learned])
    assert np.abs(left_out[learned] - plain[learned]).max(axis=1).min() > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_new_pictures_score_the_same(method, tags):
    model, new = clone(method).fit(features(method), tags), features(method, 5, seed=7)
    np.testing.assert_array_equal(model.as_if_left_out().score_tags(new), model.score_tags(new))


@pytest.mark.parametrize("method", METHODS)
def test_a_picture_is_recognised_but_for_rounding_errors(method, tags):
    X = features(method)
    model = clone(method).fit(X, tags)
    nearly = {name: part * (1 + 1e-6) for name, part in X.items()} if isinstance(X, dict) else X * (1 + 1e-6)
    left_out = model.as_if_left_out().score_tags(nearly)
    np.testing.assert_allclose(left_out, model.as_if_left_out().score_tags(X), rtol=1e-3, atol=1e-3)
    assert not model._leaves_out


def test_kernels_that_do_not_tell_the_same_picture_cannot_leave_out(tags):
    X = histograms(N)
    model = KernelRidgeAnnotator().fit(X, tags)
    assert model.can_leave_out
    for kernel in ("linear", "hellinger", "chi2"):
        model.set_params(kernel=kernel).fit(X, tags)
        assert not model.can_leave_out
        np.testing.assert_array_equal(model.as_if_left_out().score_tags(X), model.score_tags(X))


def test_pictures_with_nothing_but_denied_tags_have_no_part_of_their_own(tags):
    X, denied = histograms(N), np.zeros_like(tags)
    denied[[3, 4], 1] = 1
    model = KernelRidgeAnnotator().fit(X, tags, denied=denied)
    assert (model.own_weights_[np.isin(model.support_, [3, 4])] == 0).all()
    assert (model.own_weights_[~np.isin(model.support_, [3, 4])] > 0).all()
    plain, left_out = model._task_scores(X), model.as_if_left_out()._task_scores(X)
    np.testing.assert_array_equal(left_out[[3, 4]], plain[[3, 4]])
    without = KernelRidgeAnnotator().fit(
        np.delete(X, 0, axis=0), np.delete(tags, 0, axis=0), denied=np.delete(denied, 0, axis=0)
    )
    expected = without._task_scores(X[:1])[0]
    np.testing.assert_allclose(left_out[0, [0, 2, 3]], expected[[0, 2, 3]], rtol=1e-6)
    assert abs(left_out[0, 1] - expected[1]) < abs(plain[0, 1] - expected[1])  # of the denied tag, about


def test_nothing_is_left_out_of_nothing():
    X = histograms(3)
    model = KernelRidgeAnnotator().fit(X, np.eye(3, dtype=int))
    model.dual_coef_, model.support_vectors_ = model.dual_coef_[:, :0], model.support_vectors_[:0]
    model.own_weights_ = model.own_weights_[:0]
    assert np.isfinite(model.as_if_left_out().score_tags(X)).all()
