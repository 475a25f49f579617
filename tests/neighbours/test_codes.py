"""Tags from small codes: several features, numbers chosen by themselves, codes of a few bytes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.distances import nearest
from visterm.errors import InputError
from visterm.measures import WordF
from visterm.neighbours import (
    NEIGHBOUR_COUNTS,
    SUBSPACES,
    CodeAnnotator,
    KnnAnnotator,
    QuantizedKnnAnnotator,
    ccd2,
    choose_neighbours,
    f_by_neighbours,
)
from visterm.neighbours.ccd2 import DIMS
from visterm.neighbours.voting import neighbour_count
from visterm.subspace import CCA, PCA, PLS, ContextualDistance


@pytest.fixture
def collection():
    rng = np.random.default_rng(2)
    tags = (rng.random((240, 12)) < 0.2).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {
        "bag": rng.poisson(1 + 4 * (tags[:, :6] @ rng.random((6, 20)))).astype(float),
        "gist": tags[:, 6:] @ rng.standard_normal((6, 9)) + rng.standard_normal((240, 9)),
    }
    return X, tags


def part(X, rows):
    return {name: block[rows] for name, block in X.items()}


def test_features_together_know_more_than_each():
    """One feature knows the first tags, the other the last."""
    rng = np.random.default_rng(0)
    tags = (rng.random((900, 8)) < 0.25).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {
        "first": tags[:, :4] @ rng.standard_normal((4, 10)) + 0.5 * rng.standard_normal((900, 10)),
        "last": tags[:, 4:] @ rng.standard_normal((4, 10)) + 0.5 * rng.standard_normal((900, 10)),
    }
    train, test = slice(600), slice(600, 900)

    def f(names):
        chosen = {name: X[name] for name in names}
        model = CodeAnnotator(n_dims=8, n_neighbors=8).fit(part(chosen, train), tags[train])
        return WordF(2)(tags[test], model.score_tags(part(chosen, test)), frequencies=model.tag_counts_)

    assert f(["first", "last"]) > max(f(["first"]), f(["last"])) + 0.1


@pytest.mark.parametrize("kernel", [None, "auto", "euclidean", {"gist": "l1"}])
def test_kernels_of_several_features(collection, kernel):
    X, tags = collection
    model = CodeAnnotator(kernel=kernel).fit(X, tags)
    near = model.neighbours_._neighbours(model.transform(part(X, slice(5))))
    np.testing.assert_allclose(tags[near].mean(axis=1), model.score_tags(part(X, slice(5))))


def test_f_of_every_number_of_neighbours(collection):
    X, tags = collection
    near, _ = nearest(X["gist"][:60], X["gist"][60:], 64)
    found = f_by_neighbours(near, sparse.csr_array(tags[60:]), tags[:60])
    for k, value in zip(NEIGHBOUR_COUNTS, found, strict=True):
        scores = KnnAnnotator(k).fit(X["gist"][60:], tags[60:]).score_tags(X["gist"][:60])
        assert value == pytest.approx(WordF(5)(tags[:60], scores, frequencies=tags[60:].sum(axis=0)))


def test_numbers_of_neighbours_and_dimensions_are_chosen(collection):
    X, tags = collection
    noisy = KnnAnnotator("auto").fit(X["gist"], tags)
    assert noisy.n_neighbors_ == choose_neighbours(X["gist"], sparse.csr_array(tags), "euclidean")
    assert noisy.n_neighbors_ in NEIGHBOUR_COUNTS
    copies = np.repeat(X["gist"][:60], 4, axis=0) + 1e-6 * np.arange(240)[:, None]
    assert KnnAnnotator("auto").fit(copies, np.repeat(tags[:60], 4, axis=0)).n_neighbors_ <= 4
    model = CodeAnnotator(n_dims="auto", n_neighbors="auto").fit(X, tags)
    assert model.n_dims_ in DIMS
    assert model.n_neighbors_ in NEIGHBOUR_COUNTS
    assert CodeAnnotator(n_dims=7, n_neighbors="auto").fit(X, tags).n_dims_ == 7
    few = CodeAnnotator(n_dims="auto", n_neighbors="auto").fit(part(X, slice(9)), tags[:9])
    assert few.score_tags(part(X, slice(3))).shape == (3, 12)
    assert KnnAnnotator("auto").fit([[0.0]], [[1]]).n_neighbors_ == 1


def test_shrinkage_gives_every_tag_a_probability(collection):
    X, tags = collection
    tags[:, 3] = 0  # never seen
    plain, shrunk = (KnnAnnotator(5, shrinkage=s).fit(X["gist"], tags).score_tags(X["gist"]) for s in (0.0, 2.0))
    share = (tags.sum(axis=0) + 0.5) / (np.count_nonzero(tags.any(axis=1)) + 1)
    np.testing.assert_allclose(shrunk, (plain * 5 + 2 * share) / 7)
    assert (shrunk > 0).all()
    assert shrunk.max() <= 1
    assert (shrunk[:, 3] < 0.01).all()
    with pytest.raises(InputError, match="shrinkage"):
        KnnAnnotator(shrinkage=-1).fit(X["gist"], tags)


def test_codes_of_a_few_bytes_lose_little(collection):
    X, tags = collection
    many, many_tags = part(X, np.arange(960) % 240), np.tile(tags, (4, 1))
    many = {name: block + 0.5 * np.random.default_rng(0).random(block.shape) for name, block in many.items()}
    exact = CodeAnnotator(n_dims=8).fit(many, many_tags)
    lost = {}
    for n_bytes in (1, 2, 8):
        coded = CodeAnnotator(n_dims=8, code_bytes=n_bytes).fit(many, many_tags)
        assert coded.neighbours_.train_codes_.nbytes == n_bytes * 960
        assert not hasattr(coded.neighbours_, "train_features_")
        lost[n_bytes] = np.abs(coded.score_tags(X) - exact.score_tags(X)).mean()
    assert lost[8] < 0.01
    assert lost[8] < lost[2] < lost[1]
    untagged = tags.copy()
    untagged[:10] = 0
    model = QuantizedKnnAnnotator(3, n_bytes=2).fit(X["gist"], untagged)
    np.testing.assert_array_equal(model.train_rows_, np.arange(10, len(tags)))
    assert model._neighbours(X["gist"][:4]).max() < len(model.train_rows_)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pca", PCA(2)),
        ("pcaw", PCA(2, whiten=True)),
        ("pls", PLS(2)),
        ("npls", PLS(2, normalize=True)),
        ("cca", CCA(2, ridge=0.3)),
        ("ccd1", ContextualDistance(2, views=1, ridge=0.3)),
        ("ccd2", ContextualDistance(2, views=2, beta=0.25, ridge=0.3)),
    ],
)
def test_subspaces_by_their_names_in_the_paper(collection, name, expected):
    X, tags = part(collection[0], slice(40)), collection[1][:40]
    model = CodeAnnotator(name, n_dims=2, ridge=0.3).fit(X["gist"], tags)
    np.testing.assert_allclose(
        model.neighbours_.train_features_, SUBSPACES[name](2, 0.3).fit_transform({"x": X["gist"]}, tags)
    )
    np.testing.assert_allclose(model.neighbours_.train_features_, expected.fit_transform({"x": X["gist"]}, tags))
    assert not hasattr(model.subspace_, "moments_")  # what only more learning would need


@pytest.mark.parametrize("n_dims", ["auto", 2])
@pytest.mark.parametrize("n_neighbors", ["auto", 3])
def test_the_best_numbers_for_held_out_pictures_are_taken(collection, n_dims, n_neighbors, monkeypatch):
    """Every pair of numbers by a method of its own."""
    monkeypatch.setattr(ccd2, "DIMS", (1, 3, 8))
    monkeypatch.setattr(ccd2, "NEIGHBOUR_COUNTS", (1, 6, 20))
    X, tags = part(collection[0], slice(100)), collection[1][:100]
    tags[::9] = 0
    model = CodeAnnotator(n_dims=n_dims, n_neighbors=n_neighbors).fit(X, tags)
    tagged = np.random.default_rng(ccd2._SEED).permutation(np.flatnonzero(tags.any(axis=1)))
    held_out, kept = np.split(tagged, [len(tagged) // ccd2._PARTS])
    held_out, kept = np.sort(held_out), np.sort(kept)
    found = {}
    for dims in (1, 3, 8) if n_dims == "auto" else (2,):
        for k in (1, 6, 20) if n_neighbors == "auto" else (3,):
            one = CodeAnnotator(n_dims=dims, n_neighbors=k).fit(part(X, kept), tags[kept])
            scores = one.score_tags(part(X, held_out))
            found[dims, k] = WordF(5)(tags[held_out], scores, frequencies=tags[kept].sum(axis=0))
    assert (model.n_dims_, model.n_neighbors_) == max(found, key=found.get)


def test_with_few_pictures_the_fewest_dimensions_are_taken(collection):
    X, tags = part(collection[0], slice(49)), collection[1][:49]
    assert CodeAnnotator(n_dims="auto").fit(X["gist"], tags).n_dims_ == DIMS[0]
    model = CodeAnnotator(n_dims=3, n_neighbors="auto").fit(X["gist"], tags)
    assert model.n_dims_ == 3
    assert model.n_neighbors_ == choose_neighbours(
        model.neighbours_.train_features_, sparse.csr_array(tags), "euclidean"
    )


def test_pictures_to_choose_by_go_from_the_first_to_the_last(collection, monkeypatch):
    X, tags = collection[0]["gist"][:31], collection[1][:31]
    asked = []

    def noted(queries, train, k, **settings):
        asked.append((len(queries), len(train), settings["own_rows"].tolist()))
        return nearest(queries, train, k, **settings)

    monkeypatch.setattr(neighbour_count, "nearest", noted)
    choose_neighbours(X, sparse.csr_array(tags), "euclidean")
    monkeypatch.setattr(neighbour_count, "SAMPLE", 4)
    choose_neighbours(X, sparse.csr_array(tags), "euclidean")
    assert asked == [(31, 31, list(range(31))), (4, 31, [0, 10, 20, 30])]


def test_three_pictures_are_enough_to_choose_by():
    """Each has two neighbours; the tags of both are better than those of the nearer one. Five tags are given."""
    X, tags = np.array([[0.0], [1.0], [3.0]]), [[1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0, 0], [1, 1, 0, 0, 1, 0, 1]]
    assert KnnAnnotator("auto").fit(X, tags).n_neighbors_ == 2
    assert KnnAnnotator("auto").fit(X[:2], tags[:2]).n_neighbors_ == 1
