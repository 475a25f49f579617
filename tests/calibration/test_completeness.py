"""How much of the truth people wrote, and probabilities of the truth from what they wrote."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from visterm.calibration import TagProbabilities, Written, share_written
from visterm.calibration.completeness import SHARES, profile
from visterm.calibration.likelihood import fit_own, surprise, written


@pytest.fixture
def pictures():
    """(600, 8) truth and scores whose log-odds are a line, so that the model is right."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(600, 8)) * 2 - 1
    return rng.random(scores.shape) < expit(2 * scores), scores, rng


@pytest.mark.parametrize("share", [0.15, 0.4, 0.7])
def test_the_likelihood_is_highest_near_the_true_share(pictures, share):
    truth, scores, rng = pictures
    lost = profile(scores, truth & (rng.random(truth.shape) < share))
    assert lost.min() == 0
    assert SHARES[lost.argmin()] == pytest.approx(share, rel=0.35)


def test_complete_descriptions_are_complete(pictures):
    truth, scores, _ = pictures
    assert profile(scores, truth).argmin() == 0
    assert share_written(scores, truth, claimed=True) == 1
    assert share_written(scores, truth, claimed=False) == 1


def test_a_claim_is_believed_unless_the_tags_refute_it(pictures):
    truth, scores, rng = pictures
    drawn = rng.random(truth.shape)
    assert share_written(scores, truth & (drawn < 0.8), claimed=True) == 1
    few = truth & (drawn < 0.2)
    assert share_written(scores, few, claimed=True) == share_written(scores, few, claimed=False) < 0.35


def test_one_tag_a_picture_that_excludes_all_others_is_complete():
    """A collection whose pictures have one tag each is not taken for one in which most tags were left out."""
    rng = np.random.default_rng(1)
    truth = np.eye(5, dtype=bool)[rng.integers(0, 5, 500)]
    scores = 4 * truth + rng.normal(size=truth.shape)
    assert share_written(scores, truth, claimed=False) > 0.9


@pytest.mark.parametrize("share", [0.12, 0.2, 0.4])
def test_how_often_tags_are_true_tells_what_scores_alone_do_not(share):
    """Even where no score is high enough for the probability of being written to level off."""
    rng = np.random.default_rng(0)
    scores, often = rng.normal(size=(600, 12)), np.linspace(-3, 3, 12)
    truth = rng.random(scores.shape) < expit(scores + often)
    lost = profile(scores, truth & (rng.random(truth.shape) < share))
    assert SHARES[lost.argmin()] == pytest.approx(share, rel=0.3)


def test_probabilities_are_those_of_the_truth(pictures):
    truth, scores, rng = pictures
    few = truth & (rng.random(truth.shape) < 0.25)
    half = np.arange(len(truth)) < 400
    given = Written.by_picture(np.full(400, 0.25), 8)
    blind = TagProbabilities().fit(scores[half], few[half], tag_counts=few[half].sum(0), n_tagged=400)
    told = TagProbabilities().fit(scores[half], few[half], tag_counts=few[half].sum(0), n_tagged=400, written=given)

    def loss(learned):
        p = learned.probabilities(scores[~half]).astype(np.float64)
        return -np.where(truth[~half], np.log(p), np.log1p(-p)).mean()

    best = -np.where(truth[~half], np.log(expit(2 * scores[~half])), np.log(expit(-2 * scores[~half]))).mean()
    assert loss(told) < best + 0.05 < loss(blind)
    suggested = told.probabilities(scores[~half]) >= told.thresholds(0.8)
    assert truth[~half][suggested].mean() == pytest.approx(0.8, abs=0.1)
    assert suggested.sum() > 4 * (blind.probabilities(scores[~half]) >= blind.thresholds(0.8)).sum()


def test_what_is_unknown_teaches_nothing(pictures):
    """Pairs with a share of 0 may be written or not: the same is learned."""
    truth, scores, rng = pictures
    unknown = rng.random(truth.shape) < 0.5
    shares = np.where(unknown, 0.0, 1.0)
    first = TagProbabilities().fit(
        scores, truth & ~unknown, tag_counts=[100] * 8, n_tagged=600, written=Written(shares)
    )
    odds = first.log_odds(scores)
    assert np.corrcoef(odds.ravel(), scores.ravel())[0, 1] > 0.95
    # The other half of the pairs says the same; as counterexamples, they would halve the probabilities.
    assert expit(odds).mean() == pytest.approx(truth.mean(), abs=0.03)


def test_the_slope_and_curvature_of_the_likelihood():
    rng = np.random.default_rng(2)
    A, y, c = rng.normal(size=(200, 4)), rng.random(200) < 0.2, rng.uniform(0.05, 1, 200)
    w = rng.normal(size=4)
    _, slope, curve = surprise(A, y, w, c)
    np.testing.assert_allclose(slope, approx_fprime(w, lambda at: surprise(A, y, at, c)[0], 1e-7), atol=1e-5)
    # The curvature is that expected if tags are written as they are likely to be.
    p = expit(A @ w)
    expected = (A * (c * p * (1 - p)[:, None].T[0] ** 2 / (1 - c * p))[:, None]).T @ A / len(A)
    np.testing.assert_allclose(curve - 2 / len(A) * np.eye(4), expected, atol=1e-12)


def test_shares_of_one_change_nothing(pictures):
    truth, scores, _ = pictures
    p = expit(scores)
    plain, same = written(p, 1 - p, truth, None), written(p, 1 - p, truth, np.ones(truth.shape))
    for a, b in zip(plain, same, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(fit_own(scores, truth), fit_own(scores, truth, shares=np.ones(truth.shape)), rtol=1e-6)
