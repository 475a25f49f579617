"""Calibration on data whose sigmoids, temperatures and leads are known."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.calibration import (
    class_probabilities,
    deviations,
    fit_deviations,
    fit_platt,
    fit_sigmoids,
    fit_temperature,
    sigmoid,
    tag_leads,
    tag_scales,
)


def test_platt_on_known_sigmoid():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 2))
    present = rng.random(scores.shape) < 1 / (1 + np.exp(-(2 * scores - 1)))
    np.testing.assert_allclose(fit_platt(scores, present), [[2, -1], [2, -1]], atol=0.1)


def test_platt_stays_finite_where_scores_separate():
    scores = np.linspace(-1, 1, 20)[:, None]
    for present in (scores > 0, scores > 2, scores > -2):
        platt = fit_platt(scores, present)
        assert np.isfinite(platt).all()
        assert np.isfinite(sigmoid(scores, *platt.T)).all()


def test_temperature_is_that_which_made_the_data():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 4))
    p = class_probabilities(scores, 1 / 3)
    classes = np.array([rng.choice(4, p=row) for row in p])
    assert fit_temperature(scores, classes) == pytest.approx(1 / 3, rel=0.05)


def test_tags_are_scaled_by_their_lead():
    rng = np.random.default_rng(0)
    present = rng.random((4000, 3)) < [0.5, 0.1, 0.1]
    scores = rng.normal(size=(4000, 3)) + [2.0, 2.0, 0.0] * present
    means, scales = tag_scales(scores, present, 1.0)
    np.testing.assert_allclose(means, scores.mean(axis=0))
    lead = np.array([scores[present[:, tag], tag].mean() for tag in range(3)]) - means
    assert scales[:2] == pytest.approx(lead[:2], rel=0.05)
    assert scales[2] < scales[1]  # what does not stand out is not held back
    np.testing.assert_allclose(tag_scales(scores, present, 0.0)[1], 1.0)
    # A tag nobody carries, and scores that say nothing, are scaled by their deviation, up to a factor.
    unseen = tag_scales(scores, present & [True, True, False], 1.0)[1]
    assert 0 < unseen[2] < np.inf
    np.testing.assert_allclose(tag_scales(-scores, present, 1.0)[1], scores.std(axis=0) + 1e-3)


def test_tags_that_are_told_less_well_are_heard_more_than_by_deviations_alone():
    rng = np.random.default_rng(1)
    n, n_tags = 4000, 20
    present = rng.random((n, n_tags)) < 0.1
    told = np.where(np.arange(n_tags) % 2, 3.0, 1.5)
    scores = 0.1 * (rng.normal(size=(n, n_tags)) + told * present)
    half = np.arange(n) < n // 2

    def recalls(means, scales):
        order = np.argsort(-(scores[~half] - means) / scales, axis=1)[:, :3]
        chosen = np.zeros(present[~half].shape, bool)
        np.put_along_axis(chosen, order, True, axis=1)
        return (chosen & present[~half]).sum(axis=0) / present[~half].sum(axis=0)

    by_lead = recalls(*tag_scales(scores[half], present[half], 1.0))
    by_deviation = recalls(*deviations(scores[half], 1.0))
    assert by_lead[::2].mean() > by_deviation[::2].mean() + 0.03


def test_sigmoids_raise_rare_words():
    rng = np.random.default_rng(0)
    present = rng.random((500, 2)) < [0.5, 0.03]
    votes = np.clip(present * [0.6, 0.1] + rng.random((500, 2)) * [0.3, 0.05], 0, 1)
    slope, offset = fit_sigmoids(votes, present, 1 / present.sum(), 1 / (~present).sum(), shrinkage=1.0)
    p = sigmoid(votes, slope, offset)
    assert slope[1] > slope[0] > 0
    assert p[present[:, 1], 1].mean() > 2 * p[~present[:, 1], 1].mean()
    # Much shrinkage: one sigmoid for all.
    slope, _ = fit_sigmoids(votes, present, 1 / present.sum(), 1 / (~present).sum(), shrinkage=1e9)
    np.testing.assert_allclose(slope[0], slope[1], rtol=1e-4)


def test_a_tag_whose_votes_say_nothing_gets_its_own_share():
    present = np.zeros((100, 2), bool)
    present[:50, 0] = present[:3, 1] = True
    votes = np.stack([present[:, 0] * 0.5 + np.linspace(0, 1, 100), np.zeros(100)], axis=1)
    slope, offset = fit_sigmoids(votes, present, 1.0, 1.0, shrinkage=0.0)
    np.testing.assert_allclose(sigmoid(votes, slope, offset)[:, 1], 0.03, rtol=1e-4)


def test_deviations_keep_the_order_of_what_stands_out():
    rng = np.random.default_rng(0)
    present = rng.random((800, 3)) < [0.5, 0.1, 0.02]
    votes = np.clip(present * [0.5, 0.2, 0.05] + rng.random((800, 3)) * [0.3, 0.1, 0.03], 0, 1)
    slope, offset = fit_deviations(votes, present, power=1.0)
    p = sigmoid(votes, slope, offset)
    deviation = votes.std(axis=0) + 1e-3
    spread = np.sqrt(deviation * tag_leads(votes, present, deviation))
    outstanding = (votes - votes.mean(axis=0)) / spread
    np.testing.assert_array_equal(np.argsort(p, axis=1), np.argsort(outstanding, axis=1))
    np.testing.assert_allclose(p.mean(), present.mean(), rtol=0.05)  # what was likely was as often so
    assert p[present].mean() > 2 * p[~present].mean()
    # Votes that say the opposite say nothing.
    assert (fit_deviations(votes, ~present, power=1.0)[0] > 0).all()


def test_leads_are_those_of_the_tags_own_pictures():
    rng = np.random.default_rng(0)
    present = rng.random((5000, 2)) < 0.4
    scores = present * [3.0, 0.5] + rng.normal(size=(5000, 2))
    leads = tag_leads(scores, present, scores.std(axis=0))
    by_hand = [scores[present[:, tag], tag].mean() - scores[:, tag].mean() for tag in range(2)]
    np.testing.assert_allclose(leads, by_hand, rtol=0.05)
    # Few pictures say little: the lead is near what is typical of the deviation.
    few = np.zeros_like(present)
    few[:3, 0], few[:, 1] = present[:3, 0], present[:, 1]
    ratio = tag_leads(scores, few, scores.std(axis=0)) / scores.std(axis=0)
    np.testing.assert_allclose(ratio[0], ratio[1], rtol=0.3)
    # No tag stands out: deviations remain.
    np.testing.assert_array_equal(tag_leads(-scores, present, np.array([1.0, 2.0])), [1.0, 2.0])


def test_temperature_divides_and_unknown_classes_do_not_count():
    scores = np.array([[9.0, 0.0]] * 4 + [[0.0, 9.0]])
    classes = np.array([0, 0, 0, 1, -1])
    temperature = fit_temperature(scores, classes)
    assert temperature == pytest.approx(9 / np.log(3), rel=1e-4)  # three of four are right: odds of 3
    np.testing.assert_allclose(class_probabilities(scores[:1], temperature), [[0.75, 0.25]], atol=1e-4)
    assert fit_temperature(scores, np.full(5, -1)) == 1.0
    assert 0.2 <= fit_temperature(scores[:3], classes[:3], largest=5.0) < 0.3  # all right: as low as allowed


def test_blocks_of_tags_change_no_sigmoid(monkeypatch):
    from visterm.calibration import fit_deviations, fit_platt, fit_sigmoids, sigmoids

    rng = np.random.default_rng(0)
    present = rng.random((200, 7)) < np.linspace(0.05, 0.5, 7)
    scores = present * rng.random(7) + rng.random((200, 7))

    def fitted():
        gain, loss = 1 / present.sum(), 1 / (~present).sum()
        platt = fit_platt(scores, present)
        of_tags = fit_sigmoids(scores, present, gain, loss, shrinkage=1.0)
        return [platt, *of_tags, *fit_deviations(scores, present, power=1.0)]

    whole = fitted()
    monkeypatch.setattr(sigmoids, "_BLOCK", 3 * 200)
    for a, b in zip(whole, fitted(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
