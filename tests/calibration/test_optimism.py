"""The correction of probabilities that are too sure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from visterm.calibration import TagProbabilities, Written, optimism
from visterm.calibration.relevance import Relevance

USUAL = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def counted(log_odds, right):
    """The judgements by their log-odds, as the correction is learned from them."""
    places = ((log_odds + optimism.SUREST) * 20).astype(int)
    return np.stack([np.bincount(places, minlength=360), np.bincount(places, right, minlength=360)])


def test_the_usual_correction_changes_nothing():
    odds = np.linspace(-12, 12, 97, dtype=np.float32)
    assert optimism.corrected(odds, USUAL) == pytest.approx(odds)
    assert optimism.corrected(odds, USUAL).dtype == np.float32
    assert optimism.fit(np.zeros((2, 360))) == pytest.approx(USUAL, abs=1e-6)


def test_what_is_too_sure_becomes_less_sure():
    rng = np.random.default_rng(0)
    odds = np.clip(rng.normal(-1.0, 2.5, 200_000), -8.9, 8.9)
    right = rng.random(len(odds)) < expit(np.where(odds > 0, 0.5 * odds, odds))
    correction = optimism.fit(counted(odds, right))
    assert optimism.corrected(np.array([-3.0, -0.5, 1.0, 4.0]), correction) == pytest.approx(
        [-3.0, -0.5, 0.5, 2.0], abs=0.12
    )
    assert (np.diff(optimism.corrected(np.linspace(-9, 9, 181), correction)) > 0).all()


def test_few_judgements_change_little():
    assert abs(optimism.fit(counted(np.array([4.0]), np.array([False]))) - USUAL).max() < 0.6


def judged(n_pictures=40, n_tags=600):
    """Scores and tags of few pictures, from which each tag's own sigmoid learns too much; and of as many others."""
    rng = np.random.default_rng(0)
    tags = rng.random((2 * n_pictures, n_tags)) < 0.05
    scores = rng.uniform(0.7, 2.3, n_tags) * tags + rng.standard_normal(tags.shape)
    return scores[:n_pictures], tags[:n_pictures].astype(int), scores[n_pictures:], tags[n_pictures:]


FACTS = {"tag_counts": np.full(600, 50), "n_tagged": 1000}


def test_pictures_that_are_shown_are_as_often_right_as_stated():
    scores, tags, others, truth = judged()

    def excess(kind):
        p = kind().fit(scores, tags, **FACTS).probabilities(others)
        return p[p > 0.35].mean() - truth[p > 0.35].mean()

    assert excess(TagProbabilities) > 0.025
    assert abs(excess(Relevance)) < 0.015


def test_of_many_tags_some_teach_the_correction(monkeypatch):
    scores, tags, *_ = judged()
    of_all = Relevance().fit(scores, tags, **FACTS).correction_
    monkeypatch.setattr("visterm.calibration.relevance._MAX_PAIRS", 10_000)
    of_some = Relevance().fit(scores, tags, **FACTS).correction_
    assert (of_some != of_all).any()
    assert of_some == pytest.approx(of_all, abs=0.3)


def test_thresholds_are_corrected_as_the_probabilities_are():
    scores, tags, others, _ = judged()
    relevance, plain = (kind().fit(scores, tags, **FACTS) for kind in (Relevance, TagProbabilities))
    suggested = [each.probabilities(others) >= each.thresholds(0.5) for each in (relevance, plain)]
    assert (suggested[0] != suggested[1]).mean() < 1e-4


def test_where_a_part_of_the_tags_is_written_nothing_is_corrected():
    scores, tags, others, _ = judged()
    half = Written.by_picture(np.full(len(scores), 0.5), 600)
    relevance, plain = (kind().fit(scores, tags, **FACTS, written=half) for kind in (Relevance, TagProbabilities))
    assert (relevance.probabilities(others) == plain.probabilities(others)).all()
