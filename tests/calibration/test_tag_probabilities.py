"""Probabilities of tags: right for frequent and rare tags, never falling, with thresholds that keep their promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from visterm.calibration import Denials, TagProbabilities
from visterm.calibration.likelihood import fit_logistic, fit_own
from visterm.calibration.tag_probabilities import _PRECISIONS, _corrected, _precise
from visterm.errors import InputError


def collection(n, n_tags=40, seed=0):
    """Tags from 1 to 40 % of the pictures; each tag's scores have their own scale, offset and strength."""
    rng = np.random.default_rng(seed)
    shape = np.random.default_rng(1)
    base = np.log(np.geomspace(0.01, 0.4, n_tags))
    strength, scale, offset = shape.uniform(0.5, 3, n_tags), shape.uniform(0.3, 3, n_tags), shape.normal(0, 1, n_tags)
    signal = rng.standard_normal((n, n_tags))
    tags = (rng.random((n, n_tags)) < expit(base - strength**2 / 4 + strength * signal)).astype(int)
    tags[~tags.any(axis=1), -1] = 1
    return scale * signal + offset, tags


@pytest.fixture(scope="module")
def learned():
    _, train = collection(2000, seed=3)
    scores, tags = collection(1500, seed=4)
    return TagProbabilities().fit(scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000)


@pytest.fixture(scope="module")
def unseen():
    return collection(6000, seed=5)


def test_every_band_of_frequency_is_calibrated(learned, unseen):
    scores, tags = unseen
    p = learned.probabilities(scores)
    for band in np.array_split(np.arange(40), 4):
        bins = np.minimum((p[:, band] * 15).astype(int), 14)
        for b in np.unique(bins):
            members = bins == b
            if members.sum() > 500:
                assert p[:, band][members].mean() == pytest.approx(tags[:, band][members].mean(), abs=0.05)
    # Each tag alone, too: better than by what all tags share.
    shared = expit(learned._shared_odds(scores, slice(None)))
    off = [np.abs(q.mean(axis=0) - tags.mean(axis=0)).mean() for q in (p, shared)]
    assert off[0] < 0.6 * off[1]


def test_a_tag_that_the_measured_fit_did_not_know_is_not_believed_at_the_first_score():
    """Its held-out scores are all the same; the final fit, which has learned it, scores it like any other tag."""
    train, (scores, tags), (new, _) = collection(300, seed=6)[1], collection(300, seed=7), collection(300, seed=8)
    rare, of_all = np.zeros((300, 1), int), np.median(scores)
    rare[0] = 1
    held_out = np.hstack([scores, np.full((300, 1), scores.min())])
    counts = np.append(train.sum(axis=0), 0)
    learned = TagProbabilities().fit(held_out, np.hstack([tags, rare]), tag_counts=counts, n_tagged=300)
    p = learned.probabilities(np.hstack([new, np.full((300, 1), of_all)]))[:, -1]
    assert p.max() < 0.05


def test_likelihood_is_above_that_of_frequencies_and_of_what_tags_share(learned, unseen):
    scores, tags = unseen
    sign = 2 * tags - 1
    own = log_expit(sign * learned.log_odds(scores)).mean()
    shared = log_expit(sign * learned._shared_odds(scores, slice(None))).mean()
    frequencies = log_expit(sign * learned.word_odds_).mean()
    assert own > shared > frequencies


@pytest.mark.parametrize("precision", [0.6, 0.8, 0.9])
def test_suggestions_have_the_wanted_precision(learned, unseen, precision):
    scores, tags = unseen
    suggested = learned.probabilities(scores) >= learned.thresholds(precision)
    assert tags[suggested].mean() == pytest.approx(precision, abs=0.04)


def test_more_precision_never_means_more_suggestions(learned):
    levels = np.stack([learned.thresholds(p) for p in np.linspace(0, 1, 41)])
    assert (np.diff(levels, axis=0) >= -1e-6).all()
    with pytest.raises(InputError, match="between 0 and 1"):
        learned.thresholds(80)


def test_a_higher_score_is_never_less_likely(learned):
    steps = np.linspace(-30, 30, 300)[:, None] * np.ones(40)
    odds = learned.log_odds(steps)
    assert (np.diff(odds, axis=0) >= 0).all()
    assert np.abs(odds).max() <= 9


def test_blocks_do_not_change_anything(learned, unseen, monkeypatch):
    _, train = collection(2000, seed=3)
    scores, tags = collection(1500, seed=4)
    monkeypatch.setattr("visterm.calibration.tag_probabilities._BLOCK", 7000)
    again = TagProbabilities().fit(scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000)
    np.testing.assert_allclose(again.own_, learned.own_, atol=1e-6)
    np.testing.assert_allclose(again.thresholds_, learned.thresholds_, atol=1e-6)
    np.testing.assert_allclose(again.log_odds(unseen[0][:50]), learned.log_odds(unseen[0][:50]), atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_tags_own_sigmoid_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(-2, rng.uniform(0.2, 4), (60, 1))
    present = rng.random((60, 1)) < expit(rng.uniform(0.3, 2) * x + rng.normal(0, 1))
    found = fit_own(x, present)[:, 0]

    def surprise(w):
        odds = w[0] * x + w[1]
        return (np.logaddexp(0, odds) - present * odds).sum() + 2.5 * (w[0] - 1) ** 2 + 0.5 * w[1] ** 2

    by_hand = minimize(surprise, [1.0, 0.0], bounds=[(0.01, None), (None, None)]).x
    np.testing.assert_allclose(found, by_hand, atol=2e-3)


def test_denials_count_where_they_were_made():
    """As if the denied pair were one more picture of this tag, and of no other one."""
    x, present = collection(60, n_tags=4, seed=6)
    others, no = collection(9, n_tags=4, seed=7)[0], np.zeros((9, 4), bool)
    no[:7, 2] = no[7:, 1] = True
    known = np.vstack([np.ones((60, 4), bool), no])
    own = fit_own(np.vstack([x, others]), np.vstack([present > 0, np.zeros((9, 4), bool)]), known)
    plain = fit_own(x, present > 0)
    np.testing.assert_allclose(own[:, [0, 3]], plain[:, [0, 3]], atol=1e-6)
    for tag, rows in ((1, slice(7, 9)), (2, slice(0, 7))):
        longer = np.concatenate([x[:, [tag]], others[rows, [tag]].reshape(-1, 1)])
        has = np.concatenate([present[:, [tag]] > 0, np.zeros((len(longer) - 60, 1), bool)])
        np.testing.assert_allclose(own[:, [tag]], fit_own(longer, has), atol=1e-6)


def test_denied_suggestions_raise_the_threshold(learned):
    _, train = collection(2000, seed=3)
    scores, tags = collection(1500, seed=4)
    more, _ = collection(400, seed=8)
    likely = learned.probabilities(more) >= learned.thresholds(0.8)
    taught = TagProbabilities().fit(
        scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000, denials=Denials(more, likely.astype(int))
    )
    assert likely.sum() > 100
    again = taught.probabilities(more) >= taught.thresholds(0.8)
    assert again[likely].mean() < 0.7
    np.testing.assert_array_equal(taught.coefficients_, learned.coefficients_)
    nothing = TagProbabilities().fit(
        scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000, denials=Denials(more, np.zeros_like(likely, int))
    )
    np.testing.assert_allclose(nothing.own_, learned.own_, atol=1e-6)
    np.testing.assert_allclose(nothing.thresholds(0.8), learned.thresholds(0.8), atol=0.01)


def test_tags_known_of_pictures_that_nobody_described_raise_their_probability(learned):
    _, train = collection(2000, seed=3)
    scores, tags = collection(1500, seed=4)
    more, _ = collection(400, seed=8)
    given = np.zeros(more.shape, int)
    given[:, 0] = 1
    taught = TagProbabilities().fit(
        scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000, denials=Denials(more, np.zeros_like(given), given)
    )
    plain, now = (each.probabilities(more) for each in (learned, taught))
    assert now[:, 0].mean() > plain[:, 0].mean() + 0.2
    np.testing.assert_allclose(now[:, 1:], plain[:, 1:], atol=0.01)


def test_perfectly_separated_tags_stay_finite():
    x = np.array([[-9.0], [-9.0], [9.0], [9.0]])
    own = fit_own(x, x > 0)
    assert np.isfinite(own).all()
    backwards = fit_own(x, x < 0)
    assert backwards[0, 0] == pytest.approx(0.01)


def test_thresholds_by_brute_force():
    p = np.random.default_rng(0).random((30, 3)) ** 3
    levels = _precise(p)
    for k, wanted in enumerate(_PRECISIONS):
        for tag in range(3):
            reach = [t for t in p[:, tag] if p[p[:, tag] >= t, tag].mean() >= wanted]
            lowest = min(reach) if reach else wanted
            assert levels[k, tag] == min(max(lowest, wanted / 2), wanted)


def test_models_of_earlier_versions_have_only_shared_numbers(learned, unseen):
    old = TagProbabilities()
    vars(old).update({name: value for name, value in vars(learned).items() if name not in ("own_", "thresholds_")})
    np.testing.assert_allclose(old.log_odds(unseen[0][:9]), learned._shared_odds(unseen[0][:9], slice(None)), rtol=1e-5)
    assert (old.thresholds(0.8) == 0.8).all()


@pytest.mark.parametrize("seed", range(3))
def test_shared_coefficients_are_the_bounded_optimum(seed):
    rng = np.random.default_rng(seed)
    terms = [np.ones(3000), *rng.standard_normal((4, 3000))]
    A = np.stack(terms, axis=1)
    present = rng.random(3000) < expit(A @ [-4.0, -0.5, 2.0, -1.0, 0.3])
    found = fit_logistic(terms, present, n_free=2)

    def surprise(w):
        value = -log_expit(np.where(present, 1, -1) * (A @ w)).mean() + w @ w / len(A)
        return value, A.T @ (expit(A @ w) - present) / len(A) + 2 * w / len(A)

    bounds = [(None, None)] * 2 + [(0, None)] * 3
    best = minimize(surprise, found, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-9, "ftol": 1e-14})
    assert found[3] == 0
    assert (found[2:] >= 0).all()
    assert found == pytest.approx(best.x, abs=1e-3)
    assert surprise(found)[0] == pytest.approx(best.fun, rel=1e-7)


def test_certain_truth_gives_finite_coefficients():
    terms = [np.ones(40), np.linspace(-1e3, 1e3, 40)]
    found = fit_logistic(terms, terms[1] > 0, n_free=1)
    assert np.isfinite(found).all()
    assert found[1] > 0


def votes(n, seed, n_tags=120):
    """Rare tags, scored by the votes of 16 neighbours: many ties, and few likely pictures of each tag."""
    rng = np.random.default_rng(seed)
    chances = expit(-5 + np.linspace(-1, 1, n_tags) + 2.5 * rng.standard_normal((n, n_tags)))
    tags = (rng.random((n, n_tags)) < chances).astype(int)
    tags[~tags.any(axis=1), 0] = 1
    return rng.binomial(16, chances) / 16, tags


def test_all_suggestions_together_have_the_wanted_precision():
    """Thresholds by the probabilities alone would give 0.62 for 0.7 and 0.68 for 0.8 here."""
    _, train = votes(2000, seed=0)
    scores, tags = votes(500, seed=1)
    learned = TagProbabilities().fit(scores, tags, tag_counts=train.sum(axis=0), n_tagged=2000)
    scores, tags = votes(4000, seed=2)
    p = learned.probabilities(scores)
    for wanted in (0.5, 0.7, 0.8, 0.9):
        assert tags[p >= learned.thresholds(wanted)].mean() == pytest.approx(wanted, abs=0.04)


def test_thresholds_move_to_where_the_promise_was_kept():
    thresholds = np.repeat(_PRECISIONS[:, np.newaxis], 2, axis=1).astype(np.float32)
    many = np.full(len(_PRECISIONS), 1e9)
    surer = _corrected(thresholds, many * np.minimum(_PRECISIONS + 0.1, 1), many)
    assert surer[10] == pytest.approx(_PRECISIONS[8], abs=1e-3)  # 0.55 was reached at 0.45
    doubtful = _corrected(thresholds, many * (_PRECISIONS - 0.05), many)
    assert doubtful[10] == pytest.approx(_PRECISIONS[11], abs=1e-3)
    nobody = _corrected(thresholds, 0 * many, 0 * many)
    assert nobody == pytest.approx(thresholds)
