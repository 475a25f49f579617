from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from visterm.errors import InputError
from visterm.learn import holm, letters, wilcoxon
from visterm.learn.engine.significance import EXACT_UP_TO

few = settings(max_examples=40, deadline=None)


@few
@given(hnp.arrays(np.int64, st.integers(0, 9), elements=st.integers(-3, 3)))
def test_exact_p_value_equals_the_enumeration_of_all_signs(difference):
    test = wilcoxon(difference, np.zeros(len(difference)))
    ranks = stats.rankdata(np.abs(difference[difference != 0]))
    sums = np.array(
        [sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in product([0, 1], repeat=len(ranks))]
    )
    positive = ranks[difference[difference != 0] > 0].sum()
    smaller = min(positive, ranks.sum() - positive)
    assert test.p_value == pytest.approx(min(1.0, 2 * np.mean(sums <= smaller)))
    assert (test.positive, test.n_pairs) == (positive, len(ranks))
    assert test.positive + test.negative == ranks.sum()


@pytest.mark.parametrize("n", [5, 20, EXACT_UP_TO])
def test_exact_equals_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n) + 0.1
    expected = stats.wilcoxon(a, b, method="exact")
    test = wilcoxon(a, b)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert min(test.positive, test.negative) == expected.statistic


@pytest.mark.parametrize("levels", [None, 7])
def test_approximation_with_ties_and_zeros_equals_scipy(levels):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.1, 1, 400), rng.normal(0, 1, 400)
    if levels:
        a, b = np.round(a), np.round(b)
    expected = stats.wilcoxon(a, b, zero_method="wilcox", correction=False, method="asymptotic")
    assert wilcoxon(a, b).p_value == pytest.approx(expected.pvalue, rel=1e-9)


@few
@given(hnp.arrays(np.int64, st.integers(1, 80), elements=st.integers(-5, 5)))
def test_exchanging_the_systems_exchanges_the_rank_sums(difference):
    zeros = np.zeros(len(difference))
    one, other = wilcoxon(difference, zeros), wilcoxon(zeros, difference)
    assert (one.positive, one.negative, one.p_value) == (other.negative, other.positive, other.p_value)
    assert 0 <= one.p_value <= 1


def test_no_difference_is_no_evidence():
    assert wilcoxon([0.5, 0.5], [0.5, 0.5]).p_value == 1.0
    assert wilcoxon([], []).p_value == 1.0


def test_undefined_pairs_are_left_out():
    nan = float("nan")
    assert wilcoxon([0.9, nan, 0.8, 0.7], [0.1, nan, 0.2, 0.3]) == wilcoxon([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="pair 1 is defined on one side only"):
        wilcoxon([0.9, nan], [0.1, 0.2])


def test_holm_by_hand_and_in_any_order():
    np.testing.assert_allclose(holm([0.005, 0.011, 0.02, 0.04, 0.13]), [0.025, 0.044, 0.06, 0.08, 0.13])
    np.testing.assert_allclose(holm([0.9, 0.001, 0.8]), [1.0, 0.003, 1.0])
    assert holm([]).shape == (0,)


@few
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_raw_value_and_bonferroni(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(1.0, len(p_values) * np.array(p_values)).max(initial=0) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p_values, kind="stable")]) >= 0).all()


@pytest.fixture
def three_systems():
    rng = np.random.default_rng(0)
    base = rng.random(100)
    return {"low": base, "middle": base + 0.1 + 0.05 * rng.random(100), "high": base + 0.3 + 0.05 * rng.random(100)}


def test_letters_say_which_systems_are_beaten(three_systems):
    assert letters(three_systems) == {"low": "", "middle": "a", "high": "ab"}
    assert letters(three_systems, higher_is_better=False) == {"low": "bc", "middle": "c", "high": ""}
    reordered = {name: three_systems[name] for name in ("high", "low", "middle")}
    assert letters(reordered) == {"high": "bc", "low": "", "middle": "b"}


def test_letters_are_corrected_for_the_number_of_systems():
    gain = np.arange(1, 7) / 10  # 6 positive differences: p = 2 / 2^6 = 0.03125
    assert letters({"floor": np.zeros(6), "better": gain}) == {"floor": "", "better": "a"}
    with_twin = {"floor": np.zeros(6), "better": gain, "twin": np.zeros(6)}
    assert letters(with_twin) == {"floor": "", "better": "", "twin": ""}


def test_a_large_gain_on_the_baseline_is_seen_among_many_systems():
    """Ten of 27 pictures gained and none lost: p = 2 / 2 ** 10, significant for ten tests but not for all 55 pairs."""
    rng = np.random.default_rng(0)
    floor = np.zeros(27)
    systems = {f"system {i}": (rng.permutation(27) < 10) * 1.0 for i in range(10)}
    assert set(letters({"floor": floor} | systems).values()) == {""}
    told = letters({"floor": floor} | systems, baseline="floor")
    assert told == {"floor": "", **dict.fromkeys(systems, "a")}


def test_the_baseline_has_no_privilege_where_it_would_lose_by_it(three_systems):
    for baseline in (None, "low", "nobody"):
        assert letters(three_systems, baseline=baseline) == letters(three_systems)


def test_weights_share_out_alpha():
    p_values = [0.004, 0.02, 0.03, 0.5]
    np.testing.assert_allclose(holm(p_values, [1, 1, 1, 1]), holm(p_values))
    np.testing.assert_allclose(holm(p_values, [5, 5, 5, 5]), holm(p_values))
    # In the order of p / weight: 0.002 of 5, then 0.02 of 3, 0.03 of 2, 0.5 of 1.
    np.testing.assert_allclose(holm(p_values, [2, 1, 1, 1]), [0.01, 0.06, 0.06, 0.5])


def test_letters_need_means_and_ranks_to_agree():
    mostly_better = np.append(np.linspace(0.01, 0.02, 30), [-9.0])
    assert letters({"zero": np.zeros(31), "risky": mostly_better}) == {"zero": "", "risky": ""}


def test_one_system_beats_nobody():
    assert letters({"only": [0.1, 0.2]}) == {"only": ""}
    assert letters({}) == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilcoxon([1.0], [1.0, 2.0]), r"\(1,\) and \(2,\)"),
        (lambda: wilcoxon([[1.0]], [[1.0]]), "two lists"),
        (lambda: wilcoxon(["a"], [1.0]), "must be numbers"),
        (lambda: wilcoxon([float("inf")], [1.0]), "finite"),
        (lambda: letters({"a": [1.0]}, alpha=0), "alpha"),
        (lambda: letters({str(i): [1.0] for i in range(53)}), "not 53"),
    ],
)
def test_unusable_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
