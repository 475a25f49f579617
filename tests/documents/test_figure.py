"""Figures: their intervals against SciPy's, and words that never sound surer than what was counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest

from visterm.documents.figure import LEAST, Stratum, figure, interval


@given(st.integers(1, 400), st.data())
def test_intervals_are_those_of_scipy(n, data):
    right = data.draw(st.integers(0, n))
    found = binomtest(right, n).proportion_ci(0.9, method="exact")
    assert interval(right, n) == pytest.approx((found.low, found.high), abs=1e-9)


@given(st.integers(1, 200), st.floats(0, 1))
def test_intervals_of_sums_of_shares_are_between_those_of_the_next_counts(n, share):
    low, high = interval(share * n, n)
    below, above = interval(np.floor(share * n), n), interval(np.ceil(share * n), n)
    assert below[0] - 1e-9 <= low <= above[0] + 1e-9
    assert below[1] - 1e-9 <= high <= above[1] + 1e-9
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [10, 40, 100])
def test_nine_of_ten_intervals_contain_the_truth(n, p):
    counts = np.arange(n + 1)
    covers = np.array([low <= p <= high for low, high in (interval(k, n) for k in counts)])
    assert binom.pmf(counts, n, p)[covers].sum() >= 0.9


@pytest.mark.parametrize(("a", "b"), [(2.0, 0.5), (8.0, 2.0), (0.4, 0.1)])
def test_intervals_of_mean_shares_contain_the_truth(a, b):
    rng, n = np.random.default_rng(0), 40
    sums = beta.rvs(a, b, size=(1000, n), random_state=rng).sum(axis=1)
    covered = np.mean([low <= a / (a + b) <= high for low, high in (interval(s, n) for s in sums)])
    assert covered >= 0.9


def test_too_few_pictures_give_no_figure_but_say_what_to_do():
    found = figure("classes", "labelled pictures", [Stratum(1.0, 9, LEAST - 1)], advice="answer 34 measuring questions")
    assert (found.value, found.low, found.high, found.basis) == (None, None, None, None)
    assert found.words == "too few pictures were measured to say how good it is: answer 34 measuring questions"


def test_a_part_of_which_nothing_was_measured_gives_no_figure():
    assert figure("classes", "measuring sample", [Stratum(0.5, 20, 30), Stratum(0.5, 0, 0)]).value is None


def test_parts_count_by_their_shares():
    found = figure("tags", "measuring sample", [Stratum(0.25, 40, 40), Stratum(0.75, 10, 20)])
    assert found.value == pytest.approx(0.25 * 1.0 + 0.75 * 0.5)
    n = 1 / (0.25**2 / 40 + 0.75**2 / 20)
    assert (found.low, found.high) == pytest.approx(interval(found.value * n, n))
    even = figure("tags", "measuring sample", [Stratum(0.5, 30, 40), Stratum(0.5, 20, 40)])
    assert (even.value, even.low, even.high) == pytest.approx((0.625, *interval(50, 80)))


@pytest.mark.parametrize("what", ["classes", "tags", "search"])
@given(n=st.integers(LEAST, 2000), share=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
def test_nothing_is_said_to_be_sure(what, n, share):
    words = figure(what, "measuring sample", [Stratum(1.0, share * n, n)], baseline=0.2).words
    assert not words.startswith(("100%", "0%"))
    assert ("between" in words) != ("at least" in words or "at most" in words)
    assert f"measured on {n} pictures drawn at random" in words
    assert ("worse than guessing" in words) == (share < 0.2)
