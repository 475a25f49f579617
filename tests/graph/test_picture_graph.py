"""Graphs of look-alikes: who is linked with whom, and that pictures come and go as if they had always been there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from visterm.distances import metric_named
from visterm.errors import InputError
from visterm.graph import PictureGraph, nearest_of_all, picture_graph


def assert_same_graph(a, b):
    np.testing.assert_allclose(a.links_.toarray(), b.links_.toarray(), atol=1e-9)
    np.testing.assert_allclose(a.chosen_.toarray(), b.chosen_.toarray(), atol=1e-6)
    np.testing.assert_array_equal(a.component_of_, b.component_of_)


def test_links_are_those_of_scikit_learn_made_symmetric(rng):
    X = rng.normal(size=(80, 5))
    ours = PictureGraph(6, metric="euclidean").fit(X).links_.toarray()
    theirs = kneighbors_graph(X, 6).toarray()
    np.testing.assert_array_equal(ours, np.maximum(theirs, theirs.T))


@pytest.mark.parametrize("metric", ["cosine", "chi2", "euclidean", "hellinger", "l1"])
def test_weights(metric, rng):
    X = rng.random((30, 6))
    distances = metric_named(metric)(X, X)
    binary = PictureGraph(4, metric=metric).fit(X)
    assert set(binary.links_.data) == {1.0}
    np.testing.assert_array_equal(binary.links_.toarray(), binary.links_.toarray().T)
    assert not binary.links_.diagonal().any()
    assert np.diff(binary.links_.indptr).min() >= 4
    linked = binary.links_.toarray() > 0
    heat = PictureGraph(4, metric=metric, weights="heat").fit(X)
    np.testing.assert_allclose(
        heat.links_.toarray()[linked], np.exp(-((distances / heat.width_) ** 2))[linked], rtol=1e-4
    )
    if metric in ("cosine", "hellinger"):
        rows = np.sqrt(X / X.sum(axis=1, keepdims=True)) if metric == "hellinger" else X
        cosines = 1 - cdist(rows, rows, "cosine")
        weighed = PictureGraph(4, metric=metric, weights="cosine").fit(X).links_.toarray()
        np.testing.assert_allclose(weighed[linked], cosines[linked], rtol=1e-5)
    else:
        with pytest.raises(InputError, match="has no cosine"):
            PictureGraph(4, metric=metric, weights="cosine").fit(X)


def test_components_are_reported():
    X = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [99.0]])
    graph = PictureGraph(1, metric="euclidean").fit(X)
    assert graph.component_of_.tolist() == [0, 0, 0, 1, 1, 1]
    assert graph.n_components_ == 2


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 4]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_pictures_come_as_if_they_had_always_been_there(seed, n_neighbors, is_sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).round(1)  # with ties and copies
    X[5] = X[6] = X[30]
    rows = sparse.csr_array(X) if is_sparse else X
    graph = PictureGraph(n_neighbors, metric="euclidean")
    first = int(rng.integers(1, 39))
    grown = clone(graph).fit(rows[:first])
    middle = int(rng.integers(first, 40))
    grown.add(rows[first:middle]).add(rows[middle:])
    assert_same_graph(grown, clone(graph).fit(rows))


def test_the_width_of_heat_is_that_of_all_pictures(rng):
    X = np.vstack([rng.normal(size=(20, 2)) * 0.1, rng.normal(size=(20, 2))])
    graph = PictureGraph(3, metric="euclidean", weights="heat")
    grown, whole = clone(graph).fit(X[:20]).add(X[20:]), clone(graph).fit(X)
    assert grown.width_ == pytest.approx(whole.width_)
    assert whole.width_ > 2 * clone(graph).fit(X[:20]).width_
    assert_same_graph(grown, whole)


def test_new_pictures_see_the_graph_without_entering_it(rng):
    X = rng.normal(size=(50, 4))
    graph = PictureGraph(5, metric="euclidean").fit(X)
    before = graph.links_.copy()
    links, same = graph.neighbours_of(np.vstack([X[7], X[7] + 10]))
    assert (abs(graph.links_ - before)).nnz == 0
    assert same.tolist() == [7, -1]
    nearest = np.argsort(cdist([X[7] + 10], X)[0])[:5]
    assert set(links.indices[links.indptr[1] :]) == set(nearest)
    links, same = graph.neighbours_of(X[:0])
    assert links.shape == (0, 50)
    assert len(same) == 0


def test_pictures_of_the_same_direction_are_not_the_same():
    graph = PictureGraph(2).fit([[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    assert graph.neighbours_of([[2.0, 2.0], [4.0, 4.0]])[1].tolist() == [1, -1]


def test_large_graphs_are_nearly_those_of_all_comparisons(rng):
    X = (rng.normal(size=(3000, 8)) @ rng.normal(size=(8, 20))).astype(np.float32)
    exact = PictureGraph(10, metric="euclidean").fit(X)
    near = PictureGraph(10, metric="euclidean", exact_up_to=1000).fit(X)
    assert near.is_approximate
    assert not exact.is_approximate
    common = exact.links_.multiply(near.links_).sum() / exact.links_.sum()
    assert common > 0.98
    assert_same_graph(near, PictureGraph(10, metric="euclidean", exact_up_to=1000).fit(X))  # by the seed


def test_short_bags_are_linked_about_as_closely_as_by_all_comparisons(rng):
    counts = rng.poisson(0.3, (1500, 60)).astype(float)
    counts[:, 0] += 1
    for metric in ("cosine", "hellinger"):
        exact = PictureGraph(8, metric=metric).fit(counts).chosen_
        distances = metric_named(metric)(counts, counts)
        for X in (counts, sparse.csr_array(counts)):
            near = PictureGraph(8, metric=metric, exact_up_to=100).fit(X).chosen_
            owners = np.repeat(np.arange(1500), 8)
            np.testing.assert_allclose(near.data, distances[owners, near.indices], atol=1e-3)
            assert near.data.mean() < 1.03 * exact.data.mean()  # of many equally near, others may be chosen


def test_approximate_search_survives_copies_and_few_rows():
    found, distances = nearest_of_all(np.ones((300, 3), np.float32), 5)
    assert (distances == 0).all()
    assert all(len(set(row)) == 5 for row in found)
    assert not (found == np.arange(300)[:, None]).any()
    found, _ = nearest_of_all(np.arange(4, dtype=np.float32)[:, None], 10)
    assert found.shape == (4, 3)


def test_pictures_that_are_all_neighbours_are_not_searched_approximately(rng):
    X = rng.normal(size=(7, 2))
    for n, is_approximate in ((5, False), (6, False), (7, True)):
        graph = PictureGraph(5, metric="euclidean", exact_up_to=1).fit(X[:n])
        assert graph.is_approximate == is_approximate
        assert np.diff(graph.links_.indptr).min() == min(5, n - 1)


def test_one_picture_is_a_graph():
    graph = PictureGraph().fit([[1.0, 2.0]])
    assert graph.links_.shape == (1, 1)
    assert graph.n_components_ == 1
    assert graph.add([[2.0, 1.0]]).links_.sum() == 2


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors.* range \\[1, inf"),
        ({"n_neighbors": 2.5}, "n_neighbors.* must be an int"),
        ({"n_neighbors": None}, "n_neighbors.* must be an int"),
        ({"metric": "manhattan"}, "unknown metric"),
        ({"metric": "manhattan", "weights": "cosine"}, "unknown metric"),
        ({"weights": "strong"}, "weights.* among .*heat.* Got 'strong'"),
    ],
)
def test_wrong_settings_are_refused(parameters, words):
    with pytest.raises(InputError, match=words):
        PictureGraph(**parameters).fit([[1.0, 2.0], [2.0, 1.0]])


def test_wrong_pictures_are_refused(rng):
    graph = PictureGraph(2).fit(rng.random((5, 3)))
    with pytest.raises(InputError, match="features"):
        graph.add(rng.random((2, 4)))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e20, 1e30])
def test_large_graphs_do_not_depend_on_the_unit_of_the_features(kind, scale):
    X = np.random.default_rng(0).normal(size=(300, 4))
    usual, other = (nearest_of_all(kind(X * unit), 5) for unit in (1.0, scale))
    np.testing.assert_array_equal(other[0], usual[0])
    np.testing.assert_allclose(other[1], usual[1] * scale, rtol=1e-4)


@pytest.mark.parametrize("first", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("second", [np.asarray, sparse.csr_array])
def test_dense_and_sparse_pictures_are_linked_alike(first, second, rng):
    X = rng.random((12, 5)) * (rng.random((12, 5)) < 0.7)
    X[2] = X[9] = X[4]
    grown = PictureGraph(3).fit(first(X[:8]))
    assert grown.neighbours_of(second(X[7:]))[1].tolist() == [7, -1, 2, -1, -1]
    assert_same_graph(grown.add(second(X[8:])), PictureGraph(3).fit(X))
    assert sparse.issparse(grown.features_) == (first is sparse.csr_array)


def test_of_several_copies_a_picture_is_the_first(rng):
    X = rng.normal(size=(9, 3))
    X[3] = X[4] = X[7]
    for copies in (PictureGraph(n, metric="euclidean").fit(X) for n in (5, 8)):
        assert copies.neighbours_of(X[[7, 0, 3, 8]])[1].tolist() == [3, 0, 3, 8]


def test_adding_nothing_changes_nothing(rng):
    X = rng.normal(size=(9, 3))
    graph = PictureGraph(2, metric="euclidean").fit(X)
    assert_same_graph(graph.add(X[:0]), PictureGraph(2, metric="euclidean").fit(X))


def test_the_width_of_heat_is_1_where_no_two_pictures_differ():
    for X in ([[2.0], [2.0], [2.0]], [[2.0]]):
        graph = PictureGraph(1, metric="euclidean", weights="heat").fit(X)
        assert graph.links_.data.tolist() == [1.0] * graph.links_.nnz
        links, _ = graph.neighbours_of([[2.5], [0.0]])
        np.testing.assert_allclose(links.data, np.exp([-0.25, -4.0]), rtol=1e-5)


def test_pictures_of_opposite_directions_have_no_weight():
    X = [[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]
    links = PictureGraph(2, weights="cosine").fit(X).links_.toarray()
    np.testing.assert_allclose(links, [[0, 0.5**0.5, 0], [0.5**0.5, 0, 0], [0, 0, 0]], atol=1e-6)


def test_distances_are_rounded_to_the_nearest_millionth(rng):
    distances = (rng.random(1000) * 10 ** rng.uniform(-3, 3, 1000)).astype(np.float32)
    rounded = picture_graph._rounded(distances)
    bits = rounded.view(np.uint32)
    assert (bits % 16 == 0).all()
    assert np.abs(bits.astype(np.int64) - distances.view(np.uint32)).max() == 8
