"""The product kernel: its definition, its weights, and the methods that use it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from visterm.distances import base_distances, metric_named
from visterm.errors import InputError
from visterm.margin.functions import product_kernel
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.margin.functions.selection import choose_parameters
from visterm.margin.mtl_sdca import MultitaskSDCA
from visterm.margin.ridge_tags import KernelRidgeAnnotator
from visterm.margin.sdca import SDCAClassifier
from visterm.margin.sdca_stacked import StackedSDCA
from visterm.models.state import pack, unpack


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return {"counts": rng.integers(0, 5, (12, 6)).astype(float), "signed": rng.normal(size=(12, 4))}


def labelled(n=60, seed=0):
    """One telling feature, one of noise; three tags, one of them of the picture's class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = {"telling": rng.random((n, 6)) + 2 * np.eye(6)[y], "noise": rng.random((n, 5))}
    return X, y, np.eye(3)[y]


@pytest.mark.parametrize("counts", ["chi2", "hellinger", "l1"])
def test_is_its_definition(features, counts):
    metrics = {"counts": counts, "signed": "euclidean"}
    kernel = ProductKernel(1.5, metric=metrics, weights={"counts": 3.0, "signed": 1.0}).fit(features)
    assert kernel.distances_.metrics_ == metrics
    assert kernel.feature_weights_ == {"counts": 0.75, "signed": 0.25}
    total = 0.0
    for name, metric in kernel.distances_.metrics_.items():
        D = metric_named(metric)(features[name], features[name])
        mean = D[~np.eye(len(D), dtype=bool)].mean()
        assert kernel.distances_.scales_[name] == pytest.approx(mean)
        total = total + kernel.feature_weights_[name] * D / mean
    np.testing.assert_allclose(kernel.gram(), np.exp(-1.5 * total), rtol=1e-5)
    assert kernel.gram().dtype == np.float32


def test_training_pictures_and_new_ones_are_compared_alike(features, monkeypatch):
    kernel = ProductKernel().fit(features)
    whole = kernel.gram()
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(np.diag(whole), 1.0)
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 2 * 8 * 12 * 5)  # five pictures at a time
    np.testing.assert_allclose(kernel.transform(features), whole, rtol=1e-5)
    np.testing.assert_allclose(kernel.fit_transform(features), whole, rtol=1e-5)
    some = {name: matrix[[3, 7]] for name, matrix in features.items()}
    np.testing.assert_allclose(kernel.transform(some), whole[[3, 7]], rtol=1e-5)
    np.testing.assert_allclose(
        kernel.select(np.array([1, 5])).transform(some), whole[np.ix_([3, 7], [1, 5])], rtol=1e-5
    )


def test_distances_may_be_given_and_need_not_be_kept(monkeypatch):
    X, _, tags = labelled()
    new, _, _ = labelled(seed=1)
    kernel = ProductKernel(weights="likelihood")
    K = kernel.fit_transform(X, tags)
    tables, of_new = kernel.distances_.transform_training(), kernel.distances_.transform(new)
    given_tables = ProductKernel(metric="precomputed", weights="likelihood")
    np.testing.assert_allclose(given_tables.fit_transform(tables, tags), K, rtol=1e-4)
    np.testing.assert_allclose(given_tables.transform(of_new), kernel.transform(new), rtol=1e-4)
    some = np.array([4, 9, 11])
    np.testing.assert_allclose(given_tables.select(some).transform(of_new), kernel.transform(new)[:, some], rtol=1e-4)
    twice = given_tables.select(np.array([4, 7, 9, 11])).select(np.array([0, 2, 3]))
    np.testing.assert_array_equal(twice.transform(of_new), given_tables.select(some).transform(of_new))
    with pytest.raises(InputError, match="fit_transform"):
        given_tables.gram()
    monkeypatch.setattr(product_kernel, "TABLE_BYTES", 0)
    np.testing.assert_allclose(ProductKernel(weights="likelihood").fit_transform(X, tags), K, rtol=1e-3)


def test_bags_may_be_sparse(features):
    rng = np.random.default_rng(1)
    bags = rng.poisson(0.05, (12, 80)).astype(np.float32)
    dense = ProductKernel().fit(features | {"bags": bags})
    csr = ProductKernel().fit(features | {"bags": sparse.csr_array(bags)})
    np.testing.assert_allclose(dense.gram(), csr.gram(), rtol=1e-5)
    np.testing.assert_allclose(csr.transform(features | {"bags": bags}), dense.gram(), rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    X=hnp.arrays(np.float64, (9, 4), elements=st.floats(0, 5)),
    metric=st.sampled_from(["chi2", "l1", "euclidean", "cosine", "hellinger"]),
    scale=st.floats(0.1, 5.0),
)
def test_is_a_kernel(X, metric, scale):
    """Symmetric, within (0, 1], positive semi-definite, whatever the features."""
    X = np.hstack([X, np.ones((9, 1))])
    K = ProductKernel(scale, metric=metric).fit({"a": X, "b": np.arange(9.0)[:, None] + 1}).gram().astype(float)
    assert K.min() >= 0
    assert K.max() <= 1 + 1e-6
    assert np.linalg.eigvalsh(K).min() > -1e-5


def test_learned_weights_find_the_telling_feature():
    X, _, tags = labelled()
    weights = ProductKernel(weights="likelihood").fit(X, tags).feature_weights_
    assert weights["telling"] > 0.8
    assert sum(weights.values()) == pytest.approx(1.0)


def test_likelihood_of_features_that_predict_little_or_nothing():
    rng = np.random.default_rng(3)
    X = {"a": rng.random((12, 3)), "b": rng.random((12, 3))}
    tags = np.eye(2)[rng.integers(0, 2, 12)]
    assert ProductKernel(weights="likelihood").fit(X, tags).feature_weights_ == {"a": 1.0, "b": 0.0}
    nothing = np.eye(12)  # no two pictures share a tag
    assert ProductKernel(weights="likelihood").fit(X, nothing).feature_weights_ == {"a": 0.5, "b": 0.5}


def test_one_feature_needs_no_weights(features):
    kernel = ProductKernel(weights="likelihood").fit(features["signed"])
    assert kernel.feature_weights_ == {"x": 1.0}
    np.testing.assert_array_equal(kernel.gram(), ProductKernel().fit({"a": features["signed"]}).gram())


def test_weights_are_relative_and_metrics_are_found(features):
    kernel = ProductKernel(weights={"counts": 0.2, "signed": 0.3}, metric={"counts": "l1"}).fit(features)
    assert kernel.feature_weights_ == pytest.approx({"counts": 0.4, "signed": 0.6})
    assert kernel.distances_.metrics_ == {"counts": "l1", "signed": "cosine"}
    assert features["counts"].min() == 0
    assert ProductKernel().fit(features).distances_.metrics_ == {"counts": "chi2", "signed": "cosine"}
    with pytest.raises(InputError, match="weights must be finite"):
        ProductKernel(weights={"counts": np.inf}).fit(features)


def test_training_distances_are_computed_for_one_feature_at_a_time(features):
    distances = ProductKernel().fit(features).distances_
    whole = distances.transform_training()
    for name in features:
        alone = distances.of_feature(name).transform_training()
        assert list(alone) == [name]
        np.testing.assert_array_equal(alone[name], whole[name])


def test_features_without_weight_are_not_kept(features):
    kernel = ProductKernel(weights={"signed": 1.0}).fit(features)
    assert list(kernel.distances_.train_features_) == ["signed"]
    alone = ProductKernel().fit({"signed": features["signed"]})
    np.testing.assert_allclose(kernel.gram(), alone.gram(), rtol=1e-6)
    np.testing.assert_allclose(kernel.transform(features), alone.transform({"signed": features["signed"]}), rtol=1e-6)


def test_wide_features_are_converted_one_at_a_time():
    """Fitting takes less than all features as float32 beside the distances; it took seven times what was given."""
    rng = np.random.default_rng(0)
    X = {name: rng.normal(size=(800, 4000)).astype(np.float16) for name in "abcd"}
    tags = np.eye(4)[np.arange(800) % 4]
    given = sum(matrix.nbytes for matrix in X.values())
    KernelRidgeAnnotator(kernel="product").fit({name: matrix[:20] for name, matrix in X.items()}, tags[:20])  # compile
    tracemalloc.start()
    try:
        ProductKernel(weights={"a": 1.0}).fit_transform(X)
        assert tracemalloc.get_traced_memory()[1] < 4 * given
        tracemalloc.reset_peak()
        model = KernelRidgeAnnotator(kernel="product").fit(X, tags)
        assert tracemalloc.get_traced_memory()[1] < 5 * given
    finally:
        tracemalloc.stop()
    assert all(matrix.dtype == np.float16 for matrix in X.values())
    some = {name: matrix[:5].astype(np.float32) for name, matrix in X.items()}
    np.testing.assert_array_equal(
        model.score_tags({name: matrix[:5] for name, matrix in X.items()}), model.score_tags(some)
    )


def test_halves_of_new_pictures_are_widened_a_block_at_a_time(monkeypatch):
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 2**16)
    rng = np.random.default_rng(0)
    X = {name: rng.normal(size=(400, 1000)).astype(np.float16) for name in "ab"}
    some = {name: matrix[:20] for name, matrix in X.items()}
    kernel = ProductKernel().fit(some)
    kernel.transform(some)  # compile
    tracemalloc.start()
    try:
        kernel.transform(X)
        assert tracemalloc.get_traced_memory()[1] < 1.6 * sum(matrix.nbytes for matrix in X.values())
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("table_bytes", [0, 2**31])
def test_some_of_the_pictures_are_learned_from(features, table_bytes, monkeypatch):
    monkeypatch.setattr(product_kernel, "TABLE_BYTES", table_bytes)
    rows, tags = np.array([0, 2, 3, 7, 11]), np.eye(5)[:, :2]
    some, alone = ProductKernel(weights="likelihood"), ProductKernel(weights="likelihood")
    K = some.fit_transform(features, tags, rows=rows)
    np.testing.assert_array_equal(
        K, alone.fit_transform({name: matrix[rows] for name, matrix in features.items()}, tags)
    )
    np.testing.assert_array_equal(some.transform(features), alone.transform(features))


def test_tags_of_some_rows_as_tags_of_all():
    given = np.array([[1, 0, 1], [0, 1, 0]])
    expected = np.zeros((6, 3))
    expected[[2, 5]] = given
    np.testing.assert_array_equal(product_kernel._of_all(given, np.array([2, 5]), 6).toarray(), expected)
    assert product_kernel._of_all(given, None, 2) is given
    assert product_kernel._of_all(None, np.array([2, 5]), 6) is None


def test_tables_are_kept_if_they_just_fit(features, monkeypatch):
    size = 4 * len(features) * 12**2
    for table_bytes, fits in [(size, True), (size - 1, False)]:
        monkeypatch.setattr(product_kernel, "TABLE_BYTES", table_bytes)
        _, tables = ProductKernel()._weigh(features, np.eye(12)[:, :2], None)
        assert (tables is not None) == fits


def test_all_training_pictures_are_not_copied(features):
    kernel = ProductKernel().fit(features)
    assert kernel.select(np.arange(12)) is kernel
    np.testing.assert_allclose(
        kernel.select(np.arange(11)).transform(features), kernel.transform(features)[:, :11], rtol=1e-6
    )


def test_wrong_use_is_explained(features):
    for parameters, message in (
        ({"scale": 0.0}, "scale"),
        ({"metric": "warp"}, "unknown metric"),
        ({"metric": "chi2"}, "negative"),
        ({"weights": "best"}, "'weights' parameter"),
        ({"weights": "likelihood"}, "needs tags"),
        ({"weights": {"no": 1.0}}, "does not have"),
        ({"weights": {"counts": 0.0}}, "at least one must be positive"),
        ({"weights": {"counts": -1.0, "signed": 2.0}}, "and not negative"),
    ):
        with pytest.raises(InputError, match=message):
            ProductKernel(**parameters).fit(features)
    with pytest.raises(InputError, match="widths"):
        ProductKernel().fit(features).transform({"counts": features["counts"]})


@pytest.mark.parametrize("kernel", ["auto", "product", "weighted-product:1.5"])
@pytest.mark.parametrize("method", [SDCAClassifier, StackedSDCA, MultitaskSDCA])
def test_classifiers_take_several_features(method, kernel):
    X, y, _ = labelled()
    new, truth, _ = labelled(seed=1)
    model = method(C=10.0, kernel=kernel, random_state=0).fit(X, y)
    assert model.score(new, truth) > 0.9
    expected = "weighted-product" if kernel == "auto" else kernel
    assert model.kernel_ == expected
    G = ProductKernel(1.5 if ":" in kernel else 1.0, weights="equal" if kernel == "product" else "likelihood").fit(
        X, np.eye(3)[y]
    )
    given_kernel = method(C=10.0, kernel="precomputed", random_state=0).fit(G.gram(), y)
    np.testing.assert_allclose(
        model.decision_function(new), given_kernel.decision_function(G.transform(new)), atol=1e-2
    )


def test_annotators_take_several_features_and_are_stored():
    X, _, tags = labelled()
    new, truth, _ = labelled(seed=1)
    for method in (KernelRidgeAnnotator(), MultitaskSDCA(kernel="auto", random_state=0)):
        scores = method.fit(X, tags=tags).score_tags(new)
        assert (scores.argmax(axis=1) == truth).mean() > 0.9
        tensors = {}
        restored = unpack(pack(method, "model", tensors), tensors)
        np.testing.assert_allclose(restored.score_tags(new), scores)


def test_only_support_pictures_are_kept():
    X, y, _ = labelled(120)
    model = SDCAClassifier(C=1.0, kernel="product", random_state=0, calibration_folds=0).fit(X, y)
    assert len(model.support_) < 120
    assert model.product_kernel_.distances_.train_features_["noise"].shape[0] == len(model.support_)


def test_kernels_of_one_feature_refuse_several_and_refitting_forgets():
    X, y, _ = labelled()
    with pytest.raises(InputError, match="product"):
        SDCAClassifier(kernel="hellinger").fit(X, y)
    model = SDCAClassifier(kernel="auto", random_state=0).fit(X, y).fit(X["telling"], y)
    assert model.kernel_ == "hellinger"
    assert not hasattr(model, "product_kernel_")
    assert model.predict(X["telling"]).shape == y.shape


def test_cross_validation_shares_one_product_kernel():
    X, y, _ = labelled()
    choice = choose_parameters(
        SDCAClassifier(kernel="auto", calibration_folds=0, random_state=0), X, y, {"C": [0.1, 10.0]}
    )
    assert choice.accuracy > 0.9
