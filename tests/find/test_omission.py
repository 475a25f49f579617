"""How much a tag is doubted that people left out: less on pictures with far fewer tags than usual."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm, poisson

from visterm.collection.evidence import Evidence
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.omission import (
    RATES,
    Doubts,
    _full_descriptions,
    _variance,
    _variance_by_chance,
    doubted,
    omission_rates,
)
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index


def described(n_pictures, mean, deviation, seed=0):
    """Numbers of tags of fully described pictures."""
    drawn = np.random.default_rng(seed).normal(mean, deviation, n_pictures)
    return np.maximum(drawn.round().astype(int), 1)


def thinned(n_tags, share, seed=1):
    """The same pictures after a share of the tags was left out at random; those without tags are dropped."""
    left = np.random.default_rng(seed).binomial(n_tags, 1 - share)
    return left[left > 0]


def rate_at(n_tags, n):
    return float(omission_rates(np.append(n_tags, n))[-1])


def test_full_descriptions_leave_little_out():
    assert omission_rates(np.full(1000, 4)).max() <= 0.021
    assert omission_rates(np.tile([4, 5], 500)).max() <= 0.03


def test_a_picture_with_far_fewer_tags_than_usual_is_described_partly():
    n_tags = described(1000, 9, 2)
    assert rate_at(n_tags, 1) > 0.7
    assert rate_at(n_tags, 9) < 0.1
    assert rate_at(n_tags, 15) < 0.1
    rates = [rate_at(n_tags, n) for n in range(1, 12)]
    assert (np.diff(rates) < 1e-3).all()


def test_the_more_tags_were_left_out_at_random_the_higher_the_rate():
    full = described(2000, 9, 2)
    rates = [float(np.median(omission_rates(thinned(full, share)))) for share in (0.0, 0.3, 0.6, 0.9)]
    assert rates == sorted(rates)
    assert rates[0] < 0.1
    assert rates[3] > 0.25
    assert max(rates) <= 0.4


def test_where_some_describe_fully_and_others_hardly_the_number_of_tags_tells():
    full = described(1000, 9, 1)
    n_tags = np.concatenate([full, thinned(full, 0.8)])
    rates = omission_rates(n_tags)
    assert rates[n_tags == 1].mean() > 0.8
    assert rates[n_tags == 1].mean() > rates[n_tags == 3].mean() + 0.1 > rates[n_tags == 9].mean() + 0.2


def test_partial_descriptions_do_not_widen_the_full_ones():
    full = np.random.default_rng(0).choice([3, 4, 5], 2000, p=[0.4, 0.5, 0.1])
    n_tags = np.concatenate([full, thinned(full[:400], 0.6)])
    assert rate_at(n_tags, 2) > 0.2
    assert rate_at(n_tags, 4) < 0.05


def test_of_a_few_pictures_little_is_known():
    for n_tags in ([1], [1, 1, 1]):
        np.testing.assert_allclose(omission_rates(np.array(n_tags)), 0.4)
    assert omission_rates(np.array([4] * 5))[0] > 3 * omission_rates(np.array([4] * 500))[0]
    assert len(omission_rates(np.empty(0, int))) == 0


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60))
def test_rates_are_rates(n_tags):
    rates = omission_rates(np.array(n_tags))
    assert ((rates >= 0.02 - 1e-9) & (rates < 1)).all()


def test_levels_are_near_the_rates_and_pictures_without_tags_are_not_doubted():
    n_tags = np.concatenate([[0, 0, 1], described(300, 9, 2)])
    doubts = Doubts.learned(n_tags)
    assert doubts.levels[:2].tolist() == [0, 0]
    assert (doubts.rows == np.arange(2, len(n_tags))).all()
    assert (doubts.row_levels == doubts.levels[2:]).all()
    apart = np.log(RATES[doubts.levels[2:]]) - np.log(omission_rates(n_tags[2:]))
    assert abs(apart).max() < 0.14
    assert not Doubts.learned(np.zeros(3, int)).levels.any()


def test_doubt_follows_the_rule_of_bayes():
    p = np.array([1e-4, 0.2, 0.75, 0.99, 1.0])
    for level in (0, 1, 7, 15):
        r = float(RATES[level])
        found = np.exp(doubted(np.log(p).astype(np.float32), np.full(5, level, np.uint8)))
        np.testing.assert_allclose(found, p * r / (p * r + 1 - p), rtol=1e-4)
    assert RATES[0] == 1


def by_chance(rate):
    """The mean and the variance of a Poisson distribution of which zeros are left out."""
    n = np.arange(1, 200)
    p = poisson.pmf(n, rate) / poisson.pmf(n, rate).sum()
    return p @ n, p @ n**2 - (p @ n) ** 2


@pytest.mark.parametrize("rate", [0.3, 0.9, 2.0, 9.0])
def test_the_variance_by_chance_is_that_of_a_poisson_distribution_without_zero(rate):
    mean, variance = by_chance(rate)
    assert _variance_by_chance(mean) == pytest.approx(variance, rel=1e-3)


def test_one_tag_each_has_no_variance_by_chance():
    assert _variance_by_chance(1.0) == 0


def test_ten_pictures_more_have_the_variance_of_chance():
    n, weights = np.array([1.0, 4.0, 6.0]), np.array([2.0, 0.5, 3.0])
    mean, chance = by_chance(3.0)
    around = (2 * (1 - mean) ** 2 + 0.5 * (4 - mean) ** 2 + 3 * (6 - mean) ** 2) / 5.5
    assert _variance(n, weights, mean) == pytest.approx((5.5 * around + 10 * chance) / 15.5, rel=1e-6)


@pytest.mark.parametrize(("n_tags", "rate"), [([1, 2], 0.873), ([3, 4, 5], 3.92), ([2, 6], 3.92)])
def test_full_descriptions_leave_out_the_more_the_wider_their_numbers_spread(n_tags, rate):
    mean, chance = by_chance(rate)
    assert mean == pytest.approx(np.mean(n_tags), abs=5e-3)
    share = np.var(n_tags) / chance
    rates = omission_rates(np.tile(n_tags, 5000))
    assert rates[len(n_tags) - 1] == pytest.approx(max(0.02, 0.4 * min(share, 1) ** 3), rel=0.03)
    assert rates.min() == rates[len(n_tags) - 1]


def test_a_partial_description_has_the_share_of_tags_that_it_has():
    rates = omission_rates(np.array([10] * 2000 + [1, 2, 5, 30]))
    assert rates[:2000] == pytest.approx(0.02)
    assert rates[2000:] == pytest.approx([0.9, 0.8, 0.5, 0.02], abs=1e-3)


def test_a_picture_is_described_fully_with_the_probability_of_bayes():
    """Full descriptions are normal around their mean, the others uniform up to it."""
    n_tags = np.concatenate([described(3000, 9, 1.5), np.random.default_rng(2).integers(1, 10, 900)])
    n, counts = np.unique(n_tags, return_counts=True)
    full, middle = _full_descriptions(n.astype(float), counts, float(n_tags.var()))
    weights = full * counts
    assert middle == pytest.approx(weights @ n / weights.sum(), rel=1e-4)
    share = weights.sum() / counts.sum()
    normal = norm.pdf(n, middle, math.sqrt(_variance(n.astype(float), weights, middle)))
    expected = share * normal / (share * normal + (1 - share) / middle)
    np.testing.assert_allclose(full[n < middle], expected[n < middle], rtol=6e-3)
    assert (full[n >= middle] == 1).all()
    assert share == pytest.approx(3000 / 3900, abs=0.06)
    assert middle == pytest.approx(9, abs=0.2)


def test_a_hundredth_of_the_pictures_may_always_be_described_partly():
    full, middle = _full_descriptions(np.array([1.0, 4.0]), np.array([1, 100_000]), 0.0)
    normal = norm.pdf(1, middle, 0.4)
    assert full[0] == pytest.approx(0.99 * normal / (0.99 * normal + 0.01 / middle), rel=1e-3)
    assert full[1] == 1
    assert middle == pytest.approx(4, abs=1e-4)
    assert _full_descriptions(np.array([4.0]), np.array([7]), 0.0)[0].tolist() == [1.0]


def test_levels_are_the_nearest_rates():
    n_tags = np.concatenate([np.arange(1, 60), np.full(3000, 40), [0]])
    levels = Doubts.learned(n_tags).levels
    apart = abs(np.log(omission_rates(n_tags[:-1]))[:, None] - np.log(RATES[1:]))
    np.testing.assert_array_equal(levels[:-1], 1 + apart.argmin(axis=1))
    assert {1, 2, 15} <= set(levels.tolist())
    assert levels[-1] == 0


def test_sixteen_rates_fall_evenly_from_1_to_the_lowest():
    assert len(RATES) == 16
    np.testing.assert_allclose(np.diff(np.log(RATES)), math.log(0.02) / 15, rtol=1e-4)


def search_after_tagging(n_tags):
    """The probability of "boat" for a picture of which the model believes 75%, which has one tag, "holiday"."""
    rng = np.random.default_rng(0)
    names = ["boat", "holiday", *(f"tag{i}" for i in range(20))]
    tags = np.zeros((len(n_tags) + 1, len(names)), int)
    for row, n in enumerate(n_tags):
        tags[row, 2 + rng.choice(20, n, replace=False)] = 1
    tags[-1, 1] = 1
    paths = [f"{i}.jpg" for i in range(len(tags))]
    p = np.full(tags.shape, 0.01)
    p[-2:, 0] = 0.75
    index = Index(len(names), dtype="float16")
    index.add(paths, np.log(p))
    evidence = Evidence(paths, tags=sparse.csr_array(tags), tag_names=names)
    hits = Searcher(evidence, Beliefs(index.snapshot(), names, paths)).search("boat", unlikely=True).hits
    chance = {hit.row: hit.probability for hit in hits}
    return chance[len(tags) - 1], chance.get(len(tags) - 2)


def test_one_tag_says_little_about_the_others_and_a_full_description_much():
    holiday, full = search_after_tagging(described(300, 9, 1))
    assert holiday > 0.65
    assert full < 0.2
    alone, _ = search_after_tagging([])
    assert alone == pytest.approx(0.75 * 0.4 / (0.75 * 0.4 + 0.25), abs=0.04)


def test_without_a_model_nothing_is_doubted():
    evidence = Evidence(["a.jpg"], tags=sparse.csr_array([[1, 0]]), tag_names=["boat", "sea"])
    (hit,) = Searcher(evidence).search("-sea").hits
    assert hit.probability == pytest.approx(1 - 1e-4)
