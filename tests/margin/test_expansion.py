"""Learned functions as expansions: what is kept of a fit, the intercept, precision and support."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from visterm.errors import InputError
from visterm.margin.functions import expansion
from visterm.margin.functions.expansion import folds, precision
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.margin.sdca import SDCAClassifier
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts

FITTED = {"coef_", "dual_coef_", "support_", "support_vectors_", "product_kernel_", "feature_widths_"}


def machine(kernel, **settings):
    return SDCAClassifier(1.0, kernel=kernel, calibration_folds=0, random_state=0, **settings)


def kept(model):
    return FITTED & set(vars(model))


def test_each_fit_keeps_only_what_its_kernel_needs(blobs):
    X, several = np.abs(blobs.X), {"colour": np.abs(blobs.X[:, :2]), "shape": np.abs(blobs.X[:, 2:])}
    model = machine("auto")
    for kernel, features, names in (
        ("auto", several, {"dual_coef_", "support_", "product_kernel_", "feature_widths_"}),
        ("chi2", X, {"dual_coef_", "support_", "support_vectors_"}),
        ("auto", X, {"coef_"}),
        ("product", several, {"dual_coef_", "support_", "product_kernel_", "feature_widths_"}),
        ("precomputed", X @ X.T, {"dual_coef_", "support_"}),
        ("linear", X, {"coef_"}),
    ):
        model.set_params(kernel=kernel).fit(features, blobs.y)
        assert kept(model) == names


def test_auto_means_the_weighted_product_of_several_features_and_one_kernel_of_one(blobs):
    X = np.abs(blobs.X)
    assert machine("auto").fit({"one": X[:, :2], "two": X[:, 2:]}, blobs.y).kernel_ == "weighted-product"
    assert machine("auto").fit(X, blobs.y).kernel_ == "hellinger"
    with pytest.raises(InputError, match="the kernel chi2 takes one feature, but X has 2: choose auto or weighted-pr"):
        machine("chi2").fit({"one": X[:, :2], "two": X[:, 2:]}, blobs.y)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_the_intercept_is_the_weight_of_a_constant_feature(kernel, blobs):
    settings = {"loss": "squared_hinge", "tol": 1e-10}
    X, constant = blobs.X[:30], np.full((30, 1), 0.6)
    with_constant = np.hstack([X, constant])
    if kernel == "precomputed":
        X, with_constant = X @ X.T, with_constant @ with_constant.T
    model = machine(kernel, intercept_scaling=0.6, **settings).fit(X, blobs.y[:30])
    other = machine(kernel, intercept_scaling=0.0, **settings).fit(with_constant, blobs.y[:30])
    assert not other.intercept_.any()
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(with_constant), atol=1e-4)
    if kernel == "linear":
        np.testing.assert_allclose(model.intercept_, 0.6 * other.coef_[:, -1], atol=1e-4)


def test_sparse_features_are_learned_from_like_dense_ones(blobs):
    X, y = np.maximum(blobs.X, 0), np.where(np.arange(90) < 9, -1, blobs.y)
    dense, thin = machine("linear").fit(X, y), machine("linear").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-9)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), X @ dense.coef_.T + dense.intercept_)


@pytest.mark.parametrize("n_columns", [29, 30, 31])
def test_inner_products_of_few_and_of_many_features(n_columns):
    X, labels, rows = np.random.default_rng(0).normal(size=(40, n_columns)), np.ones((1, 30)), np.arange(3, 33)
    model = machine("linear", intercept_scaling=3.0)
    products = model._inner_products(model._check_fit_features(X), rows, labels)
    assert isinstance(products, FeatureInnerProducts if n_columns < 30 else GramInnerProducts)
    np.testing.assert_allclose(products.block(np.arange(30)), X[rows] @ X[rows].T + 9)


def test_features_are_weighed_by_the_labels_that_are_present():
    rng = np.random.default_rng(0)
    labels, rows = rng.choice([-1.0, 0.0, 1.0], (3, 12)), np.array([0, 2, 3, 5, 6, 7, 8, 10, 11])
    features = {"colour": np.hstack([rng.random((12, 3)), 2 * (labels.T > 0)]), "shape": rng.random((12, 4))}

    def learned(labels, rows):
        model = machine("weighted-product:0.5")
        return model._training_gram(model._check_fit_features(features), rows, labels)

    def expected(present, rows):
        some = {name: matrix[rows] for name, matrix in features.items()}
        return ProductKernel(0.5, weights="likelihood").fit_transform(some, present.T)

    everything = np.arange(12)
    np.testing.assert_allclose(learned(labels, everything), expected(labels > 0, everything))
    np.testing.assert_allclose(learned(labels[:, rows], rows), expected(labels[:, rows] > 0, rows))
    single = labels[:1]  # one class against the other
    both = np.vstack([single > 0, single < 0])
    np.testing.assert_allclose(learned(single, everything), expected(both, everything))
    two = labels[:2]
    np.testing.assert_allclose(learned(two, everything), expected(two > 0, everything))


def test_only_fitted_models_score_and_only_the_features_they_know(blobs):
    X = np.abs(blobs.X)
    several = {"one": X[:, :2], "two": X[:, 2:]}
    with pytest.raises(NotFittedError):
        machine("linear").decision_function(X)
    for kernel, features, wrong in (
        ("linear", X, X[:, :4]),
        ("chi2", X, X[:, :4]),
        ("precomputed", X @ X.T, X),
        ("product", several, {"one": X[:, :2], "two": X[:, 3:]}),
    ):
        model = machine(kernel).fit(features, blobs.y)
        n_features = model.n_features_in_
        with pytest.raises(InputError):
            model.decision_function(wrong)
        assert model.n_features_in_ == n_features


@pytest.mark.parametrize("kernel", ["linear", "chi2", "precomputed", "product"])
def test_scores_of_some_tasks(kernel, blobs):
    X = np.abs(blobs.X)
    X = X @ X.T if kernel == "precomputed" else X
    model = machine(kernel, intercept_scaling=2.0).fit(X, blobs.y)
    scores = model.decision_function(X)
    assert scores.shape == (90, 3)
    np.testing.assert_allclose(model._task_scores(X, slice(1, 3)), scores[:, 1:])
    assert model.intercept_.any()


def test_halves_give_the_numbers_of_singles(blobs):
    X = np.abs(blobs.X).astype(np.float16)
    for kernel in ("linear", "chi2", "product"):
        half, single = machine(kernel).fit(X, blobs.y), machine(kernel).fit(X.astype(np.float32), blobs.y)
        np.testing.assert_array_equal(half.decision_function(X), single.decision_function(X.astype(np.float32)))


def test_many_pictures_are_learned_from_in_single_precision():
    assert precision(np.arange(2048)) is np.float64
    assert precision(np.arange(2049)) is np.float32


def test_many_single_scores_stay_single(monkeypatch):
    monkeypatch.setattr(expansion, "_DOUBLE_SCORES", 10)
    intercept = np.array([1.0, 2.0, 3.0])
    for shape, dtype, kept_dtype in (((4, 3), "f4", "f4"), ((3, 3), "f4", "f8"), ((4, 3), "f8", "f8")):
        scores = np.arange(shape[0] * 3).reshape(shape).astype(dtype)
        with_intercept = expansion._with_intercept(scores.copy(), intercept)
        assert with_intercept.dtype == kept_dtype
        np.testing.assert_array_equal(with_intercept, scores + intercept)


def test_support_is_relative_to_the_largest_coefficient_of_a_task(monkeypatch):
    monkeypatch.setattr(expansion, "_SUPPORT_TASKS", 2)
    theta = np.zeros((5, 8))
    theta[np.arange(5), np.arange(5)] = [1.0, -1e3, 1e-5, 1e-20, 2.0]
    theta[0, 5] = 0.9e-7  # a rounding error beside 1
    theta[1, 6] = 0.9e-4  # and this beside a thousand
    theta[2, 7] = -5e-12  # but this is much beside 1e-5
    assert np.flatnonzero(expansion._support(theta)).tolist() == [0, 1, 2, 3, 4, 7]
    assert not expansion._support(np.zeros((2, 3))).any()
    assert expansion._support(np.zeros((2, 0))).shape == (0,)


def test_folds_share_every_group():
    groups = np.array([0] * 6 + [1] * 3 + [2] * 4)
    parts = folds(groups, 3, np.random.default_rng(0))
    assert np.sort(np.concatenate(parts)).tolist() == list(range(13))
    for part in parts:
        assert part.tolist() == sorted(part)
        counts = np.bincount(groups[part], minlength=3)
        assert (np.abs(counts - np.array([2, 1, 4 / 3])) < 1).all()
    assert len(folds(np.zeros(2), 5, np.random.default_rng(0))) == 2
