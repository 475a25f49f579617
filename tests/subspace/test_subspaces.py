"""Every subspace against its definition, an independent solver, and its neighbours."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn import cross_decomposition, decomposition
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from visterm.compute import eigenvectors
from visterm.compute.eigenvectors import leading
from visterm.contracts import inputs
from visterm.errors import InputError
from visterm.neighbours import KnnAnnotator
from visterm.subspace import (
    CCA,
    PCA,
    PLS,
    ContextualDistance,
    FeatureMaps,
    KernelMap,
    Moments,
    kernel_map,
    pca,
)
from visterm.subspace.linear import moments

ALL = [PCA(3), PCA(3, whiten=True), PLS(3), PLS(3, normalize=True), CCA(3), ContextualDistance(3, views=1),
       ContextualDistance(3, views=2, beta=0.3)]  # fmt: skip


def named(embeddings=ALL):
    return pytest.mark.parametrize("embedding", embeddings, ids=lambda e: f"{e!r}".replace(" ", ""))


@pytest.fixture
def pictures():
    """Features that depend on five tags, and vary by themselves."""
    rng = np.random.default_rng(1)
    tags = (rng.random((400, 5)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = tags @ rng.standard_normal((5, 12)) + rng.standard_normal((400, 12)) @ rng.standard_normal((12, 12))
    return X + 3, tags


def test_pca_is_that_of_scikit_learn(pictures):
    X, _ = pictures
    theirs, ours = decomposition.PCA(4).fit(X), PCA(4).fit(X)
    np.testing.assert_allclose(np.abs(np.sum(ours.components_ * theirs.components_.T, axis=0)), 1)
    np.testing.assert_allclose(ours.variance_ * len(X) / (len(X) - 1), theirs.explained_variance_)
    np.testing.assert_allclose(np.cov(PCA(4, whiten=True).fit_transform(X).T, bias=True), np.eye(4), atol=1e-9)


def test_pca_on_the_side_of_the_pictures():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 300))
    theirs, ours = decomposition.PCA(5).fit(X), PCA(5).fit(X)
    np.testing.assert_allclose(np.abs(np.sum(ours.components_ * theirs.components_.T, axis=0)), 1)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    np.testing.assert_allclose(PCA(5).fit(sparse.csr_array(X)).components_, ours.components_, atol=1e-9)
    # More dimensions than pictures: what is beyond them is zero, not noise.
    assert np.abs(PCA(30, whiten=True).fit(X).transform(X)[:, -1]).max() < 1e-6


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_many_pictures_with_many_features_need_no_matrix_of_either_size(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((150, 6)) @ rng.random((6, 120)) + (rng.random((150, 120)) < 0.02)
    expected = PCA(4).fit(X)
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 100)
    found = PCA(4).fit(kind(X))
    np.testing.assert_allclose(found.variance_, expected.variance_, rtol=1e-6)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-4)
    with pytest.raises(InputError, match="cannot learn more"):
        found.partial_fit(X)


@pytest.mark.parametrize("n_pictures", [40, 200])
def test_wide_features_are_not_copied(n_pictures, monkeypatch):
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 100)
    monkeypatch.setattr(pca, "_BLOCK_BYTES", 2**18)
    monkeypatch.setattr(moments, "BLOCK", 32)
    X = np.random.default_rng(0).random((n_pictures, 20_000), dtype=np.float32)
    PCA(3).fit(X[:, :200])  # imports take memory, too
    tracemalloc.start()
    PCA(3).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * max(X.nbytes, 12 * 2**20)


def test_wide_halves_are_not_copied(monkeypatch):
    monkeypatch.setattr(pca, "_BLOCK_BYTES", 2**16)
    monkeypatch.setattr(moments, "BLOCK", 2)
    monkeypatch.setattr(inputs, "_BLOCK", 2**15)
    X = np.random.default_rng(0).random((40, 10_000), dtype=np.float32).astype(np.float16)
    PCA(1).fit(X[:, :200])  # imports take memory, too
    tracemalloc.start()
    PCA(1).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * X.nbytes  # a copy in float32 is 2


@named([*ALL, KernelMap(3, metric="euclidean"), FeatureMaps(None, n_dims=3)])
def test_halves_give_the_same_as_their_singles(embedding, pictures):
    X, tags = pictures
    tags[[2, 9]] = 0
    halves = X.astype(np.float16)
    expected = clone(embedding).fit(halves.astype(np.float32), tags)
    found = clone(embedding).fit(halves, tags)
    for name in ("transform", "transform_training"):
        if hasattr(expected, name):
            arguments = (halves, tags)[: 1 + (name == "transform_training")]
            singles = (halves.astype(np.float32), *arguments[1:])
            codes, same = getattr(found, name)(*arguments), getattr(expected, name)(*singles)
            if isinstance(codes, dict):
                codes, same = codes["x"], same["x"]
            assert isinstance(embedding, FeatureMaps) or codes.dtype == np.float32
            np.testing.assert_allclose(codes, same, atol=1e-4)


@pytest.mark.parametrize("n_pictures", [40, 200])
def test_wide_halves_give_the_same_principal_components(n_pictures, monkeypatch):
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 100)
    monkeypatch.setattr(moments, "BLOCK", 32)
    X = np.random.default_rng(0).standard_normal((n_pictures, 6)) @ np.random.default_rng(1).random((6, 300))
    halves = X.astype(np.float16)
    expected, found = PCA(3).fit(halves.astype(np.float32)), PCA(3).fit(halves)
    np.testing.assert_allclose(found.transform(halves), expected.transform(halves.astype(np.float32)), atol=1e-3)


@named([PCA(3), PLS(3), CCA(3), ContextualDistance(3, views=2), KernelMap(3, metric="euclidean", n_landmarks=8)])
def test_halves_are_widened_a_block_at_a_time(embedding, monkeypatch):
    monkeypatch.setattr(moments, "BLOCK", 64)
    monkeypatch.setattr(kernel_map, "_BLOCK", 64)
    monkeypatch.setattr(inputs, "_BLOCK", 2**14)
    rng = np.random.default_rng(0)
    X, tags = rng.standard_normal((20_000, 100)).astype(np.float16), (rng.random((20_000, 4)) < 0.5).astype(np.float32)
    tags[[7, 11]] = 0  # two pictures without tags copy no row, either
    clone(embedding).fit_transform(X[:50], tags[:50])  # imports take memory, too
    tracemalloc.start()
    clone(embedding).fit_transform(X, sparse.csr_array(tags))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * X.nbytes


def test_pls_satisfies_its_equation(pictures):
    X, tags = pictures
    model, C_xy = PLS(4).fit(X, tags), Moments().fit(X, tags).C_xy
    V = model.components_
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(C_xy @ C_xy.T @ V, V * model.covariances_**2, atol=1e-9)  # (1)
    wide = PLS(4).fit(np.hstack([X] * 30), tags)  # solved among the tags
    np.testing.assert_allclose(wide.covariances_, model.covariances_ * np.sqrt(30))


@pytest.mark.parametrize("n_tags", [3, 12, 20])
def test_pls_is_the_svd_of_the_cross_covariance(n_tags):
    """Solved among the tags, if these are fewer than the features, else among the features."""
    rng = np.random.default_rng(0)
    tags = (rng.random((90, n_tags)) < 0.4).astype(np.float32)
    tags[:, 0] = 1
    X = tags @ rng.standard_normal((n_tags, 12)) + rng.standard_normal((90, 12))
    left, covariances, _ = np.linalg.svd(np.cov(X.T, tags.T, bias=True)[:12, 12:])
    for n_dims in (1, 2):
        model = PLS(n_dims).fit(X, tags)
        np.testing.assert_allclose(model.covariances_, covariances[:n_dims])
        np.testing.assert_allclose(np.abs(model.components_), np.abs(left[:, :n_dims]), atol=1e-6)


def test_pls_has_no_direction_that_covaries_with_no_tag():
    tags = np.array([1, 0, 1, 1, 0, 0])[:, None] * [1, 1, 0] + [0, 0, 1]  # two say the same, one says nothing
    X = np.random.default_rng(0).random((6, 5)) + tags[:, :1]
    model = PLS(3).fit(X, tags)
    np.testing.assert_array_equal(model.components_[:, 1:], 0)
    np.testing.assert_allclose(np.linalg.norm(model.components_[:, 0]), 1)


def test_normalised_pls_does_not_see_units(pictures):
    X, tags = pictures
    scaled = X * np.geomspace(1e-3, 1e3, X.shape[1])
    np.testing.assert_allclose(
        PLS(3, normalize=True).fit_transform(scaled, tags), PLS(3, normalize=True).fit_transform(X, tags), rtol=1e-6
    )


def test_normalised_pls_is_pls_of_unit_variances(pictures):
    X, tags = pictures
    tags = np.column_stack([tags, np.arange(len(tags)) < 8])  # a rare tag counts as much as the others
    x_unit, y_unit = ((part - part.mean(axis=0)) / part.std(axis=0) for part in (X, tags))
    left, covariances, _ = np.linalg.svd(x_unit.T @ y_unit / len(X))
    model = PLS(3, normalize=True).fit(X, tags)
    np.testing.assert_allclose(model.covariances_, covariances[:3], rtol=1e-5)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(x_unit @ left[:, :3]), atol=1e-3)


def test_cca_is_the_svd_of_the_whitened_cross_covariance(pictures):
    X, tags = pictures
    model = CCA(4, ridge=0).fit(X, tags)
    # An oracle by QR: cosines between the column spaces.
    bases = [np.linalg.qr(part - part.mean(axis=0))[0] for part in (X, tags.astype(np.float64))]
    expected = np.linalg.svd(bases[0].T @ bases[1])[1]
    np.testing.assert_allclose(model.correlations_, expected[:4], rtol=1e-8)
    codes = model.transform(X)
    np.testing.assert_allclose(np.cov(codes.T, bias=True), np.eye(4), atol=1e-8)  # U_x^T C_xx U_x = I
    words = (tags - model.y_mean_) @ model.tag_components_  # U_y^T (y - y_mean)
    np.testing.assert_allclose(words.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(codes.T @ words / len(X), np.diag(expected[:4]), atol=1e-7)
    C = Moments().fit(X, tags)
    left = C.C_xy @ np.linalg.solve(C.C_yy, C.C_xy.T) @ model.x_components_
    np.testing.assert_allclose(left, C.C_xx @ model.x_components_ * model.correlations_**2, atol=1e-7)  # (3)


def test_no_correlation_is_larger_than_one():
    for seed in range(10):
        tags = np.vstack([np.eye(3), np.random.default_rng(seed).random((30, 3)) < 0.5])
        tags = tags[tags.any(axis=1)]
        found = CCA(3, ridge=0).fit(tags, tags).correlations_
        assert (found <= 1).all()
        np.testing.assert_allclose(found, 1)


def test_pictures_that_are_all_alike_have_one_code(pictures):
    _, tags = pictures
    for method in (CCA(3), ContextualDistance(3)):
        found = method.fit(np.full((400, 4), 7.0), tags)
        np.testing.assert_array_equal(found.transform(np.full((2, 4), 7.0)), [[0], [0]])


@pytest.mark.parametrize("model", [CCA(4, ridge=0.3), ContextualDistance(4, ridge=0.3)])
def test_the_ridge_is_added_to_both_covariances(model, pictures):
    X, tags = pictures
    C = Moments().fit(X, tags)
    A, B = (part + 0.3 * np.diag(part).mean() * np.eye(len(part)) for part in (C.C_xx, C.C_yy))
    squares = np.linalg.eigvals(np.linalg.solve(A, C.C_xy @ np.linalg.solve(B, C.C_xy.T))).real
    found = model.fit(X, tags)
    np.testing.assert_allclose(found.correlations_, np.sqrt(np.sort(squares)[::-1][:4]), rtol=1e-8)
    U_x, U_y = found.x_components_, found.tag_components_
    np.testing.assert_allclose(U_x.T @ A @ U_x, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(U_y.T @ B @ U_y, np.eye(4), atol=1e-8)


def test_cca_is_that_of_scikit_learn(pictures):
    X, tags = pictures
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cross_decomposition.CCA(3, max_iter=5000, tol=1e-12).fit(X, tags)
    ours = CCA(3, ridge=0).fit(X, tags)
    assert np.rad2deg(subspace_angles(ours.transform(X), theirs.transform(X))).max() < 0.5
    pairs = zip(theirs.transform(X).T, theirs.transform(X, tags)[1].T, strict=True)
    np.testing.assert_allclose(ours.correlations_, [np.corrcoef(a, b)[0, 1] for a, b in pairs], atol=1e-4)


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.9])
def test_contextual_codes_are_gaussian_posteriors(pictures, beta):
    """Equations (6) to (9) against conditioning of the joint Gaussian of z, x and y by brute force."""
    X, tags = pictures
    C = Moments().fit(X, tags)
    model = ContextualDistance(3, views=2, beta=beta, ridge=0).fit(X, tags)
    M_x, M_y = np.diag(model.correlations_**beta), np.diag(model.correlations_ ** (1 - beta))
    W_x, W_y = C.C_xx @ model.x_components_ @ M_x, C.C_yy @ model.tag_components_ @ M_y
    # x = W_x z + noise with covariance C_xx, likewise y; x and y are independent given z.
    joint = np.block([[C.C_xx, W_x @ W_y.T], [W_y @ W_x.T, C.C_yy]])
    W = np.vstack([W_x, W_y])
    seen = np.hstack([X - C.x_mean_, tags - C.y_mean_])[:20]
    mean_x = seen[:, :12] @ np.linalg.solve(C.C_xx, W_x)
    spread_x = np.eye(3) - W_x.T @ np.linalg.solve(C.C_xx, W_x)
    mean_xy = seen @ np.linalg.solve(joint, W)
    spread_xy = np.eye(3) - W.T @ np.linalg.solve(joint, W)
    np.testing.assert_allclose(np.diag(model.uncertainty_x_), spread_x, atol=1e-8)
    np.testing.assert_allclose(np.diag(model.uncertainty_xy_), spread_xy, atol=1e-6)
    queries, trained = model.transform(X[:20]), model.transform_training(X[:20], tags[:20])
    root = np.sqrt(np.diag(spread_xy))
    np.testing.assert_allclose(queries * root, mean_x, atol=1e-7)
    np.testing.assert_allclose(trained * root, mean_xy, atol=1e-6)
    one = ContextualDistance(3, views=1, beta=beta, ridge=0).fit(X, tags)
    np.testing.assert_allclose(one.transform(X[:20]) * np.sqrt(np.diag(spread_x)), mean_x, atol=1e-7)


def divergence(mean_a, spread_a, mean_b, spread_b):
    """KL(a || b) of Gaussians."""
    inverse, apart = np.linalg.inv(spread_b), mean_b - mean_a
    trace, logs = np.trace(inverse @ spread_a), np.log(np.linalg.det(spread_b) / np.linalg.det(spread_a))
    return 0.5 * (trace - len(mean_a) + apart @ inverse @ apart + logs)


def test_distances_of_codes_are_divergences_up_to_a_constant(pictures):
    X, tags = pictures
    model = ContextualDistance(3, views=2).fit(X, tags)
    spread_x, spread_xy = np.diag(model.uncertainty_x_), np.diag(model.uncertainty_xy_)
    root = np.sqrt(model.uncertainty_xy_)
    queries, trained = model.transform(X[:6]), model.transform_training(X[6:12], tags[6:12])
    constant = divergence(np.zeros(3), spread_x, np.zeros(3), spread_xy)
    for q in queries:
        for t in trained:
            found = divergence(q * root, spread_x, t * root, spread_xy)  # (11)
            np.testing.assert_allclose(found, constant + 0.5 * np.sum((q - t) ** 2), rtol=1e-9)
    one = ContextualDistance(3, views=1).fit(X, tags)
    root, codes = np.sqrt(one.uncertainty_x_), one.transform(X[:2])
    spread = np.diag(one.uncertainty_x_)
    found = divergence(codes[0] * root, spread, codes[1] * root, spread)  # (10)
    np.testing.assert_allclose(found, 0.5 * np.sum((codes[0] - codes[1]) ** 2))


def test_rows_without_tags_are_coded_as_queries(pictures):
    X, tags = pictures
    model = ContextualDistance(3).fit(X, tags)
    some = tags[:10].copy()
    some[::2] = 0
    codes = model.transform_training(X[:10], some)
    np.testing.assert_allclose(codes[::2], model.transform(X[:10:2]))
    assert np.abs(codes[1::2] - model.transform(X[1:10:2])).max() > 0.1


@named()
def test_updating_is_refitting(embedding, pictures):
    from sklearn.base import clone

    X, tags = pictures
    early = tags.copy()
    early[:250, 4] = 0  # the fifth tag is new to the late pictures
    early[:250, 0] = 1
    whole = clone(embedding).fit(X, early)
    grown = clone(embedding).fit(X[:250], early[:250, :4]).partial_fit(X[250:], early[250:])
    np.testing.assert_allclose(grown.transform(X), whole.transform(X), rtol=1e-5, atol=1e-7)
    parts = Moments().fit(X[:99], early[:99]) + Moments().fit(X[99:], early[99:])
    np.testing.assert_allclose(
        clone(embedding).fit_moments(parts).transform(X), whole.transform(X), rtol=1e-5, atol=1e-7
    )


@named()
def test_kinds_of_arrays_do_not_matter(embedding, pictures):
    from sklearn.base import clone

    X, tags = pictures
    expected = clone(embedding).fit(X, tags).transform(X[:9])
    bags = clone(embedding).fit(sparse.csr_array(X), sparse.csr_array(tags))
    np.testing.assert_allclose(bags.transform(sparse.csr_array(X[:9])), expected, rtol=1e-6, atol=1e-8)
    single = clone(embedding).fit(X.astype(np.float32), tags)
    np.testing.assert_allclose(single.transform(X[:9].astype(np.float32)), expected, rtol=1e-2, atol=1e-3)
    assert single.transform(X[:9].astype(np.float32)).dtype == np.float32
    assert bags.transform(sparse.csr_array(X[:0])).shape == (0, 3)


@named()
@pytest.mark.parametrize(
    "case", ["constant features", "duplicated tags", "a tag on every picture", "p > n", "one picture"]
)
def test_singular_covariances(embedding, case, pictures):
    from sklearn.base import clone

    X, tags = (part.copy() for part in pictures)
    match case:
        case "constant features":
            X[:, 2:] = 7
        case "duplicated tags":
            tags = np.hstack([tags, tags])
        case "a tag on every picture":
            tags[:, 2] = 1
        case "p > n":
            X, tags = X[:8], tags[:8]
        case "one picture":
            X, tags = X[:1], tags[:1]
    for ridge in ({"ridge": 0.0}, {"ridge": 1e-2}) if hasattr(embedding, "ridge") else ({},):
        model = clone(embedding).set_params(**ridge).fit(X, tags)
        assert np.isfinite(model.transform(X)).all()
        if hasattr(model, "transform_training"):
            assert np.isfinite(model.transform_training(X, tags)).all()


@named()
def test_impossible_parameters_and_missing_tags(embedding, pictures):
    from sklearn.base import clone

    X, tags = pictures
    with pytest.raises(InputError, match="n_dims"):
        clone(embedding).set_params(n_dims=0).fit(X, tags)
    if embedding.learns_from_tags:
        with pytest.raises(InputError, match="learns from tags"):
            clone(embedding).fit(X)
        with pytest.raises(InputError, match="no picture has a tag"):
            clone(embedding).fit(X, tags * 0)
    for name, value in (("views", 3), ("beta", 1.0), ("ridge", -1.0), ("reduce_to", 0)):
        if name in embedding.get_params():
            with pytest.raises(InputError, match=name):
                clone(embedding).set_params(**{name: value}).fit(X, tags)


def test_wide_features_have_principal_components_by_possible_parameters_only():
    with pytest.raises(InputError, match="n_dims"):
        PCA(0).fit(np.ones((3, 100)))


def test_reducing_first_is_pca_then_cca():
    rng = np.random.default_rng(0)
    tags = (rng.random((200, 4)) < 0.5).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = tags @ rng.standard_normal((4, 40)) + rng.standard_normal((200, 40))
    # A ridge is relative to the variance of all features: none here, so that both are the same problem.
    first = PCA(10).fit(X)
    expected = CCA(3, ridge=0, reduce_to=None).fit(first.transform(X), tags)
    found = CCA(3, ridge=0, reduce_to=10).fit(X, tags)
    np.testing.assert_allclose(found.correlations_, expected.correlations_)
    np.testing.assert_allclose(np.abs(found.transform(X)), np.abs(expected.transform(first.transform(X))), atol=1e-7)


@named([*ALL, KernelMap(3, metric="euclidean")])
def test_features_of_another_width_are_refused(embedding, pictures):
    X, tags = pictures
    model = clone(embedding).fit(X, tags)
    expected = model.transform(X[:3])
    for name in ("transform", "transform_training", "partial_fit"):
        if hasattr(model, name):
            given = (X[:, :7],) if name == "transform" else (X[:, :7], tags)
            with pytest.raises(InputError, match=f"{type(model).__name__} is expecting 12 features"):
                getattr(model, name)(*given)
            np.testing.assert_array_equal(model.transform(X[:3]), expected)


@named([PLS(2), CCA(2), ContextualDistance(2)])
def test_only_pictures_with_tags_count(embedding):
    X = np.random.default_rng(0).random((6, 4))
    tags = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 0]])
    found, expected = clone(embedding).fit(X, tags), clone(embedding).fit(X[::2], tags[::2])
    assert found.moments_.n_pictures_ == 3  # as many as tags
    np.testing.assert_allclose(found.transform(X), expected.transform(X))


@named()
def test_moments_from_elsewhere_are_checked(embedding, pictures):
    X, tags = pictures
    with pytest.raises(InputError, match="n_dims"):
        clone(embedding).set_params(n_dims=0).fit_moments(Moments().fit(X, tags))
    if embedding.learns_from_tags:
        with pytest.raises(InputError, match="learns from tags"):
            clone(embedding).fit_moments(Moments().fit(X))


def test_wide_features_forget_the_moments_of_an_earlier_fit(pictures):
    X, _ = pictures
    model = PCA(2).fit(X)
    wide = np.random.default_rng(0).random((20, 100))
    np.testing.assert_array_equal(model.fit(wide).components_, PCA(2).fit(wide).components_)
    with pytest.raises(InputError, match="fit it again"):
        model.partial_fit(X)


def test_lanczos_steps_find_all_but_one_direction(monkeypatch):
    X = np.random.default_rng(0).random((30, 6)) * 0.1
    expected = PCA(9).fit(X)
    assert expected.components_.shape == (6, 6)
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 5)
    found = PCA(9).fit(X)
    np.testing.assert_allclose(found.variance_, expected.variance_[:5], rtol=1e-6)
    np.testing.assert_allclose(found.components_, expected.components_[:, :5], atol=1e-5)


def test_lanczos_steps_do_not_lose_variance_beside_a_large_mean(monkeypatch):
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 5)
    rng = np.random.default_rng(0)
    X = 300 + rng.standard_normal((60, 4)) @ rng.standard_normal((4, 12)) + 0.1 * rng.standard_normal((60, 12))
    X = X.astype(np.float32)
    expected = np.linalg.eigvalsh(np.cov(X.astype(np.float64).T, bias=True))[::-1][:3]
    np.testing.assert_allclose(PCA(3).fit(X).variance_, expected, rtol=2e-5)


def test_lanczos_steps_take_halves_in_blocks(monkeypatch):
    monkeypatch.setattr(pca, "MAX_COVARIANCE_DIMS", 5)
    X = np.random.default_rng(0).random((30, 6)).astype(np.float16)
    expected = PCA(2).fit(X.astype(np.float32))
    monkeypatch.setattr(pca, "_WIDENED", 24)
    np.testing.assert_allclose(PCA(2).fit(X).components_, expected.components_, atol=1e-4)


def test_whitened_codes_have_no_direction_without_variance():
    X = np.arange(5.0)[:, None] * [3.0, 4.0, 0.0, 0.0]
    model = PCA(3, whiten=True).fit(X)
    np.testing.assert_array_equal(model.components_[:, 1:], 0)
    np.testing.assert_allclose(model.components_[:, 0], np.array([0.6, 0.8, 0, 0]) / np.sqrt(50))


@pytest.mark.parametrize("n_dims", [1, 5])
def test_copies_of_wide_pictures_add_no_direction(n_dims):
    two = np.random.default_rng(0).random((2, 100)) * 1e-3
    model = PCA(n_dims, whiten=True).fit(two[[0, 0, 1, 1, 1]])
    codes = model.transform(two)
    deviation = np.sqrt(0.4 * 0.6)
    np.testing.assert_allclose(np.abs(codes[:, 0]), [0.6 / deviation, 0.4 / deviation])
    np.testing.assert_array_equal(codes[:, 1:], 0)


def test_too_many_features_for_a_covariance(pictures):
    with pytest.raises(InputError, match="KernelMap or PCA"):
        CCA().fit(np.ones((3, 5000), np.float32), np.ones((3, 1)))
    wide = np.random.default_rng(0).random((20, 5000)).astype(np.float32)
    tags = (np.random.default_rng(1).random((20, 3)) < 0.5).astype(int)
    assert PLS(2).fit(wide, tags).transform(wide).shape == (20, 2)
    assert PCA(2).fit(wide).transform(wide).shape == (20, 2)


def test_codes_in_a_pipeline_use_the_training_tags(pictures):
    X, tags = pictures
    pipeline = make_pipeline(ContextualDistance(3), KnnAnnotator(5)).fit(X, tags)
    np.testing.assert_allclose(
        pipeline[-1].train_features_, ContextualDistance(3).fit(X, tags).transform_training(X, tags)
    )


@pytest.mark.parametrize(("size", "n"), [(6, 6), (40, 5), (1600, 4)])
def test_leading_eigenvectors(size, n):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((size, 20))
    matrix = A @ A.T
    values, vectors = leading(matrix, n)
    expected = np.linalg.eigvalsh(matrix)[::-1][:n]
    np.testing.assert_allclose(values, np.maximum(expected, 0), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-5)
    assert (vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n)] > 0).all()


def test_eigenvectors_are_the_same_in_every_way(monkeypatch):
    A = np.random.default_rng(0).standard_normal((40, 60))
    matrix = A @ A.T
    small = leading(matrix, 2)
    monkeypatch.setattr(eigenvectors, "_SMALL", 0)
    few = leading(matrix, 2)
    monkeypatch.setattr(eigenvectors, "_MANY", 40)
    of_all = leading(matrix, 2)
    monkeypatch.setattr(eigenvectors, "_LARGE", 39)
    by_lanczos = leading(matrix, 2)
    for values, vectors in (few, of_all, by_lanczos):
        np.testing.assert_allclose(values, small[0])
        np.testing.assert_allclose(vectors, small[1], atol=1e-8)


@pytest.mark.parametrize("shape", [(9, 30), (30, 9), (12, 12)])
def test_principal_axes_are_those_of_scikit_learn(shape):
    rows = np.random.default_rng(3).standard_normal(shape)
    mean, axes = eigenvectors.principal_axes(rows, 5)
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    expected = decomposition.PCA(5).fit(rows).components_
    np.testing.assert_allclose(np.abs(np.sum(axes.T * expected, axis=1)), 1, rtol=1e-8)
    assert (axes[np.abs(axes).argmax(axis=0), np.arange(5)] > 0).all()
    _, none = eigenvectors.principal_axes(rows[[0, 0, 1]], 2)
    np.testing.assert_allclose(np.linalg.norm(none, axis=0)[0], 1)


def test_what_does_not_vary_has_no_inverse():
    np.testing.assert_array_equal(eigenvectors.inverse_roots(np.array([4.0, 0.0, 0.25])), [0.5, 0, 2])


def test_whitening_of_tags_is_the_same_by_cholesky_and_by_eigenvectors(monkeypatch):
    rng = np.random.default_rng(0)
    tags = (rng.random((80, 12)) < 0.3).astype(int)
    X = tags @ rng.standard_normal((12, 7)) + rng.standard_normal((80, 7))
    quick = CCA(4).fit(X, tags)

    def by_eigenvectors(model, covariance):
        P = model._whitening(covariance, len(covariance))
        return lambda A: P.T @ A, lambda A: P @ A

    monkeypatch.setattr(CCA, "_tag_whitening", by_eigenvectors)
    slow = CCA(4).fit(X, tags)
    np.testing.assert_allclose(quick.correlations_, slow.correlations_)
    np.testing.assert_allclose(quick.components_, slow.components_, atol=1e-8)
    np.testing.assert_allclose(quick.tag_components_, slow.tag_components_, atol=1e-8)


def test_a_small_subspace_codes_the_same_but_learns_no_more(pictures):
    X, tags = pictures[:2]
    whole = CCA(2).fit(X, tags)
    small = CCA(2).fit(X, tags).made_small()
    np.testing.assert_array_equal(small.transform(X), whole.transform(X))
    assert not hasattr(small, "moments_")
    with pytest.raises(InputError, match="fit it again"):
        small.partial_fit(X, tags)
    small.fit(X, tags).partial_fit(X, tags)


@pytest.mark.parametrize("ridge", [0.0, 1e-10])
def test_copies_of_tags_add_no_direction_if_the_ridge_is_tiny(pictures, ridge):
    X, tags = pictures
    once = CCA(3, ridge=ridge).fit(X, tags[:, [0, 1]])
    copied = CCA(3, ridge=ridge).fit(X, tags[:, [0, 0, 0, 1, 1]])
    assert len(copied.correlations_) == 2
    np.testing.assert_allclose(copied.correlations_, once.correlations_, rtol=1e-6)
    np.testing.assert_allclose(copied.x_components_, once.x_components_, rtol=1e-6)
