"""A tag of a few answers: the prior where nothing is known, corrected where pictures look like those answered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from visterm.review.prior_head import Corrected, corrected, next_questions, probabilities


def features(n=60, n_kinds=3, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % n_kinds
    X = np.eye(n_kinds, 8)[kind] + rng.normal(0, 0.1, (n, 8))
    return np.hstack([X / np.linalg.norm(X, axis=1, keepdims=True), np.ones((n, 1))]).astype(np.float32), kind


def test_answers_correct_the_prior_for_pictures_that_look_alike():
    Z, kind = features()
    prior = np.full(60, -3.0)
    rows, yes = np.array([0, 3, 1]), np.array([True, True, False])
    found = corrected(Z, prior, rows, yes).log_odds
    assert found[kind == 0].min() > -1.0 > found[kind == 2].max()
    assert np.array_equal(corrected(Z, prior, rows[:0], yes[:0]).log_odds, prior)


def test_an_answer_that_the_prior_was_surer_of_says_nothing_new():
    Z, _ = features()
    prior = np.full(60, -5.0)
    no = corrected(Z, prior, np.array([0, 1]), np.array([False, False]))
    assert np.allclose(no.log_odds, prior)  # a no makes nothing likelier


def test_what_is_left_out_is_what_a_fit_without_it_says():
    Z, kind = features()
    prior = np.linspace(-3, 1, 60)
    rows, yes = np.arange(12), kind[:12] == 0
    found = corrected(Z, prior, rows, yes)
    for at in (0, 5, 11):
        without = np.delete(rows, at)
        alone = corrected(Z, prior, without, yes[without]).log_odds[at]
        assert found.left_out[at] == pytest.approx(alone, abs=1e-5)


def test_probabilities_follow_the_answers_that_were_left_out():
    log_odds = np.linspace(-4, 0, 21)
    nothing = np.zeros(0, np.bool_)
    assert np.allclose(probabilities(Corrected(log_odds, log_odds[:0]), nothing), expit(log_odds))
    more = probabilities(Corrected(log_odds, np.full(20, -2.0)), np.ones(20, np.bool_))
    assert more[10] > 0.5 > expit(log_odds[10])  # it was not sure enough
    less = probabilities(Corrected(log_odds, np.zeros(20)), np.zeros(20, np.bool_))
    assert less[-1] < 0.2 < expit(log_odds[-1])
    sure = probabilities(Corrected(log_odds, np.r_[np.full(3, -2.0), np.full(3, 2.0)]), np.arange(6) >= 3)
    assert np.allclose(sure, expit(log_odds), atol=0.15)  # six answers do not make sure
    against = probabilities(Corrected(log_odds, np.linspace(8, -8, 20)), np.linspace(-1, 1, 20) > 0)
    assert (np.diff(against) > 0).all()  # never likelier where less speaks for it


def test_questions_are_about_likely_pictures_of_several_kinds():
    Z, kind = features()
    log_odds = np.where(kind == 0, 1.0, np.where(kind == 1, 0.5, -5.0))
    open_ = np.ones(60, np.bool_)
    asked = next_questions(Z, log_odds, open_, np.empty(0, np.intp), 2)
    assert kind[asked].tolist() == [0, 1]  # another picture of the likeliest kind would teach less
    open_[asked] = False
    again = next_questions(Z, log_odds, open_, np.array(asked), 60)
    assert set(again) == set(range(60)) - set(asked)
    assert 2 not in kind[again[:10]]
