"""The step of one codeword in supervised LDA: the class term, the new phi, and steps that are too long."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from visterm.topics.inference._kernels_class import (
    add_logarithms,
    best_topics,
    class_evidence,
    class_room,
    class_term_of,
    largest_row,
    local_bound,
    relative_entropy,
    step_back,
)
from visterm.topics.inference._kernels_slda import Picture, Room, TopicTables, sweep, tag_evidence

COUNTS, OWN, WEIGHT = np.array([1.0, 2.5]), 2, 0.7


def problem(eta, seed=0):
    rng = np.random.default_rng(seed)
    phi, coefficients = rng.dirichlet(np.ones(3), 2), rng.normal(size=(4, 3)) * eta
    return phi, coefficients, class_term_of(COUNTS, phi, OWN, WEIGHT, coefficients, class_room(4, 3, 2))


def room_of(**given):
    vectors = ("weights", "log_theta", "shares", "prior", "linear", "evidence", "updated", "before")
    n_topics = len(next(iter(given.values())))
    arrays = {name: np.array(given.get(name, np.zeros(n_topics))) for name in vectors}
    return Room(np.empty((0, 2)), *arrays.values(), np.empty((2, n_topics)))


@pytest.mark.parametrize("eta", [0.03, 0.3, 5.0])  # the first is so small that logarithms are a series
def test_the_class_term_of_a_picture_is_its_definition(eta):
    phi, coefficients, term = problem(eta)
    exact = np.exp(coefficients / 3.5)
    assert term.weight == WEIGHT
    assert term.spread == pytest.approx((exact.max(axis=1) / exact.min(axis=1)).max() - 1, rel=1e-12)
    assert term.limit == pytest.approx(4 / (WEIGHT * term.spread**2))
    factors = exact / exact.max(axis=1, keepdims=True)
    np.testing.assert_allclose(term.factors, factors, rtol=1e-14)
    np.testing.assert_array_equal(term.by_topic, term.factors.T)
    np.testing.assert_allclose(term.own, WEIGHT * coefficients[OWN] / 3.5)
    np.testing.assert_allclose(term.products, phi @ factors.T)
    np.testing.assert_allclose(term.log_sums, COUNTS @ np.log(phi @ exact.T), rtol=1e-12)


def test_pictures_without_a_class_or_codewords_have_no_class_term():
    phi, coefficients, _ = problem(1.0)
    weights = [
        class_term_of(counts, phi, own, WEIGHT, coefficients, class_room(4, 3, 2)).weight
        for counts, own in ((COUNTS, -1), (COUNTS[:0], OWN), (COUNTS, 0), (COUNTS[:1], OWN))
    ]
    assert weights == [0, 0, WEIGHT, WEIGHT]


@pytest.mark.parametrize(("spread", "tolerance"), [(0.0599, 2e-15), (3.0, 1e-15)])
def test_logarithms_are_exact_by_series_and_without(spread, tolerance):
    ratios, sums = np.geomspace(1 / (1 + spread), 1 + spread, 8), np.zeros(8)
    add_logarithms(2.5, ratios, spread, sums)
    np.testing.assert_allclose(sums, 2.5 * np.log(ratios), rtol=tolerance)
    add_logarithms(1.0, ratios, spread, sums)
    np.testing.assert_allclose(sums, 3.5 * np.log(ratios), rtol=3e-15)


def test_the_evidence_of_a_class_is_its_definition():
    _, _, term = problem(3.0)
    term.odds[:] = [0.1, 0.2, 0.3, 0.1]
    linear, evidence = np.array([1.0, -2.0, 0.5]), np.empty(3)
    class_evidence(term, 1, linear, evidence)
    np.testing.assert_allclose(linear, term.own + np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose(evidence, linear - (term.odds / term.products[1]) @ term.factors)


def test_the_evidence_of_tags_is_its_definition():
    rng = np.random.default_rng(0)
    tags, log_tags, attention, found = (
        np.array([4, 1], np.int32),
        rng.normal(size=(5, 3)),
        rng.random((2, 6)),
        np.ones(3),
    )
    tag_evidence(tags, log_tags, attention, 2, found)
    np.testing.assert_allclose(found, attention[:, 2] @ log_tags[tags])


def test_the_longest_row_is_found_wherever_it_is():
    assert [largest_row(np.array(indptr, np.int32)) for indptr in ([0, 3, 5], [0, 1, 1, 4], [0, 0], [0])] == [
        3,
        3,
        0,
        0,
    ]


@pytest.mark.parametrize("evidence", [[5.0, 8.0, 5.5], [-9.0, -8.0, -12.5], [0.5, 0.55, 0.6], [-0.3, 0.0, 2.0]])
def test_the_best_topics_of_a_codeword_are_those_of_bayes(evidence):
    weights, likelihood, prior, updated = np.array([0.3, 1.0, 0.6]), np.array([0.2, 0.1, 0.7]), *np.empty((2, 3))
    entropy = best_topics(weights, likelihood, np.array(evidence), prior, updated)
    np.testing.assert_allclose(prior, weights * likelihood)
    np.testing.assert_allclose(updated, softmax(np.log(prior) + evidence), rtol=1e-12)
    assert entropy == pytest.approx(-updated @ np.log(updated / prior))
    assert relative_entropy(updated, prior) == pytest.approx(entropy)


def test_topics_that_a_codeword_does_not_have_add_nothing_to_its_entropy():
    phi, prior = np.array([0.25, 0.75, 0.0]), np.array([0.5, 0.4, 0.2])
    assert relative_entropy(phi, prior) == pytest.approx(0.25 * np.log(2) - 0.75 * np.log(0.75 / 0.4))
    assert np.isfinite(relative_entropy(phi, np.zeros(3)))


def test_the_bound_around_a_codeword_is_its_definition():
    _, _, term = problem(3.0)
    room = room_of(prior=[0.2, 0.3, 0.1], linear=[1.0, -0.5, 0.7])
    phi = np.array([0.5, 0.2, 0.3])
    of_codeword = -phi @ np.log(phi / room.prior) + phi @ room.linear
    of_classes = logsumexp(term.log_sums + 2.5 * np.log(term.factors @ phi / term.products[1]))
    assert local_bound(phi, 2.5, 1, term, room) == pytest.approx(2.5 * of_codeword - WEIGHT * of_classes)


@pytest.mark.parametrize(("limit", "step"), [(10.0, 1.0), (4.0, 0.5), (1.0, 0.25), (7 / 6.5, 0.25), (7 / 8.5, 0.125)])
def test_a_step_downhill_is_halved_until_it_is_safe(limit, step):
    """A safe step is at most 2 / (1 + count / limit)."""
    _, _, term = problem(0.5)
    phi, far = np.array([0.98, 0.01, 0.01]), np.array([0.01, 0.98, 0.01])
    room = room_of(prior=[0.3, 0.3, 0.4], linear=[50.0, 0.0, 0.0], updated=far)  # every step from phi is downhill
    step_back(phi, 7.0, 1, term._replace(limit=limit), room)
    np.testing.assert_allclose(room.updated, phi + step * (far - phi))


def test_a_step_that_keeps_the_bound_is_taken_in_full():
    term = class_term_of(COUNTS, np.full((2, 2), 0.5), 0, WEIGHT, np.zeros((2, 2)), class_room(2, 2, 2))
    room = room_of(prior=[0.5, 0.5], linear=[1.0, 1.0], updated=[0.0, 1.0])
    step_back(np.array([1.0, 0.0]), 7.0, 1, term._replace(limit=1.0), room)
    assert room.updated.tolist() == [0, 1]


def test_a_codeword_that_occurs_less_than_twice_does_not_overshoot():
    """A full step would lower the bound by more than 0.4."""
    count, coefficients = 1.95, np.array([[1.2, -2.9], [-7.0, 4.0]])
    prior, phi = np.array([[0.1, 0.9]]), np.array([[0.957, 0.043]])
    counts, gamma = np.array([count]), np.ones(2)
    tables = TopicTables(prior, np.empty((0, 2)), coefficients, np.ones(2))
    term = class_term_of(counts, phi, 0, 1.0, coefficients, class_room(2, 2, 1))
    picture = Picture(np.array([0], np.int32), counts, np.empty(0, np.int32), phi.copy(), gamma)

    def bound(phi):
        sums = count * np.log(np.exp(coefficients / count) @ phi)
        return -count * phi @ np.log(phi / prior[0]) + coefficients[0] @ phi - logsumexp(sums)

    before = bound(phi[0])
    sweep(picture, term, tables, room_of(weights=np.ones(2)))
    assert bound(picture.phi[0]) > before
    factors = np.exp(coefficients / count)
    odds = softmax(count * np.log(factors @ phi[0]))
    full = softmax(np.log(prior[0]) + coefficients[0] / count - (odds / (factors @ phi[0])) @ factors)
    assert bound(full) < before - 0.4
