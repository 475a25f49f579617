"""Supervised LDA: kernels equal their definitions, bounds rise, special cases are their models."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp, softmax

from visterm.compute.threads import one_blas_thread
from visterm.errors import InputError
from visterm.topics import (
    LDA,
    CorrLDA,
    JointTopics,
    Labelled,
    RefinedCorrLDA,
    RefinedSupervisedLDA,
    RefinedTopics,
    SupervisedLDA,
    improve_coefficients,
    infer_labelled,
    infer_topics,
    responsibilities,
)
from visterm.topics.inference._kernels_class import class_room, class_term_of, exponentials
from visterm.topics.inference._kernels_slda import _MOST_SETTLING, _SETTLED, Room, start_picture
from visterm.topics.inference.joint_model import mean_assignments, softmax_regression
from visterm.topics.inference.refine import label_likelihood


@pytest.fixture(autouse=True)
def _one_core():
    with one_blas_thread():
        yield


def problem(seed, *, n_pictures=5, n_codewords=7, n_topics=3, n_classes=3, n_tags=4, scale=3.0, mean=1.5, eta=4.0):
    """Random pictures, some without class, tags or codewords, and a random model; counts need not be whole."""
    rng = np.random.default_rng(seed)
    bags = sparse.csr_array(np.round(rng.poisson(mean, (n_pictures, n_codewords)) * rng.uniform(0.3, scale), 2))
    classes = rng.integers(-1, n_classes, n_pictures)
    tags = sparse.csr_array((rng.random((n_pictures, n_tags)) < 0.4).astype(np.float32))
    data = Labelled(bags, classes, rng.uniform(0.5, 2, n_pictures), tags)
    model = JointTopics(
        rng.dirichlet(np.ones(n_codewords), n_topics),
        rng.dirichlet(np.ones(n_tags), n_topics),
        rng.normal(size=(n_classes, n_topics)) * eta,
        rng.uniform(0.1, 2, n_topics),
    )
    return data, model, infer_topics(bags, model.codewords, model.alpha, max_sweeps=2).gamma


def test_pictures_start_from_their_codewords_alone():
    rng = np.random.default_rng(0)
    words, counts = np.array([4, 0, 2], np.int32), np.array([3.0, 1.0, 2.5])
    likelihood, gamma = rng.random((5, 4)), rng.uniform(0.2, 3, 4)
    phi = np.empty((3, 4))
    room = Room(np.empty((0, 3)), *np.empty((8, 4)), phi)
    start_picture(words, counts, likelihood, gamma, room, phi)
    expected = np.exp(digamma(gamma)) * likelihood[words]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(phi, expected)
    np.testing.assert_allclose(room.before, counts @ expected)


@pytest.mark.parametrize("least", [-0.01, -0.119, -0.121, -0.23, -3.0])
def test_exponentials_are_exact_by_series_and_without(least):
    x = np.linspace(least, 0, 9)
    found = np.empty(9)
    exponentials(x, least, found)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-13)


def test_odds_of_classes_hold_for_as_many_tokens_as_the_bound_allows():
    rng = np.random.default_rng(0)
    counts, phi, coefficients = np.array([1.0, 2.5]), rng.dirichlet(np.ones(3), 2), rng.normal(size=(4, 3))
    term = class_term_of(counts, phi, 2, 0.7, coefficients, class_room(4, 3, 2))
    factors = np.exp(coefficients / 3.5)
    spread = (factors.max(axis=1) / factors.min(axis=1)).max() - 1
    assert term.spread == pytest.approx(spread)
    assert 0.7 * term.limit * spread**2 == pytest.approx(4)


def bound_by_the_book(data, model, all_gamma, all_phi):
    """The evidence bound token by token, with the best lambda: every term of the paper's equations (2) to (6)."""
    value, position = 0.0, 0
    for d, row in enumerate(data.bags.toarray()):
        words = np.flatnonzero(row)
        counts, size = row[words], row.sum()
        phi = all_phi[position : position + len(words)]
        position += len(words)
        gamma, alpha = all_gamma[d], model.alpha
        log_theta = digamma(gamma) - digamma(gamma.sum())
        value += gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta
        value -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ log_theta
        value += counts @ (phi * (log_theta + np.log(model.codewords[:, words].T) - np.log(phi + 1e-300))).sum(axis=1)
        if not len(words):
            continue
        for tag in np.flatnonzero(data.tags[[d]].toarray().ravel()):
            match = phi @ np.log(model.tags[:, tag])
            attention = np.exp(match) / (counts @ np.exp(match))
            value += counts @ (attention * (match - np.log(size) - np.log(attention)))
        if data.classes[d] >= 0:
            sums = (counts[:, None] * np.log(phi @ np.exp(model.coefficients / size).T)).sum(axis=0)
            phibar = counts @ phi / size
            value += data.class_weights[d] * (model.coefficients[data.classes[d]] @ phibar - logsumexp(sums))
    return value


def sweep_by_the_book(data, model, d, gamma, phi):
    """One sweep of the paper's updates (4) and (8) over picture ``d``, codeword by codeword; counts are at most 1.

    The odds of the classes hold for as many tokens as the spread of the class term allows.
    """
    row = data.bags[[d]].toarray().ravel()
    words = np.flatnonzero(row)
    counts, size, tags = row[words], row.sum(), np.flatnonzero(data.tags[[d]].toarray().ravel())
    match = np.exp(phi @ np.log(model.tags[:, tags]))
    attention = match / (counts @ match)
    factors = np.exp(model.coefficients / size)
    limit = 4 / (data.class_weights[d] * ((factors.max(axis=1) / factors.min(axis=1)).max() - 1) ** 2)
    n_moved = np.inf
    for j, word in enumerate(words):
        evidence = digamma(gamma) + np.log(model.codewords[:, word]) + attention[j] @ np.log(model.tags[:, tags]).T
        if data.classes[d] >= 0:
            products = phi @ factors.T
            if n_moved + counts[j] > limit:
                odds, n_moved = softmax(counts @ np.log(products)), 0.0
            n_moved += counts[j]
            pull = (odds / products[j]) @ factors
            evidence += data.class_weights[d] * (model.coefficients[data.classes[d]] / size - pull)
        phi[j] = softmax(evidence)
    return counts @ phi


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("eta", [2.0, 40.0])  # at 40, the odds hold for less than one token
def test_sweeps_are_those_of_the_paper(seed, eta):
    data, model, gamma = problem(seed, eta=eta)
    if seed % 2:  # classes alone
        data = replace(data, tags=sparse.csr_array((5, 4)), class_weights=data.class_weights / 2)
    data.bags.data[:] = np.minimum(data.bags.data, 1.0)
    expected = gamma.copy()
    phi = responsibilities(expected, data.bags, model.codewords)
    for d in range(len(data)):
        own = phi[data.bags.indptr[d] : data.bags.indptr[d + 1]]
        shares = data.bags.data[data.bags.indptr[d] : data.bags.indptr[d + 1]] @ own
        if data.classes[d] >= 0 or data.tags[[d]].nnz:  # first the best phi for the gamma of before and the labels
            for _ in range(_MOST_SETTLING):
                before, shares = shares, sweep_by_the_book(data, model, d, expected[d], own)
                if np.abs(shares - before).sum() < _SETTLED * shares.sum():
                    break
        for _ in range(3):
            expected[d] = model.alpha + sweep_by_the_book(data, model, d, expected[d], own)
    inferred = infer_labelled(data, model, gamma, max_sweeps=3, tolerance=0)
    np.testing.assert_allclose(gamma, expected, rtol=1e-9)
    np.testing.assert_allclose(inferred.phibar, mean_assignments(expected, data.bags, model.alpha), rtol=1e-9)
    assert inferred.statistics.bound == pytest.approx(bound_by_the_book(data, model, expected, phi), rel=1e-9)
    owners, counts = np.repeat(np.arange(5), np.diff(data.bags.indptr)), data.bags.data[:, None]
    codewords, tags = np.zeros((7, 3)), np.zeros((4, 3))
    np.add.at(codewords, data.bags.indices, counts * phi)
    for d, tag in zip(*data.tags.nonzero(), strict=True):
        own = owners == d
        attention = counts[own] * np.exp(phi[own] @ np.log(model.tags[:, [tag]]))
        tags[tag] += (attention * phi[own]).sum(axis=0) / attention.sum() if own.any() else 0
    np.testing.assert_allclose(inferred.statistics.codewords.T, codewords, rtol=1e-9)
    np.testing.assert_allclose(inferred.statistics.tags.T, tags, rtol=1e-9)


def test_a_picture_ends_when_its_gamma_changes_by_less_than_the_tolerance_per_topic():
    data, model, start = problem(1, n_pictures=20)
    gammas = [start]
    for n in range(1, 8):
        gammas.append(start.copy())
        infer_labelled(data, model, gammas[-1], max_sweeps=n, tolerance=0)
    changes = [np.abs(after - before).mean(axis=1) for before, after in pairwise(gammas)]
    last = np.argmax(np.vstack([np.array(changes)[:-1] < 0.05, np.ones((1, 20), bool)]), axis=0) + 1
    assert len(set(last)) > 2
    infer_labelled(data, model, start, max_sweeps=7, tolerance=0.05)
    np.testing.assert_allclose(start, np.array(gammas)[last, np.arange(20)], rtol=1e-10)


def test_labels_of_a_picture_without_codewords_say_nothing():
    data, model, gamma = problem(2)
    empty = Labelled(data.bags[:1] * 0, np.array([1]), np.ones(1), sparse.csr_array(np.ones((1, 4), np.float32)))
    empty.bags.eliminate_zeros()
    found = infer_labelled(empty, model, gamma[:1], max_sweeps=2)
    assert found.statistics.bound == pytest.approx(0, abs=1e-12)
    assert found.class_part == 0
    assert not found.statistics.tags.any()
    np.testing.assert_array_equal(gamma[0], model.alpha)
    again, gradient = found.class_value(model.coefficients + 1)
    assert (again, np.abs(gradient).max()) == (0, 0)
    classes = np.array([1, 2, 1])
    both = replace(data[:3], classes=classes, bags=sparse.csr_array(sparse.vstack([empty.bags, data.bags[:2]])))
    alone = replace(data[1:3], classes=classes[1:], bags=data.bags[:2])
    values = [
        infer_labelled(part, model, np.tile(model.alpha, (len(part), 1)), max_sweeps=2).class_value(
            model.coefficients + 0.5
        )
        for part in (both, alone)
    ]
    assert values[0][0] == values[1][0] != 0
    np.testing.assert_array_equal(values[0][1], values[1][1])


def test_shares_of_topics_in_pictures_and_in_their_counts():
    bags = sparse.csr_array([[0.5, 0.0], [0.0, 0.0], [2.0, 6.0]])
    alpha, gamma = np.array([1.0, 3.0]), np.array([[1.2, 3.3], [1.0, 3.0], [7.0, 5.0]])
    np.testing.assert_allclose(mean_assignments(gamma, bags, alpha), [[0.4, 0.6], [0.25, 0.75], [0.75, 0.25]])
    # The weight of a topic with a small gamma is less than any number.
    phi = responsibilities(np.array([[1e-3, 1.1e-3]]), sparse.csr_array([[3.0, 1.0]]), np.full((2, 2), 0.5))
    np.testing.assert_allclose(phi.sum(axis=1), 1)


def test_tags_that_hardly_tell_topics_apart_count_to_eleven_digits():
    rng = np.random.default_rng(0)
    bags = sparse.csr_array(np.eye(6))  # one token a picture, so that it gets all the attention of the only tag
    data = Labelled(bags, np.full(6, -1), np.ones(6), sparse.csr_array(np.ones((6, 1))))
    codewords, alpha = rng.dirichlet(np.ones(6), 3), rng.uniform(0.1, 2, 3)
    tags = 0.9 * np.exp([[0.0], [-0.06], [-0.119]])
    model = JointTopics(codewords, tags, np.zeros((0, 3)), alpha)
    gamma = rng.uniform(0.1, 2, (6, 3))
    expected = np.exp(digamma(gamma)) * codewords.T * tags.T
    infer_labelled(data, model, gamma, max_sweeps=1, tolerance=0)
    np.testing.assert_allclose(gamma - alpha, expected / expected.sum(axis=1, keepdims=True), rtol=1e-11)


def test_expected_log_proportions_are_those_of_the_last_gamma():
    data, model, gamma = problem(0)
    found = infer_labelled(data, model, gamma, max_sweeps=1, tolerance=0)
    expected = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.statistics.log_proportions, expected.sum(axis=0), rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 4), st.sampled_from([0.5, 3.0, 40.0]), st.floats(0.4, 400)
)
def test_no_sweep_lowers_the_bound(seed, n_topics, n_classes, eta, scale):
    data, model, start = problem(seed, n_topics=n_topics, n_classes=n_classes, eta=eta, scale=scale)
    bounds = [
        infer_labelled(data, model, start.copy(), max_sweeps=n, tolerance=0).statistics.bound for n in range(1, 7)
    ]
    assert np.all(np.diff(bounds) >= -1e-9 * (1 + np.abs(bounds[:-1])))


@pytest.mark.parametrize(("count", "eta"), [(5.0, 10.0), (20.0, 40.0), (20.0, 150.0), (60.0, 40.0)])
def test_a_codeword_that_is_most_of_a_picture_does_not_overshoot(count, eta):
    """All its tokens move together, and a full step would lower the bound by up to 176."""
    rng = np.random.default_rng(4)
    bags = sparse.csr_array(np.array([[count, 1.0, 2.0]]))
    data = Labelled(bags, np.array([0]), np.ones(1), sparse.csr_array((1, 0)))
    codewords, coefficients = rng.dirichlet(np.full(3, 3.0), 2), rng.normal(size=(2, 2)) * eta
    model = JointTopics(codewords, np.empty((2, 0)), coefficients, np.full(2, 0.5))
    start = np.full((1, 2), count / 2 + 2)
    bounds = [
        infer_labelled(data, model, start.copy(), max_sweeps=n, tolerance=0).statistics.bound for n in range(1, 7)
    ]
    assert np.all(np.diff(bounds) >= 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 30.0]))
def test_a_step_of_the_coefficients_never_lowers_the_bound(seed, eta):
    data, model, gamma = problem(seed, eta=eta)
    inferred, ridge = infer_labelled(data, model, gamma, max_sweeps=2), 0.1

    def value(coefficients):
        return inferred.class_value(coefficients)[0] - ridge / 2 * (coefficients**2).sum()

    coefficients, values = model.coefficients, [value(model.coefficients)]
    for _ in range(4):
        coefficients = improve_coefficients(inferred, coefficients, ridge)
        values.append(value(coefficients))
    assert np.all(np.diff(values) >= 0)


@pytest.mark.parametrize("seed", [3, 9, 11])
def test_a_step_of_the_coefficients_that_is_too_long_is_shortened(seed, monkeypatch):
    data, model, gamma = problem(seed, n_pictures=4, eta=1.0, scale=0.6)
    inferred = infer_labelled(data, model, gamma, max_sweeps=2)

    def rise(n_tries):
        monkeypatch.setattr("visterm.topics.inference.joint_model._MAX_HALVINGS", n_tries)
        found = improve_coefficients(inferred, model.coefficients, 0.01)
        values = [inferred.class_value(at)[0] - 0.005 * (at**2).sum() for at in (model.coefficients, found)]
        return values[1] - values[0]

    assert rise(1) == 0
    assert rise(30) > 0.5


def test_steps_of_the_coefficients_lead_to_where_the_exact_gradient_vanishes():
    data, model, gamma = problem(3, n_pictures=30)
    inferred, coefficients = infer_labelled(data, model, gamma, max_sweeps=2), model.coefficients
    for _ in range(60):
        coefficients = improve_coefficients(inferred, coefficients, 0.5)
    gradient = inferred.class_value(coefficients)[1] - 0.5 * coefficients
    assert np.abs(gradient).max() < 1e-2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("eta", [0.1, 20.0])
def test_the_gradient_of_the_class_term_is_that_of_finite_differences(seed, eta):
    data, model, gamma = problem(seed, eta=eta)
    inferred = infer_labelled(data, model, gamma, max_sweeps=3)
    value, gradient = inferred.class_value(model.coefficients)
    for place in np.ndindex(*gradient.shape):
        step = np.zeros(gradient.shape)
        step[place] = 1e-5
        above = inferred.class_value(model.coefficients + step)[0]
        below = inferred.class_value(model.coefficients - step)[0]
        assert gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-6)
    again, same = inferred.class_value(model.coefficients.copy())  # the phi are found again
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(same, gradient, atol=1e-10)


def test_for_large_pictures_the_coefficients_are_those_of_a_regression_on_proportions():
    data, model, _ = problem(3, n_pictures=30)
    data.bags.data[:] *= 1e5
    bags = data.bags.tolil()
    bags[0], bags[1], bags[2] = 0, 0, 0  # an empty picture that would weigh much, and pictures of one codeword
    bags[1, 3], bags[2, 5] = 1e5, 1e5
    classes, weights = np.arange(30) % 3, data.class_weights.copy()
    weights[:3], classes[3] = 30, -1
    data = replace(data, bags=sparse.csr_array(bags), classes=classes, class_weights=weights)
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    inferred, start = infer_labelled(data, model, gamma, max_sweeps=2), np.zeros((3, 3))
    found = improve_coefficients(inferred, start, 0.5, max_iter=200)
    known = np.where(np.arange(30) == 0, -1, classes)
    expected = softmax_regression(inferred.phibar, known, weights, 0.5, start)
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_softmax_regression_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features, classes = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    classes[:5] = -1
    found = softmax_regression(features, classes, np.ones(60), 0.5, np.zeros((3, 4)), max_iter=1000)
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(features[5:], classes[5:])
    np.testing.assert_allclose(found, peer.coef_, atol=1e-3)


def collection(seed=0, n_pictures=60, n_codewords=20):
    """Three classes and three tags, each with codewords of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pictures) % 3
    tags = (rng.random((n_pictures, 3)) < 0.3).astype(np.float32)
    tags[np.arange(n_pictures), y] = 1
    rates = np.full((n_pictures, n_codewords), 0.3)
    for c in range(3):
        rates[y == c, 3 * c : 3 * c + 3] += 4
        rates[tags[:, c] == 1, 9 + 3 * c : 12 + 3 * c] += 4
    return rng.poisson(rates).astype(float), y, tags


@pytest.mark.parametrize("learn_alpha", [False, True])
@pytest.mark.parametrize("max_sweeps", [1, 5])
def test_em_never_lowers_the_objective(learn_alpha, max_sweeps):
    X, y, tags = collection()
    y[::5], tags[::3] = -1, 0
    model = SupervisedLDA(4, learn_alpha=learn_alpha, max_sweeps=max_sweeps, max_iter=40, tol=0, random_state=1)
    rises = np.diff(model.fit(X, y, tags).objective_)
    assert len(rises) > 10
    assert np.all(rises >= -1e-9 * np.abs(model.objective_[:-1]))


def test_with_coefficients_at_zero_the_model_is_lda():
    data, model, _ = problem(5, n_pictures=20)
    plain = JointTopics(model.codewords, np.empty((3, 0)), np.zeros((3, 3)), model.alpha)
    data = Labelled(data.bags, data.classes, data.class_weights, sparse.csr_array((20, 0)))
    lda = infer_topics(data.bags, model.codewords, model.alpha, max_sweeps=500, tolerance=1e-10)
    gamma = lda.gamma + 0.01
    found = infer_labelled(data, plain, gamma, max_sweeps=500, tolerance=1e-10).statistics
    np.testing.assert_allclose(gamma, lda.gamma, atol=1e-5)
    np.testing.assert_allclose(found.codewords, lda.statistics.codewords, atol=1e-5)
    known = (data.classes >= 0) & (np.diff(data.bags.indptr) > 0)
    guesses = data.class_weights[known].sum() * np.log(3)
    assert found.bound == pytest.approx(lda.statistics.bound - guesses)


@pytest.mark.parametrize("refine", [0, 5])
def test_without_classes_the_model_is_corr_lda(refine):
    X, _, tags = collection()
    joint = RefinedSupervisedLDA(4, refine=refine, random_state=0).fit(X, tags=tags)
    corr = RefinedCorrLDA(4, refine=refine, random_state=0).fit(X, tags)
    np.testing.assert_array_equal(joint.topic_codewords_, corr.topic_codewords_)
    np.testing.assert_array_equal(joint.score_tags(X), corr.score_tags(X))
    np.testing.assert_array_equal(
        RefinedSupervisedLDA(4, refine=refine, random_state=0).fit(X, tags).score_tags(X), corr.score_tags(X)
    )
    with pytest.raises(InputError, match="no classes"):
        joint.decision_function(X)
    np.testing.assert_array_equal(joint.predict(X).toarray(), corr.predict(X).toarray())
    assert joint.score(X, tags) == corr.score(X, tags)


def test_without_tags_the_model_is_that_of_classes_alone():
    X, y, tags = collection()
    alone = SupervisedLDA(4, random_state=0).fit(X, y)
    with_empty = SupervisedLDA(4, random_state=0).fit(X, y, np.zeros(tags.shape))
    np.testing.assert_array_equal(alone.topic_codewords_, with_empty.topic_codewords_)
    np.testing.assert_array_equal(alone.decision_function(X), with_empty.decision_function(X))
    with pytest.raises(InputError, match="no tags"):
        alone.score_tags(X)


@pytest.mark.parametrize("refine", [0, 10])
def test_classes_and_tags_are_found(refine):
    X, y, tags = collection()
    test_X, test_y, test_tags = collection(1)
    model = RefinedSupervisedLDA(6, refine=refine, alpha=0.3, random_state=0).fit(X, y, tags)
    assert model.score(test_X, test_y) > 0.9
    scores = model.score_tags(test_X)
    assert scores[test_tags == 1].mean() > scores[test_tags == 0].mean() + 0.1
    np.testing.assert_allclose(model.transform(test_X).sum(axis=1), 1)


def test_single_codewords_one_topic_two_classes_empty_and_unseen():
    X = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], dtype=float))
    model = SupervisedLDA(1, random_state=0).fit(X, [0, 1, 1, 0], [[1, 0], [0, 1], [1, 1], [0, 0]])
    assert np.isfinite(model.predict_proba(np.eye(3))).all()
    model = SupervisedLDA(2, alpha=0.1, random_state=0).fit(X, ["a", "b", "b", "a"])
    assert model.predict([[5, 0, 0]]) == ["a"]
    said = model.predict_proba([[0, 0, 0], [0, 0, 7]])
    np.testing.assert_allclose(said.sum(axis=1), 1)


def test_unlabelled_pictures_take_part():
    X, y, _ = collection(n_pictures=90)
    few = np.where(np.arange(90) < 6, y, -1)
    model = SupervisedLDA(4, alpha=0.3, random_state=0).fit(X, few)
    alone = SupervisedLDA(4, alpha=0.3, random_state=0).fit(X[:6], few[:6])
    assert model.score(X[6:], y[6:]) >= alone.score(X[6:], y[6:])


def test_balanced_weights_make_every_class_count_the_same():
    X, y, _ = collection()
    keep = np.flatnonzero((y > 0) | (np.arange(60) < 12))
    model = SupervisedLDA(4, class_weight="balanced")
    model.classes_ = np.arange(3)
    data = model._labelled(
        sparse.csr_array(X[keep]), np.ones(len(keep), bool), y[keep], sparse.csr_array((len(keep), 0))
    )
    totals = np.bincount(y[keep], weights=data.class_weights)
    np.testing.assert_allclose(totals, len(keep) / 3)
    few = model.set_params(class_strength=2.0)._labelled(
        sparse.csr_array(X[:4]), np.array([True, True, False, True]), np.array([0, 2, -1, 0]), sparse.csr_array((4, 0))
    )
    assert few.classes.tolist() == [0, 2, -1, 0]
    np.testing.assert_allclose(few.class_weights, [1.5, 3.0, 2.0, 1.5])  # three pictures of two classes


def test_the_strength_of_classes_is_the_weight_of_their_term():
    X, y, _ = collection()
    y[:6] = -1
    weak, strong = (SupervisedLDA(4, class_strength=s, max_iter=5, random_state=0).fit(X, y) for s in (0.1, 10.0))
    assert np.abs(weak.topic_codewords_ - strong.topic_codewords_).max() > 1e-3
    data = strong._labelled(sparse.csr_array(X), y >= 0, y, sparse.csr_array((60, 0)))
    np.testing.assert_array_equal(data.class_weights[y >= 0], 10.0)


def test_probabilities_of_classes_have_the_temperature_of_the_model():
    X, y, _ = collection()
    model = RefinedSupervisedLDA(4, random_state=0).fit(X, y)
    model.temperature_ = 3.0
    np.testing.assert_allclose(model.predict_proba(X), softmax(model.decision_function(X) / 3, axis=1))


def test_a_tag_is_probable_if_one_of_several_draws_is_likely_to_be_it():
    X, y, tags = collection()
    model = SupervisedLDA(4, random_state=0).fit(X, y, tags)
    assert model.mean_n_tags_ == pytest.approx(tags.sum() / 60)
    chances = model.transform(X) @ model.topic_tags_
    np.testing.assert_allclose(model.score_tags(X), 1 - (1 - chances) ** model.mean_n_tags_)


def test_held_out_pictures_stop_the_model_and_restarts_keep_the_best():
    X, y, tags = collection()
    model = RefinedSupervisedLDA(4, held_out_share=0.25, max_iter=40, tol=0, refine=30, random_state=0).fit(X, y, tags)
    assert model.score(X, y) > 0.8
    assert model.temperature_ != 1
    np.testing.assert_allclose(model.predict_proba(X).argmax(axis=1), model.predict(X))
    best = SupervisedLDA(4, n_restarts=3, random_state=0).fit(X, y, tags)
    one = SupervisedLDA(4, random_state=0).fit(X, y, tags)
    assert best.objective_[-1] >= one.objective_[-1]


def test_the_best_of_several_starts_is_kept_however_short_they_are():
    X, y, tags = collection(n_pictures=30)
    ends = [
        SupervisedLDA(4, n_restarts=n, max_iter=1, start="random", random_state=0).fit(X, y, tags).objective_[-1]
        for n in (1, 2, 3, 4)
    ]
    assert (np.diff(ends) >= 0).all()
    assert ends[-1] > ends[0]


def test_held_out_pictures_are_judged_as_the_model_would_judge_new_ones(monkeypatch):
    asked = []

    def recorded(data, model):
        asked.append((len(data), isinstance(model, RefinedTopics)))
        return label_likelihood(data, model)

    monkeypatch.setattr("visterm.topics.slda_refined.label_likelihood", recorded)
    X, y, tags = collection(n_pictures=40)
    model = RefinedSupervisedLDA(3, held_out_share=0.25, refine=5, random_state=0).fit(X, y, tags)
    assert model.online_["n_pictures"] == 30
    assert set(asked) == {(10, False), (10, True)}
    assert asked == sorted(asked)  # first by the proportions, then by their roots
    asked.clear()
    RefinedSupervisedLDA(3, refine=5, random_state=0).fit(X, y, tags)
    assert not asked


def test_the_priors_of_the_objective():
    model = SupervisedLDA(2, smoothing=0.5, ridge=0.3)
    tags = np.array([[0.5, 0.5], [0.25, 0.75]])
    topics = JointTopics(np.full((2, 4), 0.25), tags, np.array([[1.0, -2.0]]), np.array([1.0, 2.5]))
    smoothed = 0.5 * (8 * np.log(0.25) + np.log(tags).sum())
    assert model._log_prior(topics) == pytest.approx(smoothed - 0.15 * 5)
    model.set_params(learn_alpha=True)
    assert model._log_prior(topics) == pytest.approx(smoothed - 0.15 * 5 - 0.1 * 3.5)


def test_the_objective_begins_with_the_bound_and_the_priors_of_the_start():
    X, y, tags = collection(n_pictures=30)
    model = SupervisedLDA(3, smoothing=0.5, max_iter=1, random_state=0).fit(X, y, tags)
    data = model._labelled(sparse.csr_array(X), np.ones(30, bool), y, sparse.csr_array(tags))
    random = np.random.RandomState(0)
    random.permutation(30)  # the order in which pictures would be held out
    start, gamma = model._start(data, 3, random)
    bound = infer_labelled(data, start, gamma, max_sweeps=2).statistics.bound
    prior = 0.5 * (np.log(start.codewords).sum() + np.log(start.tags).sum())  # the coefficients are still zero
    np.testing.assert_allclose(model.objective_, [bound + prior])


def test_one_pass_of_refinement_is_refinement():
    X, y, tags = collection(n_pictures=30)
    assert RefinedSupervisedLDA(3, refine=1, random_state=0).fit(X, y, tags).is_refined
    assert not RefinedSupervisedLDA(3, refine=0, random_state=0).fit(X, y, tags).is_refined


def test_a_tag_that_all_pictures_have_is_certain():
    X, _, _ = collection(n_pictures=30)
    scores = CorrLDA(2, random_state=0).fit(X, np.ones((30, 1))).score_tags(X)
    np.testing.assert_allclose(scores, 1)


def test_batches_teach_what_the_whole_does():
    X, y, tags = collection(n_pictures=300)
    model = RefinedSupervisedLDA(6, alpha=0.3, refine=0, random_state=0)
    for _ in range(3):
        for rows in np.array_split(np.arange(300), 5):
            model.partial_fit(X[rows], y[rows], tags[rows], classes=[0, 1, 2])
    test_X, test_y, test_tags = collection(1)
    assert model.score(test_X, test_y) > 0.9
    scores = model.score_tags(test_X)
    assert scores[test_tags == 1].mean() > scores[test_tags == 0].mean() + 0.1
    model.partial_fit(X[:4])  # a batch without labels
    with pytest.raises(InputError, match="was not among the classes"):
        model.partial_fit(X[:2], [0, 7])


def test_batches_of_tags_teach_corr_lda_what_they_teach_the_joint_model():
    X, _, tags = collection(n_pictures=120)
    joint, corr = (kind(4, refine=0, random_state=0) for kind in (RefinedSupervisedLDA, RefinedCorrLDA))
    for rows in np.array_split(np.arange(120), 4):
        joint.partial_fit(X[rows], tags=tags[rows])
        corr.partial_fit(X[rows], tags[rows])
    np.testing.assert_array_equal(joint.topic_tags_, corr.topic_tags_)
    scores = corr.score_tags(X)
    assert scores[tags == 1].mean() > scores[tags == 0].mean() + 0.1
    with pytest.raises(InputError, match="tags"):
        corr.partial_fit(X[:2], tags[:2, :2])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_topics": 0}, "n_topics"),
        ({"alpha": 0}, "alpha"),
        ({"ridge": 0}, "ridge"),
        ({"refine": -1}, "refine"),
        ({"class_strength": 0}, "class_strength"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"held_out_share": 1.0}, "held_out_share"),
        ({"start": "nowhere"}, "start"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    X, y, _ = collection(n_pictures=9)
    with pytest.raises(InputError, match=message):
        RefinedSupervisedLDA(**parameters).fit(X, y)


def test_pictures_without_any_label_are_refused():
    X, _, tags = collection(n_pictures=9)
    with pytest.raises(InputError, match="no picture has a class or a tag: give at least one picture a label"):
        SupervisedLDA(2).fit(X, np.full(9, -1), 0 * tags)
    with pytest.raises(InputError, match="no picture has a class or a tag"):
        SupervisedLDA(2).fit(X)


def test_batches_without_tags_teach_no_tags():
    X, y, _ = collection(n_pictures=12)
    model = RefinedSupervisedLDA(2, random_state=0).partial_fit(X, y).partial_fit(X)
    assert model.topic_tags_.shape == (2, 0)
    with pytest.raises(InputError, match="no tags"):
        model.score_tags(X)


def test_topics_transform_like_those_of_lda():
    X, y, _ = collection()
    model = SupervisedLDA(3, random_state=0).fit(X, y)
    lda = LDA(3)
    lda.topic_codewords_, lda.alpha_, lda.n_features_in_ = model.topic_codewords_, model.alpha_, 20
    bags = sparse.csr_array(X)
    np.testing.assert_allclose(model.transform(X), mean_assignments(lda.infer(X).gamma, bags, model.alpha_))
