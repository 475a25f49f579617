"""How close the bounds are: sums in whole steps by hand, the best rows exactly, alternatives to a few steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from visterm.calibration import together
from visterm.find.rank import bounds
from visterm.find.rank.beliefs import Every, Leaf, Some, Without, believe, heard
from visterm.find.rank.bounds import Scan, Surprises, _Bound, _sum

N_ROWS = 600
STEP = bounds._STEP


def word(surprise):
    """A word with this surprise in every row."""
    return Leaf("word", len(surprise), likeness=-np.asarray(surprise, dtype=float))


def exact(asked, dependence):
    return -believe(asked, heard(asked), dependence).log_p.astype(float)


def slack(asked, dependence=0.5):
    """By how much the bound of every row is below its surprise, in steps."""
    scan = Scan(asked, dependence, Surprises())
    return (exact(asked, dependence) - scan._whole.unit * scan._whole.steps) / STEP


def drawn(n_parts, seed, most=bounds._MOST):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, most + 1, 50).astype(np.uint16) for _ in range(n_parts)]


# Sums of whole steps


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (1, 2, 3), (12, 4, 3), (1, 1, 1, 1), (1.5, 1)])
def test_sums_of_simple_weights_are_exact(weights, above):
    columns = drawn(len(weights), len(weights), most=3000)
    total = _sum([(_Bound(c, 0.25, 3000), w) for c, w in zip(columns, weights, strict=True)], above=above)
    expected = sum(0.25 * w * c.astype(float) for c, w in zip(columns, weights, strict=True))
    np.testing.assert_allclose(total.unit * total.steps, expected, rtol=1e-12)
    assert total.unit * total.most == pytest.approx(0.25 * sum(weights) * 3000)
    assert total.steps.dtype == np.uint16


def test_one_part_is_its_own_sum():
    (steps,) = drawn(1, 0)
    total = _sum([(_Bound(steps, 0.5, 16000), 3.0)])
    assert (total.steps is steps, total.unit, total.most) == (True, 1.5, 16000)
    assert _sum([(_Bound(steps, 0.5), 0.1)], above=True).unit == 0.5  # a small weight counts as 1


@pytest.mark.parametrize("n_parts", [3, 5, 9, 40, 200])
@pytest.mark.parametrize("above", [False, True])
def test_long_sums_have_the_finest_steps_that_fit(n_parts, above):
    columns = drawn(n_parts, n_parts)
    columns[0][:3] = [0, 1, bounds._MOST]
    total = _sum([(_Bound(c, 1.0), 1.0) for c in columns], above=above)
    shift = next(k for k in range(20) if n_parts * math.ceil(bounds._MOST / 2**k) <= 2**16 - 1)
    rounded = np.ceil if above else np.floor
    expected = sum(rounded(c / 2**shift) for c in columns)
    assert total.unit == 2**shift
    np.testing.assert_array_equal(total.steps, expected)
    assert total.most == n_parts * math.ceil(bounds._MOST / 2**shift)


@pytest.mark.parametrize("weights", [(0.7, 1.9), (1.0, 9.3, 2.2), (0.03, 1.0), (3.1, 3.3, 3.2, 0.5)])
def test_sums_of_other_weights_are_on_the_right_side_and_near(weights):
    columns = drawn(len(weights), 1, most=3000)
    parts = [(_Bound(c, 1.0, 4000), w) for c, w in zip(columns, weights, strict=True)]
    below, above = _sum(parts), _sum(parts, above=True)
    true = sum(w * c.astype(float) for c, w in zip(columns, weights, strict=True))
    least_one = sum(max(w, 1.0) * c.astype(float) for c, w in zip(columns, weights, strict=True))
    room = max(weights) / 12 * sum(columns) + 20  # each weight is rounded to a twelfth of the largest
    assert (below.unit * below.steps <= true + 1e-9).all()
    assert (below.unit * below.steps >= true - room).all()
    assert (above.unit * above.steps >= least_one - 1e-9).all()
    assert (above.unit * above.steps <= least_one + room).all()


# The best rows


def test_of_one_word_the_best_rows_are_known_to_a_step():
    rng = np.random.default_rng(0)
    surprise = rng.permutation(np.linspace(0.01, 6, N_ROWS))
    scan = Scan(word(surprise), 0.5, Surprises())
    for n in (*range(1, 40), 150, N_ROWS):
        limit = scan.of_best(n)
        assert limit == pytest.approx((math.floor(np.sort(surprise)[n - 1] / STEP) + 0.999) * STEP, rel=1e-5)
        assert scan.within(limit).tolist() == np.flatnonzero(surprise < limit).tolist()


def test_hardly_more_rows_than_wanted_are_needed_to_find_the_level():
    rng = np.random.default_rng(1)
    scan = Scan(word(rng.random(N_ROWS)), 0.5, Surprises())
    for n in (1, 2, 5, 20, 60, 150, 300, N_ROWS):
        n_found = int((scan._whole.steps <= scan._level(n)).sum())
        assert n <= n_found <= 1.5 * n + 3


def test_what_people_said_is_no_surprise():
    told = np.array([3, 7, 300])
    asked = Leaf("boat", N_ROWS, {"tag": told}, likeness=np.full(N_ROWS, -2.0))
    scan = Scan(asked, 0.5, Surprises())
    assert scan.of_best(3) < STEP
    assert scan.within(0.0).tolist() == told.tolist()
    assert len(scan.within(2.1)) == N_ROWS
    twice = Scan(Every((asked, asked), (1.0, 1.0)), 0.5, Surprises())
    assert twice.within(twice.of_best(3)).tolist() == told.tolist()


@pytest.mark.parametrize("dependence", [0.0, 0.4, 1.0])
def test_several_words_are_bounded_by_the_sum_of_their_surprises(dependence):
    rng = np.random.default_rng(2)
    parts, weights = rng.uniform(0, 4, (3, N_ROWS)), (0.5, 1.5, 1.0)
    scan = Scan(Every(tuple(map(word, parts)), weights), dependence, Surprises())
    expected = (1 - dependence + dependence / 3) * (weights @ parts)
    assert (scan._whole.unit * scan._whole.steps <= expected).all()
    assert (scan._whole.unit * scan._whole.steps >= expected - 8 * STEP).all()


def test_rows_whose_words_are_alike_are_not_missed_for_those_with_one_likely_word():
    """The bound by the sum is exact for the former and too low for the latter."""
    surprise = np.full((2, N_ROWS), 12.0)
    surprise[:, 10:30] = [[10.0], [0.0]]
    surprise[:, 100:300] = 5.5
    asked = Every(tuple(map(word, surprise)), (1.0, 1.0))
    scan = Scan(asked, 0.5, Surprises())
    limit = scan.of_best(20)
    assert limit == pytest.approx(8.25, abs=3 * STEP)
    assert scan.within(limit).tolist() == list(range(100, 300))


def test_the_limit_of_several_words_is_that_of_the_bounds_of_each():
    rng = np.random.default_rng(3)
    surprise = rng.uniform(0, 5, (2, N_ROWS))
    weights = (0.5, 1.5)
    scan = Scan(Every(tuple(map(word, surprise)), weights), 0.3, Surprises())
    logs = [-w * STEP * np.floor(of_word / STEP) for w, of_word in zip(weights, surprise, strict=True)]
    bound = np.sort(-together(logs, 0.3))
    one_step = STEP * (0.3 * 1.5 + 0.7 * 2.0)
    for n in (1, 2, 3, 10, 50):
        assert scan.of_best(n) == pytest.approx(bound[n - 1] + 0.999 * one_step, abs=0.05 * STEP)


def test_a_query_without_a_bound_may_have_no_surprise():
    surprise = np.linspace(0, 5, N_ROWS)
    asked = Without(Every((word(surprise), word(surprise[::-1])), (1.0, 1.0)))
    scan = Scan(asked, 0.5, Surprises())
    assert 0 < scan.of_best(5) < 1.5 * STEP
    assert len(scan.within(0.0)) == N_ROWS


# Alternatives and groups


def test_likely_alternatives_are_bounded_to_a_few_steps():
    rng = np.random.default_rng(4)
    asked = Some((word(rng.uniform(0.5, 2, N_ROWS)), word(rng.uniform(0.5, 2, N_ROWS))), (1.0, 1.0))
    apart = slack(asked)
    assert apart.min() >= 0
    assert apart.max() < 6
    assert apart.mean() < 2.2
    for weights in ((1.0, 1.07), (0.3, 1.0), (2.5, 0.5)):
        assert slack(Some(asked.parts, weights)).min() >= 0


def test_unlikely_alternatives_are_bounded_by_the_likeliest():
    rng = np.random.default_rng(5)
    for weights in ((1.0, 1.0), (3.0, 1.0, 0.5)):
        words = [word(rng.uniform(6, 12, N_ROWS)) for _ in weights]
        scan = Scan(Some(tuple(words), weights), 0.5, Surprises())
        scan.of_best(5)
        least = np.min([-leaf.likeness for leaf in words], axis=0)
        expected = least - math.log(sum(max(w, 1.0) for w in weights))
        found = scan._whole.unit * scan._whole.steps
        assert (found <= expected).all()
        assert (found >= expected - 2.1 * STEP).all()


def test_groups_inside_groups_are_bounded_nearly_as_well():
    rng = np.random.default_rng(6)
    a, b, c = (word(rng.uniform(0.3, 1.2, N_ROWS)) for _ in range(3))
    both = Every((a, b), (1.0, 1.0))
    for asked, most in (
        (Every((both, c), (1.0, 1.0)), 4),
        (Some((both, c), (1.0, 1.0)), 8),
        (Without(Some((a, b), (1.0, 1.0))), 4),
        (Every((Without(Some((a, b), (1.0, 1.0))), c), (1.0, 1.0)), 5),
        (Without(Without(a)), 1.01),
        (Every((Without(Every((a, b), (1.0, 1.0))), c), (0.1, 1.9)), 0.1 / STEP),
    ):
        apart = slack(asked, dependence=0.0)
        assert -0.1 < apart.min() <= apart.max() < most
