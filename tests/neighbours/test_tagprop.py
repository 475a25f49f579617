"""TagProp's rounds, ranks and scores, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.calibration import fit_deviations, fit_sigmoids, sigmoid
from visterm.compute import progress
from visterm.neighbours import TagProp, tagprop
from visterm.neighbours.voting.votes import Votes, fading, maximise_likelihood, tally


@pytest.fixture
def collection():
    """Twenty-four pictures of four tags by two features, of which one knows the tags."""
    rng = np.random.default_rng(7)
    tags = (rng.random((24, 4)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {"useful": tags @ rng.random((4, 5)) + 0.3 * rng.random((24, 5)), "noise": rng.random((24, 3))}
    return X, tags


def weights_of(model):
    return np.array(list(model.feature_weights_.values()))


def test_learning_starts_with_equal_weights_of_features(collection):
    X, tags = collection
    model = TagProp(5, max_iter=0).fit(X, tags)
    assert model.feature_weights_ == {"useful": tagprop._FALL / 2, "noise": tagprop._FALL / 2}
    assert len(model.objective_) == 0


def test_every_round_finds_neighbours_anew_and_learns_under_the_sigmoids(collection):
    X, tags = collection
    settings = {"n_neighbors": 6, "metric": "l1", "tag_power": 0}
    first, second = (TagProp(**settings, n_rounds=n).fit(X, tags) for n in (1, 2))
    rows, base = first.distances_.nearest(X, 6, weights_of(first), leave_out_self=True)
    with progress.task("Testing", total=None) as bar:
        weights, trace = maximise_likelihood(
            Votes(rows, sparse.csr_array(tags)),
            base,
            weights_of(first),
            (first.slope_, first.offset_),
            max_iter=50,
            bar=bar,
        )
    np.testing.assert_allclose(weights_of(second), weights)
    np.testing.assert_allclose(second.objective_, trace)
    assert not np.allclose(weights_of(second), weights_of(first), rtol=0.01)


def test_ranks_are_learned_once_with_equal_weights_of_features(collection):
    X, tags = collection
    once, often = (TagProp(6, weighting="rank", n_rounds=n).fit(X, tags) for n in (1, 3))
    assert once.feature_weights_ == {"useful": 0.5, "noise": 0.5}
    np.testing.assert_array_equal(often.rank_weights_, once.rank_weights_)
    np.testing.assert_array_equal(often.slope_, once.slope_)
    rows, _ = once.distances_.nearest(X, 6, np.ones(2), leave_out_self=True)
    equal, _ = Votes(rows, once.train_tags_).likelihood(np.full((24, 6), 1 / 6), np.full(4, np.inf), np.zeros(4))
    assert once.objective_[0] == pytest.approx(equal)
    np.testing.assert_allclose(once.rank_weights_.sum(), 1)


def test_a_rank_that_explains_every_tag_gets_all_votes():
    """The nearest picture always is a twin with the same tag, the next has the other tag."""
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    tags = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    model = TagProp(2, weighting="rank", metric="l1", tag_power=0, sigmoids=False).fit(X[:, [0]], tags)
    np.testing.assert_array_equal(model.rank_weights_, [1, 0])
    np.testing.assert_allclose(model.objective_, [2 * np.log(0.5), 0])
    np.testing.assert_array_equal(model.score_tags([[0.04], [1.2]]), [[1, 0], [0, 1]])


@pytest.mark.parametrize("n_neighbors", [3, 5])
def test_votes_of_ranks_sum_to_one_with_few_pictures(n_neighbors):
    """Four pictures: each has three neighbours to learn from, a new picture has four."""
    X, tags = np.array([[0.0], [0.2], [1.0], [1.1]]), np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    model = TagProp(n_neighbors, weighting="rank", metric="l1").fit(X, tags)
    rows, shares = model._neighbours([[0.3]])
    assert rows[0, :3].tolist() == [1, 0, 2]
    np.testing.assert_allclose(shares[0, :3], model.rank_weights_)
    assert not shares[0, 3:].any()


@pytest.mark.parametrize("weighting", ["distance", "rank"])
def test_one_picture_teaches_nothing_and_two_do(weighting):
    X, tags = {"a": np.array([[1.0], [2.0]]), "b": np.array([[3.0], [5.0]])}, np.array([[1, 0], [1, 1]])
    one = TagProp(weighting=weighting).fit({name: block[:1] for name, block in X.items()}, tags[:1])
    assert one.feature_weights_ == {"a": 0.5, "b": 0.5}
    assert one.rank_weights_.tolist() == [1]
    assert len(one.objective_) == 0
    assert np.isinf(one.slope_).all()
    two = TagProp(weighting=weighting).fit(X, tags)
    assert np.isfinite(two.slope_).all()


def test_how_votes_become_scores(collection):
    """Deviations if there is a tag power, else a sigmoid for every tag by default, else the votes themselves."""
    X, tags = collection
    present = tags > 0
    plain = TagProp(8, tag_power=0, sigmoids=False).fit(X, tags)
    rows, base = plain.distances_.nearest(X, 8, np.ones(2), leave_out_self=True)
    votes = Votes(rows, plain.train_tags_)
    held_out = votes.tally(fading(base, weights_of(plain)))
    standing_out = fit_deviations(held_out, present, power=0.5)
    of_each = fit_sigmoids(held_out, present, 1 / tags.sum(), 1 / (tags == 0).sum(), shrinkage=2.0)
    new, base = plain.distances_.nearest(X, 8, weights_of(plain))
    given = tally(fading(base, weights_of(plain)), new, plain.train_tags_)
    np.testing.assert_allclose(plain.score_tags(X), given)
    for power, (slope, offset) in ((0.5, standing_out), (0, of_each)):
        model = TagProp(8, tag_power=power, shrinkage=2.0).fit(X, tags)
        np.testing.assert_allclose(model.slope_, slope)
        np.testing.assert_allclose(model.offset_, offset)
        np.testing.assert_allclose(model.score_tags(X), sigmoid(given, slope, offset))


def test_by_default_every_tag_has_the_papers_sigmoid(collection):
    """Guillaumin et al. maximise the likelihood of the tags alone: at the end its slope by (a_w, b_w) is zero."""
    X, tags = collection
    model = TagProp(8).fit(X, tags)
    rows, base = model.distances_.nearest(X, 8, np.ones(2), leave_out_self=True)
    votes = Votes(rows, model.train_tags_)
    given = votes.tally(fading(base, weights_of(model)))
    weights = np.where(tags > 0, votes.gain, votes.loss)
    miss = weights * ((tags > 0) - sigmoid(given, model.slope_, model.offset_))
    np.testing.assert_allclose(miss.sum(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose((miss * given).sum(axis=0), 0, atol=1e-7)
    shrunk = registry.get("tagprop-shrunk").create(n_neighbors=8).fit(X, tags)
    assert shrunk.feature_weights_ == model.feature_weights_
    assert shrunk.slope_.std() < 0.9 * model.slope_.std()


def test_shares_of_votes_never_exceed_one():
    """The shares of 30 neighbours that carry the same tag may add up to a little more than one."""
    X = np.random.default_rng(0).random((40, 2))
    model = TagProp(30, metric="l1", tag_power=0, sigmoids=False).fit(X, np.ones((40, 1)))
    rows, shares = model._neighbours(X)
    assert tally(shares, rows, model.train_tags_).max() > 1
    assert model.score_tags(X).max() == 1
