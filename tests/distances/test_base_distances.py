"""Base distances of several features: plain definitions, one scale, tables that methods share."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from visterm.contracts import inputs
from visterm.distances import METRICS, BaseDistances, base_distances, metric_named, metrics, select
from visterm.errors import InputError
from visterm.neighbours import JEC, LikelihoodTwoPassKnn, TagProp


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return {
        "bag": sparse.csr_array(rng.poisson(0.3, (50, 40)).astype(np.float32)),
        "histogram": rng.random((50, 8)).astype(np.float32),
        "signed": rng.standard_normal((50, 5)),
    }


def some(X, rows):
    return {name: matrix[rows] for name, matrix in X.items()}


def test_distances_have_a_mean_of_one(X):
    tables = BaseDistances().fit(X).transform_training()
    for table in tables.values():
        assert table.dtype == np.float32
        np.testing.assert_allclose(table[~np.eye(50, dtype=bool)].mean(), 1, rtol=1e-5)


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_tables_are_those_of_the_metric(X, metric):
    features = {name: matrix for name, matrix in X.items() if name != "signed" or metric in {"l1", "euclidean"}}
    model = BaseDistances(metric).fit(some(features, slice(30)))
    for name, table in model.transform(some(features, slice(30, 50))).items():
        dense = features[name].toarray() if sparse.issparse(features[name]) else features[name]
        plain = metric_named(metric)(dense[30:].astype(float), dense[:30].astype(float))
        np.testing.assert_allclose(table * model.scales_[name], plain, rtol=1e-4, atol=1e-6)
    for name, table in model.transform_training().items():
        np.testing.assert_array_equal(table, table.T)
        np.testing.assert_array_equal(np.diag(table), 0)
        off = ~np.eye(30, dtype=bool)
        np.testing.assert_allclose(table[off], model.transform(some(features, slice(30)))[name][off], rtol=1e-5)


def test_blocks_do_not_matter(X, monkeypatch):
    model = BaseDistances().fit(X)
    whole, training = model.transform(X), model.transform_training()
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 1)
    for name in X:
        np.testing.assert_array_equal(model.transform(X)[name], whole[name])
        np.testing.assert_array_equal(model.transform_training()[name], training[name])
    rows = list(model.map_blocks(X, lambda rows, block: (rows.start, block.shape)))
    assert rows == [(row, (3, 1, 50)) for row in range(50)]
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 8 * 3 * 50 * 30)
    rows = list(model.map_blocks(X, lambda rows, block: (rows.start, block.shape)))
    assert rows == [(0, (3, 30, 50)), (30, (3, 20, 50))]


@pytest.mark.parametrize("size", [1, 2, 30])
def test_blocks_of_training_pictures_do_not_matter(X, size, monkeypatch):
    model = BaseDistances().fit(X)
    whole = model.transform_training()
    monkeypatch.setattr(base_distances, "_TRAINING_BLOCK", size)
    for name, table in model.transform_training().items():
        np.testing.assert_array_equal(table, whole[name])


def test_large_features_are_compared_in_float32(X, monkeypatch):
    exact = BaseDistances().fit(X).transform(X)
    monkeypatch.setattr(base_distances, "_DOUBLE_UP_TO", 0)
    for name, table in BaseDistances().fit(X).transform(X).items():
        np.testing.assert_allclose(table, exact[name], rtol=1e-4, atol=1e-5)


def test_only_small_features_are_compared_in_float64(monkeypatch):
    monkeypatch.setattr(base_distances, "_DOUBLE_UP_TO", 60)
    X = np.random.default_rng(0).random((13, 5))
    for given in (X, X.astype(np.float32)):
        assert BaseDistances("l1").fit(given[:12]).dtype == np.float64
        assert BaseDistances("l1").fit(given).dtype == np.float32
        model = BaseDistances("l1").fit({"all": given, "few": given[:, :2]}, rows=np.arange(8))
        assert model.dtype == model.train_features_["few"].dtype == np.float64


def test_mostly_empty_histograms_are_kept_sparse():
    X = np.zeros((10, 8))
    X[:, :3] = 1
    assert sparse.issparse(BaseDistances("chi2").fit(X).train_features_["x"])
    assert not sparse.issparse(BaseDistances("euclidean").fit(X).train_features_["x"])
    X[:, 3:5] = 1
    assert not sparse.issparse(BaseDistances("chi2").fit(X).train_features_["x"])


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_dense_pictures_are_compared_with_sparse_ones_exactly(metric, monkeypatch):
    monkeypatch.setattr(base_distances, "_DOUBLE_UP_TO", 0)
    X = np.random.default_rng(0).poisson(1.0, (20, 30)).astype(np.float32)
    given = {"dense": X, "sparse": sparse.csr_array(X)}
    model = BaseDistances(metric).fit(given)
    found = model.transform({"dense": X, "sparse": X})
    np.testing.assert_array_equal(found["sparse"], model.transform(given)["sparse"])


def test_halves_are_not_copied(monkeypatch):
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 2**16)
    monkeypatch.setattr(inputs, "_BLOCK", 2**15)
    X = np.random.default_rng(0).random((256, 1024), dtype=np.float32).astype(np.float16)
    BaseDistances("euclidean").fit(X[:20], rows=np.arange(2)).transform(X[:20])  # imports take memory, too
    tracemalloc.start()
    model = BaseDistances("euclidean").fit(X, rows=np.arange(2))
    fitting = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    model.transform(X)
    transforming = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(fitting, transforming) < 1.2 * X.nbytes  # a copy in float32 is 2


def test_float32_collections_are_not_copied_to_float64():
    train = np.random.default_rng(0).standard_normal((20_000, 128)).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        ready = metric_named(metric).prepare(train)
        assert ready.dtype == np.float32
        tracemalloc.start()
        found = metric_named(metric).between(ready[:3], ready)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < train.nbytes * 2
        scipy_name = {"euclidean": "euclidean", "cosine": "cosine"}[metric]
        np.testing.assert_allclose(found, cdist(train[:3], train, scipy_name), atol=1e-6)


@pytest.mark.parametrize("method", [JEC, TagProp, LikelihoodTwoPassKnn])
def test_methods_share_tables(X, method):
    rng = np.random.default_rng(1)
    tags = (rng.random((50, 4)) < 0.4).astype(int)
    tags[[3, 17]] = 0  # not tagged: no neighbours, whatever the table says
    train, test = np.arange(40), np.arange(40, 50)
    expected = method().fit(some(X, train), tags[train]).score_tags(some(X, test))
    everything = BaseDistances().fit(X).transform_training()
    model = method(metric="precomputed").fit(select(everything, train, train), tags[train])
    found = model.score_tags(select(everything, test, train))
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.01)
    assert not set(model.train_rows_) & {3, 17}
    # Some features given, others as distances.
    mixed = {"bag": "precomputed"}
    model = method(metric=mixed).fit(some(X, train) | {"bag": select(everything, train, train)["bag"]}, tags[train])
    again = model.score_tags(some(X, test) | {"bag": select(everything, test, train)["bag"]})
    np.testing.assert_allclose(again, expected, rtol=0.02, atol=0.01)


def test_nearest_by_weighted_sums(X):
    model, weights = BaseDistances().fit(X, rows=np.arange(5, 50)), np.array([0.2, 1.0, 0.0])
    joint = np.tensordot(weights, np.stack(list(model.transform(X).values())).astype(float), axes=1)
    rows, base = model.nearest(X, 4, weights)
    np.testing.assert_allclose(base @ weights, np.sort(joint, axis=1)[:, :4], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(joint, rows, axis=1), base @ weights, rtol=1e-5)
    rows, base = model.nearest(X, 99, weights, leave_out_self=True)
    assert base.shape == (45, 44, 3)
    assert all(sorted([*near, picture]) == list(range(45)) for picture, near in enumerate(rows.tolist()))
    rows, base = model.nearest(some(X, slice(0)), 4, weights)
    assert rows.shape == (0, 4)
    assert base.shape == (0, 4, 3)


@pytest.mark.parametrize("metric", ["euclidean", "l1", "chi2"])
def test_pictures_are_taken_in_blocks(metric, monkeypatch):
    """Halves, of which one is no training picture: beside the training rows in float32, only blocks are copied."""
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 2**17)
    monkeypatch.setattr(base_distances, "_DOUBLE_UP_TO", 0)
    monkeypatch.setattr(base_distances, "_SCALE_SAMPLE", 5)
    monkeypatch.setattr(metrics, "_WIDENED", 2**15)
    monkeypatch.setattr(inputs, "_BLOCK", 2**16)
    X = {"wide": np.random.default_rng(0).random((120, 20_000)).astype(np.float16)}
    rows, weights = np.setdiff1d(np.arange(120), [4]), np.ones(1)
    BaseDistances(metric).fit({"wide": X["wide"][:, :30]}, rows=rows)  # compiled code takes memory, too
    tracemalloc.start()
    model = BaseDistances(metric).fit(X, rows=rows)
    near, _ = model.nearest(X, 3, weights, leave_out_self=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.9 * X["wide"].nbytes  # the rows in float32 are 2, a copy of all in half precision is 1
    same = BaseDistances(metric).fit({"wide": X["wide"][rows].astype(np.float32)})
    again, _ = same.nearest({"wide": X["wide"][rows]}, 3, weights, leave_out_self=True)
    np.testing.assert_array_equal(near, again)


def test_dimensions_count_as_often_as_their_weights(X):
    rng = np.random.default_rng(2)
    weights = {name: rng.random(X[name].shape[1]) for name in ("bag", "signed")}
    plain = BaseDistances("l1").fit(some(X, slice(30)))
    weighed = plain.with_dimension_weights(weights)
    for name, table in weighed.transform(some(X, slice(30, 50))).items():
        dense = (X[name].toarray() if sparse.issparse(X[name]) else X[name]) * weights.get(name, 1.0)
        np.testing.assert_allclose(
            table * plain.scales_[name], cdist(dense[30:], dense[:30], "cityblock"), rtol=1e-5, atol=1e-6
        )
        assert sparse.issparse(weighed.train_features_[name]) == sparse.issparse(plain.train_features_[name])


def test_what_is_refused(X):
    with pytest.raises(InputError, match=r"dense square .* \(50, 40\)"):
        BaseDistances("precomputed").fit({"bag": X["bag"]})
    with pytest.raises(InputError, match=r"dense square .* \(3, 2\)"):
        BaseDistances("precomputed").fit({"table": np.ones((3, 2))})
    with pytest.raises(InputError, match=r"'table' contain negative values"):
        BaseDistances("precomputed").fit({"table": -np.ones((3, 3))})
    with pytest.raises(InputError, match=r"unknown metric 'manhattan' of feature 'bag'.*precomputed"):
        BaseDistances("manhattan").fit(X)
    for metric in ("chi2", "hellinger", "intersection"):
        with pytest.raises(InputError, match=f"'signed' has negative values, which {metric} cannot compare"):
            BaseDistances(metric).fit(X)
    with pytest.raises(InputError, match="scale"):
        BaseDistances(scale="median").fit(X)
    with pytest.raises(InputError, match="use those given to fit"):
        BaseDistances("precomputed").fit({"table": np.ones((3, 3))}).transform_training()


def test_the_distance_of_a_picture_to_itself_does_not_count_for_the_scale():
    table = np.array([[7.0, 1.0, 2.0], [1.0, 7.0, 6.0], [2.0, 6.0, 7.0]])
    assert BaseDistances("precomputed").fit(table).scales_["x"] == 3
    empty = np.array([[0.0, 0.0], [1.0, 0.0]])  # a row of zeros is as far from itself as from others
    assert BaseDistances("cosine").fit(empty).scales_["x"] == 1
    assert BaseDistances("l1").fit([[1.0], [5.0]]).scales_["x"] == 4


def test_pictures_that_are_all_alike():
    tables = BaseDistances().fit(np.ones((4, 2))).transform_training()
    np.testing.assert_array_equal(tables["x"], 0)
    assert BaseDistances().fit(np.ones((1, 2))).transform(np.zeros((0, 2)))["x"].shape == (0, 1)


@pytest.mark.parametrize("scale", ["mean", "largest"])
def test_distances_from_pictures_that_are_all_alike_are_not_scaled(scale):
    model = BaseDistances("euclidean", scale=scale).fit(np.ones((4, 2)))
    np.testing.assert_allclose(model.transform([[1.0, 4.0]])["x"], 3)


def test_one_feature_and_some_training_pictures_have_the_same_distances():
    rng = np.random.default_rng(0)
    X = {"a": rng.random((9, 4)), "b": rng.random((9, 3))}
    fitted = BaseDistances("l1").fit(X)
    whole, some = fitted.transform(X), np.array([1, 4, 7])
    for name in X:
        part = fitted.of_feature(name)
        np.testing.assert_array_equal(part.transform({name: X[name]})[name], whole[name])
        np.testing.assert_array_equal(fitted.to_some(some).transform(X)[name], whole[name][:, some])
    assert set(fitted.metrics_) == {"a", "b"}
    assert fitted.n_train_ == 9
