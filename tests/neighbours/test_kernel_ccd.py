"""Neighbours by meaning: features that know the tags count, votes are evidence, answers stay on disk."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from visterm.distances import BaseDistances, nearest, select
from visterm.errors import InputError
from visterm.measures import WordF
from visterm.models.state import pack, unpack
from visterm.neighbours import KernelContextualAnnotator, KnnAnnotator, TagProp, kernel_ccd
from visterm.neighbours.voting.votes import Votes, fading


@pytest.fixture
def collection():
    rng = np.random.default_rng(4)
    tags = (rng.random((260, 10)) < 0.2).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {
        "bag": rng.poisson(1 + 4 * (tags @ rng.random((10, 24)))).astype(float),
        "noise": 8 * rng.standard_normal((260, 5)),
    }
    return X, tags


def part(X, rows):
    return {name: block[rows] for name, block in X.items()}


METHOD = KernelContextualAnnotator(10, n_neighbors=40, n_components=60)


def test_better_than_the_features_themselves(collection):
    X, tags = collection
    train, test = slice(200), slice(200, 260)
    model = clone(METHOD).fit(part(X, train), tags[train])
    assert model.feature_weights_["bag"] > 3 * model.feature_weights_["noise"]
    assert sum(model.feature_weights_.values()) == pytest.approx(1)
    assert (np.diff(model.objective_) >= -1e-12).all()
    assert model.fall_ > 0
    assert np.isfinite(model.slope_).all()  # the scores of votes were learned
    found = WordF(2)(tags[test], model.score_tags(part(X, test)), frequencies=model.tag_counts_)
    plain = KnnAnnotator("auto").fit(np.hstack(list(part(X, train).values())), tags[train])
    joined = np.hstack(list(part(X, test).values()))
    assert found > WordF(2)(tags[test], plain.score_tags(joined), frequencies=model.tag_counts_) + 0.05


def test_features_are_weighed_from_three_tagged_pictures_on():
    X = {"same": np.array([[0.0], [0.1], [5.0]]), "other": np.array([[0.0], [5.0], [0.1]])}
    tags = np.array([[1, 0], [1, 0], [0, 1]])
    model = KernelContextualAnnotator(1, metric="l1").fit(X, tags)
    assert model.feature_weights_["same"] > 2 * model.feature_weights_["other"]
    model.fit(part(X, slice(2)), tags[:2])
    assert set(model.feature_weights_.values()) == {0.5}


def test_a_picture_is_coded_without_its_tags_by_a_subspace_that_never_saw_it(collection, monkeypatch):
    X, tags = collection
    calls = []

    def recorded(queries, codes, k, *, own_rows=None):
        rows, distances = nearest(queries, codes, k, own_rows=own_rows)
        calls.append((queries, codes, own_rows, rows))
        return rows, distances

    monkeypatch.setattr(kernel_ccd, "nearest", recorded)
    model = clone(METHOD).set_params(n_folds=4).fit(X, tags)
    coordinates = model._coordinates(model._kernel(X))
    assert np.sort(np.concatenate([fold for _, _, fold, _ in calls])).tolist() == list(range(260))
    for queries, codes, fold, rows in calls:
        rest = np.setdiff1d(np.arange(260), fold)
        subspace = model._subspace().fit(coordinates[rest], tags[rest])
        np.testing.assert_allclose(queries, subspace.transform(coordinates[fold]), atol=1e-6)
        np.testing.assert_allclose(codes, subspace.transform_training(coordinates, tags), atol=1e-6)
        assert not (rows == fold[:, None]).any()


def test_votes_do_not_depend_on_the_unit_of_distances(collection, monkeypatch):
    X, tags = {"bag": collection[0]["bag"][:80]}, collection[1][:80]
    method = KernelContextualAnnotator(10, n_neighbors=40, n_components=20, n_folds=2)
    model = clone(method).fit(X, tags)
    scores = model.score_tags(part(X, slice(5)))

    def in_another_unit(queries, codes, k, *, own_rows=None):
        rows, distances = nearest(queries, codes, k, own_rows=own_rows)
        return rows, 64 * distances

    monkeypatch.setattr(kernel_ccd, "nearest", in_another_unit)
    other = clone(method).fit(X, tags)
    assert model.fall_ > 0
    assert other.fall_ * 64 == pytest.approx(model.fall_, rel=1e-6)
    np.testing.assert_allclose(other.score_tags(part(X, slice(5))), scores, rtol=1e-6)


def test_votes_are_evidence(collection):
    X, tags = collection
    tags[:20] = 0
    model = clone(METHOD).set_params(tag_power=0).fit(X, tags)
    places, weights = model._neighbours(part(X, slice(4)))
    rows = model.train_rows_[places]
    assert rows.min() >= 20
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(np.einsum("ik,ikt->it", weights, tags[rows]), model.score_tags(part(X, slice(4))))


def test_precomputed_distances_give_the_same(collection):
    X, tags = collection
    expected = clone(METHOD).fit(part(X, slice(200)), tags[:200]).score_tags(part(X, slice(200, 260)))
    tables = BaseDistances().fit(X).transform_training()
    train, test = np.arange(200), np.arange(200, 260)
    model = clone(METHOD).set_params(metric="precomputed").fit(select(tables, train, train), tags[:200])
    np.testing.assert_allclose(model.score_tags(select(tables, test, train)), expected, atol=0.05)


def test_fewer_landmarks_than_pictures(collection):
    X, tags = collection
    model = clone(METHOD).set_params(n_landmarks=50).fit(X, tags)
    assert model.distances_.n_train_ == 50
    assert model.transform(part(X, slice(3))).shape == (3, 10)
    assert model.score_tags(part(X, slice(0))).shape == (0, 10)


def test_what_was_learned_can_be_stored(collection):
    X, tags = collection
    model, tensors = clone(METHOD).fit(X, tags), {}
    again = unpack(pack(model, "model", tensors), tensors)
    np.testing.assert_array_equal(again.score_tags(part(X, slice(5))), model.score_tags(part(X, slice(5))))


def test_few_pictures_and_what_is_refused():
    model = KernelContextualAnnotator().fit([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]], [[1, 0], [1, 0], [0, 1]])
    assert model.score_tags([[0.5, 0.5]]).shape == (1, 2)
    with pytest.raises(InputError, match="n_landmarks"):
        KernelContextualAnnotator(n_landmarks=1).fit([[0.0], [1.0]], [[1], [1]])
    with pytest.raises(InputError, match="scale"):
        KernelContextualAnnotator(scale=0).fit([[0.0], [1.0]], [[1], [1]])
    with pytest.raises(InputError, match="no picture has a tag"):
        KernelContextualAnnotator().fit([[0.0], [1.0]], [[0], [0]])


def small(n=24, seed=0):
    """Pictures of three tags by two features, of which one knows the tags."""
    rng = np.random.default_rng(seed)
    tags = (rng.random((n, 3)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    return {"useful": tags @ rng.random((3, 4)) + 0.3 * rng.random((n, 4)), "noise": rng.random((n, 2))}, tags


def test_products_of_coordinates_are_the_centred_kernel():
    X, tags = small()
    model = KernelContextualAnnotator(2, metric="l1", scale=0.7, n_components=24).fit(X, tags)
    apart = BaseDistances("l1").fit(X).transform(X)
    kernel = np.exp(-0.7 * sum(model.feature_weights_[name] * apart[name] for name in X))
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1, keepdims=True) + kernel.mean()
    coordinates = model._coordinates(model._kernel(X))
    np.testing.assert_allclose(coordinates @ coordinates.T, centred, atol=1e-5)
    weights = TagProp(200, metric="l1", sigmoids=False, tag_power=0).fit(X, tags).feature_weights_
    for name, weight in weights.items():
        assert model.feature_weights_[name] == pytest.approx(weight / sum(weights.values()))


def test_landmarks_are_different_pictures():
    X, tags = small()
    model = KernelContextualAnnotator(2, metric="l1", n_landmarks=20, n_components=4).fit(X, tags)
    assert len(np.unique(model.distances_.train_features_["useful"], axis=0)) == 20
    apart = BaseDistances("l1").fit(X, rows=model.distances_.rows_).transform(X)
    weighed = sum(model.feature_weights_[name] * apart[name] for name in X)
    np.testing.assert_allclose(model.kernel_mean_, np.exp(-0.5 * weighed).mean(axis=0), rtol=1e-5)


def test_features_are_weighed_even_if_none_knows_much():
    """Weights far below one each are divided by their sum; if none is positive, all features count the same."""
    X, tags = small(30, seed=4)
    X["useful"] = np.random.default_rng(4).random((30, 2))
    weak = TagProp(20, metric="l1", sigmoids=False, tag_power=0).fit(X, tags).feature_weights_
    assert 0 < sum(weak.values()) < 1
    model = KernelContextualAnnotator(2, n_neighbors=20, metric="l1").fit(X, tags)
    assert model.feature_weights_ == pytest.approx({name: one / sum(weak.values()) for name, one in weak.items()})
    place = np.repeat(np.arange(6.0), 2)[:, None]
    contrary = {"a": place, "b": np.sqrt(place)}  # pictures that look the same carry different tags
    model.fit(contrary, np.tile(np.eye(2, dtype=int), (6, 1)))
    assert model.feature_weights_ == {"a": 0.5, "b": 0.5}


def test_the_fall_is_the_most_likely_one(monkeypatch):
    X, tags = small()
    found = []

    def noted(queries, codes, k, *, own_rows=None):
        found.append((own_rows, *nearest(queries, codes, k, own_rows=own_rows)))
        return found[-1][1:]

    monkeypatch.setattr(kernel_ccd, "nearest", noted)
    model = KernelContextualAnnotator(2, metric="l1", n_folds=3).fit(X, tags)
    order = np.argsort(np.concatenate([fold for fold, _, _ in found]))
    rows, distances = (np.concatenate([one[place] for one in found])[order] for place in (1, 2))
    assert rows.shape == (24, 23)  # all others
    votes, none = Votes(rows, model.train_tags_), (np.full(3, np.inf), np.zeros(3))

    def value(fall):
        return votes.likelihood(fading(distances[..., None], np.array([fall])), *none)[0]

    assert model.objective_[-1] == pytest.approx(value(model.fall_))
    assert value(model.fall_) > max(value(0.9 * model.fall_), value(1.1 * model.fall_))


def test_votes_are_learned_from_two_pictures_in_every_fold_on():
    X, tags = small(6)
    learned = KernelContextualAnnotator(1, n_folds=3).fit(X, tags)
    assert len(learned.objective_) > 0
    assert np.isfinite(learned.slope_).all()
    few = KernelContextualAnnotator(1, n_folds=3).fit(part(X, slice(5)), tags[:5])
    assert len(few.objective_) == 0
    assert few.fall_ == 1
    assert np.isinf(few.slope_).all()


def test_pictures_that_all_look_the_same_vote_the_same():
    tags = np.tile(np.eye(2, dtype=int), (6, 1))
    model = KernelContextualAnnotator(1, n_folds=2, tag_power=0).fit(np.ones((12, 2)), tags)
    assert model.fall_ == kernel_ccd._FALL  # any would do
    np.testing.assert_allclose(model.score_tags(np.ones((1, 2))), [[0.5, 0.5]])
