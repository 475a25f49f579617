"""Label propagation: against the closed forms and scikit-learn's two methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg
from sklearn.exceptions import NotFittedError
from sklearn.semi_supervised import LabelPropagation as TheirPropagation
from sklearn.semi_supervised import LabelSpreading

from visterm.compute.rows import evenly
from visterm.errors import InputError
from visterm.graph import LabelPropagation, PictureGraph, harmonic, label_propagation, spread
from visterm.graph.inference.held_out import hide_tags, tag_surprise


@pytest.fixture
def halves(rng):
    """Two clouds, two pictures of each known."""
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 4]], 30, axis=0)
    y = np.full(60, -1)
    y[[0, 1, 30, 31]] = [0, 0, 1, 1]
    return X, y


def test_spreading_is_the_closed_form(links):
    labels = np.zeros((12, 3))
    labels[[0, 4, 9], [0, 1, 2]] = 1
    degrees = np.asarray(links.sum(axis=1))
    normal = links.toarray() / np.sqrt(np.outer(degrees, degrees))
    for alpha in (0.3, 0.99):
        expected = (1 - alpha) * np.linalg.solve(np.eye(12) - alpha * normal, labels)
        np.testing.assert_allclose(spread(links, labels, alpha), expected, atol=1e-7)


def test_the_harmonic_solution_is_the_closed_form(links):
    known = np.zeros(12, bool)
    known[[0, 4, 9]] = True
    labels = np.zeros((12, 3))
    labels[[0, 4, 9], [0, 1, 2]] = 1
    laplacian = np.diag(links.sum(axis=1)) - links.toarray()
    expected = np.linalg.solve(laplacian[np.ix_(~known, ~known)], links.toarray()[np.ix_(~known, known)])
    np.testing.assert_allclose(harmonic(links, labels, known)[~known], expected @ labels[known], atol=1e-6)


def test_scikit_learn_spreads_the_same(halves):
    X, y = halves
    graph = PictureGraph(5, metric="euclidean").fit(X)
    kernel = graph.links_.toarray()
    tags = np.zeros((60, 2))
    tags[y >= 0, y[y >= 0]] = 1
    theirs = LabelSpreading(kernel=lambda a, b: kernel, alpha=0.7, max_iter=1000, tol=1e-8).fit(X, y)
    ours = LabelPropagation(alpha=0.7).fit(X, tags, graph=graph).score_training()
    reached = theirs.label_distributions_.sum(axis=1) > 0.5
    np.testing.assert_allclose(ours[reached], theirs.label_distributions_[reached], atol=1e-4)
    np.testing.assert_array_equal(ours.argmax(axis=1)[reached], theirs.transduction_[reached])


def test_scikit_learn_propagates_the_same(halves):
    X, y = halves
    graph = PictureGraph(59, metric="euclidean", weights="heat").fit(X)  # all are linked
    kernel = graph.links_.toarray()
    tags = np.zeros((60, 2))
    tags[y >= 0, y[y >= 0]] = 1
    theirs = TheirPropagation(kernel=lambda a, b: kernel, max_iter=5000, tol=1e-9).fit(X, y)
    ours = LabelPropagation(alpha=1).fit(X, tags, graph=graph).score_training()
    np.testing.assert_allclose(ours, theirs.label_distributions_, atol=2e-3)


def test_several_tags_travel_independently(halves):
    X, y = halves
    graph = PictureGraph(6, metric="euclidean").fit(X)
    tags = np.zeros((60, 3))
    tags[y == 0, 0] = tags[y == 1, 1] = 1
    tags[[0, 30], 2] = 1
    together = LabelPropagation(alpha=0.9).fit(X, tags, graph=graph).score_training()
    # Knowing who is tagged, a tag does not depend on the others.
    fewer = tags.copy()
    fewer[:, 1] = 0
    fewer[y == 1, 2] = 1
    np.testing.assert_allclose(
        LabelPropagation(alpha=0.9).fit(X, fewer, graph=graph).score_training()[:, 0], together[:, 0], atol=1e-6
    )
    assert together.min() >= 0
    assert together.max() <= 1


def test_how_far_to_look_is_chosen_on_hidden_tags(counts):
    X, tags, groups = counts
    model = LabelPropagation(5).fit(X, tags)
    assert model.alpha_ in model.alphas
    assert model.held_out_.shape == (4, 2)
    assert (model.score_training()[:, :3].argmax(axis=1) == groups).mean() > 0.9


def test_who_nobody_is_linked_with_gets_frequencies():
    X, tags = [[0.0], [1.0], [50.0], [51.0]], [[1, 0], [1, 1], [0, 0], [0, 0]]
    model = LabelPropagation(1, metric="euclidean", alpha=0.5).fit(X, tags)
    np.testing.assert_allclose(model.score_training()[2:], [[1.0, 0.5]] * 2)
    np.testing.assert_allclose(model.score_tags([[51.0]]), [[1.0, 0.5]])


def test_wrong_settings_are_refused(counts):
    X, tags, _ = counts
    for alpha in (-0.1, 1.5, "far"):
        with pytest.raises(InputError, match="alpha"):
            LabelPropagation(alpha=alpha).fit(X, tags)
    with pytest.raises(InputError, match="no picture has a tag"):
        LabelPropagation().fit(X, sparse.csr_array(tags.shape))


def test_blocks_of_tags_change_no_score(monkeypatch):
    rng = np.random.default_rng(0)
    X, tags = rng.random((40, 6)), rng.random((40, 5)) < 0.3
    tags[30:] = False
    for alpha in (0.9, 1.0):
        whole = label_propagation.LabelPropagation(4, alpha=alpha).fit(X, tags).scores_
        with monkeypatch.context() as patch:
            patch.setattr(label_propagation, "_BLOCK", 2 * 40)
            np.testing.assert_allclose(label_propagation.LabelPropagation(4, alpha=alpha).fit(X, tags).scores_, whole)


@pytest.mark.parametrize("alpha", [0.5, 0.99, 1])
def test_scores_of_few_pictures_are_those_of_all(halves, rng, alpha):
    X, _ = halves
    tags = sparse.csr_array((rng.random((60, 20)) < 0.1) * (np.arange(60) % 3 > 0)[:, None] * 1.0)
    model = LabelPropagation(alpha=alpha, metric="euclidean").fit(X, tags)
    rows = np.array([3, 17, 40])
    np.testing.assert_allclose(model._propagate_to(rows, tags, alpha), model.score_training()[rows], atol=1e-6)


def test_many_scores_are_computed_in_single_precision(halves, monkeypatch, rng):
    X, _ = halves
    tags = (rng.random((60, 70)) < 0.1) * (np.arange(60) % 2)[:, None]
    exact = LabelPropagation(metric="euclidean").fit(X, tags)
    monkeypatch.setattr("visterm.graph.label_propagation._DOUBLE_UP_TO", 0)
    monkeypatch.setattr("visterm.graph.label_propagation._MOST_ASKED", 5)
    monkeypatch.setattr("visterm.graph.label_propagation._BLOCK", 600)
    single = LabelPropagation(alpha=exact.alpha_, metric="euclidean").fit(X, tags)
    assert single.scores_.dtype == np.float32
    np.testing.assert_allclose(single.scores_, exact.scores_, atol=1e-4)
    chosen = LabelPropagation(metric="euclidean").fit(X, tags)
    assert chosen.held_out_.shape == exact.held_out_.shape
    assert np.isfinite(chosen.held_out_).all()


def test_scores_are_kept_in_double_precision_up_to_a_number_of_them(halves, monkeypatch):
    X, y = halves
    monkeypatch.setattr("visterm.graph.label_propagation._DOUBLE_UP_TO", 60 * 3)
    for n_tags, kind in ((3, np.float64), (4, np.float32)):
        tags = np.zeros((60, n_tags))
        tags[y >= 0, y[y >= 0]] = 1
        assert LabelPropagation(alpha=0.5, metric="euclidean").fit(X, tags).scores_.dtype == kind


def test_the_reach_is_chosen_by_all_hidden_pictures_or_some_at_equal_distances():
    for n in (0, 1, 4, 5):
        assert evenly(n, 5).tolist() == list(range(n))
    assert evenly(9, 5).tolist() == [0, 2, 4, 6, 8]


def test_scores_are_the_probabilities_that_they_are_said_to_be(rng):
    X = rng.normal(size=(200, 2)) + np.repeat([[0, 0], [9, 9]], 100, axis=0)
    has_first = (np.arange(200) % 5 > 0) == (np.arange(200) < 100)  # four in five of one cloud, one of the other
    tags = np.column_stack([has_first, ~has_first])
    is_known = np.arange(200) % 2 == 0
    model = LabelPropagation(metric="euclidean", alpha=0.95).fit(X, tags * is_known[:, None])
    assert model.scores_are_probabilities
    for cloud, share in ((slice(1, 100, 2), 0.8), (slice(101, 200, 2), 0.2)):
        assert tags[cloud, 0].mean() == share
        np.testing.assert_allclose(model.score_training()[cloud].mean(axis=0), [share, 1 - share], atol=0.05)


@pytest.mark.parametrize("residual", [0.5, 0.2, 0.05, 1e-3])
def test_spreading_takes_the_steps_of_scipys_conjugate_gradients(links, rng, residual, monkeypatch):
    """Each label takes as many steps as it needs; one that nobody has needs none."""
    monkeypatch.setattr(label_propagation, "_RESIDUALS", (residual, 0.0))
    labels = rng.random((12, 4)) * [1, 30, 0, 0.01]
    degrees = links.sum(axis=1)
    system = np.eye(12) - 0.9 * links.toarray() / np.sqrt(np.outer(degrees, degrees))
    expected = [cg(system, 0.1 * label, rtol=residual, atol=0)[0] for label in labels.T]
    np.testing.assert_allclose(spread(links, labels, 0.9), np.transpose(expected), rtol=1e-9)


def test_labels_in_single_precision_stay_so(links, rng):
    labels = rng.random((12, 3))
    single = spread(links, labels.astype(np.float32), 0.9)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, spread(links, labels, 0.9), rtol=1e-4)
    assert spread(links, np.eye(12, dtype=int), 0.9).dtype == np.float64


def test_pictures_without_links_keep_their_labels():
    """A label stays where it is known, and does not come where no link leads."""
    links = sparse.csr_array([[0.0, 0.5, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    labels = np.array([[0.7], [9.0], [0.3], [9.0]])
    known = np.array([True, False, True, False])
    np.testing.assert_allclose(harmonic(links, labels, known), [[0.7], [0.7], [0.3], [0.0]])
    np.testing.assert_allclose(spread(links, labels, 0.5)[2:], [[0.15], [4.5]])


def test_pictures_far_from_all_get_the_mean_scores():
    X, tags = [[0.0], [1.0], [2.0], [20.0], [20.5]], [[1, 0], [0, 1], [0, 1], [1, 1], [0, 0]]
    graph = PictureGraph(2, metric="euclidean", weights="heat").fit(X)
    graph.width_ = 0.7
    model = LabelPropagation(alpha=0.5).fit(X, tags, graph=graph)
    scores = model.score_tags([[900.0], [0.7], [21.2]])
    np.testing.assert_allclose(scores[0], model.scores_.mean(axis=0))
    weights = np.exp(-((np.array([0.7, 0.3]) / graph.width_) ** 2))
    np.testing.assert_allclose(scores[1], weights @ model.scores_[:2] / weights.sum(), rtol=1e-6)
    weights = np.exp(-((np.array([1.2, 0.7]) / graph.width_) ** 2))
    np.testing.assert_allclose(scores[2], weights @ model.scores_[3:] / weights.sum(), rtol=1e-6)
    np.testing.assert_allclose(model.score_tags(X), model.score_training())


def test_shares_lie_between_0_and_1_where_somebody_votes():
    votes, total = np.array([[0.25, 0.5], [-1e-9, 0.5], [0.0, 0.0]]), np.array([[0.5], [0.499], [0.0]])
    np.testing.assert_allclose(
        label_propagation._shares(votes, total, np.array([0.2, 0.6])), [[0.5, 1.0], [0.0, 1.0], [0.2, 0.6]]
    )


def test_too_few_tagged_pictures_are_not_hidden(counts):
    X, tags, _ = counts
    few = sparse.csr_array(tags.toarray() * (np.arange(60) < 9)[:, None])
    for alpha, expected in (("auto", 0.95), (0.3, 0.3)):
        model = LabelPropagation(5, alpha=alpha).fit(X, few)
        assert model.alpha_ == expected
        assert model.held_out_.shape == (0, 2)


def test_a_given_reach_is_not_tried(counts):
    X, tags, _ = counts
    model = LabelPropagation(5, alpha=0.3).fit(X, tags)
    assert model.held_out_.shape == (0, 2)
    assert model.tag_counts_.tolist() == tags.sum(axis=0).tolist()


def test_the_reach_is_the_best_for_the_hidden_tags(counts):
    X, tags, _ = counts
    model = LabelPropagation(5, alphas=(0.99, 0.5, 0.8)).fit(X, tags)
    tried, scores = model.held_out_.T
    assert tried.tolist() == [0.99, 0.5, 0.8]
    assert model.alpha_ == tried[scores.argmax()]
    hidden = hide_tags(tags, 0.2, 0)
    for alpha, score in model.held_out_:
        shown = LabelPropagation(5, alpha=alpha).fit(X, hidden.shown).score_training()[hidden.rows]
        assert score == pytest.approx(tag_surprise(shown / shown.sum(axis=1, keepdims=True), hidden.tags))


def test_nothing_is_scored_before_fitting():
    assert LabelPropagation.learns_from_untagged
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LabelPropagation().score_tags([[1.0]])
