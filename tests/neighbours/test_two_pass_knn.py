"""Two passes: what is learned, from whom, and which scores follow, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from visterm.calibration import fit_deviations, fit_sigmoids
from visterm.distances import BaseDistances
from visterm.neighbours import LikelihoodTwoPassKnn, TwoPassKnn, _kernels, two_pass_knn
from visterm.neighbours.two_pass_knn import DimensionPairs
from visterm.neighbours.voting.votes import Votes, fading


@pytest.fixture
def collection():
    """Thirty pictures of four tags by two features, of which one knows the tags."""
    rng = np.random.default_rng(11)
    tags = (rng.random((30, 4)) < 0.35).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {"useful": tags @ rng.random((4, 5)) + 0.5 * rng.random((30, 5)), "noise": rng.random((30, 3))}
    return X, tags


@pytest.fixture
def contrary():
    """Pictures that look the same carry different tags, by both features."""
    place = np.repeat(np.arange(6.0), 2)[:, None]
    tags = np.tile(np.eye(2, dtype=int), (6, 1))
    return {"a": place, "b": np.sqrt(place)}, tags


def weights_of(model):
    return np.array(list(model.feature_weights_.values()))


def distances_of(model, X):
    """(n_features, n_pictures, n_pictures) by l1, on the scales of the model."""
    return np.stack([cdist(X[name], X[name], "cityblock") / model.distances_.scales_[name] for name in X])


def margin_loss(tags, n_neighbors, sent):
    """A function of all distances: the mean over targets of their distance and of the hinge losses of impostors.

    ``sent`` are the pictures that the first pass selects for each picture, nearest first.
    """
    near, triplets, lacking = [], [], []
    for picture, own in enumerate(tags):
        targets = set()
        for tag in np.flatnonzero(own):
            targets |= set([other for other in sent[picture] if tags[other, tag]][:n_neighbors])
        near += [(picture, target) for target in targets]
        for other in set(sent[picture]) - targets:
            triplets += [(picture, target, other) for target in targets]
            lacking += [np.mean(tags[other][own > 0] == 0)] * len(targets)
    pictures, targets, others = np.transpose(triplets)

    def loss(joint):
        slack = np.maximum(0, 1 + joint[pictures, targets] - joint[pictures, others])
        return (joint[tuple(np.transpose(near))].sum() + np.dot(lacking, slack)) / len(near)

    return loss


def sent_to(joint, tags, n_neighbors):
    """For every picture, the others that are among the nearest of one of their tags, nearest first."""
    sent = []
    for picture, distances in enumerate(joint):
        found = set()
        for carrying in tags.T:
            carriers = np.setdiff1d(np.flatnonzero(carrying), picture)
            found |= set(carriers[np.argsort(distances[carriers], kind="stable")[:n_neighbors]].tolist())
        sent.append(sorted(found, key=lambda other: distances[other]))
    return sent


def test_the_margin_is_minimal_by_features(collection):
    X, tags = collection
    model = TwoPassKnn(2, metric="l1", weights="features", max_iter=200).fit(X, tags)
    base = distances_of(model, X)
    loss_of = margin_loss(tags, 2, sent_to(base.mean(axis=0), tags, 2))

    def loss(weights):
        return loss_of(np.tensordot(weights, base, axes=1))

    scale = minimize_scalar(lambda scale: loss(scale * weights_of(model)), bounds=(0, 50)).x
    learned = scale * weights_of(model)
    assert model.objective_[-1] == pytest.approx(loss(learned), rel=1e-4)
    for other in (
        learned * [1.1, 1],
        learned * [0.9, 1],
        learned + np.array([0, 0.05]),
        learned - [0, 0.5 * learned[1]],
    ):
        assert loss(other) > loss(learned) - 1e-6


def test_the_margin_is_minimal_by_dimensions(collection):
    X, tags = collection
    model = TwoPassKnn(2, weights="dimensions", metric="l1", max_iter=200).fit(X, tags)
    base = distances_of(model, X)
    loss_of = margin_loss(tags, 2, sent_to(base.mean(axis=0), tags, 2))
    apart = np.concatenate(
        [np.abs(X[name][:, None] - X[name][None]) / model.distances_.scales_[name] for name in X], axis=2
    )

    def loss(weights):
        return loss_of(apart @ weights)

    # Dimensions of a feature have a mean of 1, features a sum of 1: what was learned, but for one factor.
    shape = np.concatenate([model.feature_weights_[name] * model.distances_.dimension_weights_[name] for name in X])
    scale = minimize_scalar(lambda scale: loss(scale * shape), bounds=(0, 50)).x
    assert model.objective_[-1] == pytest.approx(loss(scale * shape), rel=1e-3)
    for dimension in np.eye(8) * 0.05:
        assert loss(scale * shape + dimension) > loss(scale * shape) - 1e-4
    assert loss(0.9 * scale * shape) > loss(scale * shape) - 1e-6


def test_without_a_step_the_bandwidth_stays(collection):
    X, tags = collection
    model = LikelihoodTwoPassKnn(2, bandwidth=0.3, max_iter=0).fit(X, tags)
    assert model.bandwidth_ == pytest.approx(0.3)
    np.testing.assert_allclose(weights_of(model), 0.5)


def test_the_likelihood_teaches_the_weights_and_the_bandwidth(collection):
    X, tags = collection
    model = LikelihoodTwoPassKnn(2, metric="l1", bandwidth=2.0, tag_power=0, max_iter=200).fit(X, tags)
    start = TwoPassKnn(2, metric="l1", weights="equal").fit(X, tags)
    rows, base = start._sent(X)
    votes = Votes(rows, model.train_tags_)

    def value(weights):
        return votes.likelihood(fading(base, weights), np.full(4, np.inf), np.zeros(4))[0]

    learned = weights_of(model) / model.bandwidth_
    assert value(learned) == pytest.approx(model.objective_[-1], rel=1e-6)
    assert np.linalg.norm(learned - 0.25) > 0.1
    for other in (learned * 1.05, learned * 0.95, learned * [1.05, 1], learned + np.array([0, 0.02])):
        assert value(other) <= value(learned) + 1e-6


def test_features_that_mislead_lose_their_weight(contrary):
    X, tags = contrary
    model = LikelihoodTwoPassKnn(2, metric="l1", bandwidth=0.5, tag_power=0).fit(X, tags)
    assert model.feature_weights_ == {"a": 0.5, "b": 0.5}
    assert model.bandwidth_ == 0.5
    margin = TwoPassKnn(2, metric="l1").fit(X, tags)
    assert margin.feature_weights_ == {"a": 0.5, "b": 0.5}
    assert all((one == 1).all() for one in margin.distances_.dimension_weights_.values())


def test_scores_are_learned_from_those_whom_the_learned_weights_select(collection):
    X, tags = collection
    model = LikelihoodTwoPassKnn(2, bandwidth=0.3, tag_power=0.5).fit(X, tags)
    rows, base = model._sent(X)
    held_out = Votes(rows, model.train_tags_).tally(fading(base, weights_of(model) / model.bandwidth_))
    slope, offset = fit_deviations(held_out, tags > 0, power=0.5)
    np.testing.assert_allclose(model.slope_, slope)
    np.testing.assert_allclose(model.offset_, offset)
    sigmoids = LikelihoodTwoPassKnn(2, bandwidth=0.3, tag_power=0, sigmoids=True).fit(X, tags)
    slope, _ = fit_sigmoids(held_out, tags > 0, 1 / tags.sum(), 1 / (tags == 0).sum(), shrinkage=1.0)
    np.testing.assert_allclose(sigmoids.slope_, slope)
    assert np.isinf(LikelihoodTwoPassKnn(2, tag_power=0).fit(X, tags).slope_).all()


def test_one_feature_has_nothing_to_weigh_by_the_margin(collection):
    X, tags = collection
    model = TwoPassKnn(2, weights="features").fit(X["useful"], tags)
    assert len(model.objective_) == 0
    assert model.feature_weights_ == {"x": 1.0}
    learned = LikelihoodTwoPassKnn(2, metric="l1").fit(X["useful"], tags)
    assert len(learned.objective_) > 1
    rows, base = learned._sent({"x": X["useful"]})
    held_out = Votes(rows, learned.train_tags_).tally(fading(base, np.array([1 / learned.bandwidth_])))
    np.testing.assert_allclose(learned.slope_, fit_deviations(held_out, tags > 0, power=1.0)[0])


def test_two_pictures_are_enough_to_learn():
    X, tags = {"a": np.array([[1.0], [2.0]]), "b": np.array([[3.0], [5.0]])}, np.array([[1, 0], [1, 1]])
    assert np.isfinite(LikelihoodTwoPassKnn().fit(X, tags).slope_).all()
    for weights in ("dimensions", "features"):
        assert np.isfinite(TwoPassKnn(weights=weights).fit(X, tags).score_tags(X)).all()
    only = {name: block[:1] for name, block in X.items()}
    assert np.isinf(LikelihoodTwoPassKnn().fit(only, tags[:1]).slope_).all()
    for method in (TwoPassKnn(), LikelihoodTwoPassKnn()):
        one = method.fit(only, tags[:1])
        assert one.feature_weights_ == {"a": 0.5, "b": 0.5}
        assert len(one.objective_) == 0


def test_who_votes_and_how_much(collection):
    X, tags = collection
    model = TwoPassKnn(1, metric="l1", bandwidth=0.4, weights="equal").fit(X, tags)
    joint = distances_of(model, X).mean(axis=0)
    for votes, distances in zip(model._votes(joint), joint, strict=True):
        chosen = np.unique([carriers[np.argmin(distances[carriers])] for carriers in map(np.flatnonzero, tags.T)])
        assert np.flatnonzero(votes).tolist() == chosen.tolist()
        expected = np.exp(-distances[chosen] / 0.4)
        np.testing.assert_allclose(votes[chosen], expected / expected.sum())
    np.testing.assert_allclose(model.score_tags(X), model._votes(joint) @ tags)


def test_no_pictures_have_no_neighbours(collection):
    X, tags = collection
    model = TwoPassKnn(1, weights="equal").fit(X, tags)
    nobody = {name: block[:0] for name, block in X.items()}
    assert model.score_tags(nobody).shape == (0, 4)


def test_of_many_that_are_sent_only_the_nearest_teach(collection, monkeypatch):
    X, tags = collection
    model = TwoPassKnn(3, weights="equal").fit(X, tags)
    rows, base = model._sent(X)
    monkeypatch.setattr(two_pass_knn, "_MOST_SENT", 2)
    few, near = model._sent(X)
    np.testing.assert_array_equal(few, rows[:, :2])
    np.testing.assert_array_equal(near, base[:, :2])


def test_which_metrics_weigh_dimensions():
    """Histograms, even with empty bins, by chi2; other numbers by l1; what is named as named."""
    X = {"bag": np.array([[0.0, 2.0], [1.0, 0.5]]), "share": np.full((2, 1), 0.5), "gist": np.array([[-1.0], [2.0]])}

    def metrics(metric, weights="dimensions"):
        model = TwoPassKnn(metric=metric, weights=weights, max_iter=1)
        return list(model.fit(X, [[1, 0], [0, 1]]).distances_.metrics_.values())

    assert metrics("auto") == ["chi2", "chi2", "l1"]
    assert metrics({"bag": "l1", "share": "auto"}) == ["l1", "chi2", "l1"]
    assert metrics("l1") == ["l1", "l1", "l1"]
    assert metrics("auto", "features") == ["chi2", "chi2", "euclidean"]


def test_unused_places_have_no_votes(collection):
    """Each picture has its own number of neighbours. With a wide bandwidth, all those count the same, nobody else."""
    X, tags = collection
    model = LikelihoodTwoPassKnn(1, metric="l1", bandwidth=1e9, max_iter=0).fit(X, tags)
    sent = sent_to(distances_of(model, X).mean(axis=0), tags, 1)
    assert len({len(near) for near in sent}) > 1
    held_out = np.array([tags[near].mean(axis=0) for near in sent])
    slope, offset = fit_deviations(held_out, tags > 0, power=1.0)
    np.testing.assert_allclose(model.slope_, slope, rtol=1e-4)
    np.testing.assert_allclose(model.offset_, offset, rtol=1e-4)


def test_nobody_is_a_target_in_an_unused_place():
    """The only other picture with the tag of the second one is the first, which unused places name, too."""
    tags = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    model = TwoPassKnn(2, metric="l1", weights="equal").fit(np.arange(5.0)[:, None], tags)
    rows, base = model._sent(np.arange(5.0)[:, None])
    targets, gains = model._roles(rows, base)
    assert rows[:2].tolist() == [[1, 2, 3, 0], [0, 2, 3, 0]]
    assert targets.sum(axis=1).tolist() == [1, 1, 2, 2, 2]
    assert gains[:2].tolist() == [[0, 1, 1, 0], [0, 1, 1, 0]]


def test_weights_may_become_small():
    """Features that hardly know the tags: then the votes fade slowly, and only by the better feature."""
    rng = np.random.default_rng(10)
    tags = (rng.random((30, 4)) < 0.35).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {"useful": 0.3 * tags @ rng.random((4, 2)) + rng.random((30, 2)), "noise": rng.random((30, 2))}
    model = LikelihoodTwoPassKnn(2, metric="l1", bandwidth=2.0, tag_power=0).fit(X, tags)
    assert model.feature_weights_ == {"useful": 1.0, "noise": 0.0}
    assert 1 < model.bandwidth_ < 1.5


@pytest.mark.parametrize("k", [1, 2, 4, 30])
def test_of_pictures_equally_near_the_first_are_selected(k):
    rng = np.random.default_rng(k)
    distances, tags = rng.integers(0, 4, (12, 25)).astype(float), rng.random((25, 3)) < 0.5
    by_tag, chosen = sparse.csc_array(tags), np.empty((12, 25), np.bool_)
    _kernels.nearest_of_each_tag(distances, by_tag.indptr, by_tag.indices, k, chosen)
    expected = np.zeros((12, 25), np.bool_)
    for row, near in zip(expected, distances, strict=True):
        for carriers in map(np.flatnonzero, tags.T):
            row[carriers[np.argsort(near[carriers], kind="stable")[:k]]] = True
    np.testing.assert_array_equal(chosen, expected)


def test_an_impostor_that_is_a_unit_farther_costs_nothing():
    """The target is at 0.5; an impostor at 1.5 is just far enough, one at 1.25 is too near by a quarter."""
    joint, targets = np.array([[0.5, 1.5, 1.25, 0.5]]), np.array([[True, False, False, False]])
    slopes = np.empty((1, 4))
    assert _kernels.margin_loss(joint, targets, np.array([[9.0, 1.0, 2.0, 0.0]]), slopes) == 0.5
    assert slopes.tolist() == [[2.0, 0.0, -2.0, 0.0]]


def test_slopes_of_dimensions_are_sums_over_pairs():
    base = BaseDistances("l1").fit(np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 5.0]]))
    pairs = DimensionPairs(base, np.array([[1], [2], [0]]))  # apart by (2, 1), (1, 5), (3, 4)
    for counts, expected in [([1, 1, 1], [6, 10]), ([1, 0, -2], [-4, -7]), ([0, 1, 0], [1, 5])]:
        slopes = pairs.slopes(np.array(counts, float)[:, None]) * base.scales_["x"]
        np.testing.assert_allclose(slopes, expected, rtol=1e-6)
