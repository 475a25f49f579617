"""Thresholds of tags against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.calibration import TagThresholds, ThresholdedAnnotator
from visterm.errors import InputError
from visterm.models.state import pack
from visterm.neighbours import KnnAnnotator


def f_of(taken, present):
    return 2 * (taken & present).sum() / max(1, taken.sum() + present.sum())


@given(st.integers(2, 25), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_no_threshold_does_better(n, seed):
    rng = np.random.default_rng(seed)
    scores, present = rng.integers(0, 8, (n, 3)) / 8, rng.random((n, 3)) < 0.5
    present[0] = True
    model = TagThresholds(shrinkage=0).fit(scores, present.astype(int))
    taken = model.predict(scores).toarray() > 0
    for tag in range(3):
        best = max(f_of(scores[:, tag] >= t, present[:, tag]) for t in scores[:, tag])
        assert f_of(taken[:, tag], present[:, tag]) == pytest.approx(best)


@given(st.integers(2, 25), st.integers(0, 99), st.sampled_from([0.3, 0.7, 1.0]))
@settings(max_examples=40, deadline=None)
def test_as_many_as_the_wanted_precision_allows(n, seed, precision):
    rng = np.random.default_rng(seed)
    scores, present = rng.integers(0, 8, (n, 3)) / 8, rng.random((n, 3)) < 0.5
    present[0] = True
    model = TagThresholds(shrinkage=0, precision=precision).fit(scores, present.astype(int))
    taken = model.predict(scores).toarray() > 0
    for tag in range(3):
        allowed = [
            (scores[:, tag] >= t).sum()
            for t in scores[:, tag]
            if present[scores[:, tag] >= t, tag].mean() >= precision - 1e-12
        ]
        assert taken[:, tag].sum() == max(allowed, default=0)


def test_rare_tags_are_drawn_towards_what_is_common():
    rng = np.random.default_rng(0)
    present = rng.random((400, 3)) < [0.5, 0.5, 0.005]
    present[0, 2] = True
    scores = 0.6 * present + 0.4 * rng.random((400, 3))
    scores[:, 2] *= 0.1
    own, shrunk = (TagThresholds(shrinkage=s).fit(scores, present.astype(int)) for s in (0, 5))
    assert own.thresholds_[2] < shrunk.thresholds_[2] < shrunk.shared_threshold_
    np.testing.assert_allclose(own.thresholds_[0], shrunk.thresholds_[0], atol=0.02)
    never = TagThresholds(0).fit(scores, np.column_stack([present[:, :2], np.zeros(400)]))
    assert never.thresholds_[2] == never.shared_threshold_


def test_any_annotator_gives_as_many_tags_as_reach_their_thresholds():
    rng = np.random.default_rng(0)
    tags = np.repeat([[1, 0, 0], [1, 1, 0], [0, 1, 1]], 20, axis=0)
    X = tags + 0.2 * rng.standard_normal((60, 3))
    model = ThresholdedAnnotator(KnnAnnotator(5)).fit(X, tags)
    assert (model.predict(X).toarray() == tags).mean() > 0.97
    np.testing.assert_array_equal(model.score_tags(X), KnnAnnotator(5).fit(X, tags).score_tags(X))
    sure = ThresholdedAnnotator(KnnAnnotator(5), precision=1.0).fit(X, tags).predict(X).toarray()
    assert (sure <= tags).all()
    assert model.scores_are_probabilities
    assert pack(model, "model", {})  # can be stored


def test_what_is_refused():
    with pytest.raises(InputError, match="no picture has a tag"):
        TagThresholds().fit(np.ones((2, 2)), np.zeros((2, 2)))
    with pytest.raises(InputError, match="finite"):
        TagThresholds().fit([[np.nan]], [[1]])
    with pytest.raises(InputError, match="shrinkage"):
        TagThresholds(-1).fit([[1.0]], [[1]])
    for precision in (0, 1.1, "high"):
        with pytest.raises(InputError, match="precision"):
            TagThresholds(precision=precision).fit([[1.0]], [[1]])
    with pytest.raises(InputError, match="scores are for 1 tags, but thresholds for 2"):
        TagThresholds().fit(np.eye(2), np.eye(2)).predict([[1.0]])
    with pytest.raises(InputError, match="cannot be split into 5 folds"):
        ThresholdedAnnotator(KnnAnnotator(1)).fit([[0.0], [1.0]], [[1], [1]])
