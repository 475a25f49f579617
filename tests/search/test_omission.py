"""How much a tag is doubted that people left out: less on pictures with far fewer tags than usual."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from visterm.search.beliefs import Beliefs
from visterm.search.evidence import Evidence
from visterm.search.index import Index
from visterm.search.omission import RATES, Doubts, doubted, omission_rates
from visterm.search.searcher import Searcher


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
    (hit,) = Searcher(evidence).search("sea", unlikely=True).hits
    assert hit.probability == pytest.approx(1e-4)
    assert math.isfinite(hit.probability)
